import { BoundedMap, count, messageOf } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { Attempt, type Loaded, type ScriptOutcome, type ScriptTask } from "./attempt.ts";
import { type CallOptions, Calls } from "./calls.ts";
import { HostProcess, type ProcessEnd, type ProcessOptions, type ScriptProcess } from "./host-process.ts";
import { Loading } from "./loading.ts";
import type { FromChild, LogMessage } from "./protocol.ts";
import { type EndReason, Watch } from "./watch.ts";

/** Attempts that one process has at a time; the others wait here. */
const maxRunning = 64;
/** Attempts that have ended and whose errors may still come. */
const maxEnded = 1_000;
/** The pause before a process that ended during its start is started again, doubled each time. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;

export interface SlotOptions extends CallOptions {
  readonly process: ProcessOptions;
  /** Bytes of resident memory. */
  readonly memoryLimit: number;
  readonly logger: Logger;
}

/**
 * One process for the user's code, and the attempts in it; when it ends, another takes its place. An attempt that was
 * alone in a process which ended has ended it. Where several ran, nobody knows who did: each is made again, alone, and
 * the one that does it again has failed.
 */
export class ScriptSlot {
  readonly #options: SlotOptions;
  readonly #watch: Watch;
  /** The files that every process of this slot loads. */
  #files: readonly string[] = [];
  /** Why files could not be loaded again into a later process. */
  #lost = new Map<string, string>();
  #process: ScriptProcess | null = null;
  #loading: Loading | null = null;
  #calls: Calls | null = null;
  #isReady = false;
  #isStopped = false;
  #lastId = 0;
  #waiting: Attempt[] = [];
  /** Of these, one ended the process; each runs alone. */
  #suspects: Attempt[] = [];
  /** Whether the one in the process is one of them. */
  #isAlone = false;
  readonly #running = new Map<number, Attempt>();
  readonly #ended = new BoundedMap<number, Attempt>(maxEnded);
  #endReason: EndReason | null = null;
  #pauseMs = firstPauseMs;
  #idle = Promise.withResolvers<void>();

  constructor(options: SlotOptions) {
    this.#options = options;
    this.#watch = new Watch({
      memoryLimit: options.memoryLimit,
      look: () =>
        this.#process === null || !this.#isReady
          ? null
          : { attempts: this.#running.values(), residentBytes: this.#process.residentBytes },
      abort: ({ id }) => this.#process?.send({ kind: "abort", attempt: id }),
      end: (reason) => {
        this.#endReason = reason;
        this.#process?.kill();
      },
    });
  }

  /** Attempts that wait or run. */
  get load(): number {
    return this.#waiting.length + this.#suspects.length + this.#running.size;
  }

  /**
   * Starts the process and loads files; those that load are loaded again into each later process.
   * @throws Error when no process can be started.
   */
  async start(files: readonly string[]): Promise<Map<string, Loaded>> {
    const results = await this.#loadAll(files);
    this.#files = files.filter((path) => "exports" in (results.get(path) ?? {}));
    this.#becomeReady();
    return results;
  }

  run(task: ScriptTask): Promise<ScriptOutcome> {
    this.#lastId += 1;
    const attempt = new Attempt(this.#lastId, task);
    if (this.#isStopped) attempt.settle({ status: "stopped" });
    else this.#waiting.push(attempt);
    this.#pump();
    return attempt.outcome;
  }

  /** Resolves when nothing waits or runs any more. */
  async drained(): Promise<void> {
    if (this.load > 0) await this.#idle.promise;
  }

  /** Ends the process. What still waits or runs is told that it was stopped. */
  stop(): void {
    this.#isStopped = true;
    this.#watch.stop();
    this.#process?.kill();
    this.#process = null;
    this.#calls?.end();
    for (const attempt of [...this.#running.values(), ...this.#suspects, ...this.#waiting])
      attempt.settle({ status: "stopped" });
    this.#running.clear();
    this.#suspects = [];
    this.#waiting = [];
    this.#idle.resolve();
  }

  /** A file that takes the process with it is left out, and the others are loaded into another one. */
  async #loadAll(files: readonly string[]): Promise<Map<string, Loaded>> {
    const results = new Map<string, Loaded>();
    const broken = new Set<string>();
    for (let isWhole = false; !isWhole && !this.#isStopped; ) {
      isWhole = true;
      const process = this.#spawn();
      const loading = new Loading(process);
      this.#loading = loading;
      for (const path of files) {
        if (broken.has(path) || this.#isStopped) continue;
        const { loaded, isLost } = await loading.load(path);
        results.set(path, loaded);
        if ("error" in loaded) broken.add(path);
        if (!isLost) continue;
        if (this.#process === process) this.#process = null;
        isWhole = false;
        break;
      }
    }
    return results;
  }

  #spawn(): ScriptProcess {
    const process: ScriptProcess = new HostProcess(this.#options.process, (message) => {
      if (this.#process === process) this.#receive(message);
    });
    this.#process = process;
    this.#calls = new Calls(process, this.#options);
    this.#endReason = null;
    process.exited.then((end) => {
      if (this.#process === process && this.#isReady) void this.#replace(end);
    });
    return process;
  }

  #becomeReady(): void {
    if (this.#isStopped) return;
    this.#isReady = true;
    // It may have ended in the moment after its last file.
    if (this.#process === null || this.#process.hasExited) {
      void this.#replace({ how: "it was lost during its start" });
      return;
    }
    this.#watch.wake();
    this.#pump();
  }

  /** The process has ended: what ran is settled or run again, and another process takes its place. */
  async #replace(end: ProcessEnd): Promise<void> {
    this.#process = null;
    this.#isReady = false;
    this.#calls?.end();
    this.#settleVictims(end);
    // One that ends again and again, with nothing to run, must not take all of the machine.
    if (this.load === 0) await Bun.sleep(this.#pauseMs);
    while (!this.#isStopped) {
      this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
      try {
        this.#rememberLost(await this.#loadAll(this.#files));
        break;
      } catch (thrown) {
        this.#options.logger.error(`A process for functions and jobs cannot be started: ${messageOf(thrown)}`);
        await Bun.sleep(this.#pauseMs);
      }
    }
    this.#becomeReady();
  }

  #rememberLost(results: ReadonlyMap<string, Loaded>): void {
    this.#lost = new Map();
    for (const [path, loaded] of results) {
      if ("exports" in loaded) continue;
      this.#lost.set(path, loaded.error.message);
      this.#options.logger.error(`${path} could not be loaded again: ${loaded.error.message}`);
    }
  }

  #settleVictims(end: ProcessEnd): void {
    const attempts = [...this.#running.values()];
    this.#running.clear();
    this.#isAlone = false;
    const victims = attempts.filter((attempt) => attempt.startedAt !== null);
    for (const attempt of attempts) attempt.reset();
    // What had not begun goes back to where it was.
    this.#waiting.unshift(...attempts.filter((attempt) => !victims.includes(attempt)));
    const message = this.#endMessage(end);
    const [only] = victims;
    if (only !== undefined && victims.length === 1) only.fail(message);
    else this.#suspects.push(...victims);
    const beside = victims.length > 1 ? `; ${count(victims.length, "run")} were in it, each is run again, alone` : "";
    this.#options.logger.warn(`The process of functions and jobs was lost: it ${message}${beside}`);
    this.#checkIdle();
  }

  #endMessage({ how }: ProcessEnd): string {
    const limit = `${Math.round(this.#options.memoryLimit / 1024 ** 2)} MiB`;
    if (this.#endReason === "memory") return `used more memory than scripts.memory allows (${limit})`;
    if (this.#endReason === "hang") return "ran past its timeout without giving way (an endless loop?)";
    return `ended the process (${how})`;
  }

  #pump(): void {
    if (!this.#isReady || this.#isStopped || this.#isAlone) return;
    while (this.#suspects.length > 0) {
      if (this.#running.size > 0) return;
      const suspect = this.#suspects.shift();
      if (suspect === undefined || !this.#send(suspect)) continue;
      this.#isAlone = true;
      return;
    }
    while (this.#waiting.length > 0 && this.#running.size < maxRunning) {
      const next = this.#waiting.shift();
      if (next !== undefined) this.#send(next);
    }
    this.#checkIdle();
  }

  /** Answers whether it was sent; else it has failed. */
  #send(attempt: Attempt): boolean {
    const { path, handler, input } = attempt.task;
    const lost = this.#lost.get(path);
    if (lost !== undefined) {
      attempt.fail(`${path} could not be loaded again: ${lost}`);
      return false;
    }
    this.#running.set(attempt.id, attempt);
    this.#watch.wake();
    this.#process?.send({ kind: "run", attempt: attempt.id, path, handler, input: JSON.stringify(input) });
    return true;
  }

  #receive(message: FromChild): void {
    switch (message.kind) {
      case "loaded":
        this.#loading?.answer(message.path, { exports: message.exports });
        return;
      case "broken":
        this.#loading?.answer(message.path, { error: message.error });
        return;
      case "log":
        this.#log(message);
        return;
      case "stray":
        this.#stray(message);
        return;
      case "call":
        void this.#calls?.answer(message, this.#running.get(message.attempt)?.task ?? null);
        return;
      case "taken":
        this.#calls?.taken(message.call);
        return;
      default:
        this.#progress(message);
    }
  }

  #progress(message: Extract<FromChild, { kind: "started" | "completed" | "failed" | "aborted" }>): void {
    const attempt = this.#running.get(message.attempt);
    if (attempt === undefined) return;
    if (message.kind === "started") {
      attempt.startedAt = performance.now();
      attempt.silentTurns = 0;
      return;
    }
    this.#running.delete(attempt.id);
    this.#isAlone = false;
    this.#ended.set(attempt.id, attempt);
    this.#pauseMs = firstPauseMs;
    if (message.kind === "completed") attempt.settle({ status: "completed" });
    else if (message.kind === "failed") attempt.settle({ status: "failed", error: message.error });
    else attempt.fail(`ran longer than its timeout of ${attempt.task.timeoutMs / 1_000} s`);
    this.#pump();
    this.#checkIdle();
  }

  #log({ attempt, level, message, fields }: LogMessage): void {
    const task = (attempt === null ? undefined : (this.#running.get(attempt) ?? this.#ended.get(attempt)))?.task;
    const { logger } = this.#options;
    const about = task === undefined ? {} : { file: task.path, runId: task.input.runId };
    const write = { DEBUG: logger.debug, INFO: logger.info, WARN: logger.warn, ERROR: logger.error }[level];
    write.call(logger, message, { ...fields, ...about });
    task?.onLog?.({ level, message, ...(fields === undefined ? {} : { fields }) });
  }

  /** The first error that comes to light after an attempt has completed makes it a failed one. */
  #stray({ attempt: id, error }: Extract<FromChild, { kind: "stray" }>): void {
    const attempt = id === null ? undefined : this.#ended.get(id);
    if (attempt?.mayStray === true && attempt.task.onStray !== undefined) {
      attempt.mayStray = false;
      attempt.task.onStray({ ...error, message: `Thrown after the handler had returned: ${error.message}` });
      return;
    }
    const { stack } = error;
    this.#options.logger.error(`Thrown in functions or jobs where nothing waits for it: ${error.message}`, { stack });
  }

  #checkIdle(): void {
    if (this.load > 0) return;
    this.#idle.resolve();
    this.#idle = Promise.withResolvers<void>();
  }
}
