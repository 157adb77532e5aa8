/** Incoming request: a request with the parts of the path and the query, the caller, and the body. */
import { AppError, type Bearer, type Principal, quote, type SignedIn, shareOf } from "../../base/kernel/index.ts";
import { type Bodies, required } from "./bodies.ts";
import { decodePart } from "./headers.ts";

const bearer = /^bearer +(\S+)$/i;
const keyHeader = /^bearer +sk_/i;

/** The parts of the service that all requests share. */
export interface RequestService {
  /** Answers the caller of a token or a key. */
  readonly callers: { authenticate(token: string): Bearer | Promise<Bearer> };
  readonly addressOf: (request: Request) => string;
  /** The address at which the service listens, as `HttpServer.url`. */
  readonly listenUrl: () => string;
  readonly bodies: Bodies;
  /** Bytes of the body of a request, if the route has no other limit. */
  readonly bodyLimit: number;
}

export class IncomingRequest {
  readonly request: Request;
  /** The named parts of the path, percent-decoded once. */
  readonly params: { readonly [name: string]: string };
  readonly #service: RequestService;
  /** Kept, because the server forgets the address of a request that has ended. */
  #address: string | null = null;

  constructor(request: Request, params: { readonly [name: string]: string }, service: RequestService) {
    this.request = request;
    this.params = params;
    this.#service = service;
  }

  /** See `RequestService`. */
  get listenUrl(): string {
    return this.#service.listenUrl();
  }

  /** The address of the request, as a key of limits. */
  get address(): string {
    this.#address ??= this.#service.addressOf(this.request);
    return this.#address;
  }

  /** The key of the caller's share: the id of a user or a service key, or the address of a request without a token. */
  callerKey(principal: Principal): string {
    return shareOf(principal) ?? this.address;
  }

  /** The caller of a read that may have to wait; the address and the signal are asked for only then. */
  reader(principal: Principal): { principal: Principal; caller: () => string; signal: () => AbortSignal } {
    return { principal, caller: () => this.callerKey(principal), signal: () => this.request.signal };
  }

  /** The caller of a route of accounts, for queues and sessions. The signal has a cost, so ask for the caller only if needed. */
  get waiter(): { key: string; signal: AbortSignal; headers: Headers } {
    const { signal, headers } = this.request;
    return { key: this.address, signal, headers };
  }

  /** A part of the path. The router has made sure that the route has this part. */
  param(name: string): string {
    return this.params[name] ?? "";
  }

  /**
   * The caller; null without a token. The answer is no promise when the token was seen before.
   * @throws AppError `unauthorized` for a header that holds no valid token.
   */
  principal(): Bearer | null | Promise<Bearer | null> {
    const token = this.token();
    return token === null ? null : this.#service.callers.authenticate(token);
  }

  /**
   * The user of an access token; null without a token.
   * @throws AppError `unauthorized`, `forbidden` for an API key.
   */
  async session(): Promise<SignedIn | null> {
    const principal = await this.principal();
    if (principal !== null && "scopes" in principal)
      throw new AppError("forbidden", "An API key may not do this: sign in as a user.");
    return principal;
  }

  /**
   * The user of an access token.
   * @param purpose completes the message "To …, sign in."
   * @throws AppError `unauthorized`, `forbidden` for an API key.
   */
  async user(purpose: string): Promise<SignedIn> {
    const user = await this.session();
    if (user === null) throw new AppError("unauthorized", `To ${purpose}, sign in.`);
    return user;
  }

  /**
   * The user or the holder of an API key.
   * @param purpose completes the message "To …, sign in."
   * @throws AppError `unauthorized`.
   */
  async bearer(purpose: string): Promise<Bearer> {
    const bearer = await this.principal();
    if (bearer === null) throw new AppError("unauthorized", `To ${purpose}, sign in.`);
    return bearer;
  }

  /** Whether the request carries an API key, valid or not. */
  get hasKey(): boolean {
    return keyHeader.test(this.request.headers.get("authorization") ?? "");
  }

  /** @throws AppError `unauthorized`, `forbidden` for a caller without the role admin (spec, "Authentication" 5). */
  async admin(): Promise<SignedIn> {
    const principal = await this.principal();
    if (principal === null) throw new AppError("unauthorized", "This is for admins: sign in as one.");
    if (principal.role !== "admin") throw new AppError("forbidden", "This is for admins only.");
    return principal;
  }

  /** The token, unchecked. @throws AppError `unauthorized` for a header without a token. */
  token(): string | null {
    const header = this.request.headers.get("authorization");
    if (header === null || header === "") return null;
    const token = header.startsWith("Bearer ") ? header.slice(7) : bearer.exec(header)?.[1];
    if (token === undefined) throw new AppError("unauthorized", "The Authorization header must be: Bearer TOKEN.");
    return token;
  }

  /** The query after the `?`, as sent; "" without a query. @throws AppError `bad_request` for escapes that are no UTF-8. */
  get search(): string {
    const { url } = this.request;
    const start = url.indexOf("?");
    if (start < 0) return "";
    const end = url.indexOf("#", start);
    const search = end < 0 ? url.slice(start + 1) : url.slice(start + 1, end);
    if (foreign.test(search) && decodePart(search) === null) refuseEscapes(search);
    return search;
  }

  query(name: string): string | null {
    return new URLSearchParams(this.search).get(name);
  }

  /** The bytes of the body, at most `limit`. Throws as `Bodies` does. */
  body(limit: number): Promise<Uint8Array> {
    return this.#service.bodies.read(this, limit);
  }

  /** The body as a JSON object; null for an empty body. Throws as `Bodies` does. */
  optionalObject(): Promise<Record<string, unknown> | null> {
    return this.#service.bodies.object(this, this.#service.bodyLimit);
  }

  /** Like `optionalObject`, but the body must not be empty. */
  async object(): Promise<Record<string, unknown>> {
    return required(await this.optionalObject());
  }

  /** Bytes of the body as a JSON object. Throws as `Bodies` does. */
  async parse(bytes: Uint8Array): Promise<Record<string, unknown>> {
    return required(await this.#service.bodies.parse(bytes, this));
  }
}

/** An escape of a byte beyond ASCII. Escapes of ASCII are always UTF-8, and a decoding costs 2 µs. */
const foreign = /%[89a-f]/i;

/** A `%` without two digits stands for itself. @throws AppError `bad_request` for escapes that are no UTF-8. */
function refuseEscapes(search: string): void {
  const odd = search.match(/(?:%[\da-f]{2})+/gi)?.find((escapes) => decodePart(escapes) === null);
  if (odd !== undefined)
    throw new AppError("bad_request", `The query has ${quote(odd)}, which is no UTF-8: "é", for example, is %C3%A9.`);
}
