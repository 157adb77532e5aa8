import { BoundedMap, count } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { HostProcess, type ProcessEnd, type ProcessOptions, type ScriptProcess } from "./host-process.ts";
import type { CallError, CallMessage, FromChild, LogMessage } from "./protocol.ts";
import { type Loaded, Run, type ScriptOutcome, type ScriptTask } from "./script-task.ts";

/** Runs that one process has at a time; the others wait here. */
const maxRunning = 64;
/** How long a file may take to load. */
const loadLimitMs = 5_000;
const watchMs = 100;
const idleWatchMs = 2_000;
/** Turns of the watch in which a process that was told to abort a run must answer. */
const graceTurns = 10;
/** Runs that have ended and whose errors may still come. */
const maxEnded = 1_000;
/** The pause before a process that ended during its start is started again, doubled each time. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;

export interface SlotOptions {
  readonly process: ProcessOptions;
  /** Bytes of resident memory. */
  readonly memoryLimit: number;
  readonly logger: Logger;
  /** Answers a call of the user's code; `part` sends a piece of the answer ahead. What it throws is refused. */
  readonly answer: (call: CallMessage, task: ScriptTask, part: (value: unknown) => void) => Promise<unknown>;
  readonly toCallError: (thrown: unknown, method: string) => CallError;
}

type EndReason = "hang" | "memory" | "stop" | null;

/**
 * One process for the user's code, and the runs in it; when it ends, another takes its place. A run that was alone in a
 * process which ended has ended it. Where several ran, nobody knows who did: each is run again, alone, and the one that
 * does it again has failed.
 */
export class ScriptSlot {
  readonly #options: SlotOptions;
  /** The files that every process of this slot loads. */
  #files: readonly string[] = [];
  /** Why files could not be loaded again into a later process. */
  readonly #lost = new Map<string, string>();
  #process: ScriptProcess | null = null;
  #isReady = false;
  #isStopped = false;
  #lastRun = 0;
  #waiting: Run[] = [];
  /** Of these, one ended the process; each runs alone. */
  #suspects: Run[] = [];
  /** Whether the run in the process is one of them. */
  #isAlone = false;
  readonly #running = new Map<number, Run>();
  readonly #ended = new BoundedMap<number, Run>(maxEnded);
  #endReason: EndReason = null;
  #onLoad: ((path: string, loaded: Loaded) => void) | null = null;
  #timer: Timer | null = null;
  #pauseMs = firstPauseMs;
  #idle = Promise.withResolvers<void>();

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  /** Runs that wait or run. */
  get load(): number {
    return this.#waiting.length + this.#suspects.length + this.#running.size;
  }

  /** Bytes of resident memory; null without a process. */
  get residentBytes(): number | null {
    return this.#process?.residentBytes ?? null;
  }

  /** Starts the process and loads files; those that load are loaded again into each later process. */
  async start(files: readonly string[]): Promise<Map<string, Loaded>> {
    const results = await this.#loadAll(files);
    this.#files = files.filter((path) => "exports" in (results.get(path) ?? {}));
    this.#becomeReady();
    return results;
  }

  run(task: ScriptTask): Promise<ScriptOutcome> {
    this.#lastRun += 1;
    const run = new Run(this.#lastRun, task);
    if (this.#isStopped) run.settle({ status: "stopped" });
    else this.#waiting.push(run);
    this.#pump();
    return run.outcome;
  }

  /** Resolves when nothing waits or runs any more. */
  async drained(): Promise<void> {
    if (this.load > 0) await this.#idle.promise;
  }

  /** Ends the process. What still waits or runs is told that it was stopped. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer ?? undefined);
    this.#endReason = "stop";
    this.#process?.kill();
    this.#process = null;
    for (const run of [...this.#running.values(), ...this.#suspects, ...this.#waiting])
      run.settle({ status: "stopped" });
    this.#running.clear();
    this.#suspects = [];
    this.#waiting = [];
    this.#idle.resolve();
  }

  /**
   * Loads files one after the other, so that it is known which one ends the process or does not come to an end; the
   * others are then loaded into another process.
   */
  async #loadAll(files: readonly string[]): Promise<Map<string, Loaded>> {
    const results = new Map<string, Loaded>();
    const broken = new Set<string>();
    for (let isWhole = false; !isWhole && !this.#isStopped; ) {
      isWhole = true;
      const process = this.#spawn();
      for (const path of files) {
        if (broken.has(path)) continue;
        const loaded = await this.#loadOne(process, path);
        results.set(path, loaded);
        if ("exports" in loaded) continue;
        broken.add(path);
        if (this.#process === process) continue;
        isWhole = false;
        break;
      }
    }
    return results;
  }

  async #loadOne(process: ScriptProcess, path: string): Promise<Loaded> {
    const answer = Promise.withResolvers<Loaded>();
    this.#onLoad = (loadedPath, loaded) => {
      if (loadedPath === path) answer.resolve(loaded);
    };
    process.send({ kind: "load", path });
    const limit = setTimeout(() => {
      this.#forget(process);
      process.kill();
      answer.resolve({ error: { message: `did not finish loading within ${loadLimitMs / 1_000} s` } });
    }, loadLimitMs);
    process.exited.then(({ how }) => {
      this.#forget(process);
      answer.resolve({ error: { message: `ended the process while it was loading (${how})` } });
    });
    const loaded = await answer.promise;
    clearTimeout(limit);
    return loaded;
  }

  #forget(process: ScriptProcess): void {
    if (this.#process === process) this.#process = null;
  }

  #spawn(): ScriptProcess {
    const process: ScriptProcess = new HostProcess(this.#options.process, (message) => {
      if (this.#process === process) this.#receive(message);
    });
    this.#process = process;
    this.#endReason = null;
    process.exited.then((end) => {
      if (this.#process === process && this.#isReady) this.#restart(end);
    });
    return process;
  }

  #becomeReady(): void {
    if (this.#isStopped) return;
    this.#isReady = true;
    // It may have ended in the moment after its last file.
    if (this.#process === null) this.#restart({ how: "it was lost during its start" });
    this.#watchLater();
    this.#pump();
  }

  /** The process has ended: what ran is settled or run again, and another process takes its place. */
  async #restart(end: ProcessEnd): Promise<void> {
    this.#process = null;
    this.#isReady = false;
    this.#settleVictims(end);
    // One that ends again and again, with nothing to run, must not take all of the machine.
    if (this.load === 0) await Bun.sleep(this.#pauseMs);
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
    if (this.#isStopped) return;
    const results = await this.#loadAll(this.#files);
    this.#lost.clear();
    for (const [path, loaded] of results) {
      if ("exports" in loaded) continue;
      this.#lost.set(path, loaded.error.message);
      this.#options.logger.error(`${path} could not be loaded again: ${loaded.error.message}`);
    }
    this.#becomeReady();
  }

  #settleVictims(end: ProcessEnd): void {
    const runs = [...this.#running.values()];
    this.#running.clear();
    this.#isAlone = false;
    const victims = runs.filter((run) => run.startedAt !== null);
    const message = this.#endMessage(end);
    for (const run of runs) if (run.startedAt === null) this.#waiting.unshift(run);
    const [only] = victims;
    if (only !== undefined && victims.length === 1) only.fail(message);
    else {
      for (const run of victims) run.reset();
      this.#suspects.push(...victims);
    }
    const beside = victims.length > 1 ? `; ${count(victims.length, "run")} were in it, each is run again, alone` : "";
    this.#options.logger.warn(`The process of functions and jobs was lost: ${message}${beside}`);
    this.#checkIdle();
  }

  #endMessage({ how }: ProcessEnd): string {
    const limit = `${Math.round(this.#options.memoryLimit / 1024 ** 2)} MiB`;
    if (this.#endReason === "memory") return `used more memory than scripts.memory allows (${limit})`;
    if (this.#endReason === "hang") return "ran past its timeout without giving way (an endless loop?)";
    return `the process ended (${how})`;
  }

  #pump(): void {
    if (!this.#isReady || this.#isStopped) return;
    if (this.#isAlone) return;
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
  }

  /** Answers whether it was sent; else it has failed. */
  #send(run: Run): boolean {
    const { path, handler, input } = run.task;
    const lost = this.#lost.get(path);
    if (lost !== undefined) {
      run.fail(`${path} could not be loaded again: ${lost}`);
      return false;
    }
    if (this.#running.size === 0) this.#watchSoon();
    this.#running.set(run.id, run);
    this.#process?.send({ kind: "run", run: run.id, path, handler, input: JSON.stringify(input) });
    return true;
  }

  #receive(message: FromChild): void {
    switch (message.kind) {
      case "ready":
        return;
      case "loaded":
        this.#onLoad?.(message.path, { exports: message.exports });
        return;
      case "broken":
        this.#onLoad?.(message.path, { error: message.error });
        return;
      case "log":
        this.#log(message);
        return;
      case "stray":
        this.#stray(message);
        return;
      case "call":
        this.#call(message);
        return;
      default:
        this.#progress(message);
    }
  }

  #progress(message: Extract<FromChild, { kind: "started" | "completed" | "failed" | "aborted" }>): void {
    const run = this.#running.get(message.run);
    if (run === undefined) return;
    if (message.kind === "started") {
      run.startedAt = performance.now();
      run.task.onStart?.();
      return;
    }
    this.#running.delete(run.id);
    this.#isAlone = false;
    this.#ended.set(run.id, run);
    this.#pauseMs = firstPauseMs;
    if (message.kind === "completed") run.settle({ status: "completed" });
    else if (message.kind === "failed") run.settle({ status: "failed", error: message.error });
    else run.fail(`ran longer than its timeout of ${run.task.timeoutMs / 1_000} s`);
    this.#pump();
    this.#checkIdle();
  }

  #log({ run, level, message, fields }: LogMessage): void {
    const known = run === null ? undefined : (this.#running.get(run) ?? this.#ended.get(run));
    const { logger } = this.#options;
    const about = known === undefined ? {} : { file: known.task.path, runId: known.task.input.runId };
    const write = { DEBUG: logger.debug, INFO: logger.info, WARN: logger.warn, ERROR: logger.error }[level];
    write.call(logger, message, { ...fields, ...about });
    known?.task.onLog?.({ level, message, ...(fields === undefined ? {} : { fields }) });
  }

  #stray({ run, error }: Extract<FromChild, { kind: "stray" }>): void {
    const ended = run === null ? undefined : this.#ended.get(run);
    if (ended?.task.onStray !== undefined) {
      const message = `Thrown after the handler had returned: ${error.message}`;
      ended.task.onStray({ ...error, message });
      return;
    }
    this.#options.logger.error(`Functions or jobs threw where nothing waits for it: ${error.message}`, {
      stack: error.stack,
    });
  }

  async #call(message: CallMessage): Promise<void> {
    const { call, method } = message;
    const process = this.#process;
    const run = this.#running.get(message.run);
    try {
      if (run === undefined) throw new Error(`${method} was called after the end of its run`);
      const part = (value: unknown): void => process?.send({ kind: "part", call, value });
      const value = await this.#options.answer(message, run.task, part);
      process?.send({ kind: "answer", call, value });
    } catch (thrown) {
      process?.send({ kind: "refuse", call, error: this.#options.toCallError(thrown, method) });
    }
  }

  #watchSoon(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = setTimeout(() => this.#watch(), watchMs);
  }

  #watchLater(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = setTimeout(() => this.#watch(), this.#running.size > 0 ? watchMs : idleWatchMs);
    if (this.#running.size === 0) this.#timer.unref();
  }

  /** Looks at the time of each run, and at the memory of all. */
  #watch(): void {
    const process = this.#process;
    if (process === null || this.#isStopped) return;
    const now = performance.now();
    for (const run of this.#running.values()) {
      if (run.startedAt === null || now - run.startedAt < run.task.timeoutMs) continue;
      if (run.silentTurns === null) process.send({ kind: "abort", run: run.id });
      run.silentTurns = (run.silentTurns ?? 0) + 1;
      if (run.silentTurns > graceTurns) this.#end(process, "hang");
    }
    if ((process.residentBytes ?? 0) > this.#options.memoryLimit) this.#end(process, "memory");
    this.#watchLater();
  }

  #end(process: ScriptProcess, reason: EndReason): void {
    this.#endReason = reason;
    process.kill();
  }

  #checkIdle(): void {
    if (this.load > 0) return;
    this.#idle.resolve();
    this.#idle = Promise.withResolvers<void>();
  }
}
