/**
 * The dispatcher: decides which waiting run starts next. Files take turns, so that no file waits for the runs of
 * another file, and each file has as many handlers under way as the width says. Runs with the same key are made in the
 * order of turns; runs with the same turn are made side by side.
 *
 *     in the table ──► in memory, held by its key or its time ──► ready ──► running ──► ending ──► over
 *          ▲                        ▲                                                     │
 *          └────────────────────────┴───────── waits for another attempt ─────────────────┘
 *
 * A run that is ending has left its handler, and its end is not on disk: an ending run does not count for the width.
 */
import type { Alarm, Clock } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Postponement } from "./run-table.ts";

/** Runs that a look at the table brings into memory, about. */
export const pageSize = 250;
/** Runs with an end on the way to disk, of all files. */
const maxEnding = 512;
/** A pause that is longer than any: the clock was set back since, and the run is due. */
const longestPauseMs = 600_000;

/** The part of a waiting run that is kept in memory. */
export interface WaitingRun extends Postponement {
  readonly id: number;
  readonly path: string;
  /** Null for a run that waits for no other. */
  readonly key: string | null;
  /** Grows with the ids of runs. */
  readonly turn: number;
}

/** Runs of a file, in the order of starts. */
export interface RunPage<R> {
  readonly runs: readonly R[];
  /** Whether the table has more runs that are due. */
  readonly hasMore: boolean;
  /** The time at which the next later run is due; null when no run waits for a time. */
  readonly nextTime: number | null;
}

/** The waiting runs of a file in a table. */
export interface RunSource<R> {
  readonly path: string;
  /** Handlers under way at a time. */
  readonly width: number;
  /** Waiting runs in memory; the table holds the others. */
  readonly window: number;
  /**
   * @param until the last run that is on disk.
   * @param passed the number of runs that are in memory and still in the table.
   */
  next(range: { until: number; passed: number }): RunPage<R>;
  /**
   * For a table that is read once, in order: a run that was read before waits in the table again. A run of this table that
   * waits for another attempt stays in memory, and holds back the later runs of the key.
   */
  rewind?(id: number): void;
}

/**
 * The state of a run after an attempt: the run is `over` (or has failed for good), waits for another attempt, or
 * `stays` unchanged until the next start of the service or the next load of the file.
 */
export type NextState = "over" | "stays" | Postponement;

interface SourceState<R> {
  readonly source: RunSource<R>;
  /** Runs that are in memory and not under way, by id. */
  readonly waiting: Map<number, R>;
  readonly ready: Set<R>;
  /** Runs that are not due. */
  readonly delayed: Set<R>;
  /** Runs that wait for the next load of the file: the end could not be written, or the file was gone. */
  readonly stuck: Set<number>;
  /** Whether the table may have due runs that are not in memory. */
  hasMore: boolean;
  nextTime: number | null;
}

interface DispatcherOptions<R> {
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  /** Handlers under way at a time, of all files; each file may have a single handler in any case. */
  readonly width: number;
  /** Makes an attempt; calls `onLeft` when the handler has ended. Resolves when the end is on disk. Never rejects. */
  readonly attempt: (run: R, onLeft: () => void) => Promise<NextState>;
  /** Whether another run may start now. */
  readonly mayStart: () => boolean;
  /** Called before each look at the clock. */
  readonly onLook: () => void;
}

export class Dispatcher<R extends WaitingRun> {
  readonly #options: DispatcherOptions<R>;
  /** The states of files, by path. */
  #files = new Map<string, SourceState<R>>();
  /** The runs in memory by key, in the order of the turns. */
  readonly #chains = new Map<string, R[]>();
  /** Runs that are running or ending, by id. */
  readonly #underWay = new Map<number, R>();
  /** Handlers under way, by the path of the file, which may have been replaced meanwhile. */
  readonly #running = new Map<string, number>();
  #ending = 0;
  /** Runs that were reopened while under way: the table says at the end of the attempt whether the run waits. */
  readonly #reopened = new Set<number>();
  #alarm: Alarm | null = null;
  /** The last run that is on disk. */
  #writtenUntil = 0;
  #isLookDue = false;
  #state: "new" | "started" | "stopped" = "new";

  constructor(options: DispatcherOptions<R>) {
    this.#options = options;
  }

  /** Runs up to this id are on disk, and are made from now on. */
  start(lastId: number): void {
    this.#state = "started";
    this.#writtenUntil = Math.max(this.#writtenUntil, lastId);
    this.lookAgain();
  }

  /** A run is on disk; without a path, runs of any file may be. */
  written({ id, path, notBefore = 0 }: { id: number; path?: string; notBefore?: number }): void {
    this.#writtenUntil = Math.max(this.#writtenUntil, id);
    for (const file of this.#files.values())
      if (path === undefined || path === file.source.path) this.#expect(file, notBefore);
    this.#requestLook();
  }

  /** A run that had failed for good waits again, on disk. */
  reopened(run: { id: number; path: string; notBefore?: number }): void {
    if (this.#underWay.has(run.id)) this.#reopened.add(run.id);
    else this.#forget(run);
    this.written(run);
  }

  /** The next look reads a run in the table, whatever was known of the run. */
  #forget({ id, path }: { id: number; path: string }): void {
    const file = this.#files.get(path);
    file?.stuck.delete(id);
    file?.source.rewind?.(id);
  }

  isUnderWay(id: number): boolean {
    return this.#underWay.has(id);
  }

  /** The ids of the runs that are under way, of all files or of a file. */
  underWay(path?: string): number[] {
    const runs = [...this.#underWay.values()];
    return runs.filter((run) => path === undefined || run.path === path).map(({ id }) => id);
  }

  /** Replaces the files. Runs of other files stay in the table. */
  use(sources: readonly RunSource<R>[]): void {
    for (const [key, chain] of this.#chains) {
      const underWay = chain.filter(({ id }) => this.#underWay.has(id));
      if (underWay.length === 0) this.#chains.delete(key);
      else this.#chains.set(key, underWay);
    }
    this.#files = new Map(sources.map((source) => [source.path, newFile(source)]));
    this.#requestLook();
  }

  /** Reads the table again, whatever is known: the clock or the rows were changed. */
  lookAgain(): void {
    for (const file of this.#files.values()) file.hasMore = true;
    this.#requestLook();
  }

  /** Whether a run is under way, or waits for anything but a later time. */
  get isBusy(): boolean {
    if (this.#state !== "started") return false;
    if (this.#isLookDue || this.#underWay.size > 0) return true;
    return [...this.#files.values()].some(({ ready, hasMore }) => ready.size > 0 || hasMore);
  }

  /** Starts no more runs. Resolves when no run is under way. */
  async stop(): Promise<void> {
    this.#state = "stopped";
    this.#alarm?.cancel();
    while (this.#underWay.size > 0) await Bun.sleep(1);
  }

  #expect(file: SourceState<R>, notBefore: number): void {
    if (notBefore <= this.#options.now()) file.hasMore = true;
    else file.nextTime = Math.min(file.nextTime ?? notBefore, notBefore);
  }

  /** Looks at the table once for all requests of a turn of the event loop. */
  #requestLook(): void {
    if (this.#state !== "started" || this.#isLookDue) return;
    this.#isLookDue = true;
    setImmediate(() => this.#look());
  }

  /** Nothing starts before every file was looked at: a later file may bring an earlier run of a key. */
  #look(): void {
    this.#isLookDue = false;
    if (this.#state !== "started") return;
    this.#options.onLook();
    try {
      for (const file of this.#files.values()) while (this.#isWanting(file)) this.#read(file);
    } catch (error) {
      this.#options.logger.error("Runs that wait could not be read", { error });
    }
    this.#lookAtDelayed();
    this.startReady();
    this.#arm();
  }

  #isWanting({ source, waiting, hasMore, nextTime }: SourceState<R>): boolean {
    const isDue = nextTime !== null && nextTime <= this.#options.now();
    return (hasMore || isDue) && waiting.size <= source.window - pageSize;
  }

  /** Brings the next runs of a file into memory. */
  #read(file: SourceState<R>): void {
    const { source, waiting, stuck } = file;
    const passed = waiting.size + stuck.size + this.underWay(source.path).length;
    const { runs, hasMore, nextTime } = source.next({ until: this.#writtenUntil, passed });
    file.hasMore = hasMore;
    file.nextTime = nextTime;
    for (const run of runs)
      if (!waiting.has(run.id) && !stuck.has(run.id) && !this.#underWay.has(run.id)) this.#admit(run, file);
  }

  #admit(run: R, file: SourceState<R>): void {
    this.#await(run, file);
    const chain = this.#chainOf(run);
    if (run.key !== null) {
      const at = chain.findIndex(({ id }) => id > run.id);
      chain.splice(at < 0 ? chain.length : at, 0, run);
      this.#chains.set(run.key, chain);
    }
    this.#review(chain);
  }

  #await(run: R, file: SourceState<R>): void {
    file.waiting.set(run.id, run);
    if (!this.#isDue(run)) file.delayed.add(run);
  }

  #isDue({ notBefore }: R): boolean {
    const waitMs = notBefore - this.#options.now();
    return notBefore === 0 || waitMs <= 0 || waitMs > longestPauseMs;
  }

  /** The runs of a key that have the first turn may start, unless a later turn is under way: a run may come in late. */
  #review(chain: readonly R[]): void {
    const first = chain[0]?.turn;
    const isHeld = chain.some(({ id, turn }) => turn !== first && this.#underWay.has(id));
    for (const run of chain) {
      const file = this.#files.get(run.path);
      if (file === undefined || file.waiting.get(run.id) !== run) continue;
      if (run.turn === first && !isHeld && !file.delayed.has(run)) file.ready.add(run);
      else file.ready.delete(run);
    }
  }

  #chainOf(run: R): R[] {
    return run.key === null ? [run] : (this.#chains.get(run.key) ?? []);
  }

  #lookAtDelayed(): void {
    for (const { delayed } of this.#files.values())
      for (const run of delayed) {
        if (!this.#isDue(run)) continue;
        delayed.delete(run);
        this.#review(this.#chainOf(run));
      }
  }

  /** Sets the alarm for the earliest run that is not due. */
  #arm(): void {
    this.#alarm?.cancel();
    this.#alarm = null;
    let next = Number.POSITIVE_INFINITY;
    for (const file of this.#files.values()) {
      for (const { notBefore } of file.delayed) next = Math.min(next, notBefore);
      // A file with a full memory of waiting runs looks again later, with room.
      const isFull = file.waiting.size > file.source.window - pageSize;
      if (file.nextTime !== null && !isFull) next = Math.min(next, file.nextTime);
    }
    if (next === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.max(0, next - this.#options.now());
    this.#alarm = this.#options.clock.lookAfter(waitMs, () => this.#requestLook());
  }

  /** Starts a ready run of each file in turn, until the width is reached or `mayStart` refuses. */
  startReady(): void {
    for (let hasStarted = true; hasStarted; ) {
      hasStarted = false;
      for (const file of this.#files.values()) {
        if (this.#state !== "started" || this.#ending >= maxEnding) return;
        const next = this.#nextOf(file);
        if (next === undefined) continue;
        if (!this.#options.mayStart()) return;
        void this.#make(next, file);
        hasStarted = true;
      }
    }
  }

  #nextOf({ source, ready }: SourceState<R>): R | undefined {
    const running = this.#running.get(source.path) ?? 0;
    const isFull = this.#underWay.size - this.#ending >= this.#options.width;
    if (running >= source.width || (running > 0 && isFull)) return undefined;
    return ready.values().next().value;
  }

  async #make(run: R, file: SourceState<R>): Promise<void> {
    const { id, path } = run;
    file.ready.delete(run);
    file.waiting.delete(id);
    this.#underWay.set(id, run);
    this.#running.set(path, (this.#running.get(path) ?? 0) + 1);
    let hasLeft = false;
    const leave = (): void => {
      if (hasLeft) return;
      hasLeft = true;
      this.#running.set(path, (this.#running.get(path) ?? 0) - 1);
      this.#ending += 1;
      this.startReady();
    };
    const next = await this.#options.attempt(run, leave);
    leave();
    this.#ending -= 1;
    this.#underWay.delete(id);
    this.#ended(run, next);
    if (this.#reopened.delete(id)) {
      this.#forget(run);
      this.lookAgain();
      // Now, before a later run of the key starts.
      this.#look();
    }
    this.startReady();
    const latest = this.#files.get(path);
    if (latest !== undefined && this.#isWanting(latest)) this.#requestLook();
    else if (typeof next !== "string") this.#arm();
  }

  #ended(run: R, next: NextState): void {
    const file = this.#files.get(run.path);
    const chain = this.#chainOf(run);
    const at = chain.findIndex(({ id }) => id === run.id);
    if (file?.source.rewind !== undefined && typeof next !== "string") {
      const again = { ...run, ...next };
      if (at >= 0) chain[at] = again;
      this.#await(again, file);
      this.#review(chain);
      return;
    }
    if (at >= 0) chain.splice(at, 1);
    if (run.key !== null && chain.length === 0) this.#chains.delete(run.key);
    this.#review(chain);
    if (next === "stays") file?.stuck.add(run.id);
    else if (next !== "over" && file !== undefined) this.#expect(file, next.notBefore);
  }
}

function newFile<R>(source: RunSource<R>): SourceState<R> {
  const [waiting, ready, delayed, stuck] = [new Map<number, R>(), new Set<R>(), new Set<R>(), new Set<number>()];
  return { source, waiting, ready, delayed, stuck, hasMore: true, nextTime: null };
}
