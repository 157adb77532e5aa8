/**
 * Endpoints: handlers of requests at `/api/function/…` or another prefix. Each call runs in a process of the user's code, within the
 * timeout; failures are in the log, in the metrics and in the list of runs.
 */
import type { User } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { actingFor, type Cause, type Clock, newId, quote } from "../../base/kernel/index.ts";
import { Histogram, type Logger } from "../../base/logging/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { Failures } from "../../store/failures/index.ts";
import {
  type BrokenScript,
  type CallOutcome,
  failureOf,
  type Script,
  type ScriptExchange,
  type ScriptHost,
  type ScriptKind,
  type ScriptResponse,
} from "../script-host/index.ts";
import { CallFailures } from "./call-failures.ts";
import {
  type Endpoint,
  type EndpointMethod,
  endpointOf,
  type PathParams,
  type PathPart,
  pathParts,
  RouteTable,
  routeKey,
} from "./endpoint-file.ts";

interface EndpointsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly events: EventLog;
  readonly failures: Failures;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly host: Pick<ScriptHost, "call">;
}

/** An endpoint with the values of its parameters. */
export interface FoundEndpoint {
  readonly endpoint: Endpoint;
  readonly params: PathParams;
}

/** A request for the handler of an endpoint. */
export interface EndpointCall extends Pick<ScriptExchange, "request" | "pieces"> {
  readonly found: FoundEndpoint;
  readonly method: EndpointMethod;
  readonly user: User | null;
  /** The address that the request comes from, as a key of limits. */
  readonly address: string;
  /** The request. */
  readonly cause: Cause;
  /** Aborted when the client leaves. */
  readonly caller: AbortSignal;
}

/** The answer: a response, or null for an end without a response. `over` resolves when the response is whole or broken off. */
interface EndpointAnswer {
  readonly response: ScriptResponse | null;
  readonly over: Promise<CallOutcome>;
}

export class Endpoints implements ScriptKind {
  readonly folder = "endpoints";
  readonly firstLane = "endpoints";
  readonly durations = new Histogram();
  /** The numbers of requests by `file method class`, with the class of the status. */
  readonly #requests = new Map<string, number>();
  readonly #options: EndpointsOptions;
  #endpoints: readonly Endpoint[] = [];
  #table = new RouteTable<RouteEntry>([]);
  readonly #failures: CallFailures;

  constructor(options: EndpointsOptions) {
    const { clock, database, events, failures, logger } = options;
    this.#options = options;
    this.#failures = new CallFailures({
      calls: "requests to endpoints",
      clock,
      database,
      events,
      failures,
      kind: "endpoint",
      logger,
    });
  }

  check(script: Script, files: readonly string[]): void {
    checkEndpoint(script, files, this.#options.config);
  }

  async use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void> {
    this.#endpoints = scripts.map((script) => endpointOf(script, this.#options.config));
    const entries: RouteEntry[] = this.#endpoints.map((endpoint) => ({ parts: endpoint.parts, endpoint }));
    const keys = new Set(entries.map(({ parts }) => routeKey(parts)));
    for (const { file } of broken) {
      const parts = partsOf(file.path);
      if (parts !== null && !keys.has(routeKey(parts))) entries.push({ parts, endpoint: null });
    }
    this.#table = new RouteTable(entries);
    for (const { routes } of this.#options.config["limits.requests"])
      if (!this.#isReached(routes))
        this.#options.logger.warn(
          `limits.requests: ${quote(routes)} limits nothing, because no endpoint has such a path`,
        );
  }

  /** False for routes below the prefix without an endpoint. Behind the prefix `/` there are other paths, too. */
  #isReached(routes: string): boolean {
    const prefix = this.#options.config["endpoints.prefix"];
    const path = routes.replace(/^\w+ /, "");
    if (prefix === "/" || !path.startsWith(`${prefix}/`)) return true;
    const parts = path.slice(prefix.length + 1).split("/");
    return parts.at(-1) === "*" ? this.#table.hasBelow(parts.slice(0, -1)) : this.#table.find(parts) !== null;
  }

  /** Every endpoint, by file. */
  list(): readonly Endpoint[] {
    return this.#endpoints;
  }

  /** The requests that have ended, by file, method and class of the status. */
  requests(): [labels: { file: string; method: string; status: string }, requests: number][] {
    return [...this.#requests].map(([key, requests]) => {
      const [file = "", method = "", status = ""] = key.split(" ");
      return [{ file, method, status }, requests];
    });
  }

  /**
   * @param parts the decoded parts of the path behind the prefix. Null without a file; `broken` for a file without a version that
   * loads: no other file answers in its place, which may ask less of the caller.
   */
  find(parts: readonly string[]): FoundEndpoint | "broken" | null {
    const found = this.#table.find(parts);
    if (found === null) return null;
    const { entry, params } = found;
    return entry.endpoint === null ? "broken" : { endpoint: entry.endpoint, params };
  }

  /** Calls the handler. Never rejects. */
  async call(call: EndpointCall): Promise<EndpointAnswer> {
    const { found, method, user, address, request, pieces, caller } = call;
    const { endpoint, params } = found;
    const name = `${endpoint.path}:${method}`;
    const startedAt = performance.now();
    const runId = newId("run", this.#options.clock.now());
    const begun = Promise.withResolvers<ScriptResponse | null>();
    const outcome = this.#options.host.call("endpoints", {
      path: endpoint.path,
      handler: method,
      timeoutMs: endpoint.timeoutMs,
      input: { runId, attempt: 1, user, caller: { address, user }, params },
      principal: {
        ...actingFor(user?.id ?? null, 0, [name]),
        address,
        cause: { ...call.cause, name },
      },
      exchange: { request, pieces, onResponse: begun.resolve },
      isSafe: method === "GET" && pieces === null,
      caller,
      onStray: ({ message, stack }) =>
        this.#options.logger.error(`${method} of ${endpoint.path} failed: ${message}`, { runId, stack }),
    });
    const over = outcome.then(async (end) => {
      begun.resolve(null);
      // A body that was not sent is let go.
      void pieces?.return();
      const response = await begun.promise;
      if (end.status !== "gone") this.#ended(call, { runId, end, response, ms: performance.now() - startedAt });
      return end;
    });
    return { response: await begun.promise, over };
  }

  /** Counts a request, and reports a failure. */
  #ended(
    { found: { endpoint }, method, user, cause }: EndpointCall,
    ended: { runId: string; end: CallOutcome; response: ScriptResponse | null; ms: number },
  ): void {
    const { runId, end, response, ms } = ended;
    const { path, timeoutMs } = endpoint;
    const status = statusOf(end, response);
    const key = `${path} ${method} ${Math.floor(status / 100)}xx`;
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
    this.durations.observe(ms);
    const failure = failureOf(end, timeoutMs);
    if (failure !== null) this.#failures.report(failure, { path, trigger: method, runId, cause, user, ms });
  }
}

/** A path of the table; the endpoint is null for a file without a version that loads. */
interface RouteEntry {
  readonly parts: readonly PathPart[];
  readonly endpoint: Endpoint | null;
}

/** The path that a file stands for; null for a name that no path can have. */
function partsOf(path: string): readonly PathPart[] | null {
  try {
    return pathParts(path);
  } catch {
    return null;
  }
}

/** The status of the answer, or of its class. */
function statusOf(end: CallOutcome, response: ScriptResponse | null): number {
  if (end.status === "answered") return response?.status ?? 500;
  if (end.status === "refused") return end.refusal.code === "unavailable" ? 503 : 400;
  return statusOfEnd[end.status] ?? 503;
}

/** The status of the answer to a request that has ended without a whole response; 503 after any other end. */
const statusOfEnd: { readonly [end in CallOutcome["status"]]?: number } = {
  failed: 500,
  lost: 502,
  late: 504,
  left: 499,
  unread: 499,
};

/** @throws Error that says why a file is no endpoint. @param files the paths of all files of endpoints. */
export function checkEndpoint(script: Script, files: readonly string[], config: Config): void {
  const { path, parts } = endpointOf(script, config);
  const key = routeKey(parts);
  const others = files.filter((other) => {
    const found = other === path ? null : partsOf(other);
    return found !== null && routeKey(found) === key;
  });
  if (others.length > 0) throw new Error(`has the path of ${others.join(", ")}; one of them must go`);
}
