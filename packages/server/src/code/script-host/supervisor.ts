/**
 * The supervisor of one script process: starts the process, and another in place of a lost process. Its states:
 *
 *     starting ── files loaded ──► ready ── the process ends ──► lost ── after a pause ──► starting
 *
 * and stopped, from each state. The attempts follow scheduler.ts; attempts that a lost process had started are settled,
 * or go to quarantine.
 */
import { count, messageOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import {
  type Attempt,
  CallAttempt,
  type CallOutcome,
  type Loaded,
  RunAttempt,
  type ScriptCall,
  type ScriptOutcome,
  type ScriptTask,
} from "./attempt.ts";
import type { ProcessEnd } from "./host-process.ts";
import { loadFiles, type ProcessListener, ScriptProcess, type ScriptProcessOptions } from "./process.ts";
import { culpritOf, Quarantine } from "./quarantine.ts";
import { RequestAttempt, type RequestOutcome, type ScriptRequest } from "./request-attempt.ts";
import { type Loss, Scheduler } from "./scheduler.ts";

/** Times that an attempt goes back among the others because its file does not load in quarantine. */
const maxFailedIsolations = 2;
/** The pause before an attempt is made again whose file neither process has loaded, doubled each time. */
const unloadedPauseMs = 1_000;
const longestUnloadedPauseMs = 30_000;
/** The pause before a process that was lost during its start is started again, doubled each time. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;

export interface SupervisorOptions extends Omit<ScriptProcessOptions, "onError"> {
  /** The kinds of code in the process, for log messages. */
  readonly contents: string;
  /** Attempts that the process has at a time. */
  readonly capacity: number;
  /** Bytes of resident memory. */
  readonly memoryLimit: number;
  readonly logger: Logger;
  /** Called when the process has ended by itself, or had to be killed. */
  readonly onLost: () => void;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #scheduler: Scheduler;
  readonly #quarantine: Quarantine;
  /** The files that each process loads. */
  #files: readonly string[] = [];
  /** Files of these that the current process could not load again. */
  #unloaded = new Set<string>();
  #process: ScriptProcess | null = null;
  #state: "starting" | "ready" | "lost" | "stopped" = "starting";
  #lastId = 0;
  /** Attempts that go to quarantine once the next process is ready. */
  #suspects: Attempt[] = [];
  /** Attempts that quarantine has, or will get again after a pause. */
  readonly #isolated = new Set<Attempt>();
  #pauseMs = firstPauseMs;
  #drained = Promise.withResolvers<void>();

  constructor(options: SupervisorOptions) {
    const { capacity, memoryLimit, logger } = options;
    this.#options = options;
    this.#scheduler = new Scheduler({
      capacity,
      memoryLimit,
      logger,
      onEnded: () => {
        this.#pauseMs = firstPauseMs;
        this.#checkDrained();
      },
      onUnloaded: (attempt) => void this.#runUnloaded(attempt),
    });
    this.#quarantine = new Quarantine({ memoryLimit, logger, open: (listener) => this.#spawn(listener) });
  }

  /** Attempts that wait or are under way. */
  get load(): number {
    return this.#scheduler.load + this.#suspects.length + this.#isolated.size;
  }

  /**
   * Starts the process and loads files; files that load are loaded again into each later process.
   * @throws Error when no process can be started.
   */
  async start(files: readonly string[]): Promise<Map<string, Loaded>> {
    const results = await this.#load(files);
    this.#files = files.filter((path) => "exports" in (results.get(path) ?? {}));
    this.#becomeReady();
    return results;
  }

  /** See `ScriptProcess`. */
  followTime(): void {
    this.#process?.followTime();
  }

  run(task: ScriptTask): Promise<ScriptOutcome> {
    this.#lastId += 1;
    const attempt = new RunAttempt(this.#lastId, task);
    this.#add(attempt);
    return attempt.outcome;
  }

  /** Calls a handler for a waiting caller. The outcome comes within the timeout, whatever the process does. */
  async call(call: ScriptCall): Promise<CallOutcome> {
    if (call.caller?.aborted === true) return { status: "left" };
    this.#lastId += 1;
    const attempt = new CallAttempt(this.#lastId, call);
    this.#await(attempt, call, (status) => attempt.settle({ status }));
    return attempt.outcome;
  }

  /** Calls the handler of an endpoint. Within the timeout the response is whole, or broken off. */
  request(request: ScriptRequest): RequestOutcome {
    this.#lastId += 1;
    const attempt = new RequestAttempt(this.#lastId, request);
    const { response, outcome: over } = attempt;
    const give = this.#await(attempt, request, (status) => attempt.settle({ status }));
    attempt.onLeave = () => give("left");
    if (request.caller?.aborted === true) give("left");
    return { response, over };
  }

  /** Adds an attempt for a waiting caller: until the end of the attempt its time runs, and the caller may leave. Answers how to give the attempt up. */
  #await(
    attempt: CallAttempt | RequestAttempt,
    { caller, timeoutMs }: Pick<ScriptCall, "caller" | "timeoutMs">,
    settle: (status: "late" | "left") => void,
  ): (status: "late" | "left") => void {
    const give = (status: "late" | "left"): void => {
      settle(status);
      this.#scheduler.cancel(attempt);
    };
    const leave = (): void => give("left");
    const timer = setTimeout(() => give("late"), timeoutMs);
    caller?.addEventListener("abort", leave, { once: true });
    this.#add(attempt);
    void attempt.outcome.then(() => {
      clearTimeout(timer);
      caller?.removeEventListener("abort", leave);
    });
    return give;
  }

  #add(attempt: Attempt): void {
    if (this.#state === "stopped") attempt.settle({ status: "stopped" });
    else this.#scheduler.add(attempt);
  }

  /** Resolves when nothing waits or is under way any more. */
  async drained(): Promise<void> {
    if (this.load > 0) await this.#drained.promise;
  }

  /** Ends the process. Attempts that wait or are under way are settled as stopped. */
  stop(): void {
    this.#state = "stopped";
    this.#process?.close();
    this.#process = null;
    this.#scheduler.stop();
    this.#quarantine.stop();
    for (const attempt of [...this.#suspects, ...this.#isolated]) attempt.settle({ status: "stopped" });
    this.#suspects = [];
    this.#isolated.clear();
    this.#drained.resolve();
  }

  #load(files: readonly string[]): Promise<Map<string, Loaded>> {
    return loadFiles({ open: () => this.#open(), files, isWanted: () => this.#state !== "stopped" });
  }

  /** Starts the main process. */
  #open(): ScriptProcess {
    this.#process?.close();
    this.#process = null;
    const process = this.#spawn(this.#scheduler);
    this.#process = process;
    this.#scheduler.attach(process);
    process.exited.then((end) => {
      if (this.#process === process && this.#state === "ready") void this.#replace(end);
    });
    return process;
  }

  #spawn(listener: ProcessListener): ScriptProcess {
    const { spawn, code, calls, logger, contents } = this.#options;
    const onError = (error: unknown): void =>
      logger.error(`A message of the process of ${contents} could not be handled`, { error });
    return new ScriptProcess({ spawn, code, calls, onError }, listener);
  }

  #becomeReady(): void {
    if (this.#state === "stopped") return;
    this.#state = "ready";
    // The process may have ended in the moment after its last file.
    if (this.#process === null || this.#process.hasExited) {
      void this.#replace({ how: "it was lost during its start", signal: null });
      return;
    }
    this.#scheduler.ready((path) => !this.#unloaded.has(path));
    // Not before: the main process may need a resource to load, such as a port, that the file of a suspect takes.
    for (const attempt of this.#suspects.splice(0)) void this.#isolate(attempt);
    this.#checkDrained();
  }

  /** The process has ended: the attempts in it are settled or made again, and another process takes its place. */
  async #replace(end: ProcessEnd): Promise<void> {
    this.#state = "lost";
    this.#process?.close();
    this.#process = null;
    this.#handle(this.#scheduler.detach(end));
    // A process that ends again and again with nothing to run must not take all of the machine.
    if (this.load === 0) await Bun.sleep(this.#pauseMs);
    while (!this.#isStopped()) {
      this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
      try {
        this.#noteUnloaded(await this.#load(this.#files));
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
    const { started, message } = loss;
    const culprit = culpritOf(loss);
    const again = started.filter((attempt) => attempt !== culprit && !attempt.isSettled && isMadeAgain(attempt));
    for (const attempt of started) if (!again.includes(attempt)) attempt.lose(message);
    this.#suspects.push(...again);
    const were = again.length === 1 ? "was" : "were";
    const beside = again.length === 0 ? "" : `; ${count(again.length, "run")} ${were} in it, each is run again, alone`;
    this.#options.onLost();
    this.#options.logger.warn(`The process of ${this.#options.contents} was lost: it ${message}${beside}`);
    this.#checkDrained();
  }

  async #isolate(attempt: Attempt): Promise<void> {
    this.#isolated.add(attempt);
    const isSettled = await this.#quarantine.isolate(attempt);
    this.#isolated.delete(attempt);
    if (this.#state === "stopped") return;
    if (!isSettled) {
      attempt.failedIsolations += 1;
      this.#scheduler.add(attempt);
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

  /** The main process has not loaded the attempt's file: quarantine tries until the file loads. */
  async #runUnloaded(attempt: Attempt): Promise<void> {
    this.#isolated.add(attempt);
    for (let pauseMs = unloadedPauseMs; ; pauseMs = Math.min(longestUnloadedPauseMs, pauseMs * 2)) {
      if ((await this.#quarantine.isolate(attempt)) || this.#state === "stopped") break;
      await Bun.sleep(pauseMs);
    }
    this.#isolated.delete(attempt);
    this.#checkDrained();
  }

  #checkDrained(): void {
    if (this.load > 0) return;
    this.#drained.resolve();
    this.#drained = Promise.withResolvers<void>();
  }
}

function isMadeAgain({ isRepeatable, failedIsolations }: Attempt): boolean {
  return isRepeatable && failedIsolations < maxFailedIsolations;
}
