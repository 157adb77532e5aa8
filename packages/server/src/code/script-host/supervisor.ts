/**
 * The supervisor of one script process: starts the process, and a new process in place of a lost process. States of the process:
 *
 *     starting ── files loaded ──► ready ── the process ends ──► lost ── after a pause ──► starting
 *
 * and stopped, from each state. The states of an attempt:
 *
 *     waiting ── the process is ready and has room ──► sent ── the note ───► started ──┬── the answer ────────► ended
 *       ▲  ▲                                            │                       │      └── aborted, "aborted" ► ended
 *       │  └──────────── the process is lost ───────────┘                       │ the process is lost
 *       │                                                                       ▼
 *       │        the only attempt that the process ever had, and not ended from outside? ── yes ──────► ended (lost)
 *       │                                                                       │ no
 *       └── the file does not load alone ◄── quarantine: alone in a process ◄───┘
 *                                                       └── outcome ────────────────────────────────► ended
 *
 * process.ts carries the messages and aborts, quarantine.ts makes attempts alone. For a caller that waits, an attempt also ends
 * when the time is up, or when the caller leaves; the process is told, and may work on for a moment.
 *
 * A process that does not answer goes aside: another process takes the place and the attempts that have not begun, and the begun
 * attempts keep their time. Begun hooks, and begun requests with a safe method, begin again in the new process. So that a file with several such
 * attempts does not hold up each new process, the file's further attempts go to a second supervisor, `apart`, until the process
 * aside has ended; if the file holds up the process apart, too, the further attempts are made alone, in quarantine.
 */
import { count, messageOf } from "../../base/kernel/index.ts";
import { Attempt, type CallOutcome, limitWait, type ScriptTask } from "./attempt.ts";
import { loadFiles, loadInto } from "./file-loads.ts";
import type { ProcessEnd } from "./host-process.ts";
import { type Loss, ScriptProcess, type ScriptProcessOptions } from "./process.ts";
import type { CodeFile, Loaded } from "./protocol.ts";
import { culpritOf, Quarantine } from "./quarantine.ts";

/** Times that an attempt goes back among the others because the file does not load in quarantine. */
const maxFailedIsolations = 2;
/** The pause before an attempt is made again if neither process has loaded the file, doubled each time. */
const unloadedPauseMs = 1_000;
const longestUnloadedPauseMs = 30_000;
/** The pause before a process that was lost during the start is started again, doubled each time. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** Processes that are aside at a time. While so many are aside, attempts wait for a process that does not answer. */
const maxAside = 2;
export interface SupervisorOptions extends ScriptProcessOptions {
  /** Attempts that the process has at a time. The callers bound the number of calls that wait. */
  readonly capacity: number;
  /** Whether each attempt may be made again if the handler had started in a lost process. */
  readonly isRepeatable: boolean;
  /** Called when the process has ended on its own, or had to be killed. */
  readonly onLost: () => void;
}

export class Supervisor {
  #options: SupervisorOptions;
  readonly #quarantine: Quarantine;
  /** Called when nothing waits or is under way any more. */
  readonly #onDrained: (() => void) | null;
  /** Processes that did not answer and end with the last begun attempt, with the file of the suspected attempt. */
  readonly #aside = new Map<ScriptProcess, string>();
  /** Has the attempts of the suspected files; null while no file is suspected. */
  #apart: Supervisor | null = null;
  /** The files that each process loads. */
  #files: readonly string[] = [];
  /** Files of the given list that the current process could not load again. */
  #unloaded = new Set<string>();
  #process: ScriptProcess | null = null;
  /** The process that has taken the last change. */
  #changed: ScriptProcess | null = null;
  #state: "starting" | "ready" | "lost" | "stopped" = "starting";
  #waiting: Attempt[] = [];
  /** Attempts that go to quarantine once the next process is ready. */
  #suspects: Attempt[] = [];
  /** Attempts that quarantine has, or will get again after a pause. */
  readonly #isolated = new Set<Attempt>();
  #pauseMs = firstPauseMs;
  #drained = Promise.withResolvers<void>();

  readonly #loading = { open: () => this.#open(), isStopped: () => this.#isStopped() };

  constructor(options: SupervisorOptions, onDrained: (() => void) | null = null) {
    this.#options = options;
    this.#onDrained = onDrained;
    this.#quarantine = new Quarantine(() => new ScriptProcess(this.#options));
  }

  /** Attempts that wait or are under way. */
  get load(): number {
    const inProcesses = this.#processes().reduce((sum, { load }) => sum + load, this.#apart?.load ?? 0);
    return this.#waiting.length + inProcesses + this.#suspects.length + this.#isolated.size;
  }

  #processes(): ScriptProcess[] {
    return this.#process === null ? [...this.#aside.keys()] : [this.#process, ...this.#aside.keys()];
  }

  /** Starts the process and loads files; later processes load the loadable files. @throws Error when no process starts. */
  async start(files: readonly string[]): Promise<Map<string, Loaded>> {
    const results = await loadFiles(files, this.#loading);
    this.#files = files.filter((path) => "exports" in (results.get(path) ?? {}));
    this.#becomeReady();
    return results;
  }

  /** Ends the process like `stop`, and resolves when the process has ended. */
  async end(): Promise<void> {
    const process = this.#process;
    this.stop();
    await process?.exited;
  }

  /**
   * Loads files into the running process, after a change of modules. Calls go to the earlier versions until `adopt`. Answers null when
   * no process runs that could take the change, or the change has ended the process.
   */
  async update(changed: readonly CodeFile[], files: readonly string[]): Promise<Map<string, Loaded> | null> {
    const process = this.#process;
    if (this.#state !== "ready" || process === null || this.#apart !== null) return null;
    // The runtime frees a replaced module only when nothing refers to the module any more.
    if (process.residentBytes > this.#options.memoryLimit / 2) return null;
    this.#changed = process;
    process.change(changed);
    const ends = await loadInto(process, files, this.#loading);
    return this.hasTakenChange ? new Map(ends.map(({ path, loaded }) => [path, loaded])) : null;
  }

  /** Whether the process that took the last change is still the only process for further attempts. */
  get hasTakenChange(): boolean {
    const process = this.#process;
    return process !== null && process === this.#changed && !process.hasExited && this.#apart === null;
  }

  /** Puts the last change in use. @param files the files that have loaded. */
  adopt(code: readonly CodeFile[], files: readonly string[]): void {
    this.#options = { ...this.#options, code };
    this.#files = files;
    this.#unloaded = new Set();
    this.#process?.adopt();
  }

  followTest(): void {
    for (const process of this.#processes()) process.followTest();
    this.#apart?.followTest();
  }

  /** Calls a handler. For a caller that waits, the outcome comes within the timeout, whatever the process does. */
  async call(task: ScriptTask): Promise<CallOutcome> {
    const attempt = new Attempt(task);
    if (this.#options.isAwaited) limitWait(attempt);
    if (this.#state === "stopped") attempt.settle({ status: "stopped" });
    if (!attempt.isSettled) this.#add(attempt);
    const outcome = await attempt.outcome;
    this.#forget(attempt);
    return outcome;
  }

  /** The attempt has ended for the caller, but may wait to be sent. */
  #forget(attempt: Attempt): void {
    const waiting = this.#waiting.indexOf(attempt);
    if (waiting >= 0) this.#waiting.splice(waiting, 1);
    if (this.#apart !== null) this.#apart.#forget(attempt);
  }

  #add(attempt: Attempt): void {
    if (this.#isSuspected(attempt.task.path)) {
      this.#setApart(attempt);
      return;
    }
    this.#waiting.push(attempt);
    this.#sendNext();
  }

  #sendNext(): void {
    while (this.#state === "ready" && this.#process !== null && this.#process.load < this.#options.capacity) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (this.#unloaded.has(next.task.path)) void this.#isolate(next);
      else this.#process.call(next);
    }
  }

  #isSuspected(path: string): boolean {
    return this.#aside.size > 0 && [...this.#aside.values()].includes(path);
  }

  #setApart(attempt: Attempt): void {
    // The supervisor apart has no other supervisor apart.
    if (this.#onDrained !== null) void this.#isolate(attempt);
    else this.#apartOf().#add(attempt);
  }

  #apartOf(): Supervisor {
    if (this.#apart !== null) return this.#apart;
    this.#apart = new Supervisor(this.#options, () => this.#checkDrained());
    this.#apart.#files = this.#files;
    void this.#apart.#renew();
    return this.#apart;
  }

  /** A process has begun attempts and does not answer: the process goes aside, and another process takes the other attempts. */
  #setAside(process: ScriptProcess): void {
    const { suspect, begun } = process;
    if (process !== this.#process || this.#state !== "ready" || suspect === null) return;
    if (this.#aside.size >= maxAside) return;
    const { path } = suspect.task;
    this.#options.logger.warn(
      `A handler of ${path} computes for more than a second: another process takes the other work of ${this.#options.contents}`,
    );
    this.#state = "lost";
    this.#process = null;
    this.#aside.set(process, path);
    process.standBack();
    const back = process.takeBack();
    const unbegun = back.unbegun.filter(({ isSettled }) => !isSettled);
    for (const attempt of [...unbegun, ...this.#waiting.splice(0)]) this.#add(attempt);
    if (this.#options.isAskedAgain && begun.length > 1) this.#endSilent(process, suspect);
    else this.#askAgain(back.begun, suspect);
    void this.#renew();
  }

  /** Ends a process, and lets the begun attempts begin again. */
  #endSilent(process: ScriptProcess, suspect: Attempt): void {
    this.#aside.delete(process);
    const attempts = process.close();
    for (const attempt of attempts) attempt.reset();
    this.#askAgain(attempts, suspect);
  }

  /** Lets begun attempts begin again: an attempt that may hold up the next process, too, alone. */
  #askAgain(attempts: readonly Attempt[], suspect: Attempt): void {
    for (const attempt of attempts) {
      if (attempt.isSettled) continue;
      const isAlone = attempt === suspect || attempt.isAskedAgain;
      attempt.isAskedAgain = true;
      if (isAlone) void this.#isolate(attempt);
      else if (attempt.task.path === suspect.task.path) this.#setApart(attempt);
      else this.#waiting.push(attempt);
    }
  }

  /** Resolves when nothing waits or is under way any more. */
  async drained(): Promise<void> {
    if (this.load > 0) await this.#drained.promise;
  }

  /** Ends the process. Attempts that wait or are under way are settled as stopped. */
  stop(): void {
    this.#state = "stopped";
    const underWay = this.#processes().flatMap((process) => process.close());
    this.#process = null;
    this.#aside.clear();
    this.#apart?.stop();
    this.#apart = null;
    this.#quarantine.stop();
    for (const attempt of [...underWay, ...this.#waiting, ...this.#suspects, ...this.#isolated])
      attempt.settle({ status: "stopped" });
    this.#waiting = [];
    this.#suspects = [];
    this.#isolated.clear();
    this.#drained.resolve();
  }

  #open(): ScriptProcess {
    this.#process?.close();
    this.#process = null;
    const process: ScriptProcess = new ScriptProcess(this.#options, {
      onEnded: () => {
        this.#pauseMs = firstPauseMs;
        if (this.#aside.has(process) && process.load === 0) this.#endAside(process);
        this.#sendNext();
        this.#checkDrained();
      },
      onSilent: () => this.#setAside(process),
    });
    this.#process = process;
    process.exited.then((end) => {
      if (this.#process === process && this.#state === "ready") void this.#replace(process, end);
      if (!this.#aside.has(process)) return;
      this.#handle(process.release(end));
      this.#endAside(process);
      if (this.#state === "ready") this.#isolateSuspects();
    });
    return process;
  }

  #endAside(process: ScriptProcess): void {
    this.#aside.delete(process);
    process.close();
    this.#checkDrained();
  }

  #becomeReady(): void {
    if (this.#state === "stopped") return;
    this.#state = "ready";
    // The process may have ended in the moment after the last file.
    if (this.#process === null || this.#process.hasExited) {
      void this.#replace(this.#process, { how: "the process was lost during its start", signal: null });
      return;
    }
    this.#sendNext();
    // Not before: the main process may need a resource to load, for example a port, that the file of a suspect takes.
    this.#isolateSuspects();
    this.#checkDrained();
  }

  #isolateSuspects(): void {
    for (const attempt of this.#suspects.splice(0)) void this.#isolate(attempt);
  }

  /** The process has ended: the attempts in the process are settled or made again, and another process takes the place. */
  async #replace(process: ScriptProcess | null, end: ProcessEnd): Promise<void> {
    this.#state = "lost";
    this.#process = null;
    if (process !== null) this.#handle(process.release(end));
    // A process that ends again and again with nothing to run must not take all of the machine.
    if (this.load === 0) await Bun.sleep(this.#pauseMs);
    await this.#renew();
  }

  /** Starts a process and loads the files. */
  async #renew(): Promise<void> {
    while (!this.#isStopped()) {
      this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
      try {
        const results = await loadFiles(this.#files, this.#loading);
        // A stop ends the process during the load: the files are not to blame.
        if (!this.#isStopped()) this.#noteUnloaded(results);
        break;
      } catch (thrown) {
        this.#options.logger.error(`A process for ${this.#options.contents} cannot be started: ${messageOf(thrown)}`);
        await Bun.sleep(this.#pauseMs);
      }
    }
    this.#becomeReady();
  }

  /** A method, so that the compiler does not take the state before an `await` for the state after the `await`. */
  #isStopped(): boolean {
    return this.#state === "stopped";
  }

  #handle(loss: Loss): void {
    const { started, unstarted, message } = loss;
    const culprit = culpritOf(loss);
    const isMadeAgain = (attempt: Attempt): boolean =>
      // A request that was alone in the process has probably ended the process.
      (this.#options.isRepeatable || (attempt.isRepeatable && started.length > 1)) &&
      !attempt.isSettled &&
      attempt.failedIsolations < maxFailedIsolations;
    const again = started.filter((attempt) => attempt !== culprit && isMadeAgain(attempt));
    for (const attempt of started) if (!again.includes(attempt)) attempt.settle({ status: "lost", message });
    this.#waiting.unshift(...unstarted.filter(({ isSettled }) => !isSettled));
    this.#suspects.push(...again);
    const were = again.length === 1 ? "was" : "were";
    const beside = again.length === 0 ? "" : `; ${count(again.length, "run")} ${were} in it, each is run again, alone`;
    this.#options.onLost();
    this.#options.logger.warn(`The process of ${this.#options.contents} was lost: it ${message}${beside}`);
    this.#checkDrained();
  }

  /** Quarantine makes the attempt. While neither quarantine nor the main process loads the file, quarantine tries again. */
  async #isolate(attempt: Attempt): Promise<void> {
    this.#isolated.add(attempt);
    let isSettled = await this.#quarantine.isolate(attempt);
    const isRefused = (): boolean => !isSettled && !this.#isStopped() && this.#unloaded.has(attempt.task.path);
    for (let pauseMs = unloadedPauseMs; isRefused(); ) {
      await Bun.sleep(pauseMs);
      pauseMs = Math.min(longestUnloadedPauseMs, pauseMs * 2);
      isSettled = await this.#quarantine.isolate(attempt);
    }
    this.#isolated.delete(attempt);
    if (this.#state === "stopped") return;
    if (!isSettled && !attempt.isSettled) {
      attempt.failedIsolations += 1;
      this.#add(attempt);
    }
    this.#checkDrained();
  }

  #noteUnloaded(results: ReadonlyMap<string, Loaded>): void {
    this.#unloaded = new Set();
    for (const [path, loaded] of results) {
      if ("exports" in loaded) continue;
      this.#unloaded.add(path);
      this.#options.logger.error(
        `${path} could not be loaded again, it is tried in a process of its own: ${loaded.error.message}`,
      );
    }
  }

  #checkDrained(): void {
    if (this.#apart?.load === 0 && this.#aside.size === 0) {
      this.#apart.stop();
      this.#apart = null;
    }
    if (this.load > 0) return;
    this.#drained.resolve();
    this.#drained = Promise.withResolvers<void>();
    this.#onDrained?.();
  }
}
