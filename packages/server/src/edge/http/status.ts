/** HTTP status of each error code: the one table (spec, "Errors"; contract, "HTTP in general"). */
import type { ErrorCode } from "@socle/protocol";
import type { AppError } from "../../base/kernel/index.ts";

const statuses: { readonly [code in ErrorCode]: number } = {
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

/** The status of an error. 412 has no code of its own (contract, "Versions of a record"). */
export function statusOf({ code, isStale }: Pick<AppError, "code" | "isStale">): number {
  return isStale ? 412 : statuses[code];
}
