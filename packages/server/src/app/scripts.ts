/** Scripts of the service: builds functions and jobs with their processes, and loads, reloads and stops them. */
import { userQueryTable } from "../auth/index.ts";
import type { Config } from "../config/index.ts";
import { Endpoints } from "../endpoints/index.ts";
import { eventQueryTable } from "../events/index.ts";
import { Functions } from "../functions/index.ts";
import { Jobs } from "../jobs/index.ts";
import { AppError, nearest, nextTurn, quote, system } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import {
  type FileState,
  fingerprint,
  QueryPool,
  ScriptHost,
  type ScriptOutcome,
  type ScriptTask,
  ServiceApi,
} from "../script-host/index.ts";
import { fileQueryTable } from "../storage/index.ts";
import type { LogLine, RunRequest } from "./run-request.ts";
import { scriptProcess } from "./script-process.ts";
import type { Service } from "./service.ts";

/** How often development mode looks for changed files. A look is a few stat calls, and works on every file system. */
const lookMs = 30;

export interface ScriptsOptions {
  readonly service: Service;
  readonly config: Config;
  readonly logger: Logger;
  readonly environment: { readonly [name: string]: string | undefined };
  /** See `JobsOptions`. */
  readonly now?: () => number;
}

export class Scripts {
  readonly functions: Functions;
  readonly jobs: Jobs;
  readonly endpoints: Endpoints;
  readonly #host: ScriptHost;
  readonly #queries: QueryPool;
  readonly #logger: Logger;
  /** The real path of the project's folder, by which modules know themselves. */
  readonly #root: () => string;
  readonly #service: Service;
  #processesLost = 0;
  /** The state of the files that was loaded last. */
  #loaded = "";
  #watching: Timer | null = null;
  #isStopped = false;

  constructor({ service, config, logger, environment, now }: ScriptsOptions) {
    const { database, events, auth, clock, records, queries: lists, storage } = service;
    const timeoutMs = config["scripts.timeout"];
    const processes = config["scripts.processes"];
    const process = scriptProcess(config, environment);
    this.#root = process.root;
    this.#service = service;
    this.#logger = logger.for("scripts");
    this.functions = new Functions({
      database,
      events,
      auth,
      clock,
      logger: logger.for("functions"),
      timeoutMs,
      processes,
      run: (task) => this.#host.run(task),
      hooks: {
        timeoutMs: config["scripts.hookTimeout"],
        maxBytes: config["limits.hooks"],
        call: (call) => this.#host.call("hooks", call),
      },
      collectionNames: () => service.collections.all().map(({ name }) => name),
    });
    const spawnOptions = { cwd: this.#root(), environment };
    this.#queries = new QueryPool({
      ...spawnOptions,
      options: { database: config.database, tables: [userQueryTable, fileQueryTable, eventQueryTable] },
      timeoutMs: Math.min(timeoutMs, 30_000),
      aliased: () => service.collections.queryTables(),
    });
    database.joinGaps(this.#queries);
    const calls = new ServiceApi({
      database,
      records,
      lists,
      auth,
      storage,
      queries: this.#queries,
      enqueue: (name, run, principal) => this.jobs.queues.enqueue(name, run, principal),
      batchRuns: (value, principal) => this.jobs.queues.forBatch(value, principal),
      logger: this.#logger,
    });
    const run = (task: ScriptTask): Promise<ScriptOutcome> => this.#host.run(task);
    const jobOptions = {
      database,
      events,
      auth,
      clock,
      logger: logger.for("jobs"),
      timeoutMs,
      processes,
      maxRuns: config["limits.queuedRuns"],
      maxPayload: config["limits.payload"],
      run,
    };
    this.jobs = new Jobs(now === undefined ? jobOptions : { ...jobOptions, now });
    this.endpoints = new Endpoints({
      database,
      events,
      clock,
      logger: logger.for("endpoints"),
      timeoutMs,
      request: (request) => this.#host.request(request),
    });
    this.#host = new ScriptHost({
      ...process,
      processes,
      kinds: [this.functions, this.jobs, this.endpoints],
      onLost: () => {
        this.#processesLost += 1;
      },
      logger: this.#logger,
      answer: (call, caller) => calls.answer(call, caller),
      toCallError: (thrown, method) => calls.toCallError(thrown, method),
    });
  }

  /** How often the process of the user's code was lost and another took its place, since the start. */
  get processesLost(): number {
    return this.#processesLost;
  }

  /** The files of functions and jobs, each with the outcome of its last load. */
  states(): readonly FileState[] {
    return this.#host.states();
  }

  /** Loads the files and starts waiting runs. Without schedules, jobs run by hand alone. */
  async start({ hasSchedules = true }: { hasSchedules?: boolean } = {}): Promise<void> {
    this.#loaded = fingerprint(this.#root());
    // Before anything is loaded that could write.
    this.#service.records.hookWith(this.functions.hooks);
    this.#service.auth.hookWith(this.functions.hooks);
    await this.functions.start();
    await this.#host.load();
    if (hasSchedules) await this.jobs.start();
    this.#tell("Loaded");
  }

  /** Loads the files again. Runs go on; a file that does not load keeps its last version. */
  async reload(): Promise<void> {
    const start = performance.now();
    await this.#host.load();
    if (this.#isStopped) return;
    this.#tell("Reloaded", { ms: Math.round(performance.now() - start) });
  }

  /** Reloads whenever a file has changed, until `stop`. */
  watch(): void {
    let seen = this.#loaded;
    const look = async (): Promise<void> => {
      const now = fingerprint(this.#root());
      // Twice the same: whoever saves by deleting and writing again, or several files, has come to an end.
      const isStill = now === seen;
      seen = now;
      if (isStill && now !== this.#loaded) {
        this.#loaded = now;
        await this.reload().catch((error) =>
          this.#logger.error("Functions and jobs could not be loaded again", { error }),
        );
      }
      if (this.#watching !== null) this.#watching = setTimeout(look, lookMs).unref();
    };
    this.#watching = setTimeout(look, lookMs).unref();
  }

  /**
   * Runs a job or function once, by hand. Answers null, or the reason of its failure.
   * @throws AppError `not_found`.
   */
  async run(request: RunRequest, onLog: (line: LogLine) => void): Promise<string | null> {
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
    const path = `functions/${request.collection}/${request.file.replace(/\.ts$/, "")}.ts`;
    const ofFile = this.functions.triggers().filter((trigger) => trigger.path === path);
    if (ofFile.length === 0) {
      this.#refuseBroken(path);
      const others = this.functions.triggers().filter(({ collection }) => collection === request.collection);
      throw missing("function", path, [...new Set(others.map((each) => each.path))]);
    }
    const trigger = ofFile.find(({ handler }) => request.handler === null || handler === request.handler);
    if (trigger === undefined)
      throw missing(
        `handler in ${path}`,
        request.handler ?? "",
        ofFile.map((each) => each.handler),
      );
    const { records, auth } = this.#service;
    const record =
      request.collection === "users"
        ? await auth.users.find(request.record)
        : await records.get(records.collection(request.collection), system, request.record);
    if (record === null) throw new AppError("not_found", `There is no user ${quote(request.record)}.`);
    return this.functions.runByHand({ trigger, record, onLog });
  }

  #refuseBroken(path: string): void {
    const problem = this.#host.problemOf(path);
    if (problem !== null) throw new AppError("not_found", `${path} does not load: ${problem}`);
  }

  /**
   * Resolves when no run is due or under way, and no hook or endpoint is. Runs that wait for a later time, such as that of
   * the next attempt, do not count.
   */
  async settled(): Promise<void> {
    const isBusy = (): boolean => this.#host.underWay > 0 || this.functions.isBusy || this.jobs.isBusy;
    // A run that has ended hands over to the next within a turn of the event loop.
    for (let quietTurns = 0; quietTurns < 2; quietTurns = isBusy() ? 0 : quietTurns + 1)
      await (isBusy() ? Bun.sleep(1) : nextTurn());
    await Promise.all([this.functions.settled(), this.jobs.settled()]);
  }

  /** The time of this process was moved (`moveTime`). */
  followTime(): void {
    this.#host.followTime();
  }

  /** Finishes the runs, `graceMs` at most, and ends the processes. */
  async stop(graceMs: number): Promise<void> {
    clearTimeout(this.#watching ?? undefined);
    this.#watching = null;
    this.#isStopped = true;
    const stopped = Promise.all([this.functions.stop(), this.jobs.stop()]);
    await Promise.race([stopped, Bun.sleep(graceMs)]);
    this.#host.stop();
    await this.#queries.stop();
    await stopped;
    await Promise.all([this.functions.settled(), this.jobs.settled()]);
  }

  #tell(verb: string, more: object = {}): void {
    const functions = this.functions.triggers().map(({ path, handler }) => `${path}:${handler}`);
    const hooks = this.functions.hooks.list().map(({ path, handler }) => `${path}:${handler}`);
    const jobs = this.jobs.names();
    const endpoints = this.endpoints.list().map(({ route }) => route);
    if (functions.length + hooks.length + jobs.length + endpoints.length > 0 || verb !== "Loaded")
      this.#logger.info(`${verb} functions and jobs`, {
        functions,
        ...(hooks.length > 0 && { hooks }),
        jobs,
        ...(endpoints.length > 0 && { endpoints }),
        ...more,
      });
  }
}

function missing(kind: string, name: string, names: readonly string[]): AppError {
  const near = nearest(name, names);
  const advice =
    near === null ? (names.length === 0 ? "" : ` There are: ${names.join(", ")}.`) : ` Did you mean ${near}?`;
  return new AppError("not_found", `There is no ${kind} ${quote(name)}.${advice}`);
}
