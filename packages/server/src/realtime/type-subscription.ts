import type { Channel } from "@socle/protocol";

/** How a socket hears the events of one type, whichever of its channels ask for them. */
export class TypeSubscription {
  readonly type: string;
  readonly channel: Channel;
  /** How many of the socket's channels carry the type. */
  channels = 0;
  /** Whether the socket has joined the type's topics; until then a replay brings its events. */
  isLive = false;
  /** What was sent while the socket listened: the events after place `from`, up to place `to`. */
  from: number;
  to: number;

  constructor(type: string, channel: Channel, place: number) {
    this.type = type;
    this.channel = channel;
    this.from = place;
    this.to = place;
  }
}
