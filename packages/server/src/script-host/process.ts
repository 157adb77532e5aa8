/** A script process: a host process that has the user's code, loads files, and runs attempts. */
import { isTimeMovable, timeOffset } from "../kernel/index.ts";
import { type Attempt, CallAttempt, type Loaded } from "./attempt.ts";
import { type CallOptions, CallTransport } from "./call-transport.ts";
import type { HostProcess, ProcessEnd } from "./host-process.ts";
import type { CodeFile, FromChild, Invocation, LogMessage, ToChild } from "./protocol.ts";
import { RequestAttempt, type RequestPort } from "./request-attempt.ts";

/** The longest that a file may take to load. Polls are counted: when the service itself was busy, the answer may be there. */
const loadLimitMs = 5_000;
const loadPollMs = 100;

export type ProgressMessage = Extract<
  FromChild,
  {
    type: "started" | "entered" | "completed" | "failed" | "aborted" | "answers" | "want" | "piece";
  }
>;
export type StrayMessage = Extract<FromChild, { type: "stray" }>;

/** The receiver of the messages about attempts. None comes after `close`. */
export interface ProcessListener {
  /** The attempt with this id, if it is under way. */
  attemptOf(id: number): Attempt | null;
  progress(message: ProgressMessage): void;
  log(message: LogMessage): void;
  stray(message: StrayMessage): void;
}

export interface ScriptProcessOptions extends CallOptions {
  /** Starts a process. @throws Error when the system starts none. */
  readonly spawn: (onMessage: (message: FromChild) => void) => HostProcess<ToChild>;
  /** The modules of the user's code, whatever is on the disk by now. */
  readonly code: readonly CodeFile[];
  /** Called when a message could not be handled. */
  readonly onError: (error: unknown) => void;
}

/** The result of loading one file. `lost` says how the process was lost over it; null when it was not. */
interface LoadResult {
  readonly loaded: Loaded;
  readonly lost: "late" | "ended" | null;
}

export class ScriptProcess {
  readonly #host: HostProcess<ToChild>;
  readonly #calls: CallTransport;
  readonly #listener: ProcessListener;
  #loading: { path: string; resolve: (result: LoadResult) => void } | null = null;
  /** Calls that are sent at the end of this turn. */
  readonly #invocations: Invocation[] = [];
  #isClosed = false;
  readonly #port: RequestPort = {
    want: (attempt) => this.#host.send({ type: "want", attempt }),
    give: (attempt, bytes) => this.#host.send({ type: "piece", attempt, bytes }),
  };

  constructor(options: ScriptProcessOptions, listener: ProcessListener) {
    this.#listener = listener;
    this.#host = options.spawn((message) => {
      if (this.#isClosed) return;
      try {
        this.#receive(message);
      } catch (error) {
        // No message of the user's code may end the service.
        options.onError(error);
      }
    });
    this.#calls = new CallTransport(this.#host, options);
    this.#host.send({ type: "code", files: options.code });
    if (isTimeMovable()) this.followTime();
  }

  /** The time of this process was moved (`moveTime`): it moves in the other one too. */
  followTime(): void {
    this.#host.send({ type: "time", offset: timeOffset() });
  }

  get exited(): Promise<ProcessEnd> {
    return this.#host.exited;
  }

  get hasExited(): boolean {
    return this.#host.hasExited;
  }

  get residentBytes(): number | null {
    return this.#host.residentBytes;
  }

  /** Loads one file. Files are loaded one after the other, so that it is known which one ends the process. */
  async load(path: string): Promise<LoadResult> {
    const { promise, resolve } = Promise.withResolvers<LoadResult>();
    this.#loading = { path, resolve };
    const lose = (lost: "late" | "ended", message: string): void => resolve({ loaded: { error: { message } }, lost });
    this.#host.send({ type: "load", path });
    let polls = 0;
    const limit = setInterval(() => {
      polls += 1;
      if (polls * loadPollMs < loadLimitMs) return;
      this.#host.kill();
      lose("late", `did not finish loading within ${loadLimitMs / 1_000} s`);
    }, loadPollMs);
    this.#host.exited.then(({ how }) => lose("ended", `ended the process while it was loading (${how})`));
    const result = await promise;
    clearInterval(limit);
    return result;
  }

  /** Calls the handler of an attempt. */
  run(attempt: Attempt): void {
    const { path, handler, input } = attempt.task;
    const invocation: Invocation = { attempt: attempt.id, path, handler, input: JSON.stringify(input) };
    if (attempt instanceof RequestAttempt) {
      attempt.port = this.#port;
      this.#invoke({ ...invocation, request: attempt.request });
    } else if (attempt instanceof CallAttempt) this.#invoke(invocation);
    else this.#host.send({ type: "run", ...invocation });
  }

  /** Calls of one turn of the event loop share a message, which costs more than most handlers. */
  #invoke(invocation: Invocation): void {
    this.#invocations.push(invocation);
    if (this.#invocations.length === 1) setImmediate(() => this.#sendInvocations());
  }

  #sendInvocations(): void {
    if (this.#invocations.length > 0) this.#host.send({ type: "invoke", calls: this.#invocations.splice(0) });
  }

  /** The attempt's time is up, or nobody waits for it any more. */
  abort({ id }: Attempt): void {
    // The invocation may be among those that are not sent yet.
    this.#sendInvocations();
    this.#host.send({ type: "abort", attempt: id });
  }

  kill(): void {
    this.#host.kill();
  }

  /** Ends the process, and everything that it has asked for. */
  close(): void {
    this.#isClosed = true;
    this.#host.kill();
    this.#calls.end();
  }

  #receive(message: FromChild): void {
    switch (message.type) {
      case "loaded":
        this.#answerLoad(message.path, { exports: message.exports });
        return;
      case "broken":
        this.#answerLoad(message.path, { error: message.error });
        return;
      case "log":
        this.#listener.log(message);
        return;
      case "stray":
        this.#listener.stray(message);
        return;
      case "call":
        void this.#calls.answer(message, this.#listener.attemptOf(message.attempt));
        return;
      case "taken":
        this.#calls.taken(message.call);
        return;
      default:
        this.#listener.progress(message);
    }
  }

  #answerLoad(path: string, loaded: Loaded): void {
    if (this.#loading?.path === path) this.#loading.resolve({ loaded, lost: null });
  }
}

/**
 * Loads files into one process. A file that ends its process is left out, and the others are loaded into another one;
 * as a process may end for other reasons, such a file gets a second chance.
 * @param open starts a process, and stops the use of the one before.
 * @param isWanted false once the service stops: no further file is loaded then.
 * @throws Error when no process can be started.
 */
export async function loadFiles(options: {
  open: () => ScriptProcess;
  files: readonly string[];
  isWanted: () => boolean;
}): Promise<Map<string, Loaded>> {
  const results = new Map<string, Loaded>();
  const leftOut = new Set<string>();
  const suspects = new Set<string>();
  for (let isWhole = false; !isWhole && options.isWanted(); ) {
    isWhole = true;
    const process = options.open();
    for (const path of options.files) {
      if (leftOut.has(path) || !options.isWanted()) continue;
      const { loaded, lost } = await process.load(path);
      results.set(path, loaded);
      if (lost === "ended" && !suspects.has(path)) suspects.add(path);
      else if ("error" in loaded) leftOut.add(path);
      if (lost === null) continue;
      isWhole = false;
      break;
    }
  }
  return results;
}
