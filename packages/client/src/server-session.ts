/**
 * Sessions of servers that render pages: a cookie keeps the session of a browser, the server renews the tokens, and a handler gives the
 * page the access token. The refresh token never leaves the server and the cookie, which no script of a page reads.
 */
import { attributesOf, type Cookies, cookieName, cookieOf, requestCookies, sessionInCookie } from "./cookies.ts";
import { isUnauthorized, SocleError } from "./error.ts";
import { pageHeader, pageSession } from "./page-session.ts";
import {
  type HeldSession,
  isRefusal,
  isWithin,
  memoryStore,
  type Session,
  type SessionStore,
  type Tokens,
  textOf,
} from "./session.ts";
import { Transport } from "./transport.ts";

export interface CookieSessionOptions {
  /** The address of the page that is asked for: the cookie is `Secure`, except on localhost. */
  url?: string | URL | undefined;
}

type Renewed = HeldSession | null;

/** A renewal, under way or done, and when the renewal began. */
interface Renewal {
  readonly renewed: Promise<Renewed>;
  readonly at: number;
}

/** The most renewals that a process remembers. */
const maxRenewals = 10_000;
/** Milliseconds for which a process remembers a renewal: after that time, a former cookie is worth no session. */
const longestMemoryMs = 24 * 60 * 60 * 1_000;

/**
 * The renewals of the process, by address and refresh token: parallel requests of a browser share a renewal, and a browser that comes with
 * a former cookie, because a response was lost, goes on. A bundler may copy this module, and the copies share the renewals.
 */
const place: typeof globalThis & { socleRenewalTimes?: Map<string, Renewal> } = globalThis;

/** The renewals that are remembered, the oldest first. */
function renewals(): Map<string, Renewal> {
  place.socleRenewalTimes ??= new Map();
  const known = place.socleRenewalTimes;
  for (const [key, { at }] of known) {
    if (known.size <= maxRenewals && isWithin(longestMemoryMs, at)) break;
    known.delete(key);
  }
  return known;
}

/** The text of a session without the refresh token. */
function shownText(session: HeldSession | null): string | null {
  if (session === null) return null;
  const { refreshToken: _hidden, ...shown } = session;
  return textOf(shown);
}

/** Whether the service takes the access token. @throws SocleError if the service does not answer. */
async function isTaken(service: Transport, { accessToken }: HeldSession): Promise<boolean> {
  try {
    const headers = { Authorization: `Bearer ${accessToken}` };
    await service.fetch("GET", "/api/auth/me", { headers, isTimed: true });
    return true;
  } catch (thrown) {
    if (!isUnauthorized(thrown)) throw thrown;
    return false;
  }
}

/** The session with other tokens; null if the service has ended the session. @throws SocleError if the service does not answer. */
async function refreshed(service: Transport, session: HeldSession): Promise<Renewed> {
  const body = { refreshToken: session.refreshToken };
  try {
    const tokens = await service.call<Tokens>("POST", "/api/auth/refresh", { body, isTimed: true });
    return { ...session, accessToken: tokens.accessToken, refreshToken: tokens.refreshToken };
  } catch (thrown) {
    if (!isRefusal(thrown)) throw thrown;
    return null;
  }
}

/** The session of a cookie with tokens that the service takes; null for a session that has ended. */
async function inForce(service: Transport, session: HeldSession): Promise<Renewed> {
  const known = renewals();
  const keyOf = ({ refreshToken }: HeldSession): string => `${service.baseUrl} ${refreshToken}`;
  let now: Renewed = session;
  for (let next = known.get(keyOf(now)); next !== undefined; next = now === null ? undefined : known.get(keyOf(now)))
    now = await next.renewed;
  if (now === null || (await isTaken(service, now))) return now;
  const key = keyOf(now);
  const renewal = known.get(key) ?? { renewed: refreshed(service, now), at: Date.now() };
  known.set(key, renewal);
  // A refresh that was refused or had no answer is for the requests of this moment: the next request asks the service again.
  const forget = (): unknown => known.get(key) === renewal && known.delete(key);
  renewal.renewed.then((renewed) => renewed ?? forget(), forget);
  return renewal.renewed;
}

/**
 * The session of the browser that has sent a request, for `createClient({ baseUrl, session: cookieSession(cookies) })`: a client for each
 * request. A cookie that was cut or forged, or is of another service, is removed, and nobody is signed in.
 */
export function cookieSession(cookies: Cookies, { url }: CookieSessionOptions = {}): SessionStore {
  const attributes = attributesOf(url);
  let service: Transport | undefined;
  /** Undefined before the cookie is read. */
  let held: HeldSession | null | undefined;
  let finding: Promise<string | null> | undefined;

  const write = async (session: HeldSession | null): Promise<void> => {
    held = session;
    const { baseUrl } = open();
    const value = session === null ? "" : cookieOf(baseUrl, session);
    await cookies.set(cookieName(baseUrl), value, { ...attributes, maxAge: session === null ? 0 : attributes.maxAge });
  };
  const open = (): Transport => {
    if (service === undefined) throw new Error("createClient({ session: cookieSession(…) }) opens the session");
    return service;
  };
  const cookie = async (): Promise<string | undefined> => {
    const found = await cookies.get(cookieName(open().baseUrl));
    return typeof found === "string" ? found : found?.value;
  };
  const find = async (): Promise<string | null> => {
    const { baseUrl } = open();
    const value = held === undefined ? await cookie() : undefined;
    const before = held === undefined && value ? sessionInCookie(baseUrl, value) : (held ?? null);
    const now = before && (await inForce(open(), before));
    // The response may be on its way already: the next response sets the cookie, as the process remembers the renewal.
    if (now !== before || (value && now === null)) await write(now).catch(() => undefined);
    held = now;
    return shownText(now);
  };
  return {
    open(baseUrl) {
      service = new Transport({ baseUrl, session: "memory" });
    },
    load() {
      finding ??= find().finally(() => {
        finding = undefined;
      });
      return finding;
    },
    async save(text) {
      const value = text === null && held === undefined ? await cookie() : undefined;
      await write(text === null ? null : JSON.parse(text));
      if (!value) return;
      // A sign-out while the service does not answer as it should: the cookie is gone, and the service is told once more.
      const { refreshToken } = sessionInCookie(open().baseUrl, value) ?? {};
      if (refreshToken) await open().fetch("POST", "/api/auth/logout", { body: { refreshToken }, isTimed: true });
    },
  };
}

/** A client of a server, with the session of a browser. */
interface ServerClient {
  readonly $source: { readonly transport: { readonly session: Pick<Session, "loaded" | "tokens"> } };
  logout(): Promise<void>;
}

/**
 * Answers `pageSession` of the page: GET gives the access token of the browser's session, DELETE signs out. For a path of the page's
 * origin; other sites get 403.
 */
export async function sessionHandler(client: ServerClient, request: Request): Promise<Response> {
  const answer = (status: number, text: string | null): Response =>
    new Response(text, { status, headers: { "Cache-Control": "no-store", "Content-Type": "application/json" } });
  const refusal = (status: number, code: string, message: string): Response =>
    answer(status, JSON.stringify({ error: { code, message } }));
  // Another site cannot send this header without a permission that this answer does not give.
  if (!request.headers.has(pageHeader))
    return refusal(403, "forbidden", "This address is for pageSession of this site");
  try {
    if (request.method === "DELETE") {
      await client.logout();
      return answer(204, null);
    }
    if (request.method !== "GET") return refusal(405, "method_not_allowed", "This address takes GET and DELETE");
    const { session } = client.$source.transport;
    await session.loaded();
    return answer(200, shownText(session.tokens) ?? "null");
  } catch (thrown) {
    if (!(thrown instanceof SocleError)) throw thrown;
    return refusal(thrown.status || 503, thrown.code === "offline" ? "unavailable" : thrown.code, thrown.message);
  }
}

/** For a client that all requests of a server share: nobody signs in. */
export const noSession: SessionStore = {
  load: () => null,
  save: () => undefined,
  refuses:
    "All requests of a server share this client, so that nobody signs in here: clientFor(request) is a client of a request",
};

/**
 * The session of the caller of a request: of the header `Authorization`, else of the cookie. With a path, the session of a page; without
 * a request, a session of its own.
 * @param headers of the response, for the cookie.
 */
export function requestSession(request?: Request | Cookies | string, headers?: Headers): SessionStore {
  if (request === undefined) return memoryStore(null);
  if (typeof request === "string") return pageSession(request);
  if (!("url" in request)) return cookieSession(request);
  const [, accessToken] = /^Bearer (\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  if (accessToken !== undefined) return { load: () => JSON.stringify({ accessToken }), save: () => undefined };
  return cookieSession(requestCookies(request, headers), { url: request.url });
}
