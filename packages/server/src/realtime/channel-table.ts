/** The channel table: the channels that sockets hold, each parsed once for all sockets, and their number in all. */
import { type Channel, parseChannel } from "@socle/protocol";
import type { LimitMeter } from "../logging/index.ts";

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

  get isFull(): boolean {
    return this.#held >= this.#capacity;
  }

  /** Counts a subscription that was refused because the table is full. */
  refused(): void {
    this.#limits.reached("subscriptions");
  }

  /** A channel for a socket that does not hold it yet; null for a name that is none. */
  hold(name: string): NamedChannel | null {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      const channel = parseChannel(name);
      if (channel === null) return null;
      entry = { channel: { name, ...channel }, sockets: 0 };
      this.#entries.set(name, entry);
    }
    entry.sockets += 1;
    this.#held += 1;
    return entry.channel;
  }

  /** A socket holds a channel no longer. */
  release({ name }: NamedChannel): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    entry.sockets -= 1;
    this.#held -= 1;
    if (entry.sockets === 0) this.#entries.delete(name);
  }
}
