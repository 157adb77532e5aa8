/**
 * Server queries: handlers of `queries/` that only read. A request gets the value once, and a live query gets each value. Each run is a
 * call in a process of the user's code, within the timeout; failures are in the log and in the list of runs.
 */
import type { Config } from "../../base/config/index.ts";
import {
  AppError,
  actingFor,
  appErrorOf,
  type Bearer,
  type Cause,
  type Clock,
  callerGone,
  newId,
  quote,
} from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { admitQuery } from "../../data/permissions/index.ts";
import type { LiveValueRun, NamedQueries, NamedSource } from "../../live/realtime/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { Failures } from "../../store/failures/index.ts";
import { admitAccess, CallFailures } from "../endpoints/index.ts";
import {
  type BrokenScript,
  type CallOutcome,
  failureOf,
  type Reads,
  type Script,
  type ScriptHost,
  type ScriptKind,
} from "../script-host/index.ts";
import { queryNameOf, type ServerQuery, serverQueryOf } from "./query-file.ts";
import { QueryReads } from "./query-reads.ts";

interface ServerQueriesOptions {
  readonly config: Config;
  readonly database: Database;
  readonly events: EventLog;
  readonly failures: Failures;
  readonly auth: Auth;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly host: Pick<ScriptHost, "call">;
  readonly reads: Pick<Reads, "dependencies">;
}

/** A call of a query, for a caller. */
interface QueryCall {
  readonly query: ServerQuery;
  readonly args: NamedSource["args"];
  readonly caller: Bearer | null;
  /** The request; null for a live query. */
  readonly cause: Cause | null;
  /** Aborted when nobody waits for the value any more. */
  readonly signal: AbortSignal;
}

export class ServerQueries implements ScriptKind, NamedQueries {
  readonly folder = "queries";
  readonly firstLane = "endpoints";
  readonly #options: ServerQueriesOptions;
  readonly #failures: CallFailures;
  /** By name; null for a file without a version that loads. */
  #queries: ReadonlyMap<string, ServerQuery | null> = new Map();
  /** The queries that have looked at their caller since the last load: the value may differ between callers. */
  #personal = new Set<string>();
  readonly #onLoad: (() => void)[] = [];

  constructor(options: ServerQueriesOptions) {
    const { clock, database, events, failures, logger } = options;
    this.#options = options;
    this.#failures = new CallFailures({
      calls: "calls of queries",
      clock,
      database,
      events,
      failures,
      kind: "query",
      logger,
    });
  }

  check(script: Script): void {
    serverQueryOf(script, this.#options.config["scripts.timeout"]);
  }

  async use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void> {
    const loaded = scripts.map((script) => serverQueryOf(script, this.#options.config["scripts.timeout"]));
    this.#queries = new Map([
      ...broken.map(({ file }) => [queryNameOf(file.path), null] as const),
      ...loaded.map((query) => [query.name, query] as const),
    ]);
    this.#personal = new Set();
    for (const listener of this.#onLoad) listener();
  }

  /** Every query, by file. */
  list(): readonly ServerQuery[] {
    return [...this.#queries.values()].filter((query) => query !== null);
  }

  /** Every query by name; null for a file without a version that loads. */
  entries(): readonly (readonly [name: string, query: ServerQuery | null])[] {
    return [...this.#queries];
  }

  /** The queries whose values may differ between callers; see `isPersonal`. */
  personal(): readonly string[] {
    return [...this.#personal];
  }

  onLoad(listener: () => void): void {
    this.#onLoad.push(listener);
  }

  /** @throws AppError `not_found`; `internal_error` for a file that does not load. */
  find(name: string): ServerQuery {
    const query = this.#queries.get(name);
    if (query === undefined) throw new AppError("not_found", `There is no query ${quote(name)}.`);
    if (query !== null) return query;
    throw new AppError("internal_error", "The query does not load; the log of the service says why.");
  }

  /** @throws AppError as `find`; `unauthorized`, `forbidden`. */
  admit(name: string, caller: Bearer | null): ServerQuery {
    const query = this.find(name);
    admitQuery(caller, name);
    admitAccess(query.access, caller);
    return query;
  }

  isPersonal(name: string): boolean {
    return this.#personal.has(name);
  }

  async run({ name, args }: NamedSource, caller: Bearer | null, signal: AbortSignal): Promise<LiveValueRun> {
    const query = this.admit(name, caller);
    const { end, reads, usesCaller } = await this.call({ query, args, caller, cause: null, signal });
    if (end.status === "answered")
      return { value: end.value, ms: (end.ms ?? 0) + reads.ms, ...reads.dependencies(this.#options.reads, usesCaller) };
    throw errorOf(end);
  }

  /** Calls the handler. Never rejects. */
  async call({ query, args, caller, cause, signal }: QueryCall): Promise<{
    readonly end: CallOutcome;
    readonly reads: QueryReads;
    readonly usesCaller: boolean;
  }> {
    const { auth, clock, host, logger } = this.#options;
    const { name, path, timeoutMs } = query;
    const user = caller && auth.callers.userOf(caller);
    const runId = newId("run", clock.now());
    const startedAt = performance.now();
    const reads = new QueryReads(user?.id ?? null);
    const end = await host.call("endpoints", {
      path,
      handler: "default",
      timeoutMs,
      input: { runId, attempt: 1, user, args },
      principal: {
        ...actingFor(user?.id ?? null, 0, [`${path}:default`]),
        ...(cause !== null && { cause }),
      },
      caller: signal,
      onCall: (call) => reads.note(call),
      onStray: ({ message, stack }) => logger.error(`query of ${path} failed: ${message}`, { runId, stack }),
    });
    const failure = failureOf(end, timeoutMs);
    const ms = performance.now() - startedAt;
    if (failure !== null) this.#failures.report(failure, { path, trigger: "query", runId, cause, user, ms });
    const usesCaller = "usesCaller" in end && end.usesCaller === true;
    if (usesCaller) this.#personal.add(name);
    return { end, reads, usesCaller };
  }
}

/** The error of a run without a value. An error with `retryAfter` may be over at another try. */
function errorOf(end: Exclude<CallOutcome, { status: "answered" }>): AppError {
  switch (end.status) {
    case "refused":
      return appErrorOf(end.refusal);
    case "failed":
      return new AppError("internal_error", "The query failed; the log of the service says why.");
    case "late":
      return new AppError("unavailable", "The query did not answer in time.");
    case "left":
      return callerGone();
    // Another handler of the process may have ended the process.
    default:
      return new AppError("unavailable", "The query could not be run now; try again in a moment.", { retryAfter: 1 });
  }
}
