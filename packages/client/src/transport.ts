/** Transport of the client: sends requests with the tokens of a user and renews the tokens. */
import type { ErrorBody, ErrorCode, LoginResponse, TokenResponse, User } from "@socle/protocol";
import { SecondFactorRequired, SocleError } from "./error.ts";
import { defaultRetries, type OnceOptions, once } from "./once.ts";
import { canTellProgress, sendWithProgress } from "./progress.ts";
import type { WebSocketConstructor } from "./socket.ts";

export interface ClientOptions {
  /** The address of the service: `https://api.example.com`. */
  baseUrl: string;
  /** The service's `endpoints.prefix`; `/api/function` by default. */
  endpointsPrefix?: string;
  /** Tokens of an earlier session. */
  tokens?: Tokens;
  /** An API key (`sk_…`), for requests and realtime without tokens. A key belongs on a server, never in a page. */
  key?: string | undefined;
  /** For runtimes without a WebSocket, for example Node 20: the WebSocket of the package `ws`. */
  webSocket?: WebSocketConstructor;
  /**
   * How often a create or a batch is sent again after a network failure or a 502, 503 or 504, each time with the same
   * `Idempotency-Key`, so that the change is made once. Default 5, which takes about 15 seconds; 0 sends no key by itself.
   */
  retries?: number;
  /** Called with new tokens after login, register and refresh, and with null after logout: the place to store tokens. */
  onTokens?: (tokens: Tokens | null) => void;
}

/** Options of a request. */
export interface SendOptions {
  /** A form is sent as a form, any other object as JSON; a text is JSON already. */
  body?: object | string | undefined;
  /** Aborts the request, which rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  headers?: Readonly<Record<string, string>>;
  /**
   * Called while the body is sent, with the part that is sent: 0 to 1. Only in browsers.
   */
  onProgress?: ((part: number) => void) | undefined;
}

interface RequestOptions extends SendOptions {
  token: string | null;
}

export type Tokens = Pick<TokenResponse, "accessToken" | "refreshToken">;

/** Requests to a service with the tokens of a user, which the transport renews. */
export class Transport {
  readonly baseUrl: string;
  readonly #retries: number;
  readonly #onTokens: (tokens: Tokens | null) => void;
  readonly #key: string | null;
  #tokens: Tokens | null;
  #refreshing: Promise<boolean> | null = null;

  constructor(options: ClientOptions) {
    this.baseUrl = options.baseUrl.replace(/\/+$/, "");
    this.#retries = options.retries ?? defaultRetries;
    this.#key = options.key ?? null;
    this.#tokens = options.tokens ?? null;
    this.#onTokens = options.onTokens ?? (() => undefined);
  }

  get tokens(): Tokens | null {
    return this.#tokens;
  }

  /** The access token, or the API key of a client without tokens. */
  get bearer(): string | null {
    return this.#tokens?.accessToken ?? this.#key;
  }

  /** Uses tokens that the caller has and keeps: `onTokens` is not called. */
  adopt(tokens: Tokens | null): void {
    this.#tokens = tokens;
  }

  /**
   * Sends a proof of an identity, and keeps the tokens of the answer.
   * @throws SecondFactorRequired for a user with a second factor; the tokens of this client stay.
   */
  async signIn(route: string, proof: object): Promise<User> {
    return this.#keepAnswer(await this.#request("POST", `/api/auth/${route}`, { body: proof, token: null }));
  }

  /** Registers, and keeps the tokens; null for a user who has to prove the address first. */
  async register(values: object): Promise<User | null> {
    const response = await this.#request("POST", "/api/auth/register", { body: values, token: null });
    return response.status === 202 ? null : this.#keepAnswer(response);
  }

  async #keepAnswer(response: Response): Promise<User> {
    const answer = (await response.json()) as LoginResponse;
    if ("next" in answer) throw new SecondFactorRequired(answer);
    this.#keep(answer);
    return answer.user;
  }

  /** Sends a request that ends the session, and forgets the tokens. */
  async signOut(method: string, path: string, body: object): Promise<void> {
    await this.fetch(method, path, { body });
    this.#keep(null);
  }

  /** Sends a request with the access token or the API key; with an expired token, a second time with a new token. */
  async fetch(method: string, path: string, options: SendOptions = {}): Promise<Response> {
    const tokens = this.#tokens;
    try {
      return await this.#request(method, path, { ...options, token: this.bearer });
    } catch (thrown) {
      const isExpired = thrown instanceof SocleError && thrown.status === 401 && tokens !== null;
      if (!isExpired || !(await this.refresh(tokens))) throw thrown;
      return this.#request(method, path, { ...options, token: this.bearer });
    }
  }

  /** Like `fetch`, and reads the answer, in the shape of the route. */
  async call<T>(method: string, path: string, options?: SendOptions): Promise<T> {
    return (await (await this.fetch(method, path, options)).json()) as T;
  }

  /** Posts a change that is made once, however often the change must be sent, and reads the answer. */
  async callOnce<T>(path: string, change: object, options: OnceOptions = {}): Promise<T> {
    const body = JSON.stringify(change);
    const send = (key: string | null): Promise<T> =>
      this.call("POST", path, { body, ...(key !== null && { headers: { "Idempotency-Key": key } }) });
    return once(send, { ...options, retries: this.#retries });
  }

  /**
   * Replaces tokens that were refused. Callers that fail together share a refresh. Answers whether the
   * session has new tokens.
   */
  refresh(used: Tokens): Promise<boolean> {
    if (this.#tokens !== used) return Promise.resolve(this.#tokens !== null);
    const body = { refreshToken: used.refreshToken };
    this.#refreshing ??= this.#request("POST", "/api/auth/refresh", { body, token: null })
      .then(
        async (response) => {
          const answer = (await response.json()) as TokenResponse;
          // A login that came meanwhile is newer than this answer.
          if (this.#tokens === used) this.#keep(answer);
          return this.#tokens !== null;
        },
        (thrown: unknown) => {
          if (!(thrown instanceof SocleError) || thrown.status !== 401) throw thrown;
          if (this.#tokens === used) this.#keep(null);
          return this.#tokens !== null;
        },
      )
      .finally(() => {
        this.#refreshing = null;
      });
    return this.#refreshing;
  }

  #keep(answer: Tokens | null): void {
    this.#tokens = answer === null ? null : { accessToken: answer.accessToken, refreshToken: answer.refreshToken };
    this.#onTokens(this.#tokens);
  }

  /** A form is sent as a form, any other body as JSON. */
  async #request(
    method: string,
    path: string,
    { body, token, headers: extra, signal, onProgress }: RequestOptions,
  ): Promise<Response> {
    const headers: Record<string, string> = { ...extra };
    const isForm = body instanceof FormData;
    if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
    if (token !== null) headers["Authorization"] = `Bearer ${token}`;
    const content = typeof body === "object" && !isForm ? JSON.stringify(body) : body;
    const url = this.baseUrl + path;
    const response = await (onProgress === undefined || !canTellProgress
      ? fetch(url, {
          method,
          headers,
          ...(content !== undefined && { body: content }),
          ...(signal !== undefined && { signal }),
        })
      : sendWithProgress(url, { method, headers, content, signal, onProgress }));
    if (!response.ok) throw await errorOf(response);
    return response;
  }
}

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
/** A plain text up to this length is the message of an error. */
const longestMessage = 1_000;

/** An endpoint may answer with a different body, and so may something between client and server (a proxy). */
async function errorOf(response: Response): Promise<SocleError> {
  const { status, headers } = response;
  const text = await response.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
    if (isErrorBody(body)) return new SocleError(response, body.error, body);
  } catch {
    // The body is not JSON: the text and the status tell enough.
  }
  const isMessage = headers.get("content-type")?.startsWith("text/plain") === true && text.trim() !== "";
  const message = isMessage && text.length <= longestMessage ? text.trim() : `HTTP ${status}`;
  return new SocleError(
    response,
    { code: codes[status] ?? (status >= 500 ? "unavailable" : "bad_request"), message },
    body,
  );
}

function isErrorBody(body: unknown): body is ErrorBody {
  const { code, message } = (body as Partial<ErrorBody> | null)?.error ?? {};
  return typeof code === "string" && typeof message === "string";
}
