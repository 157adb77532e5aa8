/** Exchange: an incoming request together with the answer: the room, the headers and the body of the answer. */
import { SERIES, VERSION_HEADER } from "@socle/protocol";
import { AppError, JsonText, type Principal } from "../../base/kernel/index.ts";
import type { FileBody } from "../../files/storage/index.ts";
import { errorParts } from "./error-response.ts";
import { type Cors, cacheHeaders, hasTag, jsonType } from "./headers.ts";
import { countedBytes, type Hold, type InFlight, NoRoom, presentTurn, Stopping } from "./in-flight.ts";
import { IncomingRequest, type RequestService } from "./incoming-request.ts";
import { type HttpRequest, PassedRequest } from "./passed-request.ts";
import { lateBody, madePieces, type Pieces, partsOf, streamOf } from "./response-stream.ts";

const encoder = new TextEncoder();

/** A body of at most this size, in characters or bytes, is sent at once, however late the answer is. */
const shortBody = 5_000;
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

const statuses = new Map<number, Response>();

/** The answer of a request whose answer another process sends by its parts: only the status counts. */
function statusAlone(status: number): Response {
  return statuses.getOrInsertComputed(status, () => new Response(null, { status }));
}

/** A request under way, the room that the answer takes, and the answer with the headers that every answer carries. */
export class Exchange extends IncomingRequest {
  readonly requestId: string;
  /** Whether the request has taken the token of a rate: a request that waits for room runs the handler again. */
  isRateCounted = false;
  /** Whether the request counts in the measures of requests; a question between instances waits on purpose. */
  isMeasured = true;
  readonly #service: ExchangeService;
  /** The room that the request has waited for, until an answer takes the room. */
  #reserved: Hold | null = null;
  #isStreaming = false;
  /** See `InFlight`. */
  countedBy: "all" | "address" | null = null;
  #isMade = false;
  /** The answer, for another process that sends the answer by the parts; null before the answer is made. */
  given: GivenAnswer | null = null;
  /** The turn of the event loop in which the request came. */
  readonly #turn = presentTurn();

  constructor(
    request: HttpRequest,
    params: { readonly [name: string]: string },
    { requestId, service }: { requestId: string; service: ExchangeService },
  ) {
    super(request, params, service);
    this.requestId = requestId;
    this.#service = service;
  }

  /** Throws as `reserve` does. */
  json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
    const json = body instanceof JsonText ? body : JsonText.of(body);
    return this.respond(status, json, { "Content-Type": jsonType, ...headers });
  }

  /** JSON that the caller may cache under a tag; 304 for a client that has the JSON. Throws as `reserve` does. */
  tagged(
    principal: Principal,
    { json, tag }: { json: JsonText | Uint8Array; tag: string },
    headers: Readonly<Record<string, string>> = {},
  ): Response {
    if (!hasTag(this.request.headers, tag))
      return this.respond(200, json, { ...cacheHeaders(tag, principal, jsonType), ...headers });
    if (json instanceof JsonText) json.free();
    return this.respond(304, null, { ...cacheHeaders(tag, principal), ...headers });
  }

  /**
   * An answer in pieces, each asked for when the client has taken the earlier piece. When a piece fails, the connection
   * breaks off: no client takes a part for the whole.
   */
  stream(status: number, pieces: Pieces, headers: Readonly<Record<string, string>>): Response {
    return this.#answer(this.#streamBody(pieces), { status, headers: this.#with(headers) });
  }

  /**
   * Any answer; `headers` come in addition to the headers that every answer carries. A large answer leaves in pieces. Bytes are
   * shared with other answers; a text is not. Throws as `reserve` does.
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
    if (isSmall) return this.#answer(isFile ? content : this.#body(content), { status, headers: this.#with(headers) });
    if (typeof content === "string") return this.#large(status, [encoder.encode(content)], headers);
    this.reserve(countedBytes);
    return this.stream(status, partsOf(content), headers);
  }

  /** The body of a small answer in the form that the runtime sends soonest. The process that has passed a request on chooses the form itself. */
  #body(body: string | Uint8Array): string | Uint8Array | ReadableStream<Uint8Array> {
    const staysWhole = body.length <= shortBody || this.#isHead || this.request instanceof PassedRequest;
    return staysWhole || presentTurn() === this.#turn ? body : lateBody(body);
  }

  /**
   * Counts bytes that were read for an answer that is streamed, or is large.
   * @throws NoRoom without room for the bytes, if the request can be run again: the caller lets the bytes go.
   */
  reserve(bytes: number): void {
    const counted = Math.max(bytes, countedBytes);
    const { inFlight } = this.#service;
    if (this.#canRunAgain && bytes > countedBytes) inFlight.note(this.request.url, bytes);
    if (this.#reserved !== null) {
      this.#reserved.next(counted);
      return;
    }
    if (this.#canRunAgain && !inFlight.hasRoom(this.address, counted)) throw new NoRoom(counted);
    this.#reserved = inFlight.hold(this.address, counted);
  }

  /**
   * Runs the handler; a handler with a probably large answer, in a separate turn of the event loop.
   * @throws NoRoom without room for the answer, if the handler can be run again.
   */
  run<T>(handler: (exchange: Exchange) => T | Promise<T>): T | Promise<T> {
    const { inFlight } = this.#service;
    const wantsTurn = this.#canRunAgain && inFlight.wantsTurn(this.request.url);
    this.#foresee();
    if (!wantsTurn) return handler(this);
    const make = async (): Promise<T> => {
      // The room may have been taken meanwhile.
      this.#foresee();
      return handler(this);
    };
    return inFlight.inTurn(this.address, make, this.request.signal);
  }

  /**
   * Takes room for an answer that is probably large before the answer is made, as far as answers to queries of the same shape tell.
   * @throws NoRoom without room.
   */
  #foresee(): void {
    if (this.#reserved !== null || !this.#canRunAgain) return;
    const { inFlight } = this.#service;
    const bytes = inFlight.expected(this.request.url);
    if (bytes === null) return;
    if (!inFlight.hasRoom(this.address, bytes * makingCopies)) throw new NoRoom(bytes);
    this.#reserved = inFlight.hold(this.address, bytes * makingCopies);
  }

  /**
   * Waits for room for an answer that had no room, reserves the room, and runs the handler again.
   * @throws AppError `unavailable` without room after some seconds.
   */
  async runAgain<T>(handler: (exchange: Exchange) => T | Promise<T>, { bytes }: NoRoom): Promise<T> {
    this.#reserved = await this.#service.inFlight.take(this.address, bytes * makingCopies, this.request.signal);
    return this.run(handler);
  }

  /**
   * The request counts for the address until the answer has gone: to be called once, with the answer made. Room
   * that was reserved for another answer is freed.
   */
  made(): void {
    this.#reserved?.release();
    this.#reserved = null;
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

  get #isWrite(): boolean {
    return !this.#canRunAgain && this.request.method !== "OPTIONS";
  }

  /** A request that has changed something is answered in any case, and never run twice. */
  get #canRunAgain(): boolean {
    return this.request.method === "GET" || this.#isHead;
  }

  get #isHead(): boolean {
    return this.request.method === "HEAD";
  }

  /** An answer that is complete in memory, with pieces that belong to the answer alone. */
  #large(status: number, made: readonly Uint8Array[], headers: Readonly<Record<string, string>>): Response {
    const pieces = madePieces(made);
    const { waiting: bytes } = pieces;
    try {
      if (!this.#isHead) this.reserve(bytes);
    } catch (thrown) {
      void pieces.return();
      throw thrown;
    }
    if (!this.#isHead) return this.stream(status, pieces, headers);
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
    if (body === null || body instanceof Uint8Array)
      return this.#answer(body && this.#body(body), { status, headers: all });
    if (!this.#isHead) return this.#answer(this.#streamBody(body), { status, headers: all });
    void body.return();
    return this.#answer(null, { status, headers: all });
  }

  #streamBody(pieces: Pieces): ReadableStream<Uint8Array> {
    const caller = this.address;
    const hold = this.#reserved ?? this.#service.inFlight.hold(caller, countedBytes);
    this.#reserved = null;
    this.#isStreaming = true;
    return streamOf(pieces, {
      inFlight: this.#service.inFlight,
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
    return this.request instanceof PassedRequest && isWhole(body)
      ? statusAlone(status)
      : new Response(body, { status, headers });
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
    return this.#answer(this.#body(body), { status, headers });
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
    // The write of this request is on disk by now.
    if (this.#isWrite || this.#service.positions.isForReads === true)
      headers["Socle-Position"] = String(this.#service.positions.seq);
    this.#service.cors.apply(headers, this.request);
    return headers;
  }
}
