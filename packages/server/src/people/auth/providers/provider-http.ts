/**
 * HTTP to a provider: requests with a bound on the time, on the bytes of the answer and on the addresses. After repeated
 * failures the provider is not asked for a while, so that sign-ins fail at once instead of waiting.
 */
import { isLoopback } from "../../../base/config/index.ts";
import { AppError, messageOf } from "../../../base/kernel/index.ts";

/** The most bytes of an answer. */
const maxAnswer = 1_024 ** 2;
/** After so many failures in a row, the provider is left alone. */
const maxFailures = 5;
const pauseMs = 30_000;

interface ProviderHttpOptions {
  /** The name of the provider, for messages. */
  readonly name: string;
  /** Milliseconds that a request may take, with the answer. */
  readonly timeLimitMs: number;
  /** Whether the provider runs on this machine: requests may then go there without HTTPS. */
  readonly isLocal: boolean;
  /** Milliseconds that never run backwards. */
  readonly now?: () => number;
}

/** A request in the form in which the protocol library asks. */
export interface ProviderRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: RequestInit["body"];
}

interface ProviderAnswer {
  readonly response: Response;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export class ProviderHttp {
  readonly #options: ProviderHttpOptions;
  readonly #now: () => number;
  #failures = 0;
  #pausedUntil = 0;

  constructor(options: ProviderHttpOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Sends a request. The body of the answer is complete, and JSON by its type. A redirect is not followed.
   * @throws AppError `unavailable` for a provider that does not answer in this way.
   */
  async fetch(address: string, request: ProviderRequest): Promise<Response> {
    const url = new URL(address);
    const place = `${url.origin}${url.pathname}`;
    if (!this.isAllowed(url)) throw this.unavailable(`${place} is no HTTPS address`);
    const { response, bytes } = await this.#send(url, request);
    const { status, headers } = response;
    const type = headers.get("content-type") ?? "no type";
    if (status >= 500 || (status >= 300 && status < 400)) throw this.unavailable(`${place} answered ${status}`);
    if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type))
      throw this.unavailable(`${place} answered ${status} with ${type}, not with JSON`);
    return new Response(bytes, { status, headers: { "content-type": type } });
  }

  /** Whether an address is HTTPS, or of this machine for a provider of this machine. */
  isAllowed(url: URL): boolean {
    return url.protocol === "https:" || (url.protocol === "http:" && this.#options.isLocal && isLoopback(url));
  }

  /** Only failures that a sign-in waits for count: a stranger cannot cause such failures by a wrong code. */
  async #send(url: URL, { method, headers, body }: ProviderRequest): Promise<ProviderAnswer> {
    if (this.#failures >= maxFailures && this.#now() < this.#pausedUntil)
      throw this.unavailable(`${url.origin} has failed ${this.#failures} times in a row; it is left alone for a while`);
    const all = { ...headers, accept: "application/json", "user-agent": "socle" };
    const signal = AbortSignal.timeout(this.#options.timeLimitMs);
    const init = { method, headers: all, signal, redirect: "manual" as const, ...(body != null && { body }) };
    try {
      const response = await fetch(url, init);
      const bytes = await readBounded(response);
      this.#failures = 0;
      return { response, bytes };
    } catch (thrown) {
      this.#failures += 1;
      this.#pausedUntil = this.#now() + pauseMs;
      throw this.unavailable(`${url.origin}${url.pathname}: ${messageOf(thrown)}`);
    }
  }

  /** The reason is for the log; the caller learns the name of the provider. */
  unavailable(reason: string): AppError {
    const { name } = this.#options;
    return new AppError("unavailable", `${name} does not answer as a provider of sign-ins; try again later.`, {
      cause: new Error(reason),
    });
  }
}

/** The bytes of an answer. @throws Error beyond the bound; the rest is not read. */
async function readBounded(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.byteLength;
    // Leaving the loop cancels the body.
    if (size > maxAnswer) throw new Error(`the answer has more than ${maxAnswer} bytes`);
    pieces.push(piece);
  }
  return new Uint8Array(Buffer.concat(pieces));
}
