/** Error responses: the status, the headers and the body of the response to an error, the only place that makes these. */
import type { ErrorBody } from "@socle/protocol";
import type { AppError } from "../../base/kernel/index.ts";
import { SlowBody } from "./bodies.ts";
import { jsonType, statusOf } from "./headers.ts";

interface ErrorParts {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** @param headers of every response. @param status for a status without an error code. */
export function errorParts(
  error: AppError,
  headers: Record<string, string> = {},
  status: number = statusOf(error),
): ErrorParts {
  const { code, message, details, retryAfter, allow } = error;
  headers["Content-Type"] = jsonType;
  if (allow !== undefined) headers["Allow"] = allow;
  if (retryAfter !== undefined || status === 503) headers["Retry-After"] = String(retryAfter ?? 1);
  if (code === "unauthorized") headers["WWW-Authenticate"] = "Bearer";
  if (error instanceof SlowBody) headers["Connection"] = "close";
  const body: ErrorBody = { error: { code, message, ...(details !== undefined && { details }) } };
  return { status, headers, body: JSON.stringify(body) };
}

/** The response to an error that no exchange answers. */
export function errorResponse(error: AppError, given?: Record<string, string>): Response {
  const { status, headers, body } = errorParts(error, given);
  return new Response(body, { status, headers });
}
