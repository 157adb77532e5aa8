/**
 * Heads: the path of a request; the status of an answer, and the headers for other origins, for caches, for conditions and
 * for ranges.
 */
import { ERROR_CODES, type ErrorCode } from "@socle/protocol";
import { AppError, type Principal, quote } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { ByteRange } from "../../files/storage/index.ts";

/** The HTTP status of each error code: the one table (spec, "Errors"; contract, "HTTP in general"). */
const statuses: { readonly [code in ErrorCode]: number } = {
  validation_error: 400,
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
};

/** Statuses that the table does not have, with the codes of their answers. */
const sharedStatuses: readonly (readonly [status: number, codes: readonly ErrorCode[]])[] = [
  [412, ["conflict", "bad_request"]],
  [415, ["bad_request"]],
  [416, ["bad_request"]],
  [426, ["bad_request"]],
  [502, ["unavailable"]],
  [504, ["unavailable"]],
];

/** The codes that an error with a status may have, by status. */
export function codesByStatus(): Map<number, ErrorCode[]> {
  const codes = new Map(sharedStatuses.map(([status, names]) => [status, [...names]]));
  for (const code of ERROR_CODES) codes.getOrInsertComputed(statuses[code], () => []).push(code);
  return new Map([...codes].sort(([a], [b]) => a - b));
}

/** The status of an error. 412 and 415 have no separate code (contract, "Versions of a record"). */
export function statusOf({ code, status }: Pick<AppError, "code" | "status">): number {
  return status ?? statuses[code];
}

/** Headers that a page of another origin may send, beside the headers that the page asks for: an endpoint may want any. */
const allowedHeaders =
  "Authorization, Content-Type, Idempotency-Key, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range";

/** Headers of an answer that a page of another origin may read. */
const exposedHeaders =
  "X-Request-Id, Retry-After, ETag, Socle-Position, Socle-Version, Idempotency-Replayed, Content-Range, Content-Disposition";

/** Names of headers (RFC 9110, "Tokens"), not more than anybody needs. */
const namesPattern = /^(?=.{1,1000}$)[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/;

/** A refused origin is logged once in this time, whichever pages ask: the entry is for the author of the configuration. */
const refusalsEveryMs = 3_600_000;

/**
 * Cross-origin headers (Fetch standard, "CORS protocol"). Tokens travel in a header, so credentials are never allowed.
 */
export class Cors {
  readonly #any: boolean;
  readonly #origins: ReadonlySet<string>;
  /** Scheme and host with its port of the origins with all subdomains: `["https://", ".example.com"]`. */
  readonly #families: readonly (readonly [scheme: string, host: string])[];
  readonly #logger: Logger;
  #loggedAt = Number.NEGATIVE_INFINITY;

  /** @param origins as `cors.origins` of the configuration has the origins. */
  constructor(origins: readonly string[], logger: Logger) {
    this.#any = origins.includes("*");
    this.#origins = new Set(origins);
    this.#families = origins.filter((origin) => origin.includes("://*.")).map(splitFamily);
    this.#logger = logger;
  }

  /**
   * Whether a socket may be opened. The browser does not ask before opening a socket (RFC 6455, 10.2), so the server looks
   * at the origin. Pages of this service may, and clients that are no browser.
   */
  allowsSocket(request: Request): boolean {
    const origin = request.headers.get("origin");
    return this.#any || origin === null || this.#allows(origin) || !this.#refuses(origin, request);
  }

  /** Adds the headers that an answer to this request needs. */
  apply(headers: Record<string, string>, request: Request): void {
    if (this.#any) {
      headers["Access-Control-Allow-Origin"] = "*";
    } else {
      headers["Vary"] = "Origin";
      const origin = request.headers.get("origin");
      if (origin === null) return;
      if (!this.#allows(origin)) {
        this.#refuses(origin, request);
        return;
      }
      headers["Access-Control-Allow-Origin"] = origin;
    }
    headers["Access-Control-Expose-Headers"] = exposedHeaders;
  }

  #allows(origin: string): boolean {
    const lower = origin.toLowerCase();
    return (
      this.#origins.has(lower) ||
      this.#families.some(([scheme, host]) => lower.startsWith(scheme) && lower.endsWith(host) && isHost(lower, scheme))
    );
  }

  /** Whether the page is of another service than this one. The log gets an entry an hour. */
  #refuses(origin: string, request: Request): boolean {
    if (URL.canParse(origin) && new URL(origin).host === request.headers.get("host")?.toLowerCase()) return false;
    const now = performance.now();
    if (now - this.#loggedAt >= refusalsEveryMs) {
      this.#loggedAt = now;
      this.#logger.warn("A page of an origin outside of cors.origins was refused", { origin: origin.slice(0, 200) });
    }
    return true;
  }

  /** Adds the headers of an answer to a preflight, too. */
  preflight(headers: Record<string, string>, request: Request, allow: string): void {
    this.apply(headers, request);
    headers["Access-Control-Allow-Methods"] = allow;
    const asked = request.headers.get("access-control-request-headers") ?? "";
    headers["Access-Control-Allow-Headers"] = namesPattern.test(asked) ? `${allowedHeaders}, ${asked}` : allowedHeaders;
    headers["Access-Control-Max-Age"] = "86400";
  }
}

function splitFamily(origin: string): readonly [scheme: string, host: string] {
  const star = origin.indexOf("*");
  return [origin.slice(0, star), origin.slice(star + 1)];
}

/** Whether nothing but a host and a port follows the scheme. */
function isHost(origin: string, scheme: string): boolean {
  return /^[a-z0-9._:-]+$/.test(origin.slice(scheme.length));
}

/** @throws AppError `bad_request` with status 415 for a body with a Content-Encoding, which the service does not decode. */
export function refuseEncoded(headers: Headers): void {
  const encoding = headers.get("content-encoding");
  if (encoding === null || /^\s*identity\s*$/i.test(encoding)) return;
  const message = `Bodies are taken without Content-Encoding; this body has ${quote(encoding)}.`;
  throw new AppError("bad_request", message, { status: 415 });
}

/** A host, which may be empty, with an optional port (RFC 3986, 3.2.2 and 3.2.3). */
const hostPattern = /^(?:[\w.~%!$&'()*+;=-]*|\[[0-9a-f:.]+\])(?::\d*)?$/i;

/** The host that passed the check last: most requests name the same host. */
let passedHost: string | null = null;

/**
 * @throws AppError `bad_request` for a header `Host` without a host, and for several headers `Host` (RFC 9112, 3.2). A
 * request of HTTP/1.0 may lack the header; the runtime refuses other requests without the header.
 */
export function checkHost(headers: Headers): void {
  const host = headers.get("host");
  if (host === passedHost) return;
  if (host !== null && !hostPattern.test(host))
    throw new AppError(
      "bad_request",
      `The header Host must be a single host, with or without a port, not ${quote(host)}.`,
    );
  passedHost = host;
}

/** Validators of an answer: its tag and its time. */
export interface Validators {
  /** Strong, with its quotes. */
  readonly etag: string;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

function tagsOf(header: string): string[] {
  return header.split(",").map((tag) => tag.trim());
}

function secondsOf(time: number): number {
  return Math.floor(time / 1_000);
}

export const jsonType = "application/json";

/** Headers of an answer that its caller may cache and must revalidate before each use. */
export function cacheHeaders(tag: string | null, principal: Principal, type?: string): Record<string, string> {
  const headers: Record<string, string> = { "Cache-Control": principal === null ? "no-cache" : "private, no-cache" };
  if (tag !== null) headers["ETag"] = tag;
  if (type !== undefined) headers["Content-Type"] = type;
  return headers;
}

/**
 * The three forms of an HTTP-date (RFC 9110, 5.6.7): today's, RFC 850's, and that of C's asctime, which names no zone.
 */
const dateForms = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/** Whether `If-None-Match` names a tag: the client has this answer already. */
export function hasTag(headers: Headers, etag: string): boolean {
  const header = headers.get("if-none-match");
  if (header === null) return false;
  const tags = tagsOf(header).map((tag) => tag.replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(etag);
}

/** The time of a header in seconds, or null for a header without a time, which does not count. */
function dateOf(header: string | null): number | null {
  if (header === null || !dateForms.some((form) => form.test(header))) return null;
  const time = Date.parse(header.endsWith("GMT") ? header : `${header} GMT`);
  return Number.isNaN(time) ? null : secondsOf(time);
}

/**
 * The status for the conditions of a GET or HEAD: 200 to answer as usual, 304 when the client has the current content,
 * 412 for a version that is gone.
 */
export function checkConditions(headers: Headers, { etag, modifiedAt }: Validators): 200 | 304 | 412 {
  const modified = secondsOf(modifiedAt);
  const ifMatch = headers.get("if-match");
  const unmodifiedSince = dateOf(headers.get("if-unmodified-since"));
  if (ifMatch !== null) {
    const tags = tagsOf(ifMatch);
    if (!tags.includes("*") && !tags.includes(etag)) return 412;
  } else if (unmodifiedSince !== null && modified > unmodifiedSince) {
    return 412;
  }
  if (headers.get("if-none-match") !== null) return hasTag(headers, etag) ? 304 : 200;
  const modifiedSince = dateOf(headers.get("if-modified-since"));
  return modifiedSince !== null && modified <= modifiedSince ? 304 : 200;
}

/** Whether a range may be answered: the content is still the content of which the client has a part. */
export function allowsRange(headers: Headers, { etag, modifiedAt }: Validators): boolean {
  const ifRange = headers.get("if-range");
  if (ifRange === null) return true;
  return ifRange.startsWith('"') ? ifRange.trim() === etag : dateOf(ifRange) === secondsOf(modifiedAt);
}

const rangeForm = /^bytes=\s*(?:(\d+)-(\d*)|-(\d+))\s*$/i;

/**
 * The part that a Range header asks for (RFC 9110, 14.2); null for the whole, also when the header makes no sense or
 * asks for several parts; "unsatisfiable" for a range beyond the end.
 */
export function parseRange(header: string | null, size: number): ByteRange | "unsatisfiable" | null {
  const [whole, from, to, last] = rangeForm.exec(header ?? "") ?? [];
  if (whole === undefined) return null;
  if (last !== undefined) {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size };
  }
  const start = Number(from);
  const end = to === undefined || to === "" ? size : Math.min(Number(to) + 1, size);
  // A range that ends before the start may be refused (RFC 9110, 14.2); the runtime does so beyond the end of a file.
  if (start >= size) return "unsatisfiable";
  return to !== undefined && to !== "" && Number(to) < start ? null : { start, end };
}

/** The path of a URL as sent. `URL` would refuse an odd Host header, which is irrelevant for a path. */
export function pathIn(url: string): string {
  return /^(?:[a-z]+:\/\/[^/?#]*)?([^?#]*)/i.exec(url)?.[1] ?? "/";
}

/** The place at which the path of an absolute URL starts. */
export function pathStart(url: string): number {
  return url.indexOf("/", url.indexOf("//") + 2);
}

/** Whether a request is about an account or for admins: the answer has tokens or personal data, and no cache may keep the answer (RFC 6749, 5.1). */
export function isPrivate(url: string): boolean {
  const path = pathStart(url);
  return url.startsWith("/api/auth/", path) || url.startsWith("/api/admin/", path);
}

export function nothingHere(): AppError {
  return new AppError("not_found", "There is nothing at this path.");
}

/** A decoded part of a path; null for a part that is not valid percent-encoding, and names nothing. */
export function decodePart(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
