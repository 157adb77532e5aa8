/** HTTP status of each error code: the one table (spec, "Errors"; contract, "HTTP in general"). */
import type { ErrorCode } from "@socle/protocol";

export const statusOf: { readonly [code in ErrorCode]: number } = {
  validation_error: 400,
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
};
