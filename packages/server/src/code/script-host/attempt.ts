/**
 * An attempt: one call of a handler, from its task to its outcome. A run, a hook and a request to an endpoint are attempts; the
 * attempt of a request has bodies.
 */
import type { System } from "../../base/kernel/index.ts";
import type { Earlier } from "../../data/records/index.ts";
import type { HostProcess } from "./host-process.ts";
import type {
  CallMessage,
  HandlerOutcome,
  LogMessage,
  RequestData,
  ResponseData,
  RunInput,
  ScriptError,
  ToChild,
} from "./protocol.ts";

/** The handler to call, and the input. */
export interface ScriptTask {
  readonly path: string;
  /** The name of the export. */
  readonly handler: string;
  /** Counted from the start of the handler; for a caller that waits without `patienceMs`, from the call on. */
  readonly timeoutMs: number;
  /** The time that a caller waits for the start of the handler. */
  readonly patienceMs?: number;
  readonly input: RunInput;
  /** For a hook of a batch: the records that earlier operations have written. */
  readonly earlier?: Earlier | null;
  /** The principal that the handler acts as. */
  readonly principal: System;
  /** Aborted when the caller waits no more. */
  readonly caller?: AbortSignal;
  /**
   * Called with each call of the handler to the service, before the answer. A thrown AppError refuses the call. Answers a function that is
   * called after the answer.
   */
  onCall?(call: Pick<CallMessage, "method" | "args">): () => void;
  /** For the handler of an endpoint. */
  readonly exchange?: ScriptExchange;
  /** Whether the method of the request is safe (RFC 9110, 9.2.1), and the request has no body: the handler may be called again. */
  readonly isSafe?: boolean;
  /** Called when the handler starts; again when the handler starts again in another process. */
  onStart?(): void;
  /** Called with the first error that the handler's code throws after the attempt has completed. */
  onStray?(error: ScriptError): void;
  /** Called with each log entry until the attempt has ended. The service logs each entry, also after the end. */
  onLog?(entry: Pick<LogMessage, "level" | "message" | "fields">): void;
}

/** Pieces of a body, each asked for when the piece before was taken. `return` ends the body before the last piece. */
export interface BodyPieces {
  next(): Promise<IteratorResult<Uint8Array, unknown>>;
  return(): Promise<unknown>;
}

/** A request for the handler of an endpoint, and the receiver of the response. */
export interface ScriptExchange {
  readonly request: RequestData;
  /** The body when `request.body` is `pieces`; an error of the pieces ends the attempt with the status `unread`. */
  readonly pieces: BodyPieces | null;
  /** Called when the response begins. The attempt is over with the last piece of the body. */
  onResponse(response: ScriptResponse): void;
}

/** The head of a response, with its body. */
export interface ScriptResponse extends Omit<ResponseData, "body"> {
  readonly body: Uint8Array | BodyPieces | null;
}

/**
 * The end of a run. `stopped`: the service stops, and nothing is known of how far the handler came. `gone`: the file was
 * deleted, or is not loaded.
 */
export type ScriptOutcome =
  | { readonly status: "completed" }
  | { readonly status: "failed"; readonly error: ScriptError }
  | { readonly status: "stopped" | "gone" };

/**
 * The end of an attempt. `late`: the time is up. `left`: the caller waits no more. `lost`: the process has ended, for a reason
 * that the message says as the predicate of a sentence. `unread`: the body of the request could not be read.
 */
export type CallOutcome =
  | HandlerOutcome
  | { readonly status: "lost"; readonly message: string }
  | { readonly status: "unread"; readonly error: unknown }
  | { readonly status: "late" | "left" | "stopped" | "gone" };

/** One call of a handler. The states are drawn in supervisor.ts. The first end counts. */
export class Attempt {
  readonly task: ScriptTask;
  /** Counted from 1 on by the calls of the present process; 0 before the attempt was sent. */
  number = 0;
  /** The time at which the service learned of the handler's start (`performance.now`); null before. */
  startedAt: number | null = null;
  /** Polls of the limits since the attempt was sent and has not started, or was aborted and has not ended. */
  silentPolls = 0;
  isAborted = false;
  /** The time from which the attempt waits for a start (`performance.now`). */
  waitsSince = performance.now();
  /** Whether the attempt had begun in a process that did not answer, and begins again in another process. */
  isAskedAgain = false;
  /** Whether a part of the response has reached the caller. */
  hasResponded = false;
  /** Whether the attempt has ended for the caller. */
  isSettled = false;
  /** Times that the attempt could not be made in quarantine, because the file did not load. */
  failedIsolations = 0;
  /** Times that a signal from outside ended a process in which the attempt was alone. */
  outsideKills = 0;
  readonly #end = Promise.withResolvers<CallOutcome>();
  /** Resolves when the attempt has ended for the caller. Never rejects. */
  readonly outcome = this.#end.promise;

  constructor(task: ScriptTask) {
    this.task = task;
  }

  settle(outcome: CallOutcome): void {
    this.isSettled = true;
    this.#end.resolve(outcome);
  }

  /** Whether a handler that has begun may begin again, whatever code the process runs. */
  get isRepeatable(): boolean {
    return this.task.isSafe === true && !this.hasResponded;
  }

  /** Back to the state `waiting`, for another process. */
  reset(): void {
    this.startedAt = null;
    this.silentPolls = 0;
    this.isAborted = false;
    this.waitsSince = performance.now();
  }
}

/**
 * A caller waits for the attempt, and may leave. The time runs from now on; with `patienceMs`, the time of the handler runs in the
 * process, and the caller waits so long for a start.
 */
export function limitWait(attempt: Attempt): void {
  const { caller, timeoutMs, patienceMs } = attempt.task;
  const leave = (): void => attempt.settle({ status: "left" });
  if (caller?.aborted === true) {
    leave();
    return;
  }
  const end = (): void => {
    if (patienceMs === undefined || isImpatient(attempt, patienceMs)) attempt.settle({ status: "late" });
  };
  const timer = setInterval(end, patienceMs ?? timeoutMs);
  caller?.addEventListener("abort", leave, { once: true });
  void attempt.outcome.then(() => {
    clearInterval(timer);
    caller?.removeEventListener("abort", leave);
  });
}

function isImpatient({ startedAt, waitsSince }: Attempt, patienceMs: number): boolean {
  // A timer may be early by a millisecond.
  return startedAt === null && performance.now() - waitsSince >= patienceMs - 1;
}

/** The failure of the user's code: an error, a process that is lost, or time that is up. Null for an end with another cause. */
export function failureOf(outcome: CallOutcome, timeoutMs: number): ScriptError | null {
  if (outcome.status === "failed") return outcome.error;
  if (outcome.status === "lost") return { message: outcome.message };
  return outcome.status === "late" ? { message: `ran longer than its timeout of ${timeoutMs / 1_000} s` } : null;
}

export function runOutcome(outcome: CallOutcome, timeoutMs: number): ScriptOutcome {
  if (outcome.status === "answered") return { status: "completed" };
  if (outcome.status === "stopped" || outcome.status === "gone") return { status: outcome.status };
  const error = failureOf(outcome, timeoutMs) ?? { message: `ended as ${outcome.status}, which no run can` };
  return { status: "failed", error };
}

/** A response that broke off after its begin. */
class BrokenOff extends Error {
  override readonly name = "BrokenOff";
}

/**
 * The bodies of a request to an endpoint, which go between the service and a process in pieces. The attempt goes on until the last
 * piece of the response:
 *
 *     sent ── the head of a response ──► answered ── the last piece ──► over
 *       └────────────┬──────────────────────┴── error, time, loss, the caller leaves ──► over
 *                    └ the outcome says so         └ the body breaks off
 */
export class BodyExchange {
  readonly #attempt: Attempt;
  readonly #exchange: ScriptExchange;
  readonly #process: HostProcess<ToChild>;
  /** The piece of the response that is waited for; null when no piece is. */
  #wanted: PromiseWithResolvers<Uint8Array | null> | null = null;
  #end: CallOutcome | null = null;

  constructor(attempt: Attempt, exchange: ScriptExchange, process: HostProcess<ToChild>) {
    this.#attempt = attempt;
    this.#exchange = exchange;
    this.#process = process;
    void attempt.outcome.then((end) => this.#over(end));
  }

  /** The response begins. Answers whether pieces of the body are to come. */
  respond({ status, headers, body }: ResponseData): boolean {
    this.#attempt.hasResponded = true;
    this.#exchange.onResponse({ status, headers, body: body === "pieces" ? this.#pieces() : body });
    return body === "pieces";
  }

  piece(bytes: Uint8Array): void {
    this.#wanted?.resolve(bytes);
    this.#wanted = null;
  }

  /** The process asks for a piece of the request. */
  async wanted(): Promise<void> {
    try {
      const next = await this.#exchange.pieces?.next();
      const bytes = next === undefined || next.done === true ? null : next.value;
      this.#process.send({ type: "piece", attempt: this.#attempt.number, bytes });
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
        this.#process.send({ type: "want", attempt: this.#attempt.number });
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
