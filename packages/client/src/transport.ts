/** Transport of the client: sends requests with the tokens of a user and renews the tokens. */
import { type LoginResponse, SERIES, type User, VERSION_HEADER } from "@socle/protocol";
import { errorOf, isUnauthorized, numberIn, offline, SecondFactorRequired } from "./error.ts";
import { defaultRetries, once } from "./idempotency.ts";
import { POSITION_HEADER } from "./live-frames.ts";
import { given } from "./search.ts";
import { longestTurnMs, openSession, type Session, type SessionOption, type Tokens } from "./session.ts";
import { storeOf } from "./session-stores.ts";
import type { WebSocketConstructor } from "./socket.ts";

export interface ClientOptions {
  /** The address of the service: `https://api.example.com`. */
  baseUrl: string;
  /** The service's `endpoints.prefix`; `/api/function` by default. */
  endpointsPrefix?: string;
  /**
   * Where the session of a user stays. `local`, the default in a page: for all tabs, also after a reload and a restart of the browser.
   * `tab`: until the tab is closed. `memory`, the default elsewhere, and with an API key: until the page or the program ends.
   * Otherwise a place of your own.
   */
  session?: SessionOption | undefined;
  /** Tokens of an earlier session; without `session`. @deprecated Use `session`, which keeps the tokens. */
  tokens?: Tokens | undefined;
  /** An API key (`sk_…`), for requests and realtime without tokens. A key belongs on a server, never in a page. */
  key?: string | undefined;
  /** For runtimes without a WebSocket, for example Node 20: the WebSocket of the package `ws`. */
  webSocket?: WebSocketConstructor | undefined;
  /**
   * The script of the worker by which all tabs of a browser share a socket: `@socle/client/worker`, as a file of the page's origin. By
   * default, the service's own script, for a page of the service's origin; false for a socket in each tab.
   */
  worker?: string | URL | false | undefined;
  /**
   * How often a create or a batch is sent again after a network failure or a 502, 503 or 504, each time with the same
   * `Idempotency-Key`, so that the change is made once. Default 5, which takes about 15 seconds, and 8 if the service does not
   * answer at all; 0 sends no key by itself.
   */
  retries?: number;
  /**
   * Called with new tokens after login, register and refresh, and with null after logout; without `session`.
   * @deprecated Use `session`, which keeps the tokens, and `client.session` to hear who is signed in.
   */
  onTokens?: ((tokens: Tokens | null) => void) | undefined;
}

/** Options of every call. */
export interface CallOptions {
  /** Aborts the request, which rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of a sign-out. */
export interface LogoutOptions extends CallOptions {
  /** Ends the sessions on all devices. If the service refuses or cannot be reached, no session ends. */
  everywhere?: boolean;
}

/** Options of a change of records. */
export interface ChangeOptions extends CallOptions {
  /** Called with the headers of the answer: `admin.undo` takes the request back that `X-Request-Id` names. */
  onAnswer?: (headers: Headers) => void;
  /** Further headers of the request: `{ "Socle-Import": id }` makes an admin's change a part of an import. */
  headers?: SendOptions["headers"];
}

/** Options of a create and of a batch. */
export interface OnceOptions extends ChangeOptions {
  /**
   * The key of the change, for an application that sends the change again itself, also after a restart: 1 to 255 visible ASCII
   * characters that nobody guesses. By default, a random key.
   */
  idempotencyKey?: string;
}

/** Options of a request. */
export interface SendOptions extends CallOptions {
  /** A form is sent as a form, any other object as JSON; a text is JSON already. */
  body?: object | string | undefined;
  /** A header without a value is left out. */
  headers?: Readonly<Record<string, string | null | undefined>> | undefined;
  /** Sends the request in the place of `fetch`, with the same rejections. */
  send?: Send | undefined;
  /** For a request for which others wait: without an answer in time, the request fails. */
  isTimed?: boolean;
}

/** The part of `fetch` that the client uses. */
export type Send = (
  url: string,
  request: {
    method: string;
    headers: [name: string, value: string][];
    body: FormData | string | null;
    signal: AbortSignal | null;
  },
) => Promise<Response>;

interface RequestOptions extends SendOptions {
  token: string | null;
}

/** An answer in the shape of the route, and the position of the write in the log; null for a read. */
export interface Answered<T> {
  readonly value: T;
  readonly position: number | null;
}

/** The requests that the parts of a client send. */
export type Requests = Pick<Transport, "baseUrl" | "call" | "fetch" | "signIn" | "signOut">;

/** Requests to a service with the tokens of a user, which the transport renews. */
export class Transport {
  declare readonly baseUrl: string;
  /** The tokens of the user, and their store. */
  declare readonly session: Session;
  readonly #options: ClientOptions;
  /** The highest position that the client has seen. */
  #position = 0;
  #isTold = false;
  readonly #refusal: string | undefined;

  constructor(options: ClientOptions) {
    this.baseUrl = options.baseUrl.replace(/\/+$/, "");
    this.#options = options;
    const store = storeOf(this.baseUrl, options);
    store.open?.(this.baseUrl);
    this.#refusal = store.refuses;
    this.session = openSession(store, async (used) => {
      const body = { refreshToken: used };
      return read(await this.#request("POST", "/api/auth/refresh", { body, token: null, isTimed: true }));
    });
  }

  /** @throws Error where nobody signs in. */
  check(): void {
    if (this.#refusal) throw new Error(this.#refusal);
  }

  /** The access token, or the API key of a client without tokens. */
  get bearer(): string | null {
    return this.session.tokens?.accessToken ?? this.#options.key ?? null;
  }

  /** Notes a position of the log: the answers to later requests have the events up to the position. */
  heard(position: number): void {
    this.#position = Math.max(this.#position, position);
  }

  /**
   * Sends a proof of an identity, and keeps the tokens of the answer.
   * @throws SecondFactorRequired for a user with a second factor; the tokens of this client stay.
   */
  async signIn(route: string, proof: object, options?: CallOptions): Promise<User> {
    return this.#keepAnswer(await this.#prove(route, proof, options));
  }

  /** Registers, and keeps the tokens; null for a user who has to prove the address first. */
  async register(values: object, options?: CallOptions): Promise<User | null> {
    const response = await this.#prove("register", values, options);
    return response.status === 202 ? null : this.#keepAnswer(response);
  }

  /** Sends a proof of an identity, as nobody. */
  #prove(route: string, body: object, { signal }: CallOptions = {}): Promise<Response> {
    this.check();
    return this.#request("POST", `/api/auth/${route}`, { body, token: null, signal });
  }

  async #keepAnswer(response: Response): Promise<User> {
    const answer = await read<LoginResponse>(response);
    if ("next" in answer) throw new SecondFactorRequired(answer);
    await this.session.begin({ userId: answer.user?.id, id: Math.random() }, answer);
    return answer.user;
  }

  /** Sends a request that ends the session, and forgets the tokens. */
  async signOut(method: string, path: string, options: SendOptions): Promise<void> {
    const { session } = this;
    await session.loaded();
    const { tokens } = session;
    await this.fetch(method, path, options);
    await session.end(tokens);
  }

  /** Ends the session here, also when the service does not answer. With `everywhere`, first the sessions on all other devices. */
  async logout({ everywhere, signal }: LogoutOptions = {}): Promise<void> {
    const { session } = this;
    await session.loaded().catch((thrown) => {
      if (everywhere) throw thrown;
      // The store asks a service, and ends the session there.
      return session.end(null);
    });
    const { tokens } = session;
    if (tokens === null) return;
    if (everywhere) await this.fetch("DELETE", "/api/auth/sessions", { signal });
    try {
      const body = { refreshToken: tokens.refreshToken };
      await this.fetch("POST", "/api/auth/logout", { body, signal, isTimed: true });
    } finally {
      await session.end(tokens);
    }
  }

  /**
   * Sends a request with the access token or the API key; with an expired token, a second time with a new token of the same user: a
   * request is never sent as another user than the user at the time of the call.
   */
  async fetch(method: string, path: string, options: SendOptions = {}): Promise<Response> {
    await this.session.loaded();
    const { tokens } = this.session;
    const send = (): Promise<Response> => this.#request(method, path, { ...options, token: this.bearer });
    try {
      return await send();
    } catch (thrown) {
      if (tokens === null || !isUnauthorized(thrown) || !(await this.session.renew(tokens))) throw thrown;
      return send();
    }
  }

  /** Like `fetch`, and reads the answer, in the shape of the route. */
  async call<T>(method: string, path: string, options?: SendOptions): Promise<T> {
    return read(await this.fetch(method, path, options), options?.signal);
  }

  /** Sends a change, and reads the answer; undefined for an answer without a body. */
  async write<T>(method: string, path: string, options: SendOptions & ChangeOptions): Promise<Answered<T>> {
    const response = await this.fetch(method, path, options);
    options.onAnswer?.(response.headers);
    const value = response.status === 204 ? undefined : await read(response, options.signal);
    return { value: value as T, position: positionOf(response) };
  }

  /** Sends a change, by default a POST, that is made once, however often the change must be sent, and reads the answer. */
  async writeOnce<T>(
    path: string,
    change: object,
    { method = "POST", headers, ...options }: OnceOptions & { method?: string } = {},
  ): Promise<Answered<T>> {
    await this.session.loaded();
    const user = this.session.user.get();
    const body = JSON.stringify(change);
    const send = (key: string | null): Promise<Answered<T>> =>
      this.write(method, path, { ...options, body, headers: { ...headers, "Idempotency-Key": key } });
    const isOver = (): boolean => this.session.user.get() !== user;
    return once(send, { ...options, isOver, retries: this.#options.retries ?? defaultRetries });
  }

  /** A form is sent as a form, any other body as JSON. */
  async #request(
    method: string,
    path: string,
    { body, token, headers: extra, signal, send = fetch, isTimed }: RequestOptions,
  ): Promise<Response> {
    const isForm = body instanceof FormData;
    const headers = given<string>({
      "Content-Type": body === undefined || isForm ? null : "application/json",
      Authorization: token && `Bearer ${token}`,
      [POSITION_HEADER]: this.#position > 0 ? String(this.#position) : null,
      ...extra,
    });
    const content = typeof body === "object" && !isForm ? JSON.stringify(body) : body;
    const url = this.baseUrl + path;
    const response = await send(url, {
      method,
      headers,
      body: content ?? null,
      // React Native has no `AbortSignal.timeout`, and limits of its own.
      signal: signal ?? ((isTimed && AbortSignal.timeout?.(longestTurnMs)) || null),
    }).catch(lost(signal, url));
    this.heard(positionOf(response) ?? 0);
    this.#compare(response.headers.get(VERSION_HEADER) ?? SERIES);
    if (!response.ok) throw await errorOf(response).catch(lost(signal, url));
    return response;
  }

  /** Tells once that the service is older or newer than this client. */
  #compare(served: string): void {
    if (served === SERIES || this.#isTold) return;
    this.#isTold = true;
    console.warn(`This client is of Socle ${SERIES}, the service of Socle ${served}`);
  }
}

/** The position that an answer has; null for an answer without a position. */
function positionOf({ headers }: Response): number | null {
  return numberIn(headers, POSITION_HEADER);
}

/** The body of an answer, in the shape of the route. */
export async function read<T>(response: Response, signal?: AbortSignal): Promise<T> {
  return (await response.json().catch(lost(signal, response.url))) as T;
}

/**
 * Makes the error of a request without a whole answer; an abort stays the error that it is. A body that is no JSON is not the
 * service's: the server of a page answers every path with the page.
 */
function lost(signal: AbortSignal | undefined, url: string): (thrown: unknown) => never {
  return (thrown) => {
    throw signal?.aborted ? thrown : offline(thrown, url);
  };
}
