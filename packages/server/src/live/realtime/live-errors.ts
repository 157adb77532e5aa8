/** Errors of live queries: the errors of lists and of server queries, as the errors of frames. */
import type { RealtimeErrorCode } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import { FrameError } from "./frames.ts";

const codes: { readonly [code in AppError["code"]]?: RealtimeErrorCode } = {
  unauthorized: "forbidden",
  forbidden: "forbidden",
  bad_request: "invalid_query",
  not_found: "invalid_query",
  validation_error: "validation_error",
  internal_error: "internal_error",
};

export function frameErrorOf({ code, message, details }: AppError): FrameError {
  return new FrameError(codes[code] ?? "unavailable", message, { channel: null, details });
}

/** The value of the work. @throws FrameError in place of an AppError. */
export function refusing<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw thrown instanceof AppError ? frameErrorOf(thrown) : thrown;
  }
}

export function tooLarge(characters: number, isValue: boolean): FrameError {
  return new FrameError(
    "query_too_large",
    isValue
      ? `The value has ${characters} characters, more than fit a socket. Let the query answer less.`
      : `The window has ${characters} characters, more than fit a socket. Ask for fewer records with "limit", or for less of each with "fields".`,
  );
}

/** @param isFull whether all callers together have as much as the service allows; otherwise the caller has. */
export function noRoom(isFull: boolean): FrameError {
  return new FrameError(
    "query_limit",
    isFull
      ? "All live queries together take as much memory as this service allows. Try again later, or with a smaller limit."
      : "Your live queries take as much memory as a caller, or the users of an address, may have. End some, or give the queries a smaller limit.",
  );
}
