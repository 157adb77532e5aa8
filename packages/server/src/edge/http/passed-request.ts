/** Passed request: a request of a client of another process, which the routes see as any request. */

interface PassedParts extends Pick<PassedRequest, "method" | "url" | "address" | "keepOpen"> {
  readonly headers: Record<string, string>;
  /** The bytes of a body that has come whole, or the body in pieces. */
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

export class PassedRequest extends Request {
  /** As the client sent the method and the URL: the constructor of the runtime refuses some. */
  override readonly method: string;
  override readonly url: string;
  /** The address that the request comes from, as a key. */
  readonly address: string;
  /** Keeps the connection of the request open until the answer. */
  readonly keepOpen: () => void;
  /** The bytes of a body that came with the request; null for a body in pieces. */
  readonly whole: Uint8Array | null;
  #gone: AbortController | null = null;
  #isGone = false;

  constructor({ method, url, headers, address, body, keepOpen }: PassedParts) {
    const whole = body instanceof Uint8Array ? body : null;
    super("http://localhost/", { method: "POST", headers, body: whole?.byteLength === 0 ? null : body });
    this.whole = whole;
    this.method = method;
    this.url = url;
    this.address = address;
    this.keepOpen = keepOpen;
    // A signal costs more than the rest of the request, and few routes ask for the signal.
    Object.defineProperty(this, "signal", { get: () => this.#signal() });
  }

  /** The client has gone. */
  leave(): void {
    this.#isGone = true;
    this.#gone?.abort();
  }

  #signal(): AbortSignal {
    this.#gone ??= new AbortController();
    if (this.#isGone) this.#gone.abort();
    return this.#gone.signal;
  }
}
