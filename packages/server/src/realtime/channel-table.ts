/** The channel table: the channels that sockets hold, each parsed once for all of them, and their number. */
import { type Channel, parseChannel } from "@socle/protocol";
import type { LimitMeter } from "../logging/index.ts";
import { unknownChannel } from "./frames.ts";

/** A channel with its name. */
export interface NamedChannel extends Channel {
  readonly name: string;
}

interface Entry {
  readonly channel: NamedChannel;
  sockets: number;
}

export class ChannelTable {
  readonly #entries = new Map<string, Entry>();
  readonly #capacity: number;
  readonly #limits: LimitMeter;
  #held = 0;

  constructor(capacity: number, limits: LimitMeter) {
    this.#capacity = capacity;
    this.#limits = limits;
  }

  /** A socket takes another channel; answers false when all sockets together hold as many as they may. */
  take(): boolean {
    if (this.#held < this.#capacity) {
      this.#held += 1;
      return true;
    }
    this.#limits.reached("subscriptions");
    return false;
  }

  /** A socket gives up a channel that it took. */
  giveBack(): void {
    this.#held -= 1;
  }

  /** What the name of a channel stands for, until it is released as often as it was asked for. */
  hold(name: string): NamedChannel {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = { channel: { name, ...parseKnown(name) }, sockets: 0 };
      this.#entries.set(name, entry);
    }
    entry.sockets += 1;
    return entry.channel;
  }

  release({ name }: NamedChannel): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    entry.sockets -= 1;
    if (entry.sockets === 0) this.#entries.delete(name);
  }
}

/** @throws FrameError `invalid_channel`. */
export function parseKnown(name: string): Channel {
  const channel = parseChannel(name);
  if (channel === null) throw unknownChannel(name);
  return channel;
}
