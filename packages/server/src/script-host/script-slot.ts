import { BoundedMap, count, messageOf } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { Attempt, type Loaded, type ScriptOutcome, type ScriptTask } from "./attempt.ts";
import { type CallOptions, Calls } from "./calls.ts";
import { HostProcess, type ProcessEnd, type ProcessOptions, type ScriptProcess } from "./host-process.ts";
import { Loading } from "./loading.ts";
import type { CodeFile, FromChild, LogMessage } from "./protocol.ts";
import { Trials } from "./trials.ts";
import { type EndReason, Watch } from "./watch.ts";

/** Attempts that one process has at a time; the others wait here. */
const maxRunning = 64;
/** Times that an attempt goes back among the others because it could not be made alone. */
const maxTrials = 2;
/** The pause before a file that could not be loaded again is tried in a process of its own, doubled each time. */
const lostPauseMs = 1_000;
const longestLostPauseMs = 30_000;
/** Attempts that have ended and whose errors may still come. */
const maxEnded = 1_000;
/** The pause before a process that ended during its start is started again, doubled each time. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** Signals that an operator or the machine, when it is out of memory, ends processes with. */
const outsideSignals: readonly string[] = ["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"];
/** Times that a run may be alone in a process which such a signal ends, and is made again all the same. */
const maxKills = 3;
/** How often that has happened to a task. */
const killsOf = new WeakMap<ScriptTask, number>();

/** What must be known of an attempt after its end; what it was about is not kept. */
interface Ended {
  readonly path: string;
  readonly runId: string;
  /** To be called with the first error that comes to light, where it had completed. */
  onStray: ScriptTask["onStray"];
}

export interface SlotOptions extends CallOptions {
  readonly process: ProcessOptions;
  /** Bytes of resident memory. */
  readonly memoryLimit: number;
  readonly logger: Logger;
  /** Called when a process has ended by itself, or had to be ended. */
  onLost(): void;
}

/**
 * One process for the user's code, and the attempts in it; when it ends, another takes its place. An attempt that was the
 * only one that a process ever had has ended it. Else nobody knows who did: each that was in it is made again, in a
 * process for it alone, and the one that does it again has failed.
 */
export class ScriptSlot {
  readonly #options: SlotOptions;
  readonly #code: readonly CodeFile[];
  readonly #watch: Watch;
  /** The files that every process of this slot loads. */
  #files: readonly string[] = [];
  /** Files that could not be loaded again into this process. */
  #lost = new Set<string>();
  #process: ScriptProcess | null = null;
  #loading: Loading | null = null;
  #calls: Calls | null = null;
  #isReady = false;
  #isStopped = false;
  #lastId = 0;
  #waiting: Attempt[] = [];
  /** Attempts that the process was ever sent. */
  #sent = 0;
  /** Attempts that are to be made in a process of their own, once the main one is ready. */
  #tried: Attempt[] = [];
  /** Attempts that are being made so. */
  readonly #suspects = new Set<Attempt>();
  readonly #trials: Trials;
  readonly #running = new Map<number, Attempt>();
  readonly #ended = new BoundedMap<number, Ended>(maxEnded);
  #endReason: EndReason | null = null;
  #pauseMs = firstPauseMs;
  #idle = Promise.withResolvers<void>();

  /** @param code what its processes load, whatever is on the disk by then. */
  constructor(options: SlotOptions, code: readonly CodeFile[]) {
    this.#options = options;
    this.#code = code;
    this.#trials = new Trials(() => new ScriptSlot(options, code));
    this.#watch = new Watch({
      memoryLimit: options.memoryLimit,
      look: () =>
        this.#process === null
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
    return this.#waiting.length + this.#tried.length + this.#suspects.size + this.#running.size;
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
    for (const attempt of [...this.#running.values(), ...this.#suspects, ...this.#tried, ...this.#waiting])
      attempt.settle({ status: "stopped" });
    this.#trials.stop();
    this.#running.clear();
    this.#suspects.clear();
    this.#tried = [];
    this.#waiting = [];
    this.#idle.resolve();
  }

  /** A file that takes the process with it is left out, and the others are loaded into another one. */
  async #loadAll(files: readonly string[]): Promise<Map<string, Loaded>> {
    const results = new Map<string, Loaded>();
    const broken = new Set<string>();
    const suspects = new Set<string>();
    for (let isWhole = false; !isWhole && !this.#isStopped; ) {
      isWhole = true;
      const process = this.#spawn();
      const loading = new Loading(process);
      this.#loading = loading;
      for (const path of files) {
        if (broken.has(path) || this.#isStopped) continue;
        const { loaded, lost } = await loading.load(path);
        results.set(path, loaded);
        // A process may end for other reasons; a file is to blame when it happens again.
        if (lost === "ended" && !suspects.has(path)) suspects.add(path);
        else if ("error" in loaded) broken.add(path);
        if (lost === null) continue;
        if (this.#process === process) this.#process = null;
        isWhole = false;
        break;
      }
    }
    return results;
  }

  #spawn(): ScriptProcess {
    const process: ScriptProcess = new HostProcess(this.#options.process, (message) => {
      if (this.#process !== process) return;
      try {
        this.#receive(message);
      } catch (error) {
        // Nothing that comes from there may end the service.
        this.#options.logger.error("A message of the process of functions and jobs could not be handled", { error });
      }
    });
    this.#process = process;
    this.#calls = new Calls(process, this.#options);
    this.#endReason = null;
    this.#sent = 0;
    this.#watch.wake();
    process.send({ kind: "code", files: this.#code });
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
      void this.#replace({ how: "it was lost during its start", signal: null });
      return;
    }
    this.#watch.wake();
    this.#pump();
    // Not before: what one of them holds, such as a port, the main process might need while it loads.
    for (const attempt of this.#tried.splice(0)) void this.#try(attempt);
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
    this.#lost = new Set();
    for (const [path, loaded] of results) {
      if ("exports" in loaded) continue;
      this.#lost.add(path);
      this.#options.logger.error(
        `${path} could not be loaded again, it is tried in a process of its own: ${loaded.error.message}`,
      );
    }
  }

  #settleVictims(end: ProcessEnd): void {
    const attempts = [...this.#running.values()];
    this.#running.clear();
    const victims = attempts.filter((attempt) => attempt.startedAt !== null);
    for (const attempt of attempts) attempt.reset();
    // What had not begun goes back to where it was.
    this.#waiting.unshift(...attempts.filter((attempt) => !victims.includes(attempt)));
    const message = this.#endMessage(end);
    const [only] = victims;
    const isCertain = only !== undefined && this.#sent === 1 && !this.#isForgiven(only, end);
    for (const victim of victims) {
      if (isCertain || victim.trials >= maxTrials) victim.fail(message);
      else this.#tried.push(victim);
    }
    const were = victims.length === 1 ? "was" : "were";
    const beside =
      isCertain || victims.length === 0
        ? ""
        : `; ${count(victims.length, "run")} ${were} in it, each is run again, alone`;
    this.#options.onLost();
    this.#options.logger.warn(`The process of functions and jobs was lost: it ${message}${beside}`);
    this.#checkIdle();
  }

  /** Whether a process was killed from outside, which is no run's doing. A run that kills its own process looks alike: it is blamed in the end. */
  #isForgiven({ task }: Attempt, { signal }: ProcessEnd): boolean {
    if (this.#endReason !== null || signal === null || !outsideSignals.includes(signal)) return false;
    const kills = (killsOf.get(task) ?? 0) + 1;
    killsOf.set(task, kills);
    return kills <= maxKills;
  }

  /** Makes an attempt again, in a process that has nothing else. */
  async #try(attempt: Attempt): Promise<void> {
    this.#suspects.add(attempt);
    const outcome = await this.#trials.run(attempt.task);
    this.#suspects.delete(attempt);
    if (this.#isStopped) return;
    // Its file does not load there: something holds on to what it needs. It goes back to where others are.
    if (outcome.status === "gone") {
      attempt.trials += 1;
      this.#waiting.push(attempt);
      this.#pump();
    } else {
      attempt.settle(outcome);
    }
    this.#checkIdle();
  }

  #endMessage({ how }: ProcessEnd): string {
    const limit = `${Math.round(this.#options.memoryLimit / 1024 ** 2)} MiB`;
    if (this.#endReason === "memory") return `used more memory than scripts.memory allows (${limit})`;
    if (this.#endReason === "hang") return "ran past its timeout without giving way (an endless loop?)";
    return `ended the process (${how})`;
  }

  #pump(): void {
    if (!this.#isReady || this.#isStopped) return;
    while (this.#waiting.length > 0 && this.#running.size < maxRunning) {
      const next = this.#waiting.shift();
      if (next !== undefined) this.#send(next);
    }
    this.#checkIdle();
  }

  #send(attempt: Attempt): void {
    const { path, handler, input } = attempt.task;
    if (this.#lost.has(path)) {
      void this.#tryLost(attempt);
      return;
    }
    this.#sent += 1;
    this.#running.set(attempt.id, attempt);
    this.#watch.wake();
    this.#process?.send({ kind: "run", attempt: attempt.id, path, handler, input: JSON.stringify(input) });
  }

  /** The main process does not have its file: it is tried in one of its own, until that works. */
  async #tryLost(attempt: Attempt): Promise<void> {
    this.#suspects.add(attempt);
    for (let pauseMs = lostPauseMs; !this.#isStopped; pauseMs = Math.min(longestLostPauseMs, pauseMs * 2)) {
      const outcome = await this.#trials.run(attempt.task);
      if (this.#isStopped) return;
      if (outcome.status !== "gone") {
        attempt.settle(outcome);
        break;
      }
      await Bun.sleep(pauseMs);
    }
    this.#suspects.delete(attempt);
    this.#checkIdle();
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
        void this.#calls?.answer(message, this.#running.get(message.attempt) ?? null);
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
    const { path, input, onStray } = attempt.task;
    this.#ended.set(attempt.id, {
      path,
      runId: input.runId,
      onStray: message.kind === "completed" ? onStray : undefined,
    });
    this.#pauseMs = firstPauseMs;
    if (message.kind === "completed") attempt.settle({ status: "completed" });
    else if (message.kind === "failed") attempt.settle({ status: "failed", error: message.error });
    else attempt.fail(`ran longer than its timeout of ${attempt.task.timeoutMs / 1_000} s`);
    this.#pump();
    this.#checkIdle();
  }

  #log({ attempt: id, level, message, fields }: LogMessage): void {
    const { logger } = this.#options;
    const task = id === null ? undefined : this.#running.get(id)?.task;
    const ended = id === null ? undefined : this.#ended.get(id);
    const file = task?.path ?? ended?.path;
    const about = file === undefined ? {} : { file, runId: task?.input.runId ?? ended?.runId };
    const write = { DEBUG: logger.debug, INFO: logger.info, WARN: logger.warn, ERROR: logger.error }[level];
    write.call(logger, message, { ...fields, ...about });
    task?.onLog?.({ level, message, ...(fields === undefined ? {} : { fields }) });
  }

  /** The first error that comes to light after an attempt has completed makes it a failed one. */
  #stray({ attempt: id, error }: Extract<FromChild, { kind: "stray" }>): void {
    const ended = id === null ? undefined : this.#ended.get(id);
    if (ended?.onStray !== undefined) {
      const tell = ended.onStray;
      ended.onStray = undefined;
      tell({ ...error, message: `Thrown after the handler had returned: ${error.message}` });
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
