/** The port of plain HTTP beside HTTPS: each request is redirected to the same address under HTTPS. */
import type { Server } from "bun";
import { AppError } from "../../base/kernel/index.ts";

/** A connection on which nothing moves is closed after this many seconds. */
const idleTimeout = 10;
/** The name or address, and the port, that a client asks for. */
const hostPattern = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?$/i;

export interface RedirectOptions {
  readonly hostname: string;
  readonly port: number;
  /** The port of HTTPS. */
  readonly httpsPort: () => number;
  /** The text that the issuer of a certificate expects for a token; undefined for a token that is not its own. */
  readonly answerTo: (token: string) => string | undefined;
}

/** The path that an issuer asks for (RFC 8555, 8.3). */
const challengePath = /^\/\.well-known\/acme-challenge\/([\w-]+)$/;

export function serveRedirect(options: RedirectOptions): Server<undefined> {
  const { hostname, port } = options;
  return Bun.serve({
    hostname,
    port,
    fetch: (request) => answered(request, options),
    idleTimeout,
    development: false,
    reusePort: false,
  });
}

/**
 * The answer to a challenge, else 308, which keeps method and body; 400 for a request that does not say where it wants
 * to go.
 */
function answered(request: Request, options: RedirectOptions): Response {
  const path = request.url.replace(/^[a-z]+:\/\/[^/?#]*/i, "");
  const token = challengePath.exec(path)?.[1];
  const answer = token === undefined ? undefined : options.answerTo(token);
  if (answer !== undefined) return new Response(answer, { headers: { "Content-Type": "application/octet-stream" } });
  const name = hostPattern.exec(request.headers.get("host") ?? "")?.[1];
  if (name === undefined) {
    const { code, message } = new AppError("bad_request", "The header Host names no host.");
    return Response.json({ error: { code, message } }, { status: 400 });
  }
  const httpsPort = options.httpsPort();
  const port = httpsPort === 443 ? "" : `:${httpsPort}`;
  return new Response(null, { status: 308, headers: { Location: `https://${name}${port}${path}` } });
}
