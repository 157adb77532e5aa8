import type { Server } from "bun";
import type { Auth } from "../auth/index.ts";
import { isObject, messageOf, SetupError } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import type { Records } from "../records/index.ts";
import { Cors } from "./cors.ts";
import { Router } from "./router.ts";
import { authRoutes } from "./routes/auth.ts";
import { healthRoutes } from "./routes/health.ts";
import { recordRoutes } from "./routes/records.ts";

export interface HttpOptions {
  auth: Auth;
  records: Records;
  logger: Logger;
  version: string;
  host: string;
  /** 0 picks a free one. */
  port: number;
  corsOrigins: readonly string[];
  /** Bytes. */
  bodyLimit: number;
  /** How many entries of X-Forwarded-For, from the right, were written by proxies that are ours. */
  trustedProxies: number;
}

/** A connection on which nothing moves is closed after this many seconds. */
const idleTimeout = 60;

/** The HTTP API on a port. */
export class HttpServer {
  readonly #router: Router;
  readonly #server: Server<undefined>;
  readonly #trustedProxies: number;

  /** @throws SetupError when the port cannot be listened on. */
  constructor(options: HttpOptions) {
    const { auth, records, bodyLimit } = options;
    this.#trustedProxies = options.trustedProxies;
    this.#router = new Router({
      routes: [
        ...healthRoutes(options.version),
        ...authRoutes({ auth, bodyLimit, addressOf: (request) => this.#addressOf(request) }),
        ...recordRoutes({ records, bodyLimit }),
      ],
      cors: new Cors(options.corsOrigins),
      authenticate: (token) => auth.authenticate(token),
      logger: options.logger,
    });
    try {
      this.#server = Bun.serve({
        hostname: options.host,
        port: options.port,
        routes: this.#router.native(),
        fetch: (request) => this.#router.fallback(request),
        error: (error) => this.#router.crashed(error),
        idleTimeout,
        // Limits are each route's own, so that their answer is the API's.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        development: false,
        // Outside development Bun would share the port with whoever listens there already.
        reusePort: false,
      });
    } catch (thrown) {
      const where = `${options.host}:${options.port}`;
      if (isObject(thrown) && thrown["code"] === "EADDRINUSE")
        throw new SetupError(`port ${options.port} is in use; choose another with --port or SERVICE_PORT (0 = any)`);
      throw new SetupError(`cannot listen on ${where}: ${messageOf(thrown)}`);
    }
  }

  /** Where a browser on this machine finds the API. */
  get url(): string {
    const { hostname, port } = this.#server;
    const isWildcard = hostname === "0.0.0.0" || hostname === "::";
    const host = isWildcard ? "localhost" : hostname?.includes(":") === true ? `[${hostname}]` : hostname;
    return `http://${host}:${port}`;
  }

  /** Stops accepting, waits for what is running (`graceMs` at most) and closes every connection. */
  async stop(graceMs: number): Promise<void> {
    const closed = this.#server.stop(false);
    await this.#router.drain(graceMs);
    await Promise.race([closed, Bun.sleep(20)]);
    await this.#server.stop(true);
  }

  #addressOf(request: Request): string {
    if (this.#trustedProxies > 0) {
      const forwarded = (request.headers.get("x-forwarded-for") ?? "").split(",").map((entry) => entry.trim());
      const address = forwarded.at(-this.#trustedProxies);
      if (address !== undefined && address !== "") return address;
    }
    return this.#server.requestIP(request)?.address ?? "unknown";
  }
}
