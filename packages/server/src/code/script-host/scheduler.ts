/**
 * The scheduler of attempts: decides when the process is sent an attempt, and follows each attempt to its end. The states of an attempt:
 *
 *     waiting ── the process is ready and has room ──► sent ── "started" ──► started ──┬── "completed", "failed" ──► ended
 *       ▲  ▲                                            │                       │      └── aborted, "aborted" ─────► ended
 *       │  └──────────── the process is lost ───────────┘                       │ the process is lost
 *       │                                                                       ▼
 *       │        the only attempt that the process ever had, and not ended from outside? ── yes ───────► ended (failed)
 *       │                                                                       │ no
 *       └── its file does not load alone ◄── quarantine: alone in a process ◄───┘
 *                                                       └── outcome ─────────────────────────────────► ended
 *
 * This file is the first line; process.ts carries the messages, limits.ts aborts, supervisor.ts notices a loss,
 * quarantine.ts is the rest.
 */
import type { Logger } from "../../base/logging/index.ts";
import { type Attempt, CallAttempt, RunAttempt } from "./attempt.ts";
import { AttemptLog } from "./attempt-log.ts";
import type { ProcessEnd } from "./host-process.ts";
import { type ProcessLimit, RunLimits } from "./limits.ts";
import type { ProcessListener, ProgressMessage, ScriptProcess, StrayMessage } from "./process.ts";
import type { InvocationAnswer, LogMessage } from "./protocol.ts";
import { RequestAttempt } from "./request-attempt.ts";

/** A lost process with its started attempts. */
export interface Loss {
  readonly started: readonly Attempt[];
  /** Attempts that the process was ever sent. */
  readonly everSent: number;
  /** For people: how the process ended, as the predicate of a sentence. */
  readonly message: string;
  /** The signal that ended the process; null without a signal, and when a limit ended the process. */
  readonly signal: string | null;
}

export interface SchedulerOptions {
  /** Attempts that the process has at a time. */
  readonly capacity: number;
  /** Bytes of resident memory of the process. */
  readonly memoryLimit: number;
  readonly logger: Logger;
  /** Called when an attempt has ended by a message of the process. */
  readonly onEnded?: () => void;
  /** Takes an attempt over whose file the process has not loaded. */
  readonly onUnloaded?: (attempt: Attempt) => void;
}

export class Scheduler implements ProcessListener {
  readonly #options: SchedulerOptions;
  readonly #limits: RunLimits;
  readonly #log: AttemptLog;
  #waiting: Attempt[] = [];
  /** Sent or started, by id. */
  readonly #underWay = new Map<number, Attempt>();
  #process: ScriptProcess | null = null;
  #isReady = false;
  #hasLoaded: (path: string) => boolean = () => true;
  #everSent = 0;
  #exceeded: ProcessLimit | null = null;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#log = new AttemptLog(options.logger);
    this.#limits = new RunLimits({
      memoryLimit: options.memoryLimit,
      measure: () => this.#process && { attempts: this.#underWay.values(), residentBytes: this.#process.residentBytes },
      abort: (attempt) => this.#process?.abort(attempt),
      kill: (limit) => {
        this.#exceeded = limit;
        this.#process?.kill();
      },
    });
  }

  /** Attempts that wait or are under way. */
  get load(): number {
    return this.#waiting.length + this.#underWay.size;
  }

  add(attempt: Attempt): void {
    this.#waiting.push(attempt);
    this.#sendNext();
  }

  /** From now on, attempts go to this process, which still loads files. */
  attach(process: ScriptProcess): void {
    this.#process = process;
    this.#everSent = 0;
    this.#exceeded = null;
    this.#limits.wake();
  }

  /** The process has loaded its files. Attempts for other files go to `onUnloaded`. */
  ready(hasLoaded: (path: string) => boolean = () => true): void {
    this.#hasLoaded = hasLoaded;
    this.#isReady = true;
    this.#limits.wake();
    this.#sendNext();
  }

  /** The process has ended. Attempts that had not started wait again, before the others. */
  detach(end: ProcessEnd): Loss {
    this.#process = null;
    this.#isReady = false;
    const attempts = [...this.#underWay.values()];
    this.#underWay.clear();
    const started = attempts.filter(({ startedAt }) => startedAt !== null);
    this.#waiting.unshift(...attempts.filter(({ startedAt, isSettled }) => startedAt === null && !isSettled));
    for (const attempt of attempts) attempt.reset();
    const signal = this.#exceeded === null ? end.signal : null;
    return { started, everSent: this.#everSent, message: this.#messageOf(end), signal };
  }

  /** Sends no more, and watches no more. Attempts are not settled. */
  close(): void {
    this.#limits.stop();
    this.#isReady = false;
    this.#process = null;
  }

  /** Settles everything that waits or is under way as stopped. */
  stop(): void {
    this.close();
    for (const attempt of [...this.#underWay.values(), ...this.#waiting]) attempt.settle({ status: "stopped" });
    this.#underWay.clear();
    this.#waiting = [];
  }

  attemptOf(id: number): Attempt | null {
    return this.#underWay.get(id) ?? null;
  }

  log(message: LogMessage): void {
    this.#log.write(message, message.attempt === null ? null : this.attemptOf(message.attempt));
  }

  stray(message: StrayMessage): void {
    this.#log.stray(message);
  }

  progress(message: ProgressMessage): void {
    switch (message.type) {
      case "started":
        this.#started([message.attempt]);
        return;
      case "entered":
        this.#started(message.attempts);
        return;
      case "answers":
        for (const answer of message.answers) this.#answered(answer);
        return;
      case "want":
        void this.#requestOf(message.attempt)?.wanted();
        return;
      case "piece":
        this.#requestOf(message.attempt)?.piece(message.bytes);
        if (message.bytes === null) this.#end(message.attempt, true, () => undefined);
        return;
      case "completed":
        this.#end(message.attempt, true, (attempt) => {
          if (attempt instanceof RunAttempt) attempt.settle({ status: "completed" });
        });
        return;
      case "failed":
        this.#end(message.attempt, false, (attempt) => attempt.settle({ status: "failed", error: message.error }));
        return;
      case "aborted":
        this.#end(message.attempt, false, (attempt) => attempt.expire());
    }
  }

  #answered(answer: InvocationAnswer): void {
    const request = this.#requestOf(answer.attempt);
    // A response may have a body to come.
    if (request !== null && !request.answer(answer)) return;
    const isFine = !("error" in answer);
    this.#end(answer.attempt, isFine, (attempt) => attempt instanceof CallAttempt && attempt.answer(answer));
  }

  #requestOf(id: number): RequestAttempt | null {
    const attempt = this.#underWay.get(id);
    return attempt instanceof RequestAttempt ? attempt : null;
  }

  /** The caller has left: the call is not sent, or is aborted. */
  cancel(call: Attempt): void {
    const waiting = this.#waiting.indexOf(call);
    if (waiting >= 0) this.#waiting.splice(waiting, 1);
    if (!this.#underWay.has(call.id) || call.isAborted) return;
    call.isAborted = true;
    this.#process?.abort(call);
  }

  #started(ids: readonly number[]): void {
    const now = performance.now();
    for (const id of ids) {
      const attempt = this.#underWay.get(id);
      if (attempt === undefined) continue;
      attempt.startedAt = now;
      // The process has still to confirm an earlier abort.
      if (!attempt.isAborted) attempt.silentPolls = 0;
    }
  }

  /** The process has said that an attempt has ended. */
  #end(id: number, hasCompleted: boolean, settle: (attempt: Attempt) => void): void {
    const attempt = this.#underWay.get(id);
    if (attempt === undefined) return;
    this.#underWay.delete(id);
    this.#log.ended(attempt, hasCompleted);
    settle(attempt);
    this.#sendNext();
    this.#options.onEnded?.();
  }

  #sendNext(): void {
    while (this.#isReady && this.#waiting.length > 0 && this.#underWay.size < this.#options.capacity) {
      const next = this.#waiting.shift();
      if (next !== undefined) this.#send(next);
    }
  }

  #send(attempt: Attempt): void {
    if (!this.#hasLoaded(attempt.task.path)) {
      this.#options.onUnloaded?.(attempt);
      return;
    }
    this.#everSent += 1;
    this.#underWay.set(attempt.id, attempt);
    this.#limits.wake();
    this.#process?.call(attempt);
  }

  #messageOf({ how }: ProcessEnd): string {
    const limit = `${Math.round(this.#options.memoryLimit / 1024 ** 2)} MiB`;
    if (this.#exceeded === "memory") return `used more memory than scripts.memory allows (${limit})`;
    if (this.#exceeded === "hang") return "ran past its timeout without giving way (an endless loop?)";
    return `ended the process (${how})`;
  }
}
