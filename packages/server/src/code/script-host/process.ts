/** A script process: a host process that has the user's code, loads files, and runs attempts. */
import { isTimeMovable, timeOffset } from "../../base/kernel/index.ts";
import { type Attempt, CallAttempt, type Loaded } from "./attempt.ts";
import { type CallAnswers, CallTransport } from "./call-transport.ts";
import type { HostProcess, ProcessEnd } from "./host-process.ts";
import {
  type CodeFile,
  type FromChild,
  type Invocation,
  type LogMessage,
  lateLoad,
  loadLimitMs,
  type ToChild,
} from "./protocol.ts";
import { RequestAttempt, type RequestPort } from "./request-attempt.ts";

/**
 * The time after which a process that has not answered a load counts as computing without end. Polls are counted:
 * when the service itself was busy, the answer may have come.
 */
const silenceLimitMs = loadLimitMs + 3_000;
const loadPollMs = 100;
/** After this time the next file is loaded beside the slow file: files that wait for something wait at the same time. */
const headStartMs = 250;

export type ProgressMessage = Extract<
  FromChild,
  {
    type: "started" | "entered" | "completed" | "failed" | "aborted" | "answers" | "want" | "piece";
  }
>;
export type StrayMessage = Extract<FromChild, { type: "stray" }>;

/** The receiver of the messages about attempts. No message comes after `close`. */
export interface ProcessListener {
  /** The attempt under way with this id; null without one. */
  attemptOf(id: number): Attempt | null;
  progress(message: ProgressMessage): void;
  log(message: LogMessage): void;
  stray(message: StrayMessage): void;
}

export interface ScriptProcessOptions {
  readonly calls: CallAnswers;
  /** Starts a process. @throws Error when the system starts no process. */
  readonly spawn: (onMessage: (message: FromChild) => void) => HostProcess<ToChild>;
  /** The modules of the user's code, whatever is on the disk by now. */
  readonly code: readonly CodeFile[];
  /** Called when a message could not be handled. */
  readonly onError: (error: unknown) => void;
}

/** The result of loading one file. `lost` says how the load lost the process; null when the process lives. */
interface LoadResult {
  readonly loaded: Loaded;
  readonly lost: "late" | "ended" | null;
}

export class ScriptProcess {
  readonly #host: HostProcess<ToChild>;
  readonly #calls: CallTransport;
  readonly #listener: ProcessListener;
  /** The unanswered loads, by path. */
  readonly #loading = new Map<string, (result: LoadResult) => void>();
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
    this.#calls = new CallTransport(this.#host, options.calls);
    this.#host.send({ type: "code", files: options.code });
    if (isTimeMovable()) this.followTime();
  }

  /** The time of this process was moved (`moveTime`): the time of the script process moves along. */
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

  /** Loads a file. */
  async load(path: string): Promise<LoadResult> {
    const { promise, resolve } = Promise.withResolvers<LoadResult>();
    this.#loading.set(path, resolve);
    const lose = (lost: "late" | "ended", message: string): void => resolve({ loaded: { error: { message } }, lost });
    this.#host.send({ type: "load", path });
    let polls = 0;
    const limit = setInterval(() => {
      polls += 1;
      if (polls * loadPollMs < silenceLimitMs) return;
      lose("late", lateLoad);
      this.#host.kill();
    }, loadPollMs);
    this.#host.exited.then(({ how }) => lose("ended", `ended the process while it was loading (${how})`));
    const result = await promise;
    clearInterval(limit);
    return result;
  }

  /** Calls the handler of an attempt. */
  call(attempt: Attempt): void {
    const { path, handler, input } = attempt.task;
    const invocation: Invocation = { attempt: attempt.id, path, handler, input: JSON.stringify(input) };
    if (attempt instanceof RequestAttempt) {
      attempt.port = this.#port;
      this.#invoke({ ...invocation, request: attempt.request });
    } else if (attempt instanceof CallAttempt) this.#invoke(invocation);
    else this.#host.send({ type: "run", ...invocation });
  }

  /** Calls of the same turn of the event loop share a message: a message costs more than most handlers. */
  #invoke(invocation: Invocation): void {
    this.#invocations.push(invocation);
    if (this.#invocations.length === 1) setImmediate(() => this.#sendInvocations());
  }

  #sendInvocations(): void {
    if (this.#invocations.length > 0) this.#host.send({ type: "invoke", calls: this.#invocations.splice(0) });
  }

  /** The attempt's time is up, or its caller has left. */
  abort({ id }: Attempt): void {
    // The invocation may wait to be sent.
    this.#sendInvocations();
    this.#host.send({ type: "abort", attempt: id });
  }

  kill(): void {
    this.#host.kill();
  }

  /** Ends the process, and the calls that it has made. */
  close(): void {
    this.#isClosed = true;
    this.#host.kill();
    this.#calls.processEnded();
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
    this.#loading.get(path)?.({ loaded, lost: null });
  }
}

/**
 * Loads files into one process, one after the other; a slow file is waited for beside the next files. A file that
 * ends its process is left out, and the other files are loaded into another process; as a process may end for other reasons, the
 * file gets a second chance.
 * @param open starts a process, and stops the use of the former process.
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
    const process = options.open();
    const loads: { readonly path: string; readonly result: Promise<LoadResult> }[] = [];
    for (const path of options.files) {
      if (leftOut.has(path) || !options.isWanted() || process.hasExited) continue;
      const result = process.load(path);
      loads.push({ path, result });
      await Promise.race([result, Bun.sleep(headStartMs)]);
    }
    const ends = await Promise.all(loads.map(async ({ path, result }) => ({ path, ...(await result) })));
    for (const { path, loaded, lost } of ends) {
      results.set(path, loaded);
      if (lost === null && "error" in loaded) leftOut.add(path);
    }
    const culprit = culpritOf(ends);
    isWhole = culprit === undefined;
    if (culprit === undefined) continue;
    if (culprit.lost === "late" || suspects.has(culprit.path)) leftOut.add(culprit.path);
    suspects.add(culprit.path);
  }
  return results;
}

/** The file over which a process was lost: the file that computed for too long, otherwise the last file that was loading. */
function culpritOf<End extends LoadResult>(ends: readonly End[]): End | undefined {
  return ends.find(({ lost }) => lost === "late") ?? ends.findLast(({ lost }) => lost === "ended");
}
