/** The channel table: the channels that sockets hold, each parsed once for all of them, and their number, in all and by address. */
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
  /** Channels that the sockets of each address hold. */
  readonly #byAddress = new Map<string, number>();
  #held = 0;

  constructor(capacity: number, limits: LimitMeter) {
    this.#capacity = capacity;
    this.#limits = limits;
  }

  /**
   * A socket takes another channel. Answers who holds as many as may be, if so: all sockets together, or those of its
   * address, which have half of the bound, so that one client cannot take every channel.
   */
  take(address: string): "all" | "address" | null {
    const own = this.#byAddress.get(address) ?? 0;
    const full = this.#held >= this.#capacity ? "all" : own >= Math.floor(this.#capacity / 2) ? "address" : null;
    if (full !== null) {
      this.#limits.reached("subscriptions", { address });
      return full;
    }
    this.#held += 1;
    this.#byAddress.set(address, own + 1);
    return null;
  }

  /** A socket of this address gives up a channel that it took. */
  giveBack(address: string): void {
    this.#held -= 1;
    const own = (this.#byAddress.get(address) ?? 0) - 1;
    if (own > 0) this.#byAddress.set(address, own);
    else this.#byAddress.delete(address);
  }

  /** The channel of a name, until it is released as often as it was asked for. */
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
