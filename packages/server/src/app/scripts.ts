/** Scripts of the service: builds functions and jobs with processes, and loads, checks, reloads and stops the code. */

import { realpathSync } from "node:fs";
import { USERS } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { AppError, adviceOnName, messageOf, nextTurn, quote, system } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { checkEndpoint, type Endpoint, Endpoints, endpointOf } from "../code/endpoints/index.ts";
import { Functions, noticeOf, triggersOf } from "../code/functions/index.ts";
import { Jobs, jobOf } from "../code/jobs/index.ts";
import { checkMigration, MigrationStopped, Migrations } from "../code/migrations/index.ts";
import { Previews } from "../code/previews/index.ts";
import {
  type CodeFile,
  findScripts,
  fingerprint,
  type Lane,
  middlewaresOf,
  QueryPool,
  Reads,
  readCode,
  type Script,
  ScriptHost,
  type ScriptHostOptions,
  type ScriptKind,
  type ScriptOutcome,
  type ScriptOwners,
  ServiceApi,
} from "../code/script-host/index.ts";
import { ServerQueries, serverQueryOf } from "../code/server-queries/index.ts";
import { fileQueryTable } from "../files/storage/index.ts";
import { sampledPercentOf } from "../operate/traces/index.ts";
import { userQueryTable } from "../people/auth/index.ts";
import { eventQueryTable } from "../store/events/index.ts";
import type { LogLine, RunRequest } from "./control.ts";
import { usualUmask } from "./file-modes.ts";
import type { Service } from "./service.ts";
import { watchFiles } from "./watch-files.ts";

export interface ScriptsOptions {
  readonly service: Service;
  readonly config: Config;
  readonly logger: Logger;
  readonly environment: { readonly [name: string]: string | undefined };
  /** The time by which jobs are due, in milliseconds since 1970: the machine's, except in tests. */
  readonly now?: () => number;
  /** The first port for a debugger; without a port, no debugger attaches. */
  readonly inspectPort?: number | undefined;
}

interface ScriptsStart {
  readonly hasSchedules?: boolean;
  /** Ends a migration that runs; by default, `stop` does. */
  readonly signal?: AbortSignal;
}

export class Scripts {
  readonly functions: Functions;
  readonly jobs: Jobs;
  readonly endpoints: Endpoints;
  readonly queries: ServerQueries;
  readonly previews: Previews;
  readonly host: ScriptHost;
  readonly #owners: ScriptOwners;
  readonly #migrations: Migrations;
  /** The pool of `db.query`. */
  readonly pool: QueryPool;
  readonly #logger: Logger;
  /** The real path of the project's folder, which is part of the address of each module. */
  readonly #root: () => string;
  readonly #service: Service;
  /** The state of the files that the start has loaded. */
  #loaded = "";
  readonly #stopping = new AbortController();

  constructor({ service, config, logger, environment, now = Date.now, inspectPort }: ScriptsOptions) {
    // A debugger attaches to the only process of a lane.
    const processes = inspectPort === undefined ? config["scripts.processes"] : 1;
    const root = rootOf(config);
    this.#root = root;
    this.#service = service;
    this.#logger = logger.for("scripts");
    const host = openHost({ config, environment, inspectPort, logger: this.#logger, processes, root });
    this.host = host;
    this.pool = new QueryPool({
      cwd: root(),
      environment,
      options: { database: config.database, tables: [userQueryTable, fileQueryTable, eventQueryTable] },
      timeoutMs: Math.min(config["scripts.timeout"], 30_000),
      aliased: () => service.collections.queryTables(),
    });
    const { auth, clock, collections, database, events, failures, mails, queries, records, storage, userDeletions } =
      service;
    database.joinGaps(this.pool);
    const reads = new Reads({ collections, database, pool: this.pool, queries, records });
    this.functions = new Functions({
      auth,
      clock,
      collections,
      config,
      database,
      events,
      failures,
      host,
      logger: logger.for("functions"),
      processes,
      reads,
      records,
    });
    this.jobs = new Jobs({
      auth,
      clock,
      config,
      database,
      events,
      failures,
      host,
      logger: logger.for("jobs"),
      now,
      processes,
    });
    this.endpoints = new Endpoints({
      clock,
      config,
      database,
      events,
      failures,
      host,
      logger: logger.for("endpoints"),
    });
    this.queries = new ServerQueries({
      auth,
      clock,
      config,
      database,
      events,
      failures,
      host,
      logger: logger.for("queries"),
      reads,
    });
    const { functions, jobs } = this;
    this.previews = new Previews({ database, events, functions, host, jobs, mails, records, users: auth.users });
    const { queues } = jobs;
    const calls = new ServiceApi({ auth, database, mails, queues, reads, records, storage, userDeletions });
    this.#owners = { kinds: [this.functions, this.jobs, this.endpoints, this.queries], calls };
    this.#migrations = new Migrations({
      calls,
      clock,
      database,
      logger: logger.for("migrations"),
      openHost: () => openHost({ config, environment, logger: this.#logger, processes: 1, root }),
      records,
      root,
    });
  }

  /**
   * Loads the files, starts waiting runs, and runs the migrations. Without schedules, jobs run by hand alone.
   * @throws SetupError for a migration that fails; MigrationStopped after the signal.
   */
  async start({ hasSchedules = true, signal = this.#stopping.signal }: ScriptsStart = {}): Promise<void> {
    this.#loaded = fingerprint(this.#root());
    // Before anything is loaded that could write.
    this.#service.records.hookWith(this.functions.hooks);
    this.#service.auth.signIns.hookWith(this.functions.hooks);
    this.functions.start();
    await this.host.load(this.#owners);
    await this.#migrations.run({ signal, goesOnAt: "the next start" });
    if (hasSchedules) await this.jobs.start();
    this.#tell("Loaded");
  }

  /** The modules of the user's code, as on the disk. */
  code(): CodeFile[] {
    return readCode(this.#root());
  }

  /** Loads the files again. Runs go on; a file that does not load keeps the last version. */
  reload(): Promise<void> {
    return this.#reload(() => this.host.load(this.#owners));
  }

  async #reload(load: () => Promise<void>): Promise<void> {
    const start = performance.now();
    await load();
    if (this.#stopping.signal.aborted) return;
    this.#tell("Reloaded", { ms: Math.round(performance.now() - start) });
  }

  /** Runs the migrations that have not run, while the service works. A failure is logged. */
  async migrate(): Promise<void> {
    const { signal } = this.#stopping;
    await this.#migrations.run({ signal, goesOnAt: "the next change of a file" }).catch((thrown: unknown) => {
      if (!(thrown instanceof MigrationStopped)) this.#logger.error(messageOf(thrown));
    });
  }

  /**
   * Reloads changed files, until `stop`: the running processes load the changed modules, if that suffices. `onReload` is called after
   * each reload.
   */
  watch(onReload: () => void): void {
    watchFiles({
      stateOf: () => fingerprint(this.#root()),
      applied: this.#loaded,
      apply: async () => {
        await this.#reload(() => this.host.update(this.#owners)).catch((error) =>
          this.#logger.error("Functions and jobs could not be loaded again", { error }),
        );
        onReload();
        // The next reload does not wait: a migration may never end.
        void this.migrate();
      },
      signal: this.#stopping.signal,
    });
  }

  /** Runs a job or function once, by hand. Answers null, or the reason of the failure. @throws AppError `not_found`, `unavailable` in a read-only service. */
  async run(request: RunRequest, onLog: (line: LogLine) => void): Promise<string | null> {
    this.#service.database.readOnly.demandWritable();
    const outcome =
      request.kind === "job" ? await this.#runJob(request.name, onLog) : await this.#runFunction(request, onLog);
    if (outcome.status === "completed") return null;
    if (outcome.status === "failed") return outcome.error.message;
    return outcome.status === "gone" ? "Its file is not loaded" : "The service stops";
  }

  async #runJob(name: string, onLog: (line: LogLine) => void): Promise<ScriptOutcome> {
    const run = this.jobs.runByHand(name, onLog);
    if (run !== undefined) return run.outcome;
    this.#refuseBroken(`jobs/${name}.ts`);
    this.jobs.refuseQueue(name);
    const names = this.jobs.list().map(({ job }) => job.name);
    throw missing("job", name, names);
  }

  async #runFunction(
    request: Extract<RunRequest, { kind: "function" }>,
    onLog: (line: LogLine) => void,
  ): Promise<ScriptOutcome> {
    const file = `${request.file.replace(/\.ts$/, "")}.ts`;
    const path = `functions/${request.collection}/${file}`;
    // A file elsewhere may name the collection.
    const ofFile = this.functions
      .triggers()
      .filter(
        (each) => each.path === path || (each.path === `functions/${file}` && each.collection === request.collection),
      );
    if (ofFile.length === 0) {
      this.#refuseBroken(path);
      const others = this.functions.triggers().filter(({ collection }) => collection === request.collection);
      throw missing("function", path, [...new Set(others.map((each) => each.path))]);
    }
    const trigger = ofFile.find(({ handler }) => request.handler === null || handler === request.handler);
    const handlers = ofFile.map(({ handler }) => handler);
    if (trigger === undefined) throw missing(`handler in ${path}`, request.handler ?? "", handlers);
    const { records, auth } = this.#service;
    const record =
      trigger.collection === USERS && !records.users.isOn
        ? auth.users.find(request.record)
        : records.get(records.collection(trigger.collection), system, request.record);
    if (record === null) throw new AppError("not_found", `There is no user ${quote(request.record)}.`);
    return this.functions.runByHand(trigger, record, onLog);
  }

  #refuseBroken(path: string): void {
    const problem = this.host.problems().find((each) => each.path === path);
    if (problem !== undefined) throw new AppError("not_found", `${path} does not load: ${problem.message}`);
  }

  /**
   * Resolves when no run is due or under way, and no hook or endpoint runs. Runs that wait for a later time, for example
   * the time of the next attempt, do not count.
   */
  async settled(): Promise<void> {
    const isBusy = (): boolean => this.host.underWay > 0 || this.functions.isBusy || this.jobs.isBusy;
    // A run that has ended hands over to the next within a turn of the event loop.
    for (let quietTurns = 0; quietTurns < 2; quietTurns = isBusy() ? 0 : quietTurns + 1)
      await (isBusy() ? Bun.sleep(1) : nextTurn());
    await Promise.all([this.functions.settled(), this.jobs.settled()]);
  }

  /** Finishes the runs, `graceMs` at most, and ends the processes. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    const stopped = Promise.all([this.functions.stop(), this.jobs.stop()]);
    await Promise.race([stopped, Bun.sleep(graceMs)]);
    this.host.stop();
    await this.pool.stop();
    await stopped;
    await Promise.all([this.functions.settled(), this.jobs.settled()]);
  }

  #tell(verb: string, more: object = {}): void {
    const functions = this.functions.triggers().map(({ path, handler }) => `${path}:${handler}`);
    const hooks = this.functions.hooks.list().map(({ path, handler }) => `${path}:${handler}`);
    const jobs = this.jobs.names();
    const endpoints = this.endpoints.list().map(({ route }) => route);
    const queries = this.queries.list().map(({ name }) => name);
    const paths = this.endpoints.list().map(({ path }) => path);
    const middlewares = paths.length === 0 ? [] : middlewaresOf(this.#root(), paths);
    if ([functions, hooks, jobs, endpoints, queries].some((each) => each.length > 0) || verb !== "Loaded")
      this.#logger.info(`${verb} functions and jobs`, {
        functions,
        ...(hooks.length > 0 && { hooks }),
        jobs,
        ...(endpoints.length > 0 && { endpoints }),
        ...(queries.length > 0 && { queries }),
        ...(middlewares.length > 0 && { middlewares }),
        ...more,
      });
  }
}

/** Does work with the runs of a service that does not serve: no file is loaded, and no run begins. */
export async function withoutCode<T>(
  options: Omit<ScriptsOptions, "environment">,
  work: (scripts: Scripts) => Promise<T>,
): Promise<T> {
  const scripts = new Scripts({ ...options, environment: {} });
  try {
    return await work(scripts);
  } finally {
    await scripts.stop(0);
  }
}

/** Does work with the user's code of a service that a command has opened, and waits for the functions that the work triggers. */
export async function withScripts<T>(options: ScriptsOptions, work: (scripts: Scripts) => Promise<T>): Promise<T> {
  const scripts = new Scripts(options);
  try {
    await scripts.start({ hasSchedules: false });
    const result = await work(scripts);
    await scripts.functions.settled();
    return result;
  } finally {
    await scripts.stop(10_000);
  }
}

function missing(kind: string, name: string, names: readonly string[]): AppError {
  return new AppError("not_found", `There is no ${kind} ${quote(name)}.${adviceOnName(name, names)}`);
}

/** The real path of a project's folder. A folder that is a link is followed anew each time. */
function rootOf({ folder }: Config): () => string {
  let real = realpathSync(folder);
  return () => {
    try {
      real = realpathSync(folder);
    } catch {
      // The link is being replaced: the last target counts.
    }
    return real;
  };
}

interface HostParts extends Pick<ScriptHostOptions, "inspectPort" | "logger" | "processes" | "root"> {
  readonly config: Config;
  readonly environment: ScriptsOptions["environment"];
}

/** The processes of a project's code. */
function openHost({ config, environment, inspectPort, logger, processes, root }: HostParts): ScriptHost {
  const env = config["scripts.env"];
  const { "limits.body": bodyLimit, "limits.batchBody": batchBodyLimit } = config;
  return new ScriptHost({
    begunFile: `${config.database}-begun`,
    env,
    inspectPort,
    logger,
    memoryLimit: config["scripts.memory"],
    sampledPercent: sampledPercentOf(config),
    process: (cwd) => ({
      cwd,
      environment,
      word: "script-host",
      options: { root: cwd, env, bodyLimit, batchBodyLimit, umask: usualUmask() },
    }),
    processes,
    root,
  });
}

/** The answers to calls of code that is only loaded. */
const noCalls: ScriptOwners["calls"] = {
  answer: () => Promise.reject(new AppError("unavailable", "No service runs during a check.")),
};

/**
 * Checks functions, jobs, endpoints and queries: loads every file once. The top level runs, as at a start of the service; no service
 * answers calls. Answers the files that do not load, the declared variables of the environment that are not set, and warnings.
 */
export async function checkScripts(
  options: Omit<ScriptsOptions, "service">,
): Promise<{ problems: ReturnType<ScriptHost["problems"]>; missing: readonly string[]; notices: readonly string[] }> {
  const { config, logger, environment } = options;
  const timeoutMs = config["scripts.timeout"];
  const host = openHost({ config, environment, logger, processes: 1, root: rootOf(config) });
  const notices: string[] = [];
  const owners = {
    kinds: [
      {
        ...kindOf("functions", (script) => triggersOf(script, timeoutMs)),
        use: async (scripts: readonly Script[]) => {
          for (const script of scripts) {
            const notice = noticeOf(script);
            if (notice !== null) notices.push(`${script.file.path} ${notice}`);
          }
        },
      },
      kindOf("jobs", (script) => jobOf(script, timeoutMs)),
      kindOf("queries", (script) => serverQueryOf(script, timeoutMs)),
      kindOf("migrations", checkMigration, "migrations"),
      kindOf("endpoints", (script, files) => checkEndpoint(script, files, config)),
    ],
    calls: noCalls,
  };
  try {
    await host.load(owners);
    return { problems: host.problems(), missing: host.missingVariables(), notices };
  } finally {
    host.stop();
  }
}

/** Loads the endpoints of a project without a service. Files that do not load are among the problems. */
export async function readEndpoints(
  options: Omit<ScriptsOptions, "service">,
): Promise<{ endpoints: Endpoint[]; problems: ReturnType<ScriptHost["problems"]> }> {
  const { config, logger, environment } = options;
  const hasFiles = findScripts(config.folder).scripts.some(({ folder }) => folder === "endpoints");
  if (!hasFiles) return { endpoints: [], problems: [] };
  const host = openHost({ config, environment, logger, processes: 1, root: rootOf(config) });
  let endpoints: Endpoint[] = [];
  const kind: ScriptKind = {
    ...kindOf("endpoints", (script, files) => checkEndpoint(script, files, config), "endpoints"),
    use: async (scripts) => {
      endpoints = scripts.map((script) => endpointOf(script, config));
    },
  };
  try {
    await host.load({ kinds: [kind], calls: noCalls });
    return { endpoints, problems: host.problems() };
  } finally {
    host.stop();
  }
}

function kindOf(folder: ScriptKind["folder"], check: ScriptKind["check"], firstLane: Lane = "runs"): ScriptKind {
  return { folder, check, firstLane, use: async () => undefined };
}
