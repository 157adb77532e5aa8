/** Subscription of one socket to one event type, whichever of its channels carry the type. */
import type { Channel } from "@socle/protocol";

export class TypeSubscription {
  readonly type: string;
  readonly channel: Channel;
  /** How many of the socket's channels carry the type. */
  channels = 0;
  /** Whether the socket has joined the type's topics; until then a replay brings its events. */
  isLive = false;
  /** The events that were sent while the socket listened: those after seq `from`, up to seq `to`. */
  from: number;
  to: number;

  constructor(type: string, channel: Channel, seq: number) {
    this.type = type;
    this.channel = channel;
    this.from = seq;
    this.to = seq;
  }
}
