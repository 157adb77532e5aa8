/** Router: matches a request to the route, and answers 404, 405 and OPTIONS without a handler. */
import { AppError, excerpt, isObject, messageOf } from "../../base/kernel/index.ts";
import { type LimitMeter, type Logger, Repeats, type RequestMeter } from "../../base/logging/index.ts";
import type { RequestLog } from "../../store/events/index.ts";
import { Dashboard } from "./dashboard.ts";
import { errorResponse } from "./error-response.ts";
import { Exchange, type ExchangeService, type Handler, type HandlerResult } from "./exchange.ts";
import { type ForwardRequest, NeedsLeader, noRoute, type RoutePlace } from "./forwarding.ts";
import { checkHost, decodePart, nothingHere, pathIn, pathStart } from "./headers.ts";
import { type InFlight, Stopping } from "./in-flight.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { closedToKeys, type FindMethods, handlerOf, METHODS, type Methods, type Route, type Routes } from "./route.ts";
import type { StaticFiles } from "./static-files.ts";

export const withBody: readonly string[] = ["POST", "PUT", "PATCH"] satisfies (typeof METHODS)[number][];
const noParams: Record<string, string> = {};

/** Discards the body for a method that reads no body. The runtime would keep the bytes until the answer is made. */
function dropUnreadBody(request: Request, readsDeletion: boolean): void {
  const { method, headers } = request;
  if (withBody.includes(method) || (method === "DELETE" && readsDeletion)) return;
  if (headers.get("content-length") === null && headers.get("transfer-encoding") === null) return;
  // A broken body does not matter here.
  request.body?.cancel().catch(() => undefined);
}

/** A request in the form of logs and traces. The query of the address is left out, because a query may hold a token. */
function shown({ requestId, request: { method, url } }: Exchange): { requestId: string; method: string; path: string } {
  return { requestId, method, path: excerpt(pathIn(url), 200) };
}

/** Whether a request is for the dashboard or the admin API. @param url absolute. */
function isOfDashboard(url: string): boolean {
  const path = pathStart(url);
  return url.startsWith("/api/admin/", path) || url.startsWith("/_/", path);
}

/** Milliseconds with two decimals. */
function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}

/** Whether a browser asks for the rights of a page of another origin (Fetch standard, "CORS-preflight request"). */
function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers.has("access-control-request-method");
}

const nativeMethods = [...METHODS, "OPTIONS"] as const;
type NativeMethod = (typeof nativeMethods)[number];
type NativeHandler = (request: Request & { params?: Record<string, string> }) => Promise<HandlerResult>;
export type NativeRoutes = Record<string, Partial<Record<NativeMethod, NativeHandler>>>;

function allowed(handlers: Methods): string {
  const methods: string[] = METHODS.filter((method) => handlers[method] !== undefined);
  if (methods.includes("GET")) methods.splice(1, 0, "HEAD");
  return [...methods, "OPTIONS"].join(", ");
}

function isOpenToKeys(methods: Handlers): boolean {
  return (
    typeof methods === "object" &&
    Object.values(methods).every((each) => typeof each === "object" && each.keys === true)
  );
}

/** @param wanted the parts of the pattern, and `parts` of the path. */
function matchPath(wanted: readonly string[], parts: readonly string[]): Record<string, string> | null {
  const isOpen = wanted.at(-1) === "*" && parts.length >= wanted.length;
  if (!isOpen && wanted.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [i, want] of wanted.entries()) {
    const part = parts[i] ?? "";
    if (isOpen && i === wanted.length - 1) break;
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
 * Keeps the connection of a request open until `over` resolves, also while nothing moves on the connection.
 * @param longestMs the longest time until then: for a time that the connection stays open anyway, nothing is done.
 */
export type KeepOpen = (request: Request, over: Promise<unknown>, longestMs: number) => void;

/** A route with the handler of a request. */
interface Matched extends RoutePlace {
  readonly handler: Handler;
}

type Handlers = Methods | FindMethods;

interface RouterOptions {
  readonly routes: Routes;
  /** Takes the requests for which the table has no handler, in a reader process; null in the leader. */
  readonly passOn: ForwardRequest | null;
  readonly service: Omit<ExchangeService, "onBrokenStream">;
  readonly limits: LimitMeter;
  readonly logger: Logger;
  /** Whether the log tells of each rule that refuses a request, for the author of the rule. */
  readonly isDevelopment?: boolean | undefined;
  readonly files: StaticFiles | null;
  readonly dashboard: Dashboard | null;
  /** The handlers of the endpoint at a path without a route; null for no endpoint, and without such endpoints. */
  readonly endpoints: ((exchange: Exchange) => Methods | null) | null;
  /** Lets a request wait until this instance of a cluster may answer; null if the instance may. */
  readonly admit?: ((request: Request) => Promise<void> | null) | undefined;
  /** Counts a request against `limits.requests`; null without limits. */
  readonly limit: ((exchange: Exchange) => Promise<void>) | null;
  readonly rates: Pick<RateLimiter, "limit">;
  readonly meter: RequestMeter;
  /** Takes the requests that may have changed something. */
  readonly requests: Pick<RequestLog, "note" | "watcher">;
  /** The part of the requests that the access log has, in percent. */
  readonly accessPercent: number;
}

/**
 * Dispatches requests. Bun's own router matches ordinary requests; all other requests (a trailing slash,
 * OPTIONS, a wrong method, an unknown path) come to `fallback`, which knows the same table.
 */
export class Router {
  readonly #options: RouterOptions;
  readonly #routes: readonly (readonly [path: string, handlers: Handlers, parts: readonly string[]])[];
  /** The handlers of each route, by method, after the checks of `#guard`. A reader process has only handlers of its own. */
  readonly #guarded: readonly Partial<Record<NativeMethod, Handler>>[];
  readonly #service: ExchangeService;
  readonly #accessLog: Logger;
  readonly #idPrefix = crypto.randomUUID().slice(0, 8);
  #count = 0;
  #isStopping = false;
  readonly #refusals = new Repeats();

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#routes = Object.entries(options.routes).map(([path, handlers]) => [path, handlers, path.split("/")]);
    const onBrokenStream = (exchange: Exchange, thrown: unknown): void => this.#broken(exchange, thrown);
    this.#service = { ...options.service, onBrokenStream };
    this.#accessLog = options.logger.for("access");
    this.#guarded = this.#routes.map(([path, methods]) => this.#handlersOf(path, methods));
  }

  #handlersOf(path: string, methods: Handlers): Partial<Record<NativeMethod, Handler>> {
    const handlers: Partial<Record<NativeMethod, Handler>> = {};
    for (const method of nativeMethods) {
      const known = method === "OPTIONS" || typeof methods === "function" ? undefined : methods[method];
      if (known === undefined && this.#options.passOn !== null) continue;
      const isForKeys = isOpenToKeys(methods);
      handlers[method] =
        known === undefined
          ? this.#guard(path, (exchange) => this.#byMethod(methods, exchange), isForKeys)
          : this.#handlerOf(path, known);
    }
    return handlers;
  }

  #handlerOf(path: string, known: Route | Handler): Handler {
    const handler = typeof known === "function" ? known : handlerOf(known, this.#options.rates);
    return path.startsWith("/api/:") ? this.#guard(path, handler) : handler;
  }

  get inFlight(): InFlight {
    return this.#service.inFlight;
  }

  /** Answers 503 to requests without a complete body, and to requests that take long. */
  giveUp(): void {
    this.#service.bodies.giveUp();
    this.#service.inFlight.giveUp();
  }

  /** The paths of the table, in the order of `RoutePlace`. */
  get paths(): readonly string[] {
    return this.#routes.map(([path]) => path);
  }

  /** The table in the form that `Bun.serve` takes. */
  native(): NativeRoutes {
    const routes: NativeRoutes = {};
    const { passOn } = this.#options;
    for (const [index, [path]] of this.#routes.entries()) {
      const handlers: Partial<Record<NativeMethod, NativeHandler>> = {};
      for (const method of nativeMethods) {
        // If a method were missing here, Bun would look for the method at the next pattern that matches.
        const handler = this.#guarded[index]?.[method];
        if (handler !== undefined)
          handlers[method] = (request) => this.#run(request, { index, params: request.params ?? noParams, handler });
        else if (passOn !== null)
          handlers[method] = (request) => passOn(request, { index, params: request.params ?? noParams });
      }
      routes[path] = handlers;
    }
    return routes;
  }

  async fallback(request: Request): Promise<HandlerResult> {
    const matched = this.#match(request);
    const { passOn } = this.#options;
    if (passOn === null || (await this.#isHere(request, matched))) return this.#run(request, matched);
    return passOn(request, matched);
  }

  /** Answers a request that another process has passed on; the exchange has the parts of the answer. */
  passedOn(request: Request, { index, params }: RoutePlace): { exchange: Exchange; answer: Promise<HandlerResult> } {
    const method = nativeMethods.find((each) => each === request.method);
    const handler = method && this.#guarded[index]?.[method];
    const matched = handler === undefined ? this.#match(request) : { index, params, handler };
    const exchange = this.#exchange(request, matched.params);
    return { exchange, answer: this.#answer(exchange, matched) };
  }

  #match(request: Request): Matched {
    const pathname = pathIn(request.url);
    const path = pathname.length > 1 && pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
    const parts = path.split("/");
    for (const [index, [pattern, methods, wanted]] of this.#routes.entries()) {
      const params = matchPath(wanted, parts);
      if (params === null) continue;
      const method = nativeMethods.find((each) => each === (request.method === "HEAD" ? "GET" : request.method));
      const known = method && this.#guarded[index]?.[method];
      const handler = known ?? this.#guard(pattern, (exchange) => this.#byMethod(methods, exchange));
      return { index, params, handler };
    }
    const handler: Handler = (exchange) => this.#file(exchange, pathname);
    return { index: noRoute, params: noParams, handler: this.#guard(path, handler) };
  }

  /** Whether a reader process answers a request without the leader: a read with a handler, or a file. */
  async #isHere({ method, url }: Request, { index }: RoutePlace): Promise<boolean> {
    if (method !== "GET" && method !== "HEAD") return false;
    if (index !== noRoute) return this.#guarded[index]?.GET !== undefined;
    const { files, dashboard } = this.#options;
    const pathname = pathIn(url);
    return (
      (dashboard !== null && Dashboard.owns(pathname)) || (files !== null && (await files.find(pathname)) !== null)
    );
  }

  /** The dashboard, a static file, an endpoint or the page of a single-page app, for a path without a route. */
  async #file(exchange: Exchange, pathname: string): Promise<HandlerResult> {
    const { files, dashboard, endpoints } = this.#options;
    if (dashboard !== null && Dashboard.owns(pathname))
      return this.#byMethod({ GET: () => dashboard.answer(exchange, pathname) }, exchange);
    const endpoint = endpoints?.(exchange) ?? null;
    if (endpoint !== null) {
      const isRead = exchange.request.method === "GET" || exchange.request.method === "HEAD";
      const hasPage = isRead && files !== null && (await files.find(pathname)) !== null;
      if (!hasPage) return this.#byMethod(endpoint, exchange);
    }
    if (files === null || (await files.findFor(exchange.request, pathname)) === null) throw nothingHere();
    return this.#byMethod({ GET: () => files.answer(exchange, pathname) }, exchange);
  }

  /**
   * The answer when the error handling of a handler failed, or the answer failed: a file may be deleted between
   * the look-up of the file and the answer.
   */
  crashed(error: unknown): Response {
    const requestId = this.#nextId();
    const isGone = isObject(error) && error["code"] === "ENOENT";
    if (!isGone) this.#options.logger.error("A request failed outside its handler", { requestId, error });
    const failure = isGone
      ? new AppError("not_found", "The file does not exist any more.")
      : new AppError("internal_error", "Something went wrong.");
    return errorResponse(failure, { "X-Content-Type-Options": "nosniff", "X-Request-Id": requestId });
  }

  refuse(): void {
    this.#isStopping = true;
  }

  async #byMethod(handlers: Handlers, exchange: Exchange): Promise<HandlerResult> {
    const methods = typeof handlers === "function" ? handlers(exchange) : handlers;
    const { method } = exchange.request;
    const allow = allowed(methods);
    if (method === "OPTIONS") return exchange.options(allow);
    const name = METHODS.find((each) => each === (method === "HEAD" ? "GET" : method));
    const found = name && methods[name];
    if (found === undefined)
      throw new AppError("method_not_allowed", `${method} is not possible here; allowed: ${allow}.`, { allow });
    return typeof found === "function" ? found(exchange) : handlerOf(found, this.#options.rates)(exchange);
  }

  #run(request: Request, matched: Matched): Promise<HandlerResult> {
    return this.#answer(this.#exchange(request, matched.params), matched);
  }

  #exchange(request: Request, params: Record<string, string>): Exchange {
    return new Exchange(request, params, { requestId: this.#nextId(), service: this.#service });
  }

  async #answer(exchange: Exchange, matched: Matched): Promise<HandlerResult> {
    const { request } = exchange;
    const { handler } = matched;
    const start = performance.now();
    if (this.#isStopping) return this.#counted(exchange.stopping(), exchange, start);
    let answer: HandlerResult;
    try {
      dropUnreadBody(request, request.method === "DELETE" && this.#readsDeletion(matched));
      checkHost(request.headers);
      this.#service.inFlight.enter(exchange);
      const admitting = this.#options.admit?.(request) ?? null;
      if (admitting !== null) await admitting;
      if (this.#options.limit !== null) await this.#options.limit(exchange);
      answer = await exchange.run(handler);
      if (exchange.isWaiting) await exchange.untilRoom(answer);
    } catch (thrown) {
      const { passOn } = this.#options;
      if (thrown instanceof NeedsLeader && passOn !== null) {
        this.#service.inFlight.leave(exchange);
        return passOn(request, matched);
      }
      answer = this.#failed(exchange, thrown);
    }
    return this.#counted(answer, exchange, start);
  }

  /**
   * The handler of a path or a method that no route has, after the checks of two parts of the API (contract, "HTTP in general").
   *
   * - Under `/api/admin/`, the caller is an admin. A CORS preflight of a route is an exception: a preflight carries no token, and
   *   learns only the methods of the route, which are documented.
   * - Under `/api/auth/` and `/api/admin/`, an API key learns nothing, but the methods of a path whose routes are for keys.
   */
  #guard(path: string, handler: Handler, isForKeys = false): Handler {
    const [, api, noun = ""] = path.split("/");
    if (api !== "api") return handler;
    const forAdmins: Handler = async (exchange) => {
      if (!isPreflight(exchange.request)) await exchange.admin();
      return handler(exchange);
    };
    const guarded = noun === "admin" ? forAdmins : handler;
    if (noun === "auth" || noun === "admin") return isForKeys ? guarded : (exchange) => closedToKeys(exchange, guarded);
    if (decodePart(noun) === "admin") return forAdmins;
    // A percent-encoded "admin" arrives as the name of a collection.
    const name = noun.slice(1);
    return noun.startsWith(":")
      ? (exchange) => (exchange.param(name) === "admin" ? forAdmins(exchange) : handler(exchange))
      : handler;
  }

  /** Whether the route reads the body of a DELETE. */
  #readsDeletion({ index }: RoutePlace): boolean {
    const methods = this.#routes[index]?.[1];
    const deletion = typeof methods === "object" ? methods.DELETE : undefined;
    return typeof deletion === "object" && deletion.body !== undefined;
  }

  #counted<T extends HandlerResult>(answer: T, exchange: Exchange, start: number): T {
    const status = answer?.status ?? 101;
    // Until the answer began.
    const ms = performance.now() - start;
    if (exchange.isMeasured) {
      const { method, url } = exchange.request;
      const { meter } = this.#options;
      if (isOfDashboard(url)) meter.countOwn(method, status, ms);
      else meter.count(method, status, ms);
    }
    const { accessPercent, requests } = this.#options;
    // A refused request has changed nothing.
    const isKept = exchange.isCause && exchange.request.method !== "GET" && (status < 400 || status >= 500);
    if (isKept || requests.watcher !== null) {
      const { requestId: id, method, path } = shown(exchange);
      const { caller, link } = exchange;
      const at = Date.now() - Math.round(ms);
      const answered = { id, method, path, status, at, ms: rounded(ms), caller, link };
      if (isKept) requests.note(answered);
      if (exchange.isCause || path.startsWith("/api/")) requests.watcher?.(answered);
    }
    if (accessPercent > 0 && Math.random() * 100 < accessPercent) {
      const { address } = exchange;
      this.#accessLog.info("Request", { ...shown(exchange), status, ms: rounded(ms), address });
    }
    // A request that has become a socket stays open until the socket is closed.
    if (answer !== undefined) exchange.made();
    return answer;
  }

  #nextId(): string {
    this.#count += 1;
    return `${this.#idPrefix}-${this.#count.toString(36)}`;
  }

  #broken(exchange: Exchange, thrown: unknown): void {
    if (thrown instanceof AppError && thrown.limit !== undefined)
      this.#options.limits.reached(thrown.limit, { address: exchange.address });
    // The caller's right has ended, or the list has changed since.
    else if (thrown instanceof AppError)
      this.#options.logger.info("An answer broke off", { requestId: exchange.requestId, cause: thrown.message });
    else this.#log(exchange, "An answer broke off", thrown);
  }

  #log(exchange: Exchange, message: string, error: unknown): void {
    this.#options.logger.error(message, { ...shown(exchange), error });
  }

  /** Logs many refusals as a single line a minute. */
  #turnedAway(exchange: Exchange, error: AppError): void {
    const leftOut = this.#refusals.admit("");
    if (leftOut === null) return;
    const cause = error.cause === undefined ? error.message : messageOf(error.cause);
    const requests = leftOut > 0 && { requests: leftOut + 1 };
    const { logger } = this.#options;
    const fields = { ...shown(exchange), cause, ...requests };
    // Without a cause, the configuration lacks what the request asks for: no failure of the service.
    if (error.cause === undefined) logger.warn("A request was turned away", fields);
    else logger.error("A request was turned away", fields);
  }

  /** Known errors go to the caller; all others go to the log, and the caller learns only that an error occurred. */
  #failed(exchange: Exchange, thrown: unknown): Response {
    const { requestId } = exchange;
    if (thrown instanceof Stopping) return exchange.stopping();
    if (!(thrown instanceof AppError) || thrown.code === "internal_error") {
      this.#log(exchange, "A request failed", thrown);
      const message = `An internal error occurred; the log has the error under ${requestId}.`;
      return exchange.error(new AppError("internal_error", message));
    }
    if (thrown.limit !== undefined) this.#options.limits.reached(thrown.limit, { address: exchange.address });
    else if (thrown.code === "unavailable") this.#turnedAway(exchange, thrown);
    else if (thrown.code === "forbidden" && thrown.cause instanceof Error) {
      const { logger, isDevelopment } = this.#options;
      const refused = { ...shown(exchange), rule: thrown.cause.message };
      logger[isDevelopment === true ? "info" : "debug"](`A rule refused a request: ${thrown.message}`, refused);
    }
    return exchange.error(thrown);
  }
}
