/** Router: matches a request to its route, and answers 404, 405 and OPTIONS itself. */
import type { ErrorBody } from "@socle/protocol";
import { AppError, isObject, messageOf } from "../kernel/index.ts";
import type { LimitMeter, Logger, RequestMeter } from "../logging/index.ts";
import type { AccessLog } from "./access-log.ts";
import { type Answers, NoRoom } from "./answers.ts";
import type { Bodies } from "./bodies.ts";
import type { Callers } from "./callers.ts";
import type { Cors } from "./cors.ts";
import { Dashboard } from "./dashboard.ts";
import { type Authenticate, Exchange, type ExchangeService, pathOf, shownPath } from "./exchange.ts";
import { adminOf } from "./routes/admin/for-admins.ts";
import type { StaticFiles } from "./static-files.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
type Method = (typeof METHODS)[number];

/** Undefined when there is nothing to answer any more: the connection has become a socket. */
type Answer = Response | undefined;
export type Handler = (exchange: Exchange) => Answer | Promise<Answer>;

const withBody: readonly string[] = ["POST", "PUT", "PATCH"] satisfies Method[];
const noParams: Record<string, string> = {};

/**
 * Lets go of the body of a method that reads none. The runtime would keep its bytes until the answer is made.
 */
function dropUnreadBody(request: Request): void {
  const { method, headers } = request;
  if (withBody.includes(method)) return;
  if (headers.get("content-length") === null && headers.get("transfer-encoding") === null) return;
  // A body that breaks off is no matter.
  request.body?.cancel().catch(() => undefined);
}

/** One path with a handler for each method. `:name` stands for one part of the path, `*` at the end for all further parts. */
export interface Route {
  readonly path: string;
  readonly methods: { readonly [method in Method]?: Handler };
  /** Answers every method, OPTIONS too, in place of `methods`. */
  readonly any?: Handler;
}

const nativeMethods = [...METHODS, "OPTIONS"] as const;
type NativeMethod = (typeof nativeMethods)[number];
type NativeHandler = (request: Request & { params?: Record<string, string> }) => Answer | Promise<Answer>;
export type NativeRoutes = Record<string, Partial<Record<NativeMethod, NativeHandler>>>;

function allowed(route: Route): string {
  const methods: string[] = METHODS.filter((method) => route.methods[method] !== undefined);
  if (methods.includes("GET")) methods.splice(1, 0, "HEAD");
  return [...methods, "OPTIONS"].join(", ");
}

/** A part of a path as it was meant, or null when it cannot be a name or an id. */
function decodePart(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not valid percent-encoding: it names nothing.
    return null;
  }
}

function matchPath(pattern: string, parts: readonly string[]): Record<string, string> | null {
  const wanted = pattern.split("/");
  const isOpen = wanted.at(-1) === "*" && parts.length >= wanted.length;
  if (isOpen) wanted.pop();
  else if (wanted.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [i, want] of wanted.entries()) {
    const part = parts[i] ?? "";
    if (want.startsWith(":")) {
      const value = decodePart(part);
      if (value === null || value === "") return null;
      params[want.slice(1)] = value;
    } else if (want !== part) {
      return null;
    }
  }
  return params;
}

/**
 * Dispatches requests. Bun's own router matches the usual ones; everything else (a trailing slash,
 * OPTIONS, a wrong method, an unknown path) comes to `fallback`, which knows the same table.
 */
export class Router {
  readonly #routes: readonly Route[];
  readonly #service: ExchangeService;
  readonly #limits: LimitMeter;
  readonly #logger: Logger;
  readonly #files: StaticFiles | null;
  readonly #dashboard: Dashboard | null;
  readonly #meter: RequestMeter;
  readonly #access: AccessLog;
  readonly #idPrefix = crypto.randomUUID().slice(0, 8);
  #count = 0;
  #isStopping = false;
  /** When it was last logged that a request was turned away, and how many were since. */
  #saidAt = Number.NEGATIVE_INFINITY;
  #unsaid = 0;

  constructor(options: {
    routes: readonly Route[];
    cors: Cors;
    authenticate: Authenticate;
    /** The address that a request comes from, as a key: an IPv6 address counts by its /64. */
    addressOf: (request: Request) => string;
    answers: Answers;
    bodies: Bodies;
    callers: Callers;
    limits: LimitMeter;
    logger: Logger;
    files: StaticFiles | null;
    dashboard: Dashboard | null;
    meter: RequestMeter;
    access: AccessLog;
  }) {
    this.#routes = options.routes;
    const { cors, authenticate, addressOf, answers, bodies, callers } = options;
    const onBrokenStream = (exchange: Exchange, thrown: unknown): void => this.#broken(exchange, thrown);
    this.#service = { cors, authenticate, addressOf, answers, bodies, callers, onBrokenStream };
    this.#limits = options.limits;
    this.#logger = options.logger;
    this.#files = options.files;
    this.#dashboard = options.dashboard;
    this.#meter = options.meter;
    this.#access = options.access;
  }

  /** The table in the form in which `Bun.serve` takes it. */
  native(): NativeRoutes {
    const routes: NativeRoutes = {};
    for (const route of this.#routes) {
      const handlers: Partial<Record<NativeMethod, NativeHandler>> = {};
      for (const method of nativeMethods) {
        // A method that is left out would be looked for at the next pattern that matches.
        const handler: Handler =
          (method === "OPTIONS" ? undefined : route.methods[method]) ?? ((exchange) => this.#byMethod(route, exchange));
        const guarded = method === "OPTIONS" ? handler : this.#guarded(route.path, handler);
        handlers[method] = (request) => this.#run(request, request.params ?? noParams, guarded);
      }
      routes[route.path] = handlers;
    }
    return routes;
  }

  fallback(request: Request): Answer | Promise<Answer> {
    const pathname = pathOf(request);
    const path = pathname.length > 1 && pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
    const parts = path.split("/");
    for (const route of this.#routes) {
      const params = matchPath(route.path, parts);
      if (params === null) continue;
      const handler: Handler = (exchange) => this.#byMethod(route, exchange);
      // A CORS preflight carries no token; it learns which methods a route has, which the documentation says anyway.
      return this.#run(request, params, request.method === "OPTIONS" ? handler : this.#guarded(path, handler));
    }
    return this.#run(
      request,
      noParams,
      this.#guarded(path, (exchange) => this.#file(exchange, pathname)),
    );
  }

  /** The dashboard or a static file, where there are some and no route has the path. */
  async #file(exchange: Exchange, pathname: string): Promise<Answer> {
    const files = this.#files;
    const dashboard = Dashboard.owns(pathname) ? this.#dashboard : null;
    if (dashboard !== null)
      return this.#byMethod({ path: pathname, methods: { GET: () => dashboard.answer(exchange, pathname) } }, exchange);
    if (files === null || (await files.findFor(exchange.request, pathname)) === null)
      throw new AppError("not_found", "There is nothing at this path.");
    const GET: Handler = () => files.answer(exchange, pathname);
    return this.#byMethod({ path: pathname, methods: { GET } }, exchange);
  }

  /**
   * The answer when a handler's error handling failed, or its answer did: a file may be deleted between the moment it
   * was found and the moment it is sent.
   */
  crashed(error: unknown): Response {
    const requestId = this.#nextId();
    if (isObject(error) && error["code"] === "ENOENT")
      return this.#bare(404, requestId, { code: "not_found", message: "There is no such file any more." });
    this.#logger.error("A request failed outside its handler", { requestId, error });
    return this.#bare(500, requestId, { code: "internal_error", message: "Something went wrong." });
  }

  /** An error without an exchange to make it. */
  #bare(status: number, requestId: string, error: ErrorBody["error"]): Response {
    const headers = {
      "Content-Type": "application/json",
      "X-Content-Type-Options": "nosniff",
      "X-Request-Id": requestId,
    };
    return new Response(JSON.stringify({ error }), { status, headers });
  }

  /** From now on new requests, on connections that are open, are turned away. */
  refuse(): void {
    this.#isStopping = true;
  }

  async #byMethod(route: Route, exchange: Exchange): Promise<Answer> {
    if (route.any !== undefined) return route.any(exchange);
    const { method } = exchange.request;
    const allow = allowed(route);
    if (method === "OPTIONS") return exchange.options(allow);
    const handler = METHODS.find((name) => name === (method === "HEAD" ? "GET" : method));
    const run = handler === undefined ? undefined : route.methods[handler];
    if (run === undefined)
      throw new AppError("method_not_allowed", `${method} is not possible here; allowed: ${allow}.`, { allow });
    return run(exchange);
  }

  #run(request: Request, params: Record<string, string>, handler: Handler): Answer | Promise<Answer> {
    const exchange = new Exchange(request, params, { requestId: this.#nextId(), service: this.#service });
    const start = performance.now();
    if (this.#isStopping)
      return this.#counted(exchange.error(new AppError("unavailable", "The service is stopping.")), exchange, start);
    const run: Handler = exchange.isLarge ? () => exchange.inTurn(async () => handler(exchange)) : handler;
    try {
      dropUnreadBody(request);
      this.#service.callers.enter(exchange);
      const lack = exchange.foresee();
      if (lack !== null) return this.#otherwise(exchange, run, { thrown: lack, start });
      const response = run(exchange);
      if (!(response instanceof Promise)) return this.#counted(response, exchange, start);
      return response.then(
        (answer) => this.#counted(answer, exchange, start),
        (thrown: unknown) => this.#otherwise(exchange, run, { thrown, start }),
      );
    } catch (thrown) {
      return this.#otherwise(exchange, run, { thrown, start });
    }
  }

  /**
   * The handler, and before it, under `/api/admin/`, the check that the caller is an admin: a path that does not exist
   * and a method that a route does not have are no exception (contract, "HTTP in general").
   */
  #guarded(path: string, handler: Handler): Handler {
    const [, api, noun = ""] = path.split("/");
    const guarded: Handler = async (exchange) => {
      await adminOf(exchange);
      return handler(exchange);
    };
    if (api !== "api") return handler;
    if (decodePart(noun) === "admin") return guarded;
    // A percent-encoded "admin" comes as the name of a collection.
    return noun.startsWith(":")
      ? (exchange) => (exchange.param(noun.slice(1)) === "admin" ? guarded(exchange) : handler(exchange))
      : handler;
  }

  /** Runs a request again whose answer had no room; any other error is answered. */
  #otherwise(
    exchange: Exchange,
    handler: Handler,
    { thrown, start }: { thrown: unknown; start: number },
  ): Answer | Promise<Answer> {
    if (!(thrown instanceof NoRoom)) return this.#counted(this.#failed(exchange, thrown), exchange, start);
    return exchange
      .waitForRoom(thrown)
      .then(() => handler(exchange))
      .then(
        (answer) => this.#counted(answer, exchange, start),
        (failure: unknown) => this.#counted(this.#failed(exchange, failure), exchange, start),
      );
  }

  #counted<T extends Answer>(answer: T, exchange: Exchange, start: number): T {
    const status = answer?.status ?? 101;
    const ms = performance.now() - start;
    this.#meter.count(exchange.request.method, status, ms);
    this.#access.note(exchange, status, ms);
    // A request that has become a socket is open until that is closed.
    if (answer !== undefined) exchange.made();
    return answer;
  }

  #nextId(): string {
    this.#count += 1;
    return `${this.#idPrefix}-${this.#count.toString(36)}`;
  }

  #broken(exchange: Exchange, thrown: unknown): void {
    if (thrown instanceof AppError && thrown.limit !== undefined)
      this.#limits.reached(thrown.limit, { address: exchange.address });
    // The caller's right has ended, or the list has changed under it.
    else if (thrown instanceof AppError)
      this.#logger.info("An answer broke off", { requestId: exchange.requestId, cause: thrown.message });
    else this.#log(exchange, "An answer broke off", thrown);
  }

  #log({ requestId, request }: Exchange, message: string, error: unknown): void {
    this.#logger.error(message, { requestId, method: request.method, path: shownPath(request), error });
  }

  /** With many, one line a minute says so. */
  #turnedAway({ requestId, request }: Exchange, error: AppError): void {
    this.#unsaid += 1;
    const now = performance.now();
    if (now - this.#saidAt < 60_000) return;
    this.#saidAt = now;
    const cause = error.cause === undefined ? error.message : messageOf(error.cause);
    const requests = this.#unsaid;
    this.#unsaid = 0;
    const where = { requestId, method: request.method, path: shownPath(request) };
    this.#logger.error("A request was turned away", { ...where, cause, ...(requests > 1 && { requests }) });
  }

  /** Known errors are for the caller; all others are for the log, and the caller learns only that there was one. */
  #failed(exchange: Exchange, thrown: unknown): Response {
    const { requestId } = exchange;
    if (!(thrown instanceof AppError) || thrown.code === "internal_error") {
      this.#log(exchange, "A request failed", thrown);
      return exchange.error(
        new AppError("internal_error", `An internal error occurred; the log has it under ${requestId}.`),
      );
    }
    if (thrown.limit !== undefined) this.#limits.reached(thrown.limit, { address: exchange.address });
    else if (thrown.code === "unavailable") this.#turnedAway(exchange, thrown);
    return exchange.error(thrown);
  }
}
