/**
 * Errors of the client: for an answer with a status of 400 or more, for a request without an answer, and for a sign-in that needs
 * the second factor.
 */
import type { ErrorBody, ErrorCode, ErrorDetail, SecondFactorMethod, SecondFactorResponse } from "@socle/protocol";

/** `offline`: no answer came. The service may have made a change all the same. */
export type SocleErrorCode = ErrorCode | "offline";

/** The answer of which an error tells. */
type Refused = Pick<Response, "status" | "headers">;

export class SocleError<Code extends SocleErrorCode = SocleErrorCode> extends Error {
  override readonly name = "SocleError";
  /** The status of the answer; 0 without an answer of HTTP: for `offline`, and for a live query that has ended. */
  declare readonly status: number;
  declare readonly code: Code;
  /** For `validation_error`: every problem of the body. */
  declare readonly details: readonly ErrorDetail[];
  /** For `rate_limited`: seconds after which the request may be sent again. */
  declare readonly retryAfter: number | null;
  /** Names the request in the server's log. */
  declare readonly requestId: string | null;
  /** The body of an endpoint's answer: parsed if the body is JSON, otherwise the text. */
  declare readonly body: unknown;

  /** @param answer null for an error without an answer of HTTP. */
  constructor(
    answer: Refused | null,
    error: { code: Code; message: string; details?: ErrorDetail[] },
    body: unknown = { error },
  ) {
    super(error.message);
    const headers = answer?.headers ?? new Headers();
    this.status = answer?.status ?? 0;
    this.code = error.code;
    this.details = error.details ?? [];
    this.body = body;
    this.retryAfter = numberIn(headers, "retry-after");
    this.requestId = headers.get("x-request-id");
  }

  /** The messages of `details` by field, for a form; of several problems of a field, the first. */
  get fields(): { readonly [field: string]: string } {
    return Object.fromEntries(this.details.map(({ field, message }) => [field, message]).reverse());
  }

  is<Wanted extends SocleErrorCode>(code: Wanted): this is SocleError<Wanted> {
    return (this.code as SocleErrorCode) === code;
  }

  /** Whether a caught value is an error of the client with the code. */
  static is<Wanted extends SocleErrorCode>(thrown: unknown, code: Wanted): thrown is SocleError<Wanted> {
    return thrown instanceof SocleError && thrown.is(code);
  }
}

/** Whether the service has refused the token, or a proof of an identity. */
export function isUnauthorized(thrown: unknown): thrown is SocleError {
  return thrown instanceof SocleError && thrown.status === 401;
}

/** The number that a header has; null without the header. */
export function numberIn(headers: Headers, name: string): number | null {
  const text = headers.get(name);
  return text === null ? null : Number(text);
}

/** The error of a request without an answer, or with a page, which is not the service's. @param url the address that was asked. */
export function offline(cause: unknown, url: string): SocleError {
  const message = `The service cannot be reached at ${url}`;
  return Object.assign(new SocleError(null, { code: "offline", message }), { cause });
}

/** A plain text up to this length is the message of an error. */
const longestMessage = 1_000;

/** Codes of answers that are not of the service: of an endpoint, or of something in between (a proxy). */
const codes: { readonly [status: number]: ErrorCode } = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  409: "conflict",
  412: "conflict",
  413: "payload_too_large",
  429: "rate_limited",
};

/** The error of an answer. An endpoint may answer with a different body, and so may something between client and server (a proxy). */
export async function errorOf(response: Response): Promise<SocleError> {
  const { status, headers } = response;
  const text = await response.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
    if (isErrorBody(body)) return new SocleError(response, body.error, body);
  } catch {
    // The body is not JSON: the text and the status tell enough.
  }
  const isPlain = headers.get("content-type")?.startsWith("text/plain") && text.length <= longestMessage;
  const message = (isPlain && text.trim()) || `HTTP ${status}`;
  const code = codes[status] ?? (status >= 500 ? "unavailable" : "bad_request");
  return new SocleError(response, { code, message }, body);
}

function isErrorBody(body: unknown): body is ErrorBody {
  const { code, message } = (body as Partial<ErrorBody> | null)?.error ?? {};
  return typeof code === "string" && typeof message === "string";
}

/** A sign-in of a user with a second factor: nobody is signed in before `client.auth.secondFactor`. */
export class SecondFactorRequired extends Error {
  override readonly name = "SecondFactorRequired";
  /** For `client.auth.secondFactor`; works once, for ten minutes. */
  declare readonly attempt: string;
  declare readonly methods: readonly SecondFactorMethod[];

  constructor({ attempt, methods }: SecondFactorResponse) {
    super(`The sign-in needs a second factor: ${methods.join(", ")}`);
    this.attempt = attempt;
    this.methods = methods;
  }
}
