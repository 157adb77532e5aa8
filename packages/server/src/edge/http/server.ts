/** HTTP server: builds the routes, listens, upgrades sockets, and drains requests on stop. */
import type { Server } from "bun";
import type { Config } from "../../base/config/index.ts";
import { AppError, isObject, messageOf, SetupError } from "../../base/kernel/index.ts";
import type { SocketConnection } from "../../live/realtime/index.ts";
import type { Acme } from "./acme.ts";
import type { Connections, ServingParts } from "./api-router.ts";
import type { Certificate } from "./certificate.ts";
import { errorResponse } from "./error-response.ts";
import type { Exchange } from "./exchange.ts";
import type { RoutePlace } from "./forwarding.ts";
import { PortListener } from "./listener.ts";
import { LiveStreams } from "./live-streams.ts";
import { PassedRequest } from "./passed-request.ts";
import type { Router } from "./router.ts";

export interface HttpOptions {
  /** The address, the ports and the proxies. */
  config: Config;
  parts: ServingParts;
  openRouter: (connections: Connections) => Router;
  /** Whether other processes of the service listen on the same port; see `freePort`. */
  isShared?: boolean | undefined;
  /** The address of the client of a request that another instance of the cluster has forwarded; null for any other request. */
  clientOf?: ((request: Request, address: string) => string | null) | undefined;
  /** For HTTPS; null for plain HTTP. */
  certificate: Certificate | null;
  /** Called when another certificate is served, for the other processes of the service. */
  onCertificate?: () => Promise<void>;
  /** Answers the questions of the issuer of the certificate; null without ACME. */
  acme: Acme | null;
  /** Aborted when the service begins to stop. */
  stopping: AbortSignal;
  /** The seconds after which a connection is closed on which nothing moves; 0 for never. */
  idleTimeout?: number | undefined;
}

/** The usual seconds after which a connection is closed on which nothing moves; of plain HTTP beside HTTPS, sooner. */
const usualIdleTimeout = 60;
const redirectIdleTimeout = 10;
/** The name or address, and the port, that a client asks for. */
const hostPattern = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?$/i;
/** The path that an issuer of certificates asks for (RFC 8555, 8.3). */
const challengePath = /^\/\.well-known\/acme-challenge\/([\w-]+)$/;

const ownHosts = ["0.0.0.0", "::", "127.0.0.1", "::1", "localhost"];

/** Bun reports a port in use also for an address that does not belong to the machine. */
function cannotListen({ host, port }: { host: string; port: number }, thrown: unknown): SetupError {
  const isInUse = isObject(thrown) && thrown["code"] === "EADDRINUSE";
  if (!isInUse) return new SetupError(`cannot listen on host "${host}", port ${port}: ${messageOf(thrown)}`);
  if (port === 0) return new SetupError(`host "${host}" is no address of this machine; 0.0.0.0 is all of them`);
  const other = ownHosts.includes(host) ? "" : `, or host "${host}" is no address of this machine`;
  return new SetupError(`port ${port} is in use${other}; choose another with --port or SERVICE_PORT (0 = any)`);
}

export class HttpServer {
  readonly #router: Router;
  readonly #listener: PortListener<SocketConnection>;
  /** Plain HTTP beside HTTPS. */
  readonly #redirect: PortListener<undefined> | null;
  readonly #upgraded = new WeakMap<SocketConnection, Exchange>();
  readonly #options: HttpOptions;
  readonly #liveStreams: LiveStreams;

  /** @throws SetupError when the port cannot be listened on. */
  constructor(options: HttpOptions) {
    const { config, certificate } = options;
    const { auth, limits, logger, meter, realtime } = options.parts;
    this.#options = options;
    this.#liveStreams = new LiveStreams(auth);
    this.#router = options.openRouter({
      liveStreams: this.#liveStreams,
      upgrade: (exchange, connection) => this.#upgrade(exchange, connection),
      addressOf: (request) => this.addressOf(request),
      listenUrl: () => this.url,
      keepOpen: (request, over, longestMs) => this.keepOpen(request, over, longestMs),
    });
    const sockets = realtime.handlers();
    const maxConnections = config["limits.connections"];
    const hostname = hostOf(config.host);
    const serve = (port: number): Server<SocketConnection> =>
      Bun.serve({
        hostname,
        port,
        ...(certificate !== null && { tls: certificate.pair }),
        routes: this.#router.native(),
        fetch: (request) => this.#router.fallback(request),
        error: (error) => this.#router.crashed(error),
        websocket: {
          ...sockets,
          close: (socket, code, reason) => {
            const exchange = this.#upgraded.get(socket.data);
            if (exchange !== undefined) this.#router.inFlight.leave(exchange);
            return sockets.close?.(socket, code, reason);
          },
        },
        idleTimeout: options.idleTimeout ?? usualIdleTimeout,
        // Each route has separate limits, so that the answer at a limit comes from the API.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        development: false,
        // Outside development Bun would share the port with another listener.
        reusePort: options.isShared === true,
      });
    try {
      this.#listener = new PortListener({ limits, logger, maxConnections, port: config.port, serve });
      meter.inFlight = () => this.#listener.pendingRequests;
    } catch (thrown) {
      throw cannotListen(config, thrown);
    }
    const renewed = (): unknown => {
      this.#listener.renew();
      return options.onCertificate?.();
    };
    certificate?.watch(renewed, options.stopping);
    this.#redirect = this.#openRedirect(hostname);
    realtime.start({
      publish: (topic, text, compress) => {
        for (const server of this.#listener.servers) server.publish(topic, text, compress);
      },
      subscriberCount: (topic) =>
        this.#listener.servers.reduce((sum, server) => sum + server.subscriberCount(topic), 0),
    });
  }

  /** Answers a request that another process has passed on; the exchange has the parts of the answer. */
  passedOn(request: PassedRequest, place: RoutePlace): ReturnType<Router["passedOn"]> {
    return this.#router.passedOn(request, place);
  }

  get port(): number {
    return this.#listener.port;
  }

  /** The paths of the routes; see `RoutePlace`. */
  get paths(): readonly string[] {
    return this.#router.paths;
  }

  /** The URL of the API for a browser on this machine. */
  get url(): string {
    const { hostname, port } = this.#listener;
    const isWildcard = hostname === "0.0.0.0" || hostname === "::";
    const host = isWildcard ? "localhost" : hostname?.includes(":") === true ? `[${hostname}]` : hostname;
    return `${this.#options.certificate !== null ? "https" : "http"}://${host}:${port}`;
  }

  /** @throws SetupError when the port cannot be listened on; nothing is left open then. */
  #openRedirect(hostname: string): PortListener<undefined> | null {
    const { config, certificate, parts } = this.#options;
    const port = config["tls.redirectPort"];
    if (port === undefined || certificate === null) return null;
    try {
      return new PortListener({
        limits: parts.limits,
        logger: parts.logger,
        port,
        maxConnections: config["limits.connections"],
        serve: (chosen) =>
          Bun.serve({
            hostname,
            port: chosen,
            fetch: (request) => this.#redirected(request),
            idleTimeout: redirectIdleTimeout,
            development: false,
            reusePort: false,
          }),
      });
    } catch (thrown) {
      void this.#listener.end();
      throw cannotListen({ host: config.host, port }, thrown);
    }
  }

  /**
   * The answer of plain HTTP to a challenge, else 308, which keeps method and body; 400 for a request that does not say
   * where to go.
   */
  #redirected(request: Request): Response {
    const path = request.url.replace(/^[a-z]+:\/\/[^/?#]*/i, "");
    const token = challengePath.exec(path)?.[1];
    const answer = token && this.#options.acme?.answerTo(token);
    if (answer) return new Response(answer, { headers: { "Content-Type": "application/octet-stream" } });
    const name = hostPattern.exec(request.headers.get("host") ?? "")?.[1];
    if (name === undefined) return errorResponse(new AppError("bad_request", "The header Host names no host."));
    const { port } = this.#listener;
    const location = `https://${name}${port === 443 ? "" : `:${port}`}${path}`;
    return new Response(null, { status: 308, headers: { Location: location } });
  }

  /** The port of plain HTTP that redirects to this server; null without a redirect. */
  get redirectPort(): number | null {
    return this.#redirect?.port ?? null;
  }

  /** Looks for another certificate at once. */
  async reload(): Promise<void> {
    await this.#options.certificate?.look(true);
  }

  /**
   * Accepts no more connections and closes the idle connections, so that a proxy waits for the next start; a request on a connection that
   * is still open is told that the service is stopping. Resolves when no request runs, or after `graceMs`.
   */
  async refuse(graceMs: number): Promise<void> {
    this.#listener.close();
    this.#router.refuse();
    this.#options.parts.realtime.stop();
    this.#liveStreams.stop();
    void this.#redirect?.end();
    const end = performance.now() + graceMs;
    // Counts an answer until its last byte has left, also a stream. Requests that are turned away end at once.
    while (this.#listener.pendingRequests > 0 && performance.now() < end) await Bun.sleep(5);
  }

  /** Closes every connection. */
  end(): Promise<void> {
    return this.#listener.end();
  }

  /** See `Router.giveUp`. */
  giveUp(): void {
    this.#router.giveUp();
  }

  #upgrade(exchange: Exchange, connection: SocketConnection): boolean {
    const { request } = exchange;
    // The process that has the connection opens sockets.
    if (request instanceof PassedRequest) return false;
    // The runtime looks at the other headers of the handshake (RFC 6455, 4.2.1).
    if (!/(?:^|,)\s*upgrade\s*(?:,|$)/i.test(request.headers.get("connection") ?? "")) return false;
    // Now: a request that has become a socket does not tell its address any more.
    this.#router.inFlight.becomeSocket(exchange);
    for (const server of this.#listener.servers) {
      try {
        if (!server.upgrade(request, { data: connection, headers: { "X-Request-Id": exchange.requestId } }))
          return false;
        this.#upgraded.set(connection, exchange);
        return true;
      } catch {
        // The request came to another server, which listens no more.
      }
    }
    return false;
  }

  /** Whether the log has the line about a proxy that is not trusted. */
  #hasSeenProxy = false;

  /** See `KeepOpen`. */
  keepOpen(request: Request, over: Promise<unknown>, longestMs = Number.POSITIVE_INFINITY): void {
    const { idleTimeout = usualIdleTimeout } = this.#options;
    if (idleTimeout === 0 || longestMs < idleTimeout * 1_000) return;
    if (request instanceof PassedRequest) {
      request.keepOpen();
      return;
    }
    // A connection that is kept open for ever would stay with a client that does not read.
    const renew = (): void => this.#listener.servers[0]?.timeout(request, idleTimeout);
    const timer = setInterval(renew, idleTimeout * 400);
    const stop = (): void => clearInterval(timer);
    over.then(stop, stop);
  }

  /** The address that a request comes from, as a key. */
  addressOf(request: Request): string {
    if (request instanceof PassedRequest) return request.address;
    const address = this.#ownAddressOf(request);
    return this.#options.clientOf?.(request, address) ?? address;
  }

  #ownAddressOf(request: Request): string {
    const { trustedProxies } = this.#options.config;
    if (trustedProxies > 0) {
      const forwarded = (request.headers.get("x-forwarded-for") ?? "").split(",").map((entry) => entry.trim());
      const address = forwarded.at(-trustedProxies);
      if (address !== undefined && address !== "") return addressKey(address);
    } else if (!this.#hasSeenProxy && request.headers.has("x-forwarded-for")) {
      this.#hasSeenProxy = true;
      this.#options.parts.logger.warn(
        "A request came with X-Forwarded-For, and trustedProxies is 0: behind a proxy of yours, all clients count as one address until trustedProxies is the number of your proxies",
        { address: this.#ownAddressOf(request) },
      );
    }
    for (const server of this.#listener.servers) {
      // Null for a request of another server, which listens no more.
      const address = server.requestIP(request)?.address;
      if (address !== undefined) return addressKey(address);
    }
    return "unknown";
  }
}

/** How long the first process waits for a port: the processes of a killed service end a moment after the service. */
const portMs = 1_000;

/**
 * A port that no other program has, for several processes: a shared port would be shared with another service, too, without an error.
 * @throws SetupError for a port in use.
 */
export async function freePort({ host, port: wanted }: Pick<Config, "host" | "port">): Promise<number> {
  const end = performance.now() + portMs;
  for (;;) {
    try {
      const fetch = (): Response => new Response();
      const probe = Bun.serve({ hostname: hostOf(host), port: wanted, fetch, reusePort: false, development: false });
      const { port = wanted } = probe;
      await probe.stop(true);
      return port;
    } catch (thrown) {
      if (performance.now() > end) throw cannotListen({ host, port: wanted }, thrown);
      await Bun.sleep(portMs / 20);
    }
  }
}

/** A URL writes an IPv6 address in brackets; a socket does not. */
function hostOf(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}

/**
 * The key of an address. Brackets and a port, which some proxies write (RFC 7239, 6), do not count. IPv4 stays, also
 * when written as IPv6 (`::ffff:0:0/96`, in either notation). An IPv6 address counts by the /64: a subscriber has
 * that many addresses (RFC 6177).
 */
export function addressKey(written: string): string {
  // `[2001:db8::1]:443`, `192.0.2.7:51234`.
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(written)?.[1];
  const address = bracketed ?? /^([^:]*):\d+$/.exec(written)?.[1] ?? written;
  const plain = address.split("%")[0] ?? "";
  // The URL parser writes an address in the shortest form, which makes the groups comparable.
  const url = /^[\da-f.]*:[\da-f.:]*$/i.test(plain) ? URL.parse(`http://[${plain}]/`) : null;
  if (url === null) return address;
  const shortest = url.hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(shortest);
  if (mapped !== null) {
    const groups = mapped.slice(1).map((group) => Number.parseInt(group, 16));
    return groups.flatMap((group) => [group >> 8, group & 0xff]).join(".");
  }
  const [head = "", tail] = shortest.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array<string>(8 - before.length - after.length).fill("0");
  return `${[...before, ...zeros, ...after].slice(0, 4).join(":")}::/64`;
}
