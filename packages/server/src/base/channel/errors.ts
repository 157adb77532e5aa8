/** Errors that cross a channel as plain data: an `AppError` with its parts, and any other error by its message and code. */
import { AppError, appErrorOf, isObject, messageOf, type PlainAppError, plainAppError } from "../kernel/index.ts";

/** An error as plain data: an `AppError`, or the message and the code of another error. */
export type PlainError = { readonly app: PlainAppError } | { readonly message: string; readonly code: string | null };

/** An error of the other end that is no `AppError`, or the end of the other end. */
export class PeerError extends Error {
  override readonly name = "PeerError";
  /** The code of the system or of SQLite, for example `ENOSPC`; null without a code. */
  readonly code: string | null;

  constructor(message: string, code: string | null = null) {
    super(message);
    this.code = code;
  }
}

export function plainError(thrown: unknown): PlainError {
  if (thrown instanceof AppError) return { app: plainAppError(thrown) };
  const code = isObject(thrown) && typeof thrown["code"] === "string" ? thrown["code"] : null;
  return { message: messageOf(thrown), code };
}

export function errorFrom(error: PlainError): AppError | PeerError {
  return "app" in error ? appErrorOf(error.app) : new PeerError(error.message, error.code);
}
