/** Errors that cross a channel as plain data: an `AppError` with its parts, and any other error by its message, code and stack. */
import { AppError, appErrorOf, isObject, messageOf, type PlainAppError, plainAppError } from "../kernel/index.ts";

/** An error as plain data: an `AppError`, with the message of the cause, or another error. */
export type PlainError =
  | { readonly app: PlainAppError; readonly limit: AppError["limit"]; readonly cause: string | undefined }
  | { readonly message: string; readonly code: string | null; readonly stack: string | undefined };

/** An error of the other end that is no `AppError`, or the end of the other end. */
export class PeerError extends Error {
  override readonly name = "PeerError";
  /** The code of the system or of SQLite, for example `ENOSPC`; null without a code. */
  readonly code: string | null;

  /** @param stack the stack at the other end. */
  constructor(message: string, code: string | null = null, stack?: string) {
    super(message);
    this.code = code;
    if (stack !== undefined) this.stack = stack;
  }
}

export function plainError(thrown: unknown): PlainError {
  if (thrown instanceof AppError) {
    const { limit, cause } = thrown;
    return { app: plainAppError(thrown), limit, cause: cause === undefined ? undefined : messageOf(cause) };
  }
  const code = isObject(thrown) && typeof thrown["code"] === "string" ? thrown["code"] : null;
  return { message: messageOf(thrown), code, stack: thrown instanceof Error ? thrown.stack : undefined };
}

export function errorFrom(error: PlainError): AppError | PeerError {
  if (!("app" in error)) return new PeerError(error.message, error.code, error.stack);
  const { cause, limit } = error;
  return appErrorOf({ ...error.app, limit, cause: cause === undefined ? undefined : new Error(cause) });
}
