/** Errors that are meant for a person: `AppError` for a caller, `SetupError` for the operator. */
import type { ErrorCode, ErrorDetail } from "@socle/protocol";
import type { LimitName } from "./limits.ts";

export interface AppErrorOptions {
  details?: ErrorDetail[];
  /** Seconds after which another try is worthwhile (`rate_limited`, `unavailable`). */
  retryAfter?: number;
  /** The methods that would have been right (`method_not_allowed`). */
  allow?: string;
  /** The bound that the caller has reached: counted, and logged once a minute at most. */
  limit?: LimitName | undefined;
  /** The HTTP status where the code has several: 412 for a condition that does not hold, 415 for an encoded body. */
  status?: 412 | 415;
  cause?: unknown;
}

/**
 * An error with a message meant for the caller. Every module throws only `AppError` on purpose; any other error that
 * reaches the edge is a defect and is answered as `internal_error`, with the details in the log alone.
 */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;
  readonly retryAfter: number | undefined;
  readonly allow: string | undefined;
  readonly limit: LimitName | undefined;
  readonly status: AppErrorOptions["status"];

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.retryAfter = options.retryAfter;
    this.allow = options.allow;
    this.limit = options.limit;
    this.status = options.status;
  }

  /** 400 with every problem of a body at once (spec, "Errors"). */
  static validation(details: ErrorDetail[]): AppError {
    const fields = [...new Set(details.map((detail) => detail.field))];
    const what =
      fields.length === 1 ? `The field "${fields[0]}" is not valid.` : `${fields.length} fields are not valid.`;
    return new AppError("validation_error", what, { details });
  }
}

/** An `AppError` as plain data, which goes to another thread or process. */
export interface PlainAppError extends Pick<AppErrorOptions, "details" | "retryAfter" | "status"> {
  readonly code: ErrorCode;
  readonly message: string;
}

export function plainAppError({ code, message, details, retryAfter, status }: AppError): PlainAppError {
  return {
    code,
    message,
    ...(details !== undefined && { details }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(status !== undefined && { status }),
  };
}

/** @param plain with parts that only some carriers have. */
export function appErrorOf({ code, message, ...others }: PlainAppError & AppErrorOptions): AppError {
  return new AppError(code, message, others);
}

/** A mistake in the configuration, a definition file or the command line: the start ends with this line and exit code 2. */
export class SetupError extends Error {
  override readonly name = "SetupError";
}

/** Everything that an error says: its details, joined by semicolons, otherwise its message. */
export function reasonsOf(thrown: unknown): string {
  const details = thrown instanceof AppError ? thrown.details : undefined;
  return details?.map(({ message }) => message).join("; ") ?? messageOf(thrown);
}

/** The runtime adds to errors of `fetch` what a caller of `fetch` can do; a reader of the message calls no `fetch`. */
const fetchAdvice = / For more information, pass `verbose: true` in the second argument to fetch\(\)$/;

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message.replace(fetchAdvice, "") : String(thrown);
}

/** Seconds after which a request that met a full queue is worth sending again. */
export const retryAfter = 1;

/** 503 with `Retry-After`: the service is at a bound, and the request may be sent again. */
export function overloaded(limit: LimitName, message: string): AppError {
  return new AppError("unavailable", message, { limit, retryAfter });
}

/** The error for work of a caller that has disconnected: no answer, because the error has no receiver. */
export class CallerGone extends AppError {}

export function callerGone(): CallerGone {
  return new CallerGone("bad_request", "The client has disconnected.");
}

/** An error that may last: while a fault like a damaged table lasts, every request meets the same error. */
export abstract class LastingFault extends Error {
  /** Whether the same error, with the same message, meets later requests too. */
  abstract readonly isLasting: boolean;
}
