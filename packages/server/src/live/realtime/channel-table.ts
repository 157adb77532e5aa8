/** The channel table: the channels of all sockets, each parsed once, and their number, in all and by address. */
import { type Channel, parseChannel } from "@socle/protocol";
import type { LimitMeter } from "../../base/logging/index.ts";
import { FrameError, unknownChannel } from "./frames.ts";

/** A channel with its name. */
export interface NamedChannel extends Channel {
  readonly name: string;
}

/** The reason why no more channels can be taken. */
const fullText = {
  all: "All sockets together hold as many channels as this service allows. Try again later.",
  address:
    "The sockets of your address together hold as many channels as one address may. Unsubscribe from some first.",
};

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
   * A socket takes another channel. The sockets of an address hold at most half of the channels, so that a client cannot take
   * every channel.
   * @throws FrameError `subscription_limit`.
   */
  take(name: string, address: string): void {
    const own = this.#byAddress.get(address) ?? 0;
    const full = this.#held >= this.#capacity ? "all" : own >= Math.floor(this.#capacity / 2) ? "address" : null;
    if (full !== null) {
      this.#limits.reached("subscriptions", { address });
      throw new FrameError("subscription_limit", fullText[full], name);
    }
    this.#held += 1;
    this.#byAddress.set(address, own + 1);
  }

  /** A socket of this address gives up a channel. */
  giveBack(address: string): void {
    this.#held -= 1;
    const own = (this.#byAddress.get(address) ?? 0) - 1;
    if (own > 0) this.#byAddress.set(address, own);
    else this.#byAddress.delete(address);
  }

  /** The channel of a name, until each hold is released. */
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
