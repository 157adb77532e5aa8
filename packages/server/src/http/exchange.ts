/** Exchange: one request with its parameters, its caller, its limits, and the headers of its answer. */
import type { ErrorBody } from "@socle/protocol";
import { AppError, excerpt, JsonText, type Principal, presentTurn, type SignedIn } from "../kernel/index.ts";
import type { FileBody } from "../storage/index.ts";
import { lateBody, onePiece, type Pieces, partsOf, streamOf } from "./answer-stream.ts";
import { type Answers, countedBytes, type Hold, NoRoom } from "./answers.ts";
import { type Bodies, SlowBody } from "./bodies.ts";
import type { Callers } from "./callers.ts";
import type { Cors } from "./cors.ts";
import { statusOf } from "./status.ts";

/** From the token of a request to the caller it stands for. */
export type Authenticate = (token: string) => SignedIn | Promise<SignedIn>;

const encoder = new TextEncoder();
const jsonType = { "Content-Type": "application/json" };

const bearer = /^bearer +(\S+)$/i;

/** The parts of the service that all exchanges share. */
export interface ExchangeService {
  readonly cors: Cors;
  readonly authenticate: Authenticate;
  readonly addressOf: (request: Request) => string;
  readonly answers: Answers;
  readonly bodies: Bodies;
  readonly callers: Callers;
  /** Told why a streamed answer could not be finished. */
  onBrokenStream(exchange: Exchange, thrown: unknown): void;
}

/** One request on its way to its answer: its parameters, who asks, and the headers that every answer carries. */
export class Exchange {
  readonly request: Request;
  /** The named parts of the path, percent-decoded once. */
  readonly params: { readonly [name: string]: string };
  readonly requestId: string;
  /** Whether the request has taken its token of a rate: one that waits for room runs its handler again. */
  isRateCounted = false;
  readonly #service: ExchangeService;
  /** Kept: of a request that has ended the server does not know it. */
  #address: string | null = null;
  /** Room that was waited for, until an answer takes it. */
  #reserved: Hold | null = null;
  #isStreaming = false;
  /** See `Callers`. */
  countedBy: "all" | "address" | null = null;
  /** The answer is made, and goes. */
  #isMade = false;
  /** The turn of the event loop in which the request came. */
  readonly #turn = presentTurn();

  constructor(
    request: Request,
    params: { readonly [name: string]: string },
    { requestId, service }: { requestId: string; service: ExchangeService },
  ) {
    this.request = request;
    this.params = params;
    this.requestId = requestId;
    this.#service = service;
  }

  /** The address that the request comes from, as limits count it. */
  get address(): string {
    this.#address ??= this.#service.addressOf(this.request);
    return this.#address;
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
   * The caller; null without a token. The answer is no promise when the token was seen before.
   * @throws AppError `unauthorized` for a header that holds no valid token.
   */
  principal(): SignedIn | null | Promise<SignedIn | null> {
    const token = this.token();
    return token === null ? null : this.#service.authenticate(token);
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

  /** The query string after the `?`, as it was sent; "" without one. */
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

  /** The bytes of the body, at most `limit`. Throws as `Bodies` does. */
  body(limit: number): Promise<Uint8Array> {
    return this.#service.bodies.read(this.request, { limit, caller: () => this.address });
  }

  /** A large answer leaves in pieces. Throws as `reserve` does. */
  json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
    const { text } = body instanceof JsonText ? body : JsonText.of(body);
    if (text.length > countedBytes) return this.#large(status, text, { ...jsonType, ...headers });
    return new Response(this.#body(text), {
      status,
      headers: Object.assign(this.#headers("application/json"), headers),
    });
  }

  /**
   * An answer whose JSON comes in pieces, each asked for when the client has taken the one before. When one fails, the
   * connection breaks off: no client takes a part for the whole.
   */
  stream(status: number, pieces: Pieces, headers: Readonly<Record<string, string>> = {}): Response {
    return this.#stream(status, pieces, { ...jsonType, ...headers });
  }

  /** Any answer; `headers` come on top of those that every answer carries. */
  respond(
    status: number,
    body: FileBody | Uint8Array | string | null,
    headers: Readonly<Record<string, string>>,
  ): Response {
    const isLarge =
      typeof body === "string"
        ? body.length > countedBytes
        : body instanceof Uint8Array && body.byteLength > countedBytes;
    if (isLarge && (typeof body === "string" || body instanceof Uint8Array)) return this.#large(status, body, headers);
    const isOwn = typeof body === "string" || body instanceof Uint8Array;
    return new Response(isOwn ? this.#body(body) : body, { status, headers: this.#with(headers) });
  }

  /** The body of an answer that is not large, as the runtime sends it soonest. */
  #body(body: string | Uint8Array): string | Uint8Array | ReadableStream<Uint8Array> {
    return this.#isHead || presentTurn() === this.#turn ? body : lateBody(body);
  }

  /**
   * Counts bytes that were read for an answer that is streamed, or is large.
   * @throws NoRoom when there is no room for them and the request can be run again: the caller lets them go.
   */
  reserve(bytes: number): void {
    const counted = Math.max(bytes, countedBytes);
    if (this.#reserved !== null) {
      this.#reserved.next(counted);
      return;
    }
    const caller = this.address;
    const canWait = this.#canRunAgain;
    if (canWait && bytes > countedBytes) this.#service.answers.note(this.request.url, pathOf(this.request), bytes);
    if (canWait && !this.#service.answers.hasRoom(caller, counted)) throw new NoRoom(counted);
    this.#reserved = this.#service.answers.hold(caller, counted);
  }

  /** Whether an answer to a GET of the same path was large before. */
  get isLarge(): boolean {
    const { answers } = this.#service;
    return answers.hasLarge && this.#canRunAgain && answers.isLarge(pathOf(this.request));
  }

  /** See `Answers`. */
  inTurn<T>(make: () => Promise<T>): Promise<T> {
    return this.#service.answers.inTurn(this.address, make, this.request.signal);
  }

  /** The room that the answer is going to lack, as far as answers to the same path tell; null otherwise. */
  foresee(): NoRoom | null {
    const { answers } = this.#service;
    if (!answers.isFilling || !this.#canRunAgain) return null;
    const bytes = answers.expected(this.request.url);
    if (bytes === null || answers.hasRoom(this.address, bytes)) return null;
    return new NoRoom(bytes);
  }

  /**
   * Waits until there is room for an answer that had none, and reserves it.
   * @throws AppError `unavailable` when there is none after some seconds.
   */
  async waitForRoom({ bytes }: NoRoom): Promise<void> {
    this.#reserved = await this.#service.answers.take(this.address, bytes, this.request.signal);
  }

  /**
   * The request counts for its address until its answer has gone: to be called once, with the answer made. Room
   * that was reserved for another answer is freed.
   */
  made(): void {
    this.#reserved?.release();
    this.#reserved = null;
    this.#isMade = true;
    if (!this.#isStreaming) this.#service.callers.leave(this);
  }

  /** A request that has changed something is answered in any case, and never run twice. */
  get #canRunAgain(): boolean {
    return this.request.method === "GET" || this.#isHead;
  }

  get #isHead(): boolean {
    return this.request.method === "HEAD";
  }

  /** An answer that is complete in memory, and leaves in pieces. Bytes are shared, a text is not. */
  #large(status: number, body: string | Uint8Array, headers: Readonly<Record<string, string>>): Response {
    if (this.#isHead) return new Response(body, { status, headers: this.#with(headers) });
    const isShared = typeof body !== "string";
    this.reserve(isShared ? countedBytes : body.length);
    return this.#stream(status, isShared ? partsOf(body) : onePiece(encoder.encode(body)), headers);
  }

  /**
   * An answer of the user's code. Its headers stay, but for those that every answer carries; a body of pieces leaves as
   * `stream` lets it.
   */
  forward(
    status: number,
    body: Uint8Array | Pieces | null,
    headers: readonly (readonly [name: string, value: string])[],
  ): Response {
    const all = new Headers();
    for (const [name, value] of headers) if (name !== "content-length" || this.#isHead) all.append(name, value);
    for (const [name, value] of Object.entries(this.#headers(null)))
      if (name === "Vary") all.append(name, value);
      else all.set(name, value);
    if (body === null || body instanceof Uint8Array) return new Response(body, { status, headers: all });
    if (!this.#isHead) return new Response(this.#streamBody(body), { status, headers: all });
    void body.return();
    return new Response(null, { status, headers: all });
  }

  #stream(status: number, pieces: Pieces, headers: Readonly<Record<string, string>>): Response {
    return new Response(this.#streamBody(pieces), { status, headers: this.#with(headers) });
  }

  #streamBody(pieces: Pieces): ReadableStream<Uint8Array> {
    const caller = this.address;
    const hold = this.#reserved ?? this.#service.answers.hold(caller, countedBytes);
    this.#reserved = null;
    this.#isStreaming = true;
    return streamOf(pieces, {
      answers: this.#service.answers,
      caller,
      hold,
      onBroken: (thrown) => this.#service.onBrokenStream(this, thrown),
      onEnd: () => {
        this.#isStreaming = false;
        if (this.#isMade) this.#service.callers.leave(this);
      },
    });
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
    this.#service.cors.preflight(headers, this.request, allow);
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
    if (error instanceof SlowBody) headers["Connection"] = "close";
    Object.assign(headers, special.headers);
    return new Response(this.#body(JSON.stringify(body)), { status: special.status ?? statusOf(error), headers });
  }

  /** Some headers on top of those that every answer carries; names in `Vary` add up. */
  #with(headers: Readonly<Record<string, string>>): Record<string, string> {
    const all = this.#headers(null);
    const vary = [all["Vary"], headers["Vary"]].filter((names) => names !== undefined).join(", ");
    Object.assign(all, headers);
    if (vary !== "") all["Vary"] = vary;
    return all;
  }

  #headers(contentType: string | null): Record<string, string> {
    const headers: Record<string, string> = { "X-Content-Type-Options": "nosniff", "X-Request-Id": this.requestId };
    if (contentType !== null) headers["Content-Type"] = contentType;
    this.#service.cors.apply(headers, this.request);
    return headers;
  }
}

/** The path as it was sent. `URL` would refuse an odd Host header, which is none of the path's business. */
export function pathOf(request: Request): string {
  return /^(?:[a-z]+:\/\/[^/?#]*)?([^?#]*)/i.exec(request.url)?.[1] ?? "/";
}

/** The path as the log has it. */
export function shownPath(request: Request): string {
  return excerpt(pathOf(request), 200);
}
