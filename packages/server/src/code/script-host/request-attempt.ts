/**
 * A request to an endpoint as an attempt: the attempt begins with the request, has an outcome when the response begins, and is over
 * with the last piece of the response.
 *
 *     sent ── the head of a response ──► answered ── its last piece ──► over
 *       └────────────┬──────────────────────┴── error, time, loss, the caller leaves ──► over
 *                    └ the outcome says so         └ the body breaks off
 */
import { Attempt, type CallOutcome, type ScriptCall, type ScriptOutcome } from "./attempt.ts";
import type { HeaderList, InvocationAnswer, RequestData, ResponseData } from "./protocol.ts";

/** Pieces of a body, each asked for when the piece before was taken. `return` ends the body before the last piece. */
export interface BodyPieces {
  next(): Promise<IteratorResult<Uint8Array, unknown>>;
  return(): Promise<unknown>;
}

/** A request for the handler of an endpoint. */
export interface ScriptRequest extends Omit<ScriptCall, "isRepeatable"> {
  readonly request: RequestData;
  /** The body when `request.body` is `pieces`; its errors end the request with the status `unread`. */
  readonly pieces: BodyPieces | null;
}

/** The head of a response, with its body. */
export interface ScriptResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Uint8Array | BodyPieces | null;
}

/** The end of a request that was not answered whole, or `answered`. `unread`: its own body could not be read. */
export type RequestEnd =
  | { readonly status: "answered" }
  | { readonly status: "unread"; readonly error: unknown }
  | Exclude<CallOutcome, { status: "answered" | "refused" }>;

/** The response as soon as the response begins, or the end without a response. `over` resolves with the end. Neither rejects. */
export interface RequestOutcome {
  readonly response: Promise<ScriptResponse | null>;
  readonly over: Promise<RequestEnd>;
}

/** The part of the process that a request speaks with. */
export interface RequestPort {
  /** Asks for the next piece of the response. */
  want(attempt: number): void;
  /** Gives a piece of the request; null after the last. */
  give(attempt: number, bytes: Uint8Array | null): void;
}

/** A response that broke off after its begin. */
class BrokenOff extends Error {
  override readonly name = "BrokenOff";
}

export class RequestAttempt extends Attempt {
  readonly request: RequestData;
  readonly isRepeatable = false;
  isSettled = false;
  /** Set when the request is sent. */
  port: RequestPort | null = null;
  /** Called when the client takes no more of the response, or its own body cannot be read. */
  onLeave: () => void = () => undefined;
  readonly #pieces: BodyPieces | null;
  readonly #response = Promise.withResolvers<ScriptResponse | null>();
  readonly #over = Promise.withResolvers<RequestEnd>();
  /** The piece of the response that is waited for; null when no piece is. */
  #wanted: PromiseWithResolvers<Uint8Array | null> | null = null;
  #end: RequestEnd | null = null;

  constructor(id: number, task: ScriptRequest) {
    super(id, task);
    this.request = task.request;
    this.#pieces = task.pieces;
  }

  get outcome(): Promise<RequestEnd> {
    return this.#over.promise;
  }

  get response(): Promise<ScriptResponse | null> {
    return this.#response.promise;
  }

  settle(end: RequestEnd | Extract<ScriptOutcome, { status: "failed" | "stopped" | "gone" }>): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.isSettled = true;
    this.#response.resolve(null);
    if (end.status === "answered") this.#wanted?.resolve(null);
    else this.#wanted?.reject(brokenOff(end));
    this.#wanted = null;
    this.#over.resolve(end);
    void this.#pieces?.return();
  }

  lose(message: string): void {
    this.settle({ status: "lost", message });
  }

  expire(): void {
    this.settle({ status: "late" });
  }

  /** The handler has answered. Answers whether the attempt is over with that. */
  answer(answer: InvocationAnswer): boolean {
    if (!("response" in answer)) {
      this.settle({ status: "failed", error: errorOf(answer) });
      return true;
    }
    const isWhole = answer.response.body !== "pieces";
    this.#response.resolve(this.#responseOf(answer.response));
    if (isWhole) this.settle({ status: "answered" });
    return isWhole;
  }

  /** A piece of the response has come; null after the last. */
  piece(bytes: Uint8Array | null): void {
    if (bytes === null) {
      this.settle({ status: "answered" });
      return;
    }
    this.#wanted?.resolve(bytes);
    this.#wanted = null;
  }

  /** The process asks for a piece of the request. */
  async wanted(): Promise<void> {
    try {
      const next = await this.#pieces?.next();
      this.port?.give(this.id, next === undefined || next.done === true ? null : next.value);
    } catch (error) {
      this.settle({ status: "unread", error });
      this.onLeave();
    }
  }

  #responseOf({ status, headers, body }: ResponseData): ScriptResponse {
    return { status, headers, body: body === "pieces" ? this.#bodyPieces() : body };
  }

  #bodyPieces(): BodyPieces {
    return {
      next: async () => {
        if (this.#end !== null && this.#end.status !== "answered") throw brokenOff(this.#end);
        if (this.#end !== null) return { done: true, value: undefined };
        this.#wanted = Promise.withResolvers<Uint8Array | null>();
        this.port?.want(this.id);
        const value = await this.#wanted.promise;
        return value === null ? { done: true, value: undefined } : { done: false, value };
      },
      return: async () => {
        if (this.#end === null) this.onLeave();
      },
    };
  }
}

function errorOf(answer: Exclude<InvocationAnswer, { response: ResponseData }>): { message: string } {
  return "error" in answer ? answer.error : { message: "It did not answer a Response" };
}

function brokenOff(end: RequestEnd): BrokenOff {
  return new BrokenOff(
    end.status === "failed"
      ? end.error.message
      : end.status === "lost"
        ? `its process ${end.message}`
        : end.status === "late"
          ? "its time was up"
          : `it has ended (${end.status})`,
  );
}
