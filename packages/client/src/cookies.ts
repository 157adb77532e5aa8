/** Cookies of servers: the cookie that keeps a session, and the cookies of a request without a framework. */
import type { HeldSession } from "./session.ts";

/** The attributes of the cookie, as frameworks take attributes. */
export interface CookieAttributes {
  readonly httpOnly: true;
  /** False on localhost. */
  readonly secure: boolean;
  readonly sameSite: "lax";
  readonly path: "/";
  /** Seconds; 0 removes the cookie. */
  readonly maxAge: number;
}

type Found = string | { readonly value: string } | null | undefined;

/** The cookies of a request and its response: `event.cookies` of SvelteKit, `Astro.cookies`, `await cookies()` of Next.js, or your own. */
export interface Cookies {
  get(name: string): Found | PromiseLike<Found>;
  /** May throw when the response is on its way: the next response sets the cookie. */
  set(name: string, value: string, attributes: CookieAttributes): unknown;
}

/** A browser keeps no cookie for longer; the service decides how long a session lasts. */
const maxAge = 400 * 86_400;
/** A browser refuses a cookie that is longer, with name and attributes. */
const longestCookie = 4_096;
const attributesLength = 100;

/** A short text of a text (FNV-1a): tells addresses apart, and shows that a text was cut. Not a signature: the service judges the tokens. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(36);
}

/** The name has the address of the service: a browser sends the cookies of all ports of a host. */
export function cookieName(baseUrl: string): string {
  return `socle-${digest(baseUrl)}`;
}

/** @throws Error for a session that does not fit into a cookie. */
export function cookieOf(
  baseUrl: string,
  { accessToken, refreshToken = "", userId = "", id = "" }: HeldSession,
): string {
  const parts = ["1", digest(baseUrl), accessToken, refreshToken, userId, String(id)];
  const text = parts.map(encodeURIComponent).join("~");
  const value = `${text}~${digest(text)}`;
  if (value.length + cookieName(baseUrl).length + attributesLength > longestCookie)
    throw new Error(`The session does not fit into a cookie of 4 KB: ${value.length} characters`);
  return value;
}

/** The session of a cookie; null for a cookie that was cut, of another service, or of another version. */
export function sessionInCookie(baseUrl: string, value: string): HeldSession | null {
  const end = value.lastIndexOf("~");
  if (end < 0 || digest(value.slice(0, end)) !== value.slice(end + 1)) return null;
  try {
    const [version, address, accessToken, refreshToken, userId, id] = value
      .slice(0, end)
      .split("~")
      .map(decodeURIComponent);
    if (version !== "1" || address !== digest(baseUrl) || !accessToken || !refreshToken) return null;
    return { accessToken, refreshToken, ...(userId && { userId }), ...(id && { id }) };
  } catch {
    return null;
  }
}

/** @param url the address of the page; without the address, a server in development (`NODE_ENV`) is on localhost. */
export function attributesOf(url: string | URL | undefined): CookieAttributes {
  const { process } = globalThis as { process?: { env?: { NODE_ENV?: string } } };
  const isLocal =
    url === undefined
      ? process?.env?.NODE_ENV === "development"
      : /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
  return { httpOnly: true, secure: !isLocal, sameSite: "lax", path: "/", maxAge };
}

/** The cookies of a request. @param headers of the response, which get the changed cookies; without headers, no cookie changes. */
export function requestCookies(request: Request, headers?: Headers): Cookies {
  const sent = new Map<string, string>();
  for (const pair of (request.headers.get("cookie") ?? "").split(";")) {
    const [, name, value] = /^\s*([^=\s]+)=\s*"?([^"\s]*)"?\s*$/.exec(pair) ?? [];
    if (name !== undefined && value !== undefined && !sent.has(name)) sent.set(name, value);
  }
  return {
    get: (name) => sent.get(name),
    set(name, value, { maxAge: seconds, secure }) {
      if (headers === undefined) throw new Error("The response is not known: clientFor(request, headers)");
      const attributes = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
      headers.append("Set-Cookie", `${name}=${value}; ${attributes}`);
    },
  };
}
