/**
 * Passed request: a request of a client of another process, as the routes see a request. A route asks for few parts of a request, so
 * the parts with a cost are made for the code that asks.
 */

/** A request of a client of this process, or of another process. */
export type HttpRequest = Request | PassedRequest;
/** The headers of a request. */
export type RequestHeaders = Headers | PassedHeaders;

interface PassedParts {
  readonly method: string;
  readonly url: string;
  /** The values by the names, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The address that the request comes from, as a key. */
  readonly address: string;
  /** The bytes of a body that has come whole, or the body in pieces. */
  readonly body: Uint8Array | ReadableStream<Uint8Array>;
  /** Keeps the connection of the request open until the answer. */
  readonly keepOpen: () => void;
}

class PassedHeaders {
  readonly #values: Readonly<Record<string, string>>;

  constructor(values: Readonly<Record<string, string>>) {
    this.#values = values;
  }

  /** @param name in lower case. */
  get(name: string): string | null {
    return this.#values[name] ?? null;
  }

  /** @param name in lower case. */
  has(name: string): boolean {
    return this.#values[name] !== undefined;
  }

  /** The headers in the order of `Headers`. */
  [Symbol.iterator](): Iterator<[name: string, value: string]> {
    return new Headers(this.#values)[Symbol.iterator]();
  }
}

export class PassedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: PassedHeaders;
  readonly address: string;
  readonly keepOpen: () => void;
  /** The bytes of a body that came with the request; null for a body in pieces. */
  readonly whole: Uint8Array | null;
  #body: ReadableStream<Uint8Array> | null = null;
  #gone: AbortController | null = null;
  #isGone = false;

  constructor({ method, url, headers, address, body, keepOpen }: PassedParts) {
    this.method = method;
    this.url = url;
    this.headers = new PassedHeaders(headers);
    this.address = address;
    this.keepOpen = keepOpen;
    this.whole = body instanceof Uint8Array ? body : null;
    if (!(body instanceof Uint8Array)) this.#body = body;
  }

  /** Null for no body, as in `Request`. */
  get body(): ReadableStream<Uint8Array> | null {
    if (this.whole !== null && this.whole.byteLength > 0) this.#body ??= new Blob([this.whole.slice()]).stream();
    return this.#body;
  }

  async bytes(): Promise<Uint8Array> {
    return this.whole ?? new Response(this.#body).bytes();
  }

  /** Aborted when the client goes. */
  get signal(): AbortSignal {
    this.#gone ??= new AbortController();
    if (this.#isGone) this.#gone.abort();
    return this.#gone.signal;
  }

  /** The client has gone. */
  leave(): void {
    this.#isGone = true;
    this.#gone?.abort();
  }
}
