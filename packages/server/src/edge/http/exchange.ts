/** Exchange: an incoming request together with the answer: the room, the headers and the body of the answer. */
import { IMPORT_HEADER, SERIES, VERSION_HEADER } from "@socle/protocol";
import {
  AppError,
  type Bearer,
  type Cause,
  identityOf,
  isAdmin,
  JsonText,
  type Principal,
  quote,
  releasedMemory,
  visitorFor,
} from "../../base/kernel/index.ts";
import type { FileBody } from "../../files/storage/index.ts";
import { linkIn } from "../../store/events/index.ts";
import { errorParts } from "./error-response.ts";
import { type Cors, cacheHeaders, hasTag, isPrivate, jsonType } from "./headers.ts";
import { countedBytes, type Hold, type InFlight, presentTurn, Stopping } from "./in-flight.ts";
import { IncomingRequest, type RequestService } from "./incoming-request.ts";
import { lateBody, madePieces, type Pieces, partsOf, streamOf } from "./response-stream.ts";

const encoder = new TextEncoder();

/** A body of at most this size, in characters or bytes, is sent at once, however late the answer is. */
const shortBody = 5_000;
/** The ids that importers give their imports. */
const importPattern = /^imp_[A-Za-z0-9]{16,60}$/;
/** While a large answer is made, its records, text and bytes take about so many times the bytes of the answer. */
const makingCopies = 3;

/** Headers of every answer that are lists, to which an answer may add names. */
const namesThatAddUp: readonly string[] = ["Vary", "Access-Control-Expose-Headers"];

/** The positions of writes in the event log (contract, "Live queries"). */
export interface WritePositions {
  /** The seq of the newest committed event. */
  readonly seq: number;
  /** Whether answers to reads tell the position, too: in a cluster. */
  readonly isForReads?: boolean;
  /** Whether somebody waits to hear of answered writes. */
  readonly hasViewers: boolean;
  /** A write was answered. @param caller a user id or an address. */
  wrote(caller: string): void;
}

/** The parts of the service that all exchanges share. */
export interface ExchangeService extends RequestService {
  readonly cors: Cors;
  readonly inFlight: InFlight;
  readonly positions: WritePositions;
  /** Called with the reason when a streamed answer could not be finished. */
  onBrokenStream(exchange: Exchange, thrown: unknown): void;
}

/** Undefined for a request that has become a socket. */
export type HandlerResult = Response | undefined;
export type Handler = (exchange: Exchange) => HandlerResult | Promise<HandlerResult>;

/** The parts of an answer. */
export interface GivenAnswer {
  readonly status: number;
  readonly headers: Headers | Record<string, string>;
  readonly body: FileBody | string | Uint8Array | ReadableStream<Uint8Array> | null;
}

/** Whether a body is complete in memory. */
export function isWhole(body: GivenAnswer["body"]): body is string | Uint8Array | null {
  return body === null || typeof body === "string" || body instanceof Uint8Array;
}

/** A request under way, the room that the answer takes, and the answer with the headers that every answer carries. */
export class Exchange extends IncomingRequest {
  readonly requestId: string;
  /** The id of the user or of the API key, once the caller was asked for; null without a token. */
  caller: string | null = null;
  /** Whether the cause was asked for: the request may have changed something. */
  isCause = false;
  /** Whether the request is a query in the form of a POST, which changes nothing. */
  isQuery = false;
  /** Whether the request counts in the measures of requests; a question between instances waits on purpose. */
  isMeasured = true;
  readonly #service: ExchangeService;
  /** Undefined before the first look. */
  #link: string | null | undefined;
  /** The room that the request has waited for, until an answer takes the room. */
  #reserved: Hold | null = null;
  /** Waits for room for the made answer of a read, and takes the room; null for an answer that has room. */
  #takeRoom: (() => Promise<Hold>) | null = null;
  #isStreaming = false;
  /** See `InFlight`. */
  countedBy: "all" | "address" | null = null;
  #isMade = false;
  /** The answer, for another process that sends the answer by the parts; null before the answer is made. */
  given: GivenAnswer | null = null;
  /** The turn of the event loop in which the request came. */
  readonly #turn = presentTurn();

  constructor(
    request: Request,
    params: { readonly [name: string]: string },
    { requestId, service }: { requestId: string; service: ExchangeService },
  ) {
    super(request, params, service);
    this.requestId = requestId;
    this.#service = service;
  }

  /** The request as the cause of changes. */
  get cause(): Cause {
    const { requestId: id, link } = this;
    this.isCause = true;
    return { kind: "request", id, ...(link !== null && { link }) };
  }

  /** The caller's part of a larger trace; null without a valid `traceparent` (W3C Trace Context, 3.2). */
  get link(): string | null {
    if (this.#link === undefined) this.#link = linkIn(this.request.headers.get("traceparent"));
    return this.#link;
  }

  /**
   * The import that an admin's request is a part of: an import of many requests is undone as a whole.
   * @throws AppError `bad_request`.
   */
  #importOf(principal: Bearer): Cause | null {
    const id = isAdmin(principal) ? this.request.headers.get(IMPORT_HEADER) : null;
    if (id === null) return null;
    if (importPattern.test(id)) return { kind: "import", id };
    throw new AppError(
      "bad_request",
      `${IMPORT_HEADER} must be "imp_" and 16 to 60 letters or digits, not ${quote(id)}.`,
    );
  }

  /** As `IncomingRequest.principal`, with the request as the cause of the caller's changes. */
  override principal(): Bearer | null | Promise<Bearer | null> {
    const principal = super.principal();
    return principal instanceof Promise ? principal.then((each) => this.#asCause(each)) : this.#asCause(principal);
  }

  #asCause(principal: Bearer | null): Bearer | null {
    this.caller = identityOf(principal);
    if (principal === null || this.request.method === "GET" || this.isQuery) return principal;
    return { ...principal, cause: this.#importOf(principal) ?? this.cause };
  }

  /** As `IncomingRequest.waiter`, with the request as the cause of the changes. */
  override get waiter(): IncomingRequest["waiter"] & { cause: Cause } {
    return { ...super.waiter, cause: this.cause };
  }

  /** The caller of a change of records, also without a token. */
  author(principal: Principal): Principal {
    return principal ?? visitorFor(this.cause);
  }

  json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
    const json = body instanceof JsonText ? body : JsonText.of(body);
    return this.respond(status, json, { "Content-Type": jsonType, ...headers });
  }

  /** Whether the client has the answer of a tag: no 304 answers a query in the form of a POST. */
  hasTag(tag: string): boolean {
    return !this.isQuery && hasTag(this.request.headers, tag);
  }

  /** JSON that the caller may cache under a tag; 304 for a client that has the JSON. */
  tagged(
    principal: Principal,
    { json, tag }: { json: JsonText | Uint8Array; tag: string },
    headers: Readonly<Record<string, string>> = {},
  ): Response {
    if (!this.hasTag(tag)) return this.respond(200, json, { ...cacheHeaders(tag, principal, jsonType), ...headers });
    if (json instanceof JsonText) json.free();
    return this.respond(304, null, { ...cacheHeaders(tag, principal), ...headers });
  }

  /**
   * An answer in pieces, each asked for when the client has taken the earlier piece. When a piece fails, the connection
   * breaks off: no client takes a part for the whole.
   * @param made bytes in memory before the first piece is asked for; a read waits for room for these bytes.
   */
  stream(
    status: number,
    pieces: Pieces,
    { headers, made }: { headers: Readonly<Record<string, string>>; made?: number },
  ): Response {
    return this.#answer(this.#streamBody(pieces, made), { status, headers: this.#with(headers) });
  }

  /**
   * Any answer; `headers` come in addition to the headers that every answer carries. A large answer leaves in pieces. Bytes are
   * shared with other answers; a text is not.
   */
  respond(
    status: number,
    body: FileBody | JsonText | Uint8Array | string | null,
    headers: Readonly<Record<string, string>>,
  ): Response {
    if (body instanceof JsonText && body.long !== null) return this.#large(status, body.pieces, headers);
    const content = body instanceof JsonText ? body.start : body;
    const isFile = typeof content !== "string" && !(content instanceof Uint8Array);
    const isSmall = isFile || content.length <= countedBytes || this.#isHead;
    // A 304 and an answer to HEAD tell nothing about the size.
    if (isSmall && status === 200 && !this.#isHead && this.#reserved !== null)
      this.#service.inFlight.forget(this.request.url);
    if (isSmall) return this.#answer(content, { status, headers: this.#with(headers) });
    // The text, and the copies of its values that the handler made, are garbage now.
    if (typeof content === "string") {
      releasedMemory(content.length);
      return this.#large(status, [encoder.encode(content)], headers);
    }
    return this.stream(status, partsOf(content), { headers, made: countedBytes });
  }

  /**
   * Runs the handler. A read whose answer probably finds no room waits for room before its work.
   * @throws AppError `unavailable` without room after some seconds; the errors of the handler.
   */
  run(handler: Handler): HandlerResult | Promise<HandlerResult> {
    const { inFlight } = this.#service;
    const isLate = !this.#isWrite && (inFlight.isTurnFull || inFlight.expected(this.request.url) !== null);
    return isLate ? this.#runLate(handler) : handler(this);
  }

  /** Runs a handler in a separate turn of the event loop, and with room if answers to this URL have found no room. */
  async #runLate(handler: Handler): Promise<HandlerResult> {
    const { inFlight } = this.#service;
    const { url, signal } = this.request;
    const inTurn = <T>(make: () => Promise<T>): Promise<T> => inFlight.inTurn(this.address, make, signal);
    // Answers of the turns before tell of this answer.
    const bytes = inFlight.expected(url) ?? (await inTurn(async () => inFlight.expected(url)));
    if (bytes === null) return handler(this);
    this.#reserved = await inFlight.hold(this.address).take(bytes * makingCopies, signal);
    return inTurn(async () => handler(this));
  }

  /** Whether the answer of the handler has no room, and must wait. */
  get isWaiting(): boolean {
    return this.#takeRoom !== null;
  }

  /** Waits until the answer of the handler may leave. @throws AppError as `Hold.wait`: the answer is given up. */
  async untilRoom(answer: HandlerResult): Promise<void> {
    try {
      await this.#takeRoom?.();
    } catch (thrown) {
      await answer?.body?.cancel();
      throw thrown;
    }
  }

  /** The request counts for the address until the answer has gone: to be called once, with the answer made. */
  made(): void {
    this.#reserved?.release();
    this.#isMade = true;
    if (this.#isWrite && this.#service.positions.hasViewers) void this.#tellWrite();
    if (!this.#isStreaming) this.#service.inFlight.leave(this);
  }

  /** The caller's sockets learn when their live queries are past the write. A caller without a valid token has written nothing. */
  async #tellWrite(): Promise<void> {
    try {
      this.#service.positions.wrote(this.callerKey(await this.principal()));
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
    }
  }

  /** Whether the request may have changed something: such a request is answered in any case. */
  get #isWrite(): boolean {
    const { method } = this.request;
    return method !== "GET" && method !== "HEAD" && method !== "OPTIONS" && !this.isQuery;
  }

  get #isHead(): boolean {
    return this.request.method === "HEAD";
  }

  /** An answer that is complete in memory, with pieces that belong to the answer alone. */
  #large(status: number, made: readonly Uint8Array[], headers: Readonly<Record<string, string>>): Response {
    const pieces = madePieces(made);
    const { waiting: bytes } = pieces;
    if (!this.#isHead) return this.stream(status, pieces, { headers, made: bytes });
    void pieces.return();
    return this.#answer(null, { status, headers: { ...this.#with(headers), "Content-Length": String(bytes) } });
  }

  /**
   * An answer of the user's code. The headers stay, except the headers that every answer carries, of which lists add up; a body of pieces is sent as
   * in `stream`.
   */
  forward(
    status: number,
    body: Uint8Array | Pieces | null,
    headers: readonly (readonly [name: string, value: string])[],
  ): Response {
    const all = new Headers();
    for (const [name, value] of headers) if (name !== "content-length" || this.#isHead) all.append(name, value);
    for (const [name, value] of Object.entries(this.#headers()))
      if (namesThatAddUp.includes(name)) all.append(name, value);
      else all.set(name, value);
    if (body === null || body instanceof Uint8Array) return this.#answer(body, { status, headers: all });
    if (!this.#isHead) return this.#answer(this.#streamBody(body, body.waiting), { status, headers: all });
    void body.return();
    return this.#answer(null, { status, headers: all });
  }

  #streamBody(pieces: Pieces, made?: number): ReadableStream<Uint8Array> {
    const { inFlight } = this.#service;
    const { url, signal } = this.request;
    const caller = this.address;
    const bytes = Math.max(made ?? 0, countedBytes);
    if (made !== undefined) inFlight.made(made);
    const reserved = this.#reserved;
    // The size of a shape follows its answers: another filter may have a much larger answer.
    if (reserved !== null && bytes > countedBytes) inFlight.expects(url, bytes);
    const fits = reserved !== null && bytes <= reserved.size;
    if (!fits) reserved?.release();
    const hold = fits ? reserved : inFlight.hold(caller);
    if (fits) hold.next(bytes);
    else if (made === undefined || this.#isWrite || inFlight.hasRoom(caller, bytes)) hold.begin(bytes);
    else {
      inFlight.expects(url, bytes);
      this.#takeRoom = () => hold.wait(bytes, signal);
    }
    this.#reserved = null;
    this.#isStreaming = true;
    return streamOf(pieces, {
      inFlight,
      caller,
      hold,
      onBroken: (thrown) => this.#service.onBrokenStream(this, thrown),
      onEnd: () => {
        this.#isStreaming = false;
        if (this.#isMade) this.#service.inFlight.leave(this);
      },
    });
  }

  #answer(body: GivenAnswer["body"], { status, headers }: Pick<GivenAnswer, "status" | "headers">): Response {
    this.given = { status, headers, body };
    // The form in which the runtime sends the body soonest.
    const isLate = isWhole(body) && body !== null && body.length > shortBody && presentTurn() !== this.#turn;
    return new Response(isLate && !this.#isHead ? lateBody(body) : body, { status, headers });
  }

  /** 204. */
  empty(): Response {
    return this.#answer(null, { status: 204, headers: this.#headers() });
  }

  /** 204 to OPTIONS. */
  options(allow: string): Response {
    const headers = this.#headers();
    headers["Allow"] = allow;
    this.#service.cors.preflight(headers, this.request, allow);
    return this.#answer(null, { status: 204, headers });
  }

  /** @param special a status without an error code, and headers of that status. */
  error(error: AppError, special: { status?: number; headers?: Record<string, string> } = {}): Response {
    const { status, headers, body } = errorParts(error, this.#headers(), special.status);
    Object.assign(headers, special.headers);
    return this.#answer(body, { status, headers });
  }

  /** The result of work that may take long, for example user code or an upload. Ends with the service. */
  untilStop<T>(work: Promise<T>): Promise<T> {
    return this.#service.inFlight.untilStop(work);
  }

  /** 503 at a stop: the connection is closed with the answer, so that the client finds another instance or tries again. */
  stopping(): Response {
    return this.error(new Stopping(), { headers: { Connection: "close" } });
  }

  /** Headers in addition to the headers that every answer carries; names in `Vary` add up. */
  #with(headers: Readonly<Record<string, string>>): Record<string, string> {
    const all = this.#headers();
    const vary = all["Vary"];
    Object.assign(all, headers);
    if (vary !== undefined && headers["Vary"] !== undefined) all["Vary"] = `${vary}, ${headers["Vary"]}`;
    return all;
  }

  #headers(): Record<string, string> {
    const headers: Record<string, string> = {
      "X-Content-Type-Options": "nosniff",
      "X-Request-Id": this.requestId,
      [VERSION_HEADER]: SERIES,
    };
    if (isPrivate(this.request.url)) headers["Cache-Control"] = "no-store";
    // The write of this request is on disk by now.
    if (this.#isWrite || this.#service.positions.isForReads === true)
      headers["Socle-Position"] = String(this.#service.positions.seq);
    this.#service.cors.apply(headers, this.request);
    return headers;
  }
}
