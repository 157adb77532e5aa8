/** Error of the client for an answer with a status of 400 or more. */
import type { ErrorBody, ErrorCode, ErrorDetail } from "@socle/protocol";

export class SocleError extends Error {
  override readonly name = "SocleError";
  readonly status: number;
  readonly code: ErrorCode;
  /** For `validation_error`: every problem of the body. */
  readonly details: readonly ErrorDetail[];
  /** For `rate_limited`: seconds after which the request may be sent again. */
  readonly retryAfter: number | null;
  /** Names the request in the server's log. */
  readonly requestId: string | null;
  /** The body of an endpoint's answer: parsed if the body is JSON, otherwise the text. */
  readonly body: unknown;

  constructor(response: Response, error: ErrorBody["error"], body: unknown = { error }) {
    super(error.message);
    this.status = response.status;
    this.code = error.code;
    this.details = error.details ?? [];
    this.body = body;
    const retryAfter = response.headers.get("retry-after");
    this.retryAfter = retryAfter === null ? null : Number(retryAfter);
    this.requestId = response.headers.get("x-request-id");
  }
}
