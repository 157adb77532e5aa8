/**
 * The listening socket, which closes while too many connections are open, before the process runs out of descriptors, and
 * makes place for a successor with a new certificate.
 */
import type { Server } from "bun";
import { countsDescriptorsSlowly, descriptorLimit, openDescriptors } from "../../base/kernel/index.ts";
import type { LimitMeter, Logger } from "../../base/logging/index.ts";

const lookMs = 100;
/**
 * On systems that count slowly: the time to the next look while much is free, which is half of the bound, and more descriptors
 * than a flood opens in that time.
 */
const rareLook = { everyMs: 500, freePart: 0.5, free: 4_000 };
/** Descriptors that are kept for files, threads and processes: so many, or this part of all. */
const reserve = { least: 64, part: 0.1 };
/** Listening starts again once this part of the bound is free. */
const freePart = 0.05;
/** Connections that have not sent a request stay so long on a server that has stopped listening. */
const patienceMs = 2_000;
/** The shortest time of a pause, so also between two pauses. */
const pauseMs = 1_000;
/** Servers that have stopped listening and still have connections. Beyond, the oldest loses all connections. */
const maxStopped = 8;

interface ListenerOptions<T> {
  readonly serve: (port: number) => Server<T>;
  readonly port: number;
  readonly maxConnections: number;
  readonly limits: LimitMeter;
  readonly logger: Logger;
}

/**
 * Bun accepts every connection, and spins without descriptors. So the listener looks at the number of open descriptors, stops
 * listening beyond the bound, and listens again on the same port as soon as descriptors are free. A server that stops listening closes
 * the connections that wait for a next request; running requests are finished, and sockets stay, unless the port has been
 * closed eight more times since: then clients connect again, and resume the subscriptions with `since`.
 */
export class PortListener<T> {
  readonly #options: ListenerOptions<T>;
  readonly port: number;
  readonly hostname: string | undefined;
  readonly #timer: Timer;
  /** Descriptors that were open before the first connection. */
  readonly #base: number;
  /** Open descriptors from which on no connection is accepted. */
  readonly #most: number;
  readonly #isSlow: boolean;
  #nextLook = 0;
  #pausedAt = 0;
  #current: Server<T> | null;
  /** Servers that listen no more, and the time of the stop. */
  readonly #stopped = new Map<Server<T>, number>();
  #hasFailed = false;

  constructor(options: ListenerOptions<T>) {
    this.#options = options;
    this.#current = options.serve(options.port);
    this.port = this.#current.port ?? options.port;
    this.hostname = this.#current.hostname;
    this.#base = openDescriptors() ?? 0;
    this.#most = this.#bound();
    this.#isSlow = countsDescriptorsSlowly();
    this.#timer = setInterval(() => this.#look(), lookMs).unref();
  }

  /** Every server that may have connections. */
  get servers(): readonly Server<T>[] {
    return this.#current === null ? [...this.#stopped.keys()] : [this.#current, ...this.#stopped.keys()];
  }

  /** Requests with a last byte that has not left yet. */
  get pendingRequests(): number {
    return this.servers.reduce((sum, server) => sum + server.pendingRequests, 0);
  }

  /**
   * Listens with a new server, as `serve` makes the server now. As beyond the bound: running requests are finished, sockets stay,
   * and connections that wait for a next request are closed.
   */
  renew(): void {
    // While the port is closed, the next server is a new server anyway.
    if (this.#current === null) return;
    this.#pause();
    this.#dropOldest();
    this.#resume();
  }

  /** Accepts no more connections. Open connections stay open. */
  close(): void {
    clearInterval(this.#timer);
    this.#pause();
  }

  /** Closes every connection. */
  async end(): Promise<void> {
    this.close();
    await Promise.all(this.servers.map((server) => server.stop(true)));
  }

  #bound(): number {
    const { maxConnections, logger } = this.#options;
    const wanted = this.#base + maxConnections;
    const limit = descriptorLimit();
    if (limit === null) return Number.POSITIVE_INFINITY;
    const kept = Math.min(Math.max(reserve.least, Math.ceil(limit * reserve.part)), Math.floor(limit / 2));
    if (wanted <= limit - kept) return wanted;
    const connections = Math.max(1, limit - kept - this.#base);
    const advice = "raise it with ulimit -n or LimitNOFILE=, or lower limits.connections";
    logger.warn(`The process may open few files; ${advice}`, { files: limit, connections, wanted: maxConnections });
    return this.#base + connections;
  }

  #look(): void {
    const now = performance.now();
    if (now < this.#nextLook) return;
    const open = openDescriptors();
    if (open === null) return;
    const free = this.#most - open;
    if (this.#isSlow && free >= Math.max(this.#most * rareLook.freePart, rareLook.free))
      this.#nextLook = now + rareLook.everyMs;
    this.#forgetStopped();
    if (this.#current !== null && open >= this.#most) {
      this.#pause();
      this.#dropOldest();
      this.#options.limits.reached("connections", { open: open - this.#base, most: this.#most - this.#base });
      return;
    }
    // The port stays closed for a while: a bound on how often servers stop must not delay the stop.
    const hasRoom = free >= Math.ceil((this.#most - this.#base) * freePart);
    if (this.#current === null && hasRoom && now >= this.#pausedAt + pauseMs) this.#resume();
  }

  #pause(): void {
    const server = this.#current;
    if (server === null) return;
    this.#current = null;
    this.#pausedAt = performance.now();
    this.#stopped.set(server, this.#pausedAt);
    void server.stop(false);
  }

  /** A socket would keep its server for ever, and each event goes to the sockets of every server. */
  #dropOldest(): void {
    for (const oldest of this.#stopped.keys()) {
      if (this.#stopped.size <= maxStopped) break;
      this.#stopped.delete(oldest);
      void oldest.stop(true);
    }
  }

  #resume(): void {
    try {
      this.#current = this.#options.serve(this.port);
      this.#hasFailed = false;
    } catch (error) {
      // The next look tries again.
      if (!this.#hasFailed) this.#options.logger.error("Cannot listen again", { port: this.port, error });
      this.#hasFailed = true;
    }
  }

  /** Closes stopped servers with last connections that have never sent a whole request. */
  #forgetStopped(): void {
    const now = performance.now();
    for (const [server, since] of this.#stopped) {
      if (now - since < patienceMs || server.pendingRequests > 0 || server.pendingWebSockets > 0) continue;
      this.#stopped.delete(server);
      void server.stop(true);
    }
  }
}
