/** Requests and sockets that are open, and the bound on those of one address. */
import { AppError } from "../kernel/index.ts";

interface Open {
  readonly address: string;
}

/**
 * Counts by address only once so many are open that one address could have reached the bound: to ask for the address of
 * each request costs more than answering some.
 */
export class Callers {
  readonly #limit: number;
  readonly #open = new Set<Open>();
  #counts: Map<string, number> | null = null;

  /** @param limit requests and sockets of one address. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @throws AppError `rate_limited` when the address has as many as it may. */
  enter(one: Open): void {
    if (this.#counts === null && this.#open.size < this.#limit) {
      this.#open.add(one);
      return;
    }
    this.#counts ??= this.#count();
    const own = this.#counts.get(one.address) ?? 0;
    if (own >= this.#limit) {
      const message = `Your address has ${own} requests and sockets open already.`;
      throw new AppError("rate_limited", message, { limit: "connectionsPerAddress", retryAfter: 1 });
    }
    this.#counts.set(one.address, own + 1);
    this.#open.add(one);
  }

  /** To be called when the answer has gone, or the socket is closed. */
  leave(one: Open): void {
    if (!this.#open.delete(one) || this.#counts === null) return;
    const own = (this.#counts.get(one.address) ?? 0) - 1;
    if (own > 0) this.#counts.set(one.address, own);
    else this.#counts.delete(one.address);
    if (this.#open.size < this.#limit / 2) this.#counts = null;
  }

  #count(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { address } of this.#open) counts.set(address, (counts.get(address) ?? 0) + 1);
    return counts;
  }
}
