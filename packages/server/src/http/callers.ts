/** Requests and sockets that are open, and the bound on those of one address. */
import { AppError } from "../kernel/index.ts";

/** A request, or the socket that it has become. */
export interface Open {
  readonly address: string;
  /** How it is counted: in all, for its address, or, before it has entered and after it has left, not at all. */
  countedBy: "all" | "address" | null;
}

/**
 * To ask for the address of each request costs more than answering some. So the first requests that are open are only
 * counted in all: they are few, and over soon. Every further one is counted for its address, and every socket is.
 */
export class Callers {
  readonly #limit: number;
  /** Requests that may be open without being counted for their address. */
  readonly #free: number;
  readonly #counts = new Map<string, number>();
  #freeRequests = 0;

  /** @param limit requests and sockets of one address. */
  constructor(limit: number) {
    this.#limit = limit;
    this.#free = Math.floor(limit / 5);
  }

  /** @throws AppError `rate_limited` when the address has as many as it may. */
  enter(one: Open): void {
    if (this.#freeRequests < this.#free) {
      this.#freeRequests += 1;
      one.countedBy = "all";
    } else {
      this.#count(one);
    }
  }

  /**
   * A request becomes a socket, which may stay open for long.
   * @throws AppError as `enter`.
   */
  becomeSocket(one: Open): void {
    if (one.countedBy === "address") return;
    this.#count(one);
    this.#freeRequests -= 1;
  }

  /** To be called when the answer has gone, or the socket is closed; a further call does nothing. */
  leave(one: Open): void {
    const { countedBy } = one;
    one.countedBy = null;
    if (countedBy === "all") this.#freeRequests -= 1;
    if (countedBy !== "address") return;
    const own = (this.#counts.get(one.address) ?? 0) - 1;
    if (own > 0) this.#counts.set(one.address, own);
    else this.#counts.delete(one.address);
  }

  #count(one: Open): void {
    const own = this.#counts.get(one.address) ?? 0;
    if (own >= this.#limit) {
      const message = `Your address has ${own} requests and sockets open already.`;
      throw new AppError("rate_limited", message, { limit: "connectionsPerAddress", retryAfter: 1 });
    }
    this.#counts.set(one.address, own + 1);
    one.countedBy = "address";
  }
}
