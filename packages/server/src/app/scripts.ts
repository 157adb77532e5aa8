import type { Config } from "../config/index.ts";
import { Functions } from "../functions/index.ts";
import { Jobs } from "../jobs/index.ts";
import type { Logger } from "../logging/index.ts";
import { fingerprint, QueryPool, ScriptCalls, ScriptHost } from "../script-host/index.ts";
import type { Service } from "./service.ts";

/** How often development mode looks for changed files. A look is a few stat calls, and works on every file system. */
const lookMs = 40;

export interface ScriptsOptions {
  readonly service: Service;
  readonly config: Config;
  readonly logger: Logger;
  readonly environment: { readonly [name: string]: string | undefined };
}

/** Functions and jobs with the processes that they run in. */
export class Scripts {
  readonly functions: Functions;
  readonly jobs: Jobs;
  readonly #host: ScriptHost;
  readonly #queries: QueryPool;
  readonly #logger: Logger;
  readonly #root: string;
  #watching: Timer | null = null;

  constructor({ service, config, logger, environment }: ScriptsOptions) {
    const { database, events, auth, clock, records, storage } = service;
    const timeoutMs = config["scripts.timeout"];
    const processes = config["scripts.processes"];
    this.#root = config.folder;
    this.#logger = logger.for("scripts");
    this.functions = new Functions({
      database,
      events,
      auth,
      clock,
      logger: logger.for("functions"),
      timeoutMs,
      processes,
    });
    this.jobs = new Jobs({ database, events, clock, logger: logger.for("jobs"), timeoutMs });
    const place = { cwd: config.folder, environment };
    this.#queries = new QueryPool({
      ...place,
      options: { database: config.database },
      timeoutMs: Math.min(timeoutMs, 30_000),
    });
    const calls = new ScriptCalls({ records, auth, storage, queries: this.#queries, logger: this.#logger });
    this.#host = new ScriptHost({
      root: config.folder,
      processes,
      kinds: [this.functions, this.jobs],
      process: { ...place, word: "script-host", options: { root: config.folder, bodyLimit: config["limits.body"] } },
      memoryLimit: config["scripts.memory"],
      logger: this.#logger,
      answer: (call, task, part) => calls.answer(call, task.principal, part),
      toCallError: (thrown, method) => calls.toCallError(thrown, method),
    });
  }

  /** Loads what is there, and runs what waits. */
  async start(): Promise<void> {
    await this.functions.start(this.#host);
    await this.#host.load();
    await this.jobs.start(this.#host);
    this.#tell("Loaded");
  }

  /** Loads the files again. What runs goes on; a file that does not load keeps its last version. */
  async reload(): Promise<void> {
    const start = performance.now();
    await this.#host.load();
    this.#tell("Reloaded", { ms: Math.round(performance.now() - start) });
  }

  /** Reloads whenever a file has changed, until `stop`. */
  watch(): void {
    let last = fingerprint(this.#root);
    const look = async (): Promise<void> => {
      const now = fingerprint(this.#root);
      if (now !== last) {
        last = now;
        await this.reload();
      }
      if (this.#watching !== null) this.#watching = setTimeout(look, lookMs).unref();
    };
    this.#watching = setTimeout(look, lookMs).unref();
  }

  /** Finishes what runs, `graceMs` at most, and ends the processes. */
  async stop(graceMs: number): Promise<void> {
    clearTimeout(this.#watching ?? undefined);
    this.#watching = null;
    const stopped = Promise.all([this.functions.stop(), this.jobs.stop()]);
    await Promise.race([stopped, Bun.sleep(graceMs)]);
    await this.#host.stop(0);
    this.#queries.stop();
    await stopped;
    await Promise.all([this.functions.settled(), this.jobs.settled()]);
  }

  #tell(verb: string, more: object = {}): void {
    const functions = this.functions.triggers().map(({ path, handler }) => `${path}:${handler}`);
    const jobs = this.jobs.list().map(({ job }) => job.name);
    if (functions.length + jobs.length > 0 || verb !== "Loaded")
      this.#logger.info(`${verb} functions and jobs`, { functions, jobs, ...more });
  }
}
