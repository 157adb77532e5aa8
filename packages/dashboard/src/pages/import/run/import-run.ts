/**
 * A run of an import: rows go out in batches, in the order of the file. A limit of the service, a lost session or a broken
 * connection makes the run wait; the run does not fail. The run does not depend on React: the component that shows the
 * run subscribes.
 *
 * A batch is stored as a whole or not at all. The run removes refused rows from the batch and sends the other rows again.
 * When the service does not name all refused rows, the rows of that batch go out row by row.
 */
import { SocleError } from "@socle/client";
import { inParallel, mayReference, refusedOperations } from "../../../service/refusals.ts";
import { text } from "../../../texts/index.ts";
import type { SourceRow } from "../source/source.ts";
import type { Prepared, RowProblem } from "./prepare.ts";
import { Speed } from "./speed.ts";

/** Rows of a batch: few, because a broken connection leaves all rows of the batch in doubt. */
export const batchRows = 100;
/** Characters in the cells of a batch, far below the service's limit for a body. */
const batchCharacters = 1_048_576;
/** Requests in parallel, for lookups and for rows sent alone. */
const concurrency = 6;
/** Batches in sequence that the service turned away; after this number, rows go out alone. */
const mostTurnedAway = 3;
/** Bounds for the kept rejected rows, by number and by the characters of their cells. Further rejected rows are only counted. */
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
  /** Rows without any value. */
  readonly skipped: number;
  readonly kept: readonly RejectedRow[];
  /** The finished part of the file: 0 to 1. */
  readonly part: number;
  readonly rowsPerSecond: number | null;
  readonly secondsLeft: number | null;
  /** For "waiting": seconds that the service asked for. */
  readonly waitSeconds: number;
  /** For "failed": the reason why the rest of the file was not read. */
  readonly error: unknown;
}

export interface RunOptions {
  /** The id of the import, which all changes have as the cause. */
  id: string;
  rows: AsyncGenerator<SourceRow, void>;
  prepare: (row: SourceRow) => Promise<Prepared>;
  send: (prepared: Prepared) => Promise<unknown>;
  /** Stores all rows or no row. Rejects with the problems of each row (`refusedOperations`). */
  sendBatch: (prepared: readonly Prepared[]) => Promise<unknown>;
  /** Rows of a batch: 1 when a row is looked up by the values of earlier rows. */
  batchRows?: number;
  isSignedIn: () => boolean;
  /** Rejects while the service does not answer. */
  isAlive: () => Promise<unknown>;
  now?: () => number;
  sleep?: (ms: number) => Promise<void>;
}

/** The end of a request: `turned away` is a limit of the service; the next request waits as long as the service asked. */
type Answer<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "refused"; readonly error: SocleError }
  | { readonly kind: "turned away" }
  | { readonly kind: "unanswered" }
  | { readonly kind: "cancelled" };

/** A row that can be sent. */
interface Entry {
  /** The position in the batch. */
  readonly at: number;
  readonly prepared: Prepared;
}

/** The end of a row: no problems for a stored row, null for a row that was not sent. */
type RowEnd = readonly RowProblem[] | null;

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
  #turnedAway = 0;
  /** The reason why the rest of the file cannot be read. */
  #broken: { readonly reason: unknown } | null = null;

  constructor(options: RunOptions) {
    this.#options = { now: Date.now, sleep: sleepFor, batchRows, ...options };
    this.#speed = new Speed(this.#options.now());
    this.#state = {
      phase: "running",
      stored: 0,
      rejected: 0,
      skipped: 0,
      kept: [],
      part: 0,
      rowsPerSecond: null,
      secondsLeft: null,
      waitSeconds: 0,
      error: null,
    };
  }

  get id(): string {
    return this.#options.id;
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

  /** Resolves at the end of the run, after success, failure or cancellation. */
  async start(): Promise<void> {
    try {
      await this.#work();
      if (this.#isCancelled) this.#set({ phase: "cancelled" });
      else this.#set({ phase: "done", part: 1 });
    } catch (reason) {
      this.#set({ phase: "failed", error: reason });
    }
    await this.#options.rows.return();
  }

  async #work(): Promise<void> {
    for (;;) {
      await this.#hold();
      if (this.#isCancelled) return;
      const rows = await this.#read();
      await this.#store(rows);
      if (this.#isCancelled) return;
      if (this.#broken !== null) throw this.#broken.reason;
      if (rows.length === 0) return;
    }
  }

  /** The next rows of the file: an empty list at the end of the file. */
  async #read(): Promise<readonly SourceRow[]> {
    const rows: SourceRow[] = [];
    let size = 0;
    try {
      while (rows.length < this.#options.batchRows && size < batchCharacters) {
        const next = await this.#options.rows.next();
        if (next.done === true) break;
        if (next.value.isEmpty) {
          this.#state = { ...this.#state, skipped: this.#state.skipped + 1 };
          continue;
        }
        rows.push(next.value);
        size += sizeOf(next.value);
      }
    } catch (reason) {
      // The rows before the broken part are stored.
      this.#broken = { reason };
    }
    return rows;
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

  async #store(rows: readonly SourceRow[]): Promise<void> {
    const ends: RowEnd[] = rows.map(() => null);
    try {
      const entries: Entry[] = [];
      await inParallel([...rows.entries()], concurrency, async ([at, row]) => {
        const prepared = await this.#prepare(row);
        if (prepared === null) return;
        if (prepared.problems.length > 0) ends[at] = prepared.problems;
        else entries.push({ at, prepared });
      });
      entries.sort((a, b) => a.at - b.at);
      await this.#send(entries, ends);
    } finally {
      for (const [at, row] of rows.entries()) this.#count(row, ends[at] ?? null);
    }
  }

  #count(row: SourceRow, problems: RowEnd): void {
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

  /** Null when the run was cancelled first. */
  async #prepare(row: SourceRow): Promise<Prepared | null> {
    const answer = await this.#insist(() => this.#options.prepare(row), { isRepeatable: true, isPatient: true });
    if (answer.kind === "done") return answer.value;
    if (answer.kind !== "refused") return null;
    return { id: null, values: {}, problems: problemsOf(answer.error) };
  }

  /** Sends the rows in a batch, without the refused rows, or row by row; writes the end of each row. */
  async #send(entries: readonly Entry[], ends: RowEnd[]): Promise<void> {
    const alone = entries.filter(({ prepared }) => mayReference(prepared.values));
    let open = entries.filter((entry) => !alone.includes(entry));
    while (open.length > 1 && this.#turnedAway < mostTurnedAway) {
      const prepared = open.map((entry) => entry.prepared);
      const answer = await this.#insist(() => this.#options.sendBatch(prepared), {
        isRepeatable: prepared.every(({ id }) => id !== null),
        isPatient: false,
      });
      if (answer.kind === "cancelled") return;
      if (answer.kind === "turned away") {
        this.#turnedAway += 1;
        break;
      }
      this.#turnedAway = 0;
      const refused = answer.kind === "refused" ? refusedOperations(answer.error) : null;
      if (answer.kind === "refused" && refused === null) break;
      for (const [i, { at }] of open.entries()) {
        if (refused === null) ends[at] = answer.kind === "done" ? [] : [unanswered];
        else if (refused.has(i)) ends[at] = refused.get(i) ?? null;
      }
      open = refused === null ? [] : open.filter((_, i) => !refused.has(i));
    }
    await inParallel([...open, ...alone], concurrency, async ({ at, prepared }) => {
      ends[at] = await this.#sendAlone(prepared);
    });
  }

  async #sendAlone(prepared: Prepared): Promise<RowEnd> {
    const answer = await this.#insist(() => this.#options.send(prepared), {
      isRepeatable: prepared.id !== null,
      isPatient: true,
    });
    if (answer.kind === "done") return [];
    if (answer.kind === "refused") return problemsOf(answer.error);
    return answer.kind === "unanswered" ? [unanswered] : null;
  }

  /**
   * Repeats a request until the service answers.
   * @param how.isRepeatable whether a second request does no harm. @param how.isPatient whether to repeat the request after a
   * limit of the service; otherwise the answer is `turned away`.
   */
  async #insist<T>(attempt: () => Promise<T>, how: { isRepeatable: boolean; isPatient: boolean }): Promise<Answer<T>> {
    for (let failures = 0; ; failures++) {
      await this.#hold();
      if (this.#isCancelled) return { kind: "cancelled" };
      try {
        return { kind: "done", value: await attempt() };
      } catch (error) {
        const isBroken = error instanceof SocleError && (error.is("offline") || [502, 504].includes(error.status));
        if (isBroken) {
          await this.#awaitService(failures);
          if (!how.isRepeatable) return { kind: "unanswered" };
        } else if (!(error instanceof SocleError)) throw error;
        else if (error.status === 401) await this.#awaitSession();
        else if (error.status === 429 || error.status === 503) {
          this.#wait(error.retryAfter, failures);
          if (!how.isPatient) return { kind: "turned away" };
        } else return { kind: "refused", error };
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

  /** Counts, and notifies only as often as people can see changes. */
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

const unanswered: RowProblem = { field: null, message: text.import.unanswered };

/** The approximate number of characters in a row. */
function sizeOf({ cells }: SourceRow): number {
  let size = 0;
  for (const cell of cells) size += typeof cell === "string" ? cell.length : JSON.stringify(cell ?? null).length;
  return size;
}

function problemsOf(error: SocleError): RowProblem[] {
  if (error.details.length > 0) return error.details.map(({ field, message }) => ({ field, message }));
  const id = error.status >= 500 && error.requestId !== null ? ` (${error.requestId})` : "";
  return [{ field: null, message: error.message + id }];
}
