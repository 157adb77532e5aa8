/** Errors of the client: for an answer with a status of 400 or more, and for a sign-in that needs the second factor. */
import type { ErrorBody, ErrorCode, ErrorDetail, SecondFactorMethod, SecondFactorResponse } from "@socle/protocol";

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

/** A sign-in of a user with a second factor: nobody is signed in before `client.auth.secondFactor`. */
export class SecondFactorRequired extends Error {
  override readonly name = "SecondFactorRequired";
  /** For `client.auth.secondFactor`; works once, for ten minutes. */
  readonly attempt: string;
  readonly methods: readonly SecondFactorMethod[];

  constructor({ attempt, methods }: SecondFactorResponse) {
    super(`The sign-in needs a second factor: ${methods.join(", ")}`);
    this.attempt = attempt;
    this.methods = methods;
  }
}
