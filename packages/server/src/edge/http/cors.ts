/** Headers that a page of another origin may send, beside the headers that the page asks for: an endpoint may want any. */
const allowedHeaders =
  "Authorization, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range";

/** Names of headers (RFC 9110, "Tokens"), not more than anybody needs. */
const namesPattern = /^(?=.{1,1000}$)[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/;

/**
 * Cross-origin headers (Fetch standard, "CORS protocol"). Tokens travel in a header, so credentials are never allowed.
 */
export class Cors {
  readonly #any: boolean;
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#any = origins.includes("*");
    this.#origins = new Set(origins.map((origin) => origin.replace(/\/$/, "").toLowerCase()));
  }

  /**
   * Whether a socket may be opened. The browser does not ask before opening a socket (RFC 6455, 10.2), so the server looks
   * at the origin. Pages of this service may, and clients that are no browser.
   */
  allowsSocket(request: Request): boolean {
    const origin = request.headers.get("origin");
    if (this.#any || origin === null || this.#origins.has(origin.toLowerCase())) return true;
    return URL.canParse(origin) && new URL(origin).host === request.headers.get("host")?.toLowerCase();
  }

  /** Adds the headers that an answer to this request needs. */
  apply(headers: Record<string, string>, request: Request): void {
    if (this.#any) {
      headers["Access-Control-Allow-Origin"] = "*";
    } else {
      headers["Vary"] = "Origin";
      const origin = request.headers.get("origin");
      if (origin === null || !this.#origins.has(origin.toLowerCase())) return;
      headers["Access-Control-Allow-Origin"] = origin;
    }
    headers["Access-Control-Expose-Headers"] = "X-Request-Id, Retry-After, ETag, Content-Range, Content-Disposition";
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
