/** The client of the service in a script process: the calls of an attempt, and the answers. */
import { MAX_FILE_SIZE } from "@socle/protocol";
import type { PlainAppError } from "../../../base/kernel/index.ts";
import type { CallLimits, FromChild } from "../protocol.ts";

/** The calls with many records in the arguments. */
const largeMethods: ReadonlySet<string> = new Set(["db.batch", "db.check", "db.own", "db.commit"]);
/** Calls of an attempt at a time; further calls wait here, in the memory of the script process. */
const maxOpen = 100;

/**
 * Methods with errors that the caller of an endpoint may hear. The errors of `db.query` quote SQL, and the queues are no
 * matter of the caller.
 */
const told = /^(?:db\.(?!query$)|users\.|storage\.)/;

/** An error that the service has answered. `code` and `details` are as in the HTTP API. */
export class ServiceError extends Error {
  override name = "ServiceError";
  code = "";
  details: PlainAppError["details"];
  readonly #isTold: boolean;
  #reason: PlainAppError | null = null;

  /** @param isTold whether the caller of an endpoint may hear the error. */
  constructor(isTold: boolean) {
    super();
    this.#isTold = isTold;
  }

  fill(reason: PlainAppError): this {
    const { code, message, details } = reason;
    this.message = details === undefined ? message : `${message} ${details.map((each) => each.message).join("; ")}`;
    this.code = code;
    this.details = details;
    this.#reason = reason;
    return this;
  }

  /** The error for the caller of an endpoint; null for an error that the caller may not hear, and any other value. Never throws. */
  static toldBy(thrown: unknown): PlainAppError | null {
    if (typeof thrown !== "object" || thrown === null || !(#isTold in thrown) || !thrown.#isTold) return null;
    return thrown.#reason?.code === "internal_error" ? null : thrown.#reason;
  }
}

interface Open extends Pick<PromiseWithResolvers<unknown>, "resolve" | "reject"> {
  readonly error: ServiceError;
  readonly onPart: ((value: unknown) => void) | undefined;
}

let lastCall = 0;
const open = new Map<number, Open>();

export class ServiceClient {
  readonly #attempt: number;
  readonly #send: (message: FromChild) => void;
  readonly #limits: CallLimits;
  readonly #waiting: (() => void)[] = [];
  #open = 0;
  readonly #startedAt = performance.now();
  /** Since when calls are under way, and the milliseconds for which calls were under way before. */
  #callsSince = 0;
  #calledMs = 0;
  #endReason: string | null = null;

  constructor(attempt: number, send: (message: FromChild) => void, limits: CallLimits) {
    this.#attempt = attempt;
    this.#send = send;
    this.#limits = limits;
  }

  /**
   * Milliseconds since the start of the attempt without a call under way. The time of calls is the service's: an answer may wait here
   * while other attempts compute.
   */
  get ownMs(): number {
    const now = performance.now();
    return now - this.#startedAt - this.#calledMs - (this.#open > 0 ? now - this.#callsSince : 0);
  }

  /** Resolves with the value of an answer in JSON. @param as see `CallMessage`. @throws ServiceError with the stack of the caller. */
  async call(method: string, args: readonly unknown[], as?: string): Promise<unknown> {
    const answer = await this.ask(method, args, { as });
    return typeof answer === "string" ? JSON.parse(answer) : answer;
  }

  /** Resolves with an answer as sent. @throws ServiceError with the stack of the caller. */
  async ask(
    method: string,
    args: readonly unknown[],
    { as, onPart }: { readonly as?: string | undefined; readonly onPart?: (value: unknown) => void } = {},
  ): Promise<unknown> {
    const error = new ServiceError(told.test(method));
    const size = args.reduce<number>((sum, arg) => sum + sizeOf(arg), 0);
    const [limit, what] = this.#limitOf(method);
    if (size > limit)
      throw error.fill({
        code: "payload_too_large",
        message: `${method.replace(/^db\.(own|check|commit)$/, "db.transaction")}: ${size} bytes are more than ${what}.`,
      });
    const strange = args.find((arg) => !isPlain(arg));
    if (strange !== undefined)
      throw error.fill({ code: "bad_request", message: `${method}: a ${typeof strange} cannot be an argument.` });
    if (this.#open >= maxOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#endReason !== null)
      throw error.fill({ code: "unavailable", message: `${method}: the run is over: ${this.#endReason}.` });
    lastCall += 1;
    const call = lastCall;
    if (this.#open === 0) this.#callsSince = performance.now();
    this.#open += 1;
    try {
      const answer = Promise.withResolvers<unknown>();
      open.set(call, { ...answer, error, onPart });
      this.#send({ type: "call", call, attempt: this.#attempt, method, args, ...(as !== undefined && { as }) });
      return await answer.promise;
    } finally {
      this.#open -= 1;
      if (this.#open === 0) this.#calledMs += performance.now() - this.#callsSince;
      this.#waiting.shift()?.();
    }
  }

  #limitOf(method: string): readonly [number, string] {
    const { bodyLimit, batchBodyLimit } = this.#limits;
    if (method === "storage.put") return [MAX_FILE_SIZE + bodyLimit, "a file may have"];
    if (largeMethods.has(method)) return [batchBodyLimit, "limits.batchBody allows"];
    return [bodyLimit, "limits.body allows"];
  }

  refuseCalls(reason: string): void {
    this.#endReason = reason;
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

function sizeOf(arg: unknown): number {
  if (typeof arg === "string") return Buffer.byteLength(arg);
  return arg instanceof Uint8Array ? arg.byteLength : 0;
}

function isPlain(arg: unknown): boolean {
  return arg === null || arg instanceof Uint8Array || ["string", "number", "boolean", "undefined"].includes(typeof arg);
}

export function answered(call: number, value: unknown): void {
  open.get(call)?.resolve(value);
  open.delete(call);
}

/** A part of an answer: all of the answer, unless the call takes parts. */
export function answeredPart(call: number, value: unknown): void {
  const entry = open.get(call);
  (entry?.onPart ?? entry?.resolve)?.(value);
}

export function refused(call: number, reason: PlainAppError): void {
  const entry = open.get(call);
  open.delete(call);
  entry?.reject(entry.error.fill(reason));
}
