/** Every code that `error.code` can hold (spec, "Errors"; the last five are additions). A closed set. */
export const ERROR_CODES = [
  "validation_error",
  "bad_request",
  "unauthorized",
  "forbidden",
  "not_found",
  "method_not_allowed",
  "conflict",
  "payload_too_large",
  "rate_limited",
  "internal_error",
  "unavailable",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Which rule a value broke. `refused` is of a batch: the code of the error says why the operation was. */
export type ErrorRule =
  | "required"
  | "type"
  | "min"
  | "max"
  | "regex"
  | "unique"
  | "relation"
  | "file"
  | "unknown"
  | "readonly"
  /** By a schema of an endpoint: the message is the schema's, and `field` begins with `params`, `query` or `body`. */
  | "schema"
  /** By a new password that is one of the 10,000 most common passwords, or of those with at least eight characters. */
  | "common"
  /** By a change of credentials whose session began more than ten minutes ago: sign in again. */
  | "recent_login"
  /** By a hook, or without a value that is to blame, in a batch. */
  | "refused";

/** A problem of a field; a `validation_error` lists all problems. */
export interface ErrorDetail {
  field: string;
  rule: ErrorRule;
  message: string;
  /** Of a multiple field: the place of the item that is wrong, counted from 0. */
  item?: number;
  /** Of a batch: the operation, counted from 0. */
  operation?: number;
}

/** The body of every answer with a status of 400 or more. */
export interface ErrorBody {
  error: { code: ErrorCode; message: string; details?: ErrorDetail[] };
}
