import type { ErrorBody } from "@socle/protocol";
import { AppError, JsonText, type Principal, type SignedIn } from "../kernel/index.ts";
import type { FileBody } from "../storage/index.ts";
import type { Cors } from "./cors.ts";
import { statusOf } from "./status.ts";

/** From the token of a request to the caller it stands for. */
export type Authenticate = (token: string) => SignedIn | Promise<SignedIn>;

const bearer = /^bearer +(\S+)$/i;

/** One request on its way to its answer: its parameters, who asks, and the headers that every answer carries. */
export class Exchange {
  readonly request: Request;
  /** The named parts of the path, percent-decoded once. */
  readonly params: { readonly [name: string]: string };
  readonly requestId: string;
  readonly #cors: Cors;
  readonly #authenticate: Authenticate;
  readonly #addressOf: (request: Request) => string;
  readonly #onBrokenStream: (thrown: unknown) => void;

  constructor(options: {
    request: Request;
    params: { readonly [name: string]: string };
    requestId: string;
    cors: Cors;
    authenticate: Authenticate;
    addressOf: (request: Request) => string;
    /** Told why a streamed answer could not be finished. */
    onBrokenStream: (thrown: unknown) => void;
  }) {
    this.request = options.request;
    this.params = options.params;
    this.requestId = options.requestId;
    this.#cors = options.cors;
    this.#authenticate = options.authenticate;
    this.#addressOf = options.addressOf;
    this.#onBrokenStream = options.onBrokenStream;
  }

  /** The address that the request comes from, as limits count it. */
  get address(): string {
    return this.#addressOf(this.request);
  }

  /** The caller by whom shares are counted: a user, or else an address. */
  callerKey(principal: Principal): string {
    return principal?.userId ?? this.address;
  }

  /** The address and the signal by which a queue knows who waits. The signal costs something to ask for. */
  get waiter(): { key: string; signal: AbortSignal } {
    return { key: this.address, signal: this.request.signal };
  }

  /** A part of the path. The router has made sure that the route has it. */
  param(name: string): string {
    return this.params[name] ?? "";
  }

  /**
   * Who asks; null without a token. At once when the token was seen before.
   * @throws AppError `unauthorized` for a header that holds no valid token.
   */
  principal(): SignedIn | null | Promise<SignedIn | null> {
    const token = this.token();
    return token === null ? null : this.#authenticate(token);
  }

  /**
   * The token of the header, unchecked.
   * @throws AppError `unauthorized` for a header that holds none.
   */
  token(): string | null {
    const header = this.request.headers.get("authorization");
    if (header === null || header === "") return null;
    const token = header.startsWith("Bearer ") ? header.slice(7) : bearer.exec(header)?.[1];
    if (token === undefined) throw new AppError("unauthorized", "The Authorization header must be: Bearer TOKEN.");
    return token;
  }

  /** What stands behind the `?`, as it was sent; "" without one. */
  get search(): string {
    const { url } = this.request;
    const start = url.indexOf("?");
    if (start < 0) return "";
    const end = url.indexOf("#", start);
    return end < 0 ? url.slice(start + 1) : url.slice(start + 1, end);
  }

  /** A parameter of the query, or null. */
  query(name: string): string | null {
    return new URLSearchParams(this.search).get(name);
  }

  json(status: number, body: object): Response {
    const { text } = body instanceof JsonText ? body : JsonText.of(body);
    return new Response(text, { status, headers: this.#headers("application/json") });
  }

  /**
   * An answer whose JSON comes in pieces, each asked for when the client has taken the one before. When one fails, the
   * connection breaks off: no client takes a part for the whole.
   */
  stream(
    status: number,
    pieces: AsyncGenerator<Uint8Array, void, void>,
    headers: Readonly<Record<string, string>> = {},
  ): Response {
    const onBroken = this.#onBrokenStream;
    let hasGone = false;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const piece = await pieces.next();
            if (hasGone) return;
            if (piece.done === true) controller.close();
            else controller.enqueue(piece.value);
          } catch (thrown) {
            if (hasGone) return;
            onBroken(thrown);
            controller.error(thrown);
          }
        },
        async cancel() {
          hasGone = true;
          await pieces.return();
        },
      },
      { highWaterMark: 1 },
    );
    return new Response(body, { status, headers: Object.assign(this.#headers("application/json"), headers) });
  }

  /** Any answer; `headers` come on top of those that every answer carries. */
  respond(
    status: number,
    body: FileBody | Uint8Array | string | null,
    headers: Readonly<Record<string, string>>,
  ): Response {
    const all = this.#headers(null);
    // What the answer depends on adds up.
    const vary = [all["Vary"], headers["Vary"]].filter((names) => names !== undefined).join(", ");
    Object.assign(all, headers);
    if (vary !== "") all["Vary"] = vary;
    return new Response(body, { status, headers: all });
  }

  /** The headers of the answer that makes a socket of the connection. */
  upgradeHeaders(): Record<string, string> {
    return { "X-Request-Id": this.requestId };
  }

  /** 204. */
  empty(): Response {
    return new Response(null, { status: 204, headers: this.#headers(null) });
  }

  /** 204 to OPTIONS. */
  options(allow: string): Response {
    const headers = this.#headers(null);
    headers["Allow"] = allow;
    this.#cors.preflight(headers, this.request, allow);
    return new Response(null, { status: 204, headers });
  }

  /** @param special a status that no code stands for, and headers that belong to it. */
  error(error: AppError, special: { status?: number; headers?: Record<string, string> } = {}): Response {
    const { code, message, details, retryAfter, allow } = error;
    const body: ErrorBody = { error: { code, message, ...(details === undefined ? {} : { details }) } };
    const headers = this.#headers("application/json");
    if (allow !== undefined) headers["Allow"] = allow;
    if (retryAfter !== undefined) headers["Retry-After"] = String(retryAfter);
    if (code === "unauthorized") headers["WWW-Authenticate"] = "Bearer";
    Object.assign(headers, special.headers);
    return new Response(JSON.stringify(body), { status: special.status ?? statusOf[code], headers });
  }

  #headers(contentType: string | null): Record<string, string> {
    const headers: Record<string, string> = { "X-Content-Type-Options": "nosniff", "X-Request-Id": this.requestId };
    if (contentType !== null) headers["Content-Type"] = contentType;
    this.#cors.apply(headers, this.request);
    return headers;
  }
}
