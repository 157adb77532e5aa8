/**
 * The bodies of a request to an endpoint, which go between the service and a process in pieces. The attempt goes on until the last
 * piece of the response:
 *
 *     sent ── the head of a response ──► answered ── its last piece ──► over
 *       └────────────┬──────────────────────┴── error, time, loss, the caller leaves ──► over
 *                    └ the outcome says so         └ the body breaks off
 */
import type { Attempt, BodyPieces, CallOutcome, ScriptExchange } from "./attempt.ts";
import type { ResponseData } from "./protocol.ts";

/** The part of the process that an exchange speaks with. */
interface BodyPort {
  /** Asks for the next piece of the response. */
  want(): void;
  /** Gives a piece of the request; null after the last. */
  give(bytes: Uint8Array | null): void;
}

/** A response that broke off after its begin. */
class BrokenOff extends Error {
  override readonly name = "BrokenOff";
}

export class BodyExchange {
  readonly #attempt: Attempt;
  readonly #exchange: ScriptExchange;
  readonly #port: BodyPort;
  /** The piece of the response that is waited for; null when no piece is. */
  #wanted: PromiseWithResolvers<Uint8Array | null> | null = null;
  #end: CallOutcome | null = null;

  constructor(attempt: Attempt, exchange: ScriptExchange, port: BodyPort) {
    this.#attempt = attempt;
    this.#exchange = exchange;
    this.#port = port;
    void attempt.outcome.then((end) => this.#over(end));
  }

  /** The response begins. Answers whether pieces of its body are to come. */
  respond({ status, headers, body }: ResponseData): boolean {
    this.#exchange.onResponse({ status, headers, body: body === "pieces" ? this.#pieces() : body });
    return body === "pieces";
  }

  /** A piece of the response has come. */
  piece(bytes: Uint8Array): void {
    this.#wanted?.resolve(bytes);
    this.#wanted = null;
  }

  /** The process asks for a piece of the request. */
  async wanted(): Promise<void> {
    try {
      const next = await this.#exchange.pieces?.next();
      this.#port.give(next === undefined || next.done === true ? null : next.value);
    } catch (error) {
      this.#attempt.settle({ status: "unread", error });
    }
  }

  #pieces(): BodyPieces {
    return {
      next: async () => {
        if (this.#end !== null && this.#end.status !== "answered") throw brokenOff(this.#end);
        if (this.#end !== null) return { done: true, value: undefined };
        this.#wanted = Promise.withResolvers<Uint8Array | null>();
        this.#port.want();
        const value = await this.#wanted.promise;
        return value === null ? { done: true, value: undefined } : { done: false, value };
      },
      return: async () => this.#attempt.settle({ status: "left" }),
    };
  }

  #over(end: CallOutcome): void {
    this.#end = end;
    if (end.status === "answered") this.#wanted?.resolve(null);
    else this.#wanted?.reject(brokenOff(end));
    this.#wanted = null;
    void this.#exchange.pieces?.return();
  }
}

function brokenOff(end: CallOutcome): BrokenOff {
  if (end.status === "failed") return new BrokenOff(end.error.message);
  if (end.status === "lost") return new BrokenOff(`its process ${end.message}`);
  return new BrokenOff(end.status === "late" ? "its time was up" : `it has ended (${end.status})`);
}
