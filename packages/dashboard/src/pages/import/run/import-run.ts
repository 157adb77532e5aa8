/**
 * One run of an import: rows go out a few at a time, and what stops them (a limit of the service, a lost session, a
 * broken connection) makes the run wait rather than fail. It knows nothing of React; whoever shows it subscribes.
 */
import { SocleError } from "@socle/client";
import { text } from "../../../texts/index.ts";
import type { SourceRow } from "../source/source.ts";
import type { Prepared, RowProblem } from "./prepare.ts";
import { Speed } from "./speed.ts";

/** Requests that are out at a time. */
const concurrency = 6;
/** Rejected rows that are kept, by number and by the characters of their cells: what is more is only counted. */
export const maxKept = 10_000;
const maxKeptCharacters = 64 * 1_048_576;
const longestWaitMs = 30_000;
const pollMs = 400;
const tellEveryMs = 150;

export interface RejectedRow {
  readonly row: SourceRow;
  readonly problems: readonly RowProblem[];
}

type RunPhase = "running" | "paused" | "waiting" | "signed out" | "offline" | "done" | "cancelled" | "failed";

export interface RunState {
  readonly phase: RunPhase;
  /** Created or updated. */
  readonly stored: number;
  readonly rejected: number;
  readonly kept: readonly RejectedRow[];
  /** Of the file: 0 to 1. */
  readonly part: number;
  readonly rowsPerSecond: number | null;
  readonly secondsLeft: number | null;
  /** For "waiting": seconds that the service asked for. */
  readonly waitSeconds: number;
  /** For "failed": why the rest of the file was not read. */
  readonly error: unknown;
}

export interface RunOptions {
  rows: AsyncGenerator<SourceRow, void>;
  prepare: (row: SourceRow) => Promise<Prepared>;
  send: (prepared: Prepared) => Promise<unknown>;
  isSignedIn: () => boolean;
  /** Rejects while the service does not answer. */
  isAlive: () => Promise<unknown>;
  now?: () => number;
  sleep?: (ms: number) => Promise<void>;
}

const sleepFor = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class ImportRun {
  readonly #options: Required<RunOptions>;
  readonly #listeners = new Set<() => void>();
  readonly #speed: Speed;
  #state: RunState;
  #kept: RejectedRow[] = [];
  #keptCharacters = 0;
  #isPaused = false;
  #isCancelled = false;
  #waitUntil = 0;
  #toldAt = 0;

  constructor(options: RunOptions) {
    this.#options = { now: Date.now, sleep: sleepFor, ...options };
    this.#speed = new Speed(this.#options.now());
    this.#state = {
      phase: "running",
      stored: 0,
      rejected: 0,
      kept: [],
      part: 0,
      rowsPerSecond: null,
      secondsLeft: null,
      waitSeconds: 0,
      error: null,
    };
  }

  readonly state = (): RunState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  pause(): void {
    this.#isPaused = true;
    this.#set({ phase: "paused" });
  }

  resume(): void {
    this.#isPaused = false;
    this.#set({ phase: "running" });
  }

  /** Sends no more rows, and waits for the requests that are under way. */
  cancel(): void {
    this.#isCancelled = true;
  }

  /** Resolves when the run is over, however it ended. */
  async start(): Promise<void> {
    const ends = await Promise.allSettled(Array.from({ length: concurrency }, () => this.#work()));
    const broken = ends.find((end) => end.status === "rejected");
    if (broken !== undefined) this.#set({ phase: "failed", error: broken.reason });
    else if (this.#isCancelled) this.#set({ phase: "cancelled" });
    else this.#set({ phase: "done", part: 1 });
    await this.#options.rows.return();
  }

  async #work(): Promise<void> {
    for (;;) {
      await this.#hold();
      if (this.#isCancelled) return;
      // A file that cannot be read on ends this worker; the others finish what they have, and find no more rows.
      const next = await this.#options.rows.next();
      if (next.done === true) return;
      await this.#store(next.value);
    }
  }

  /** Waits while the run is paused or the service has asked to wait. */
  async #hold(): Promise<void> {
    while (!this.#isCancelled) {
      const left = this.#waitUntil - this.#options.now();
      if (this.#isPaused) await this.#options.sleep(pollMs);
      else if (left > 0) {
        this.#set({ phase: "waiting", waitSeconds: Math.ceil(left / 1_000) });
        await this.#options.sleep(Math.min(left, 1_000));
      } else {
        if (this.#state.phase !== "running") this.#set({ phase: "running" });
        return;
      }
    }
  }

  async #store(row: SourceRow): Promise<void> {
    const problems = await this.#problemsOf(row);
    if (problems === null) return;
    const { stored, rejected, part } = this.#state;
    const next = { part: Math.max(part, row.part) };
    this.#speed.count(this.#options.now(), next.part);
    if (problems.length === 0) this.#tell({ ...next, stored: stored + 1 });
    else {
      this.#keep({ row, problems });
      this.#tell({ ...next, rejected: rejected + 1 });
    }
  }

  /** Empty when the row is stored; null when the run was cancelled before it was sent. */
  async #problemsOf(row: SourceRow): Promise<readonly RowProblem[] | null> {
    const prepared = await this.#insist(() => this.#options.prepare(row), true);
    if (prepared === null) return null;
    if (Array.isArray(prepared)) return prepared;
    if (prepared.problems.length > 0) return prepared.problems;
    const sent = await this.#insist(async () => {
      await this.#options.send(prepared);
      return [];
    }, prepared.id !== null);
    return sent;
  }

  /**
   * Tries until there is an answer. Null when the run was cancelled; problems where the service has refused.
   * @param isRepeatable whether doing it twice does no harm.
   */
  async #insist<T>(attempt: () => Promise<T>, isRepeatable: boolean): Promise<T | RowProblem[] | null> {
    for (let failures = 0; ; failures++) {
      await this.#hold();
      if (this.#isCancelled) return null;
      try {
        return await attempt();
      } catch (error) {
        const isBroken =
          error instanceof TypeError || (error instanceof SocleError && [502, 504].includes(error.status));
        if (isBroken) {
          await this.#awaitService(failures);
          if (!isRepeatable) return [{ field: null, message: text.import.unanswered }];
        } else if (!(error instanceof SocleError)) throw error;
        else if (error.status === 401) await this.#awaitSession();
        else if (error.status === 429 || error.status === 503) this.#wait(error.retryAfter, failures);
        else return problemsOf(error);
      }
    }
  }

  #wait(seconds: number | null, failures: number): void {
    const ms =
      seconds === null || Number.isNaN(seconds) ? Math.min(longestWaitMs, 500 * 2 ** failures) : seconds * 1_000;
    this.#waitUntil = Math.max(this.#waitUntil, this.#options.now() + ms);
  }

  async #awaitSession(): Promise<void> {
    this.#set({ phase: "signed out" });
    do await this.#options.sleep(pollMs);
    while (!this.#isCancelled && !this.#options.isSignedIn());
  }

  async #awaitService(failures: number): Promise<void> {
    this.#set({ phase: "offline" });
    for (let tries = failures; !this.#isCancelled; tries++) {
      await this.#options.sleep(Math.min(5_000, 500 * 2 ** tries));
      const isAlive = await this.#options.isAlive().then(
        () => true,
        () => false,
      );
      if (isAlive) return;
    }
  }

  #keep(rejected: RejectedRow): void {
    const size = JSON.stringify(rejected.row.original ?? rejected.row.cells).length;
    if (this.#kept.length >= maxKept || this.#keptCharacters + size > maxKeptCharacters) return;
    this.#keptCharacters += size;
    this.#kept.push(rejected);
  }

  /** Counts without telling more often than people can see. */
  #tell(change: Partial<RunState>): void {
    const now = this.#options.now();
    this.#state = { ...this.#state, ...change };
    if (now - this.#toldAt < tellEveryMs) return;
    this.#toldAt = now;
    this.#set({});
  }

  #set(change: Partial<RunState>): void {
    const isOver = ["done", "cancelled", "failed"].includes(this.#state.phase);
    const part = change.part ?? this.#state.part;
    this.#state = {
      ...this.#state,
      ...change,
      ...(isOver && { phase: this.#state.phase }),
      kept: this.#kept.length === this.#state.kept.length ? this.#state.kept : this.#kept.slice(),
      ...this.#speed.read(this.#options.now(), part),
    };
    for (const listener of this.#listeners) listener();
  }
}

function problemsOf(error: SocleError): RowProblem[] {
  if (error.details.length > 0) return error.details.map(({ field, message }) => ({ field, message }));
  const id = error.status >= 500 && error.requestId !== null ? ` (${error.requestId})` : "";
  return [{ field: null, message: error.message + id }];
}
