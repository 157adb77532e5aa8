/**
 * A script process: a host process that has the user's code, loads files, and makes attempts within limits. An attempt beyond the
 * timeout is aborted: the signal fires, and the process confirms. A process that does not confirm in time computes without giving
 * way, and is killed. So is a process that starts nothing that was sent, and a process that has more memory than the limit.
 *
 * While attempts are under way, the process is pinged. A process that has begun attempts and says nothing for a second does not
 * answer (an endless loop, a long computation): the supervisor takes back the attempts that have not begun, and these never begin
 * here. The process, too, notices that it has read nothing for long, and then begins no attempt without a `go`, which a process
 * that has lost attempts never gets.
 */
import { isTimeMovable, type Preview, timeOffset } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { traceparentOf } from "../../store/events/index.ts";
import { type Attempt, BodyExchange, type CallOutcome } from "./attempt.ts";
import { type CallAnswers, CallTransport } from "./call-transport.ts";
import { EarlierLists } from "./earlier.ts";
import { fetchMocks } from "./fetch-mocks.ts";
import { dispatch, type Handlers, type HostProcess, type ProcessEnd } from "./host-process.ts";
import { type LoadResult, PendingLoads } from "./pending-loads.ts";
import { ProcessLog } from "./process-log.ts";
import type { CallMessage, CodeFile, FromChild, HandlerAnswer, Invocation, ToChild } from "./protocol.ts";

const pollMs = 100;
/** Polls in which a process must start a sent attempt, or confirm an abort. */
const gracePolls = 10;
/** Polls without a message after which a process with begun attempts does not answer. */
const silentLimit = 10;

/** The service's end of the process. `FramedProcess` is the real end. */
export interface CodeProcess extends HostProcess<ToChild> {
  /** The number of the last attempt that has begun; also after the end of the process. */
  readonly lastBegun: number;
}

export interface ScriptProcessOptions {
  readonly calls: CallAnswers;
  /** Starts a process. @throws Error when the system starts no process. */
  readonly spawn: (onMessage: (message: FromChild) => void) => CodeProcess;
  /** The modules of the user's code, whatever is on the disk by now. */
  readonly code: readonly CodeFile[];
  /** The kinds of code in the process, for log messages. */
  readonly contents: string;
  /** Whether callers wait for the values of the handlers. */
  readonly isAwaited: boolean;
  /** Whether a begun attempt may begin again elsewhere while the first process lives and does not answer. */
  readonly isAskedAgain: boolean;
  /** Whether a debugger may pause the process: no time limit applies. */
  readonly isDebugged?: boolean;
  /** Bytes of resident memory. */
  readonly memoryLimit: number;
  readonly logger: Logger;
  /** The percentage of the traces that are recorded, by default all; see `isSampled`. */
  readonly sampledPercent?: number | undefined;
  /** The preview that the process is for, which takes the log of the code. */
  readonly preview?: Preview;
}

/** The attempts that a lost process had. */
export interface Loss {
  readonly started: readonly Attempt[];
  readonly unstarted: readonly Attempt[];
  /** Attempts that the process was ever sent. */
  readonly everSent: number;
  /** For people: how the process ended, as the predicate of a sentence. */
  readonly message: string;
  /** The signal that ended the process; null without a signal, and when a limit ended the process. */
  readonly signal: string | null;
}

/** The supervisor of a process hears of changes. */
export interface ProcessListener {
  /** An attempt has ended, or has left the process. */
  onEnded(): void;
  /** The process does not answer. Called with each further poll, until attempts are taken back or the process answers. */
  onSilent(): void;
}

export class ScriptProcess {
  readonly #options: ScriptProcessOptions;
  readonly #host: CodeProcess;
  readonly exited: Promise<ProcessEnd>;
  readonly #calls: CallTransport;
  readonly #listener: ProcessListener | null;
  readonly #loads = new PendingLoads(pollMs);
  /** Attempts that were sent and have not ended, by number, in the order in which the attempts begin. */
  readonly #underWay = new Map<number, Attempt>();
  /** The attempts under way that are not known to have begun. */
  readonly #unbegun = new Map<number, Attempt>();
  readonly #exchanges = new Map<number, BodyExchange>();
  readonly #earlier = new EarlierLists((message) => this.#host.send(message));
  readonly #log: ProcessLog;
  /** Invocations that are sent at the end of this turn. */
  readonly #invocations: Invocation[] = [];
  #everSent = 0;
  /** The limit for which the process was killed. `hang`: the process does not answer any more. */
  #exceeded: "hang" | "memory" | null = null;
  #timer: Timer | null = null;
  /** Polls since the last message of the process, or since the process was idle. */
  #silence = 0;
  /** Whether attempts were taken back: no further attempt begins here. */
  #isAside = false;
  /** The attempt that went on last, as far as known: started, or got the answer of a call. */
  #last: Attempt | null = null;
  #isClosed = false;

  readonly #handlers: Handlers<FromChild> = {
    loaded: ({ path, loaded }) => this.#loads.answered(path, loaded),
    log: (message) => this.#log.write(message, this.#underWay.get(message.attempt ?? -1)),
    stray: ({ attempt, error }) => this.#log.stray(attempt, error),
    call: (message) => void this.#call(message),
    taken: ({ call }) => this.#calls.taken(call),
    pong: () => undefined,
    doubt: ({ doubt }) => {
      if (!this.#isAside) this.#host.send({ type: "go", doubt });
    },
    answers: ({ answers }) => {
      for (const answer of answers) this.#answered(answer);
    },
    want: ({ attempt }) => void this.#exchanges.get(attempt)?.wanted(),
    piece: ({ attempt, bytes }) => this.#exchanges.get(attempt)?.piece(bytes),
    aborted: ({ attempt }) => this.#end(attempt, { status: "late" }),
  };

  constructor(options: ScriptProcessOptions, listener: ProcessListener | null = null) {
    this.#options = options;
    this.#log = new ProcessLog(options.logger, options.preview);
    this.#listener = listener;
    this.#host = options.spawn((message) => {
      if (this.#isClosed) return;
      this.#silence = 0;
      this.#loads.heard();
      try {
        dispatch(this.#handlers, message);
      } catch (error) {
        // No message of the user's code may end the service.
        options.logger.error(`A message of the process of ${options.contents} could not be handled`, { error });
      }
    });
    this.exited = this.#host.exited;
    this.#calls = new CallTransport(this.#host, options);
    this.#host.send({ type: "code", files: options.code });
    if (isTimeMovable()) this.followTest();
    // Timers of the user's code go on while no attempt is under way.
    this.#host.watchMemory(options.memoryLimit, () => this.#kill("memory"));
  }

  /** The test of this service has moved the time (`moveTime`) or mocked `fetch` (`useFetchMocks`): the script process follows. */
  followTest(): void {
    this.#host.send({ type: "test", offset: timeOffset(), mocks: fetchMocks() });
  }

  get hasExited(): boolean {
    return this.#host.hasExited;
  }

  /** The number of attempts under way. */
  get load(): number {
    return this.#underWay.size;
  }

  standBack(): void {
    this.#host.standBack();
  }

  /** Resident memory in bytes; 0 when the system does not tell. */
  get residentBytes(): number {
    return this.#host.residentBytes ?? 0;
  }

  /** New content of modules. Calls go to the earlier versions of the files until `adopt`. */
  change(files: readonly CodeFile[]): void {
    this.#host.send({ type: "change", files });
  }

  /** Calls go to the files that were loaded after the change. */
  adopt(): void {
    this.#host.send({ type: "adopt" });
  }

  loadFile(path: string): Promise<LoadResult> {
    const result = this.#loads.wait(path, this.#host.exited);
    this.#host.send({ type: "load", path });
    this.#watch();
    return result;
  }

  /** Calls the handler of an attempt. Calls of a turn of the event loop share a message, which costs more than most handlers. */
  call(attempt: Attempt): void {
    const { path, handler, exchange, earlier = null } = attempt.task;
    const part = earlier === null ? undefined : this.#earlier.part(earlier, attempt.outcome);
    const input = part === undefined ? attempt.task.input : { ...attempt.task.input, earlier: part };
    this.#everSent += 1;
    const number = this.#everSent;
    attempt.number = number;
    this.#underWay.set(number, attempt);
    this.#unbegun.set(number, attempt);
    if (exchange !== undefined) this.#exchanges.set(number, new BodyExchange(attempt, exchange, this.#host));
    const request = exchange && { request: exchange.request };
    const { cause = { id: input.runId } } = attempt.task.principal;
    const traceparent = traceparentOf(cause, this.#options.sampledPercent ?? 100);
    void attempt.outcome.then(() => this.#abort(attempt));
    this.#invocations.push({ attempt: number, path, handler, input, traceparent, ...request });
    if (this.#invocations.length === 1) setImmediate(() => this.#sendInvocations());
    this.#watch();
  }

  /** The attempt's time is up, or the caller has left. Does nothing for an attempt that is not under way. */
  #abort(attempt: Attempt): void {
    if (attempt.isAborted || this.#underWay.get(attempt.number) !== attempt) return;
    attempt.isAborted = true;
    // The invocation may wait to be sent.
    this.#sendInvocations();
    this.#host.send({ type: "abort", attempt: attempt.number });
  }

  /**
   * Ends the process, and the calls that the process has made. No message is read any more. Answers the attempts under
   * way, which are not settled.
   */
  close(): readonly Attempt[] {
    this.#isClosed = true;
    clearTimeout(this.#timer ?? undefined);
    this.#host.kill();
    this.#calls.processEnded();
    const attempts = [...this.#underWay.values()];
    this.#underWay.clear();
    this.#unbegun.clear();
    return attempts;
  }

  /** Closes the process, which has ended. The attempts are back in the state `waiting`. */
  release(end: ProcessEnd): Loss {
    this.#look();
    const attempts = this.close();
    const started = attempts.filter(({ startedAt }) => startedAt !== null);
    const unstarted = attempts.filter(({ startedAt }) => startedAt === null);
    for (const attempt of attempts) attempt.reset();
    const signal = this.#exceeded === null ? end.signal : null;
    return { started, unstarted, everSent: this.#everSent, message: this.#messageOf(end), signal };
  }

  /** The attempts under way with a handler that has started. */
  get begun(): readonly Attempt[] {
    this.#look();
    return [...this.#underWay.values()].filter(({ startedAt }) => startedAt !== null);
  }

  /** The begun attempt that probably keeps the process from answering: the attempt that went on last. */
  get suspect(): Attempt | null {
    const { begun } = this;
    return begun.find((attempt) => attempt === this.#last) ?? begun.at(-1) ?? null;
  }

  /**
   * Takes back attempts of a process that does not answer: the attempts that have not begun, and the begun attempts that may begin
   * again, except the suspect. Answers the attempts, which wait again.
   */
  takeBack(): { readonly unbegun: readonly Attempt[]; readonly begun: readonly Attempt[] } {
    this.#isAside = true;
    this.#invocations.length = 0;
    const { suspect } = this;
    const begun = this.begun.filter((attempt) => attempt.isRepeatable && attempt !== suspect);
    const unbegun = [...this.#unbegun.values()];
    // The handler may go on when the process answers again: nobody listens any more.
    for (const attempt of begun) this.#abort(attempt);
    for (const attempt of [...unbegun, ...begun]) {
      this.#unbegun.delete(attempt.number);
      this.#underWay.delete(attempt.number);
      this.#exchanges.delete(attempt.number);
      attempt.reset();
    }
    return { unbegun, begun };
  }

  /** Looks at the limits once. Answers whether the process has something to do. */
  poll(): boolean {
    if (this.residentBytes > this.#options.memoryLimit) this.#kill("memory");
    else if (this.#options.isDebugged !== true) this.#lookAtTimes();
    return this.#underWay.size > 0 || this.#loads.size > 0;
  }

  #lookAtTimes(): void {
    if (this.#hangs()) this.#kill("hang");
    if (this.#loads.poll()) this.#host.kill();
    if (this.#underWay.size > 0 || this.#loads.size > 0) this.#host.send({ type: "ping" });
    if (this.#underWay.size === 0) this.#silence = 0;
    else this.#countSilence();
  }

  #countSilence(): void {
    this.#silence += 1;
    if (this.#silence > silentLimit && !this.#isAside && this.begun.length > 0) this.#listener?.onSilent();
  }

  /** Has the limits looked at ten times a second while the process has something to do. */
  #watch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      if (this.poll()) this.#watch();
    }, pollMs);
  }

  #kill(limit: "hang" | "memory"): void {
    this.#exceeded = limit;
    this.#host.kill();
  }

  /** Aborts attempts beyond the time. Polls are counted, not time: when the service was busy, answers may wait to be read. */
  #hangs(): boolean {
    const now = performance.now();
    const attempts = [...this.#underWay.values()];
    const started = this.begun;
    for (const attempt of started) {
      // A call that the caller left was aborted before the time was up.
      if (!attempt.isAborted && now - (attempt.startedAt ?? now) < attempt.task.timeoutMs) continue;
      this.#abort(attempt);
      if (this.#options.isAwaited) attempt.settle({ status: "late" });
      attempt.silentPolls += 1;
    }
    // With no handler under way, the leftovers of an earlier attempt keep the process from starting the sent attempts.
    if (started.length === 0) {
      for (const attempt of attempts) attempt.silentPolls += 1;
      return attempts.some(({ silentPolls }) => silentPolls > gracePolls);
    }
    // The attempt that started last may compute until the timeout, while the other attempts wait.
    return (started.at(-1)?.silentPolls ?? 0) > gracePolls;
  }

  #sendInvocations(): void {
    const { isAwaited } = this.#options;
    if (this.#invocations.length > 0)
      this.#host.send({ type: "invoke", isAwaited, calls: this.#invocations.splice(0) });
  }

  async #call(message: CallMessage): Promise<void> {
    const attempt = this.#underWay.get(message.attempt) ?? null;
    if (attempt?.startedAt === null) this.#look();
    await this.#calls.answer(message, attempt);
    this.#look();
    this.#last = attempt ?? this.#last;
  }

  /** Reads how far the process came. */
  #look(): void {
    if (this.#unbegun.size === 0) return;
    const { lastBegun } = this.#host;
    for (const [number, attempt] of this.#unbegun) {
      if (number > lastBegun) return;
      this.#unbegun.delete(number);
      this.#started(attempt);
    }
  }

  #started(attempt: Attempt): void {
    this.#last = attempt;
    attempt.startedAt = performance.now();
    // The process has still to confirm an earlier abort.
    if (!attempt.isAborted) attempt.silentPolls = 0;
    attempt.task.onStart?.();
  }

  #answered(answer: HandlerAnswer): void {
    if ("outcome" in answer) this.#end(answer.attempt, answer.outcome);
    else if (this.#exchanges.get(answer.attempt)?.respond(answer.response) === false)
      this.#end(answer.attempt, { status: "answered", value: "null" });
  }

  #end(number: number, outcome: CallOutcome): void {
    const attempt = this.#underWay.get(number);
    if (attempt === undefined) return;
    // Read first: a message without an outcome fails here, and the attempt stays for the timeout.
    const hasCompleted = outcome.status === "answered";
    this.#underWay.delete(number);
    this.#unbegun.delete(number);
    this.#exchanges.delete(number);
    this.#log.ended(attempt, hasCompleted);
    attempt.settle(outcome);
    this.#listener?.onEnded();
  }

  #messageOf({ how }: ProcessEnd): string {
    const limit = `${Math.round(this.#options.memoryLimit / 1024 ** 2)} MiB`;
    if (this.#exceeded === "memory") return `used more memory than scripts.memory allows (${limit})`;
    if (this.#exceeded === "hang") return "ran past its timeout without giving way (an endless loop?)";
    return `ended the process (${how})`;
  }
}
