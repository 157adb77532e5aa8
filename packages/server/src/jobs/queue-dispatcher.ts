/**
 * The dispatcher of queues: decides which run starts next. Queues take turns; each has as many runs under way as its
 * concurrency says. Runs with the same key are never under way together.
 *
 *     in the table ──► ready (a bounded number, in memory) ──► running ──► ending ──► over
 *          ▲                                                                 │
 *          └──── stays, or waits for another attempt ────────────────────────┘
 *
 * A run that is ending has left its handler, and its end is not on disk: it does not count for the concurrency. The table
 * holds the runs that are not due; one alarm waits for the earliest of all queues.
 */
import type { Alarm, Clock } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { type AttemptEnd, CoalescedTask } from "../runs/index.ts";
import type { QueueJob } from "./queue-definition.ts";
import type { QueueHead, QueueTable } from "./queue-table.ts";

/** Runs of a queue that one look at the table brings into memory, of either kind (see `QueueTable.due`). */
const pageSize = 256;
/** Ready runs of a queue from which down the table is read again. */
const lowMark = 32;
/** Runs whose end is on its way to disk, of all queues. */
const maxEnding = 512;

/** An attempt: `left` resolves when the handler has ended, `end` when that is on disk. Neither rejects. */
export interface QueueAttempt {
  readonly left: Promise<unknown>;
  readonly end: Promise<AttemptEnd["next"]>;
}

/** A queue, and its runs that are in memory. */
interface QueueState {
  readonly queue: QueueJob;
  /** Runs that may start, unless their key is taken. */
  ready: QueueHead[];
  /** Handlers under way. */
  running: number;
  /** Whether the table may have due runs that are not in memory. */
  hasMore: boolean;
  /** The time at which a run that is not due yet will be; null for none. */
  nextTime: number | null;
}

export interface QueueDispatcherOptions {
  readonly table: QueueTable;
  readonly logger: Logger;
  /** Runs under way at a time, of all queues; each queue may have one in any case. */
  readonly width: number;
  readonly attempt: (queue: QueueJob, head: QueueHead) => QueueAttempt;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly clock: Clock;
  /** Called before each look at the clock. */
  readonly onLook: () => void;
}

export class QueueDispatcher {
  readonly #options: QueueDispatcherOptions;
  /** By path. */
  #states = new Map<string, QueueState>();
  /** Runs that are running or ending, by id: their path, and the key that they take. */
  readonly #underWay = new Map<number, { path: string; key: string | null }>();
  /** The number of handlers under way, by path. */
  readonly #running = new Map<string, number>();
  /** Runs whose end could not be written, or whose file was gone: they wait for the next load. */
  readonly #stuck = new Set<number>();
  /** Runs that are being deleted: they do not start. */
  readonly #withheld = new Set<number>();
  #alarm: Alarm | null = null;
  /** The last run that is on disk. */
  #writtenUntil = 0;
  readonly #fill = new CoalescedTask({ run: () => this.#fillAll(), after: () => this.#filled() });
  #isStopped = true;
  #idle = Promise.withResolvers<void>();

  constructor(options: QueueDispatcherOptions) {
    this.#options = options;
  }

  /** Runs up to this id are on disk, and are run from now on. */
  start(lastId: number): void {
    this.#isStopped = false;
    this.#writtenUntil = Math.max(this.#writtenUntil, lastId);
    this.lookAgain();
  }

  /** A run is on disk. */
  written(path: string, { id, notBefore }: Pick<QueueHead, "id" | "notBefore">): void {
    this.#writtenUntil = Math.max(this.#writtenUntil, id);
    const state = this.#states.get(path);
    if (state === undefined) return;
    this.#expect(state, notBefore);
    this.#fill.request();
  }

  /** Whether a run is under way. */
  isUnderWay(id: number): boolean {
    return this.#underWay.has(id);
  }

  /** Keeps a run from starting until `release`. Answers false for one that is under way. */
  withhold(id: number): boolean {
    if (this.isUnderWay(id) || this.#withheld.has(id)) return false;
    this.#withheld.add(id);
    return true;
  }

  /** A run that was withheld may start, if it is still in the table. */
  release(id: number): void {
    this.#withheld.delete(id);
    this.#startReady();
  }

  /** The ids of the runs of a file that are under way. */
  underWay(path: string): number[] {
    return [...this.#underWay].filter(([, run]) => run.path === path).map(([id]) => id);
  }

  /** Whether a run is due or under way. */
  get isBusy(): boolean {
    if (this.#isStopped) return false;
    if (this.#fill.isPending || this.#underWay.size > 0) return true;
    return [...this.#states.values()].some(({ ready, hasMore }) => ready.length > 0 || hasMore);
  }

  /** Replaces the queues. Runs of other files stay in the table. */
  use(queues: readonly QueueJob[]): void {
    this.#stuck.clear();
    this.#states = new Map(
      queues.map((queue) => [
        queue.path,
        { queue, ready: [], running: this.#running.get(queue.path) ?? 0, hasMore: true, nextTime: null },
      ]),
    );
    this.#fill.request();
  }

  /** Reads the table again, whatever is known: the clock or the rows were changed. */
  lookAgain(): void {
    for (const state of this.#states.values()) state.hasMore = true;
    this.#fill.request();
  }

  /** Starts no more runs. Resolves when none is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#alarm?.cancel();
    if (this.#underWay.size > 0) await this.#idle.promise;
  }

  #expect(state: QueueState, notBefore: number): void {
    if (notBefore <= this.#options.now()) state.hasMore = true;
    else state.nextTime = Math.min(state.nextTime ?? notBefore, notBefore);
  }

  /** Reads the table for everything that was written. */
  async #fillAll(): Promise<void> {
    if (this.#isStopped) return;
    try {
      this.#options.onLook();
      for (const state of this.#states.values()) if (this.#wants(state)) await this.#fillQueue(state);
    } catch (error) {
      this.#options.logger.error("The runs of queues could not be read", { error });
    }
  }

  #filled(): void {
    this.#startReady();
    this.#arm();
  }

  #wants(state: QueueState): boolean {
    const isDue = state.nextTime !== null && state.nextTime <= this.#options.now();
    return (state.hasMore || isDue) && state.ready.length <= lowMark;
  }

  async #fillQueue(state: QueueState): Promise<void> {
    const { table, now } = this.#options;
    const { path } = state.queue;
    const known = new Set(state.ready.map(({ id }) => id));
    // Runs that are known are still in the table, before the others.
    const passed = known.size + this.#stuck.size + this.underWay(path).length;
    const limit = passed + pageSize;
    const at = now();
    state.hasMore = false;
    const due = await table.due(path, { until: this.#writtenUntil, now: at, limit });
    state.nextTime = await table.nextTime(path, at);
    const found = due.filter(({ id }) => !known.has(id) && !this.#underWay.has(id) && !this.#stuck.has(id));
    state.ready.push(...found);
    if (due.length >= limit) state.hasMore = true;
  }

  /** Sets the alarm for the earliest run that is not due. */
  #arm(): void {
    this.#alarm?.cancel();
    this.#alarm = null;
    if (this.#isStopped) return;
    const times = [...this.#states.values()].flatMap(({ nextTime }) => (nextTime === null ? [] : [nextTime]));
    if (times.length === 0) return;
    const wait = Math.min(...times) - this.#options.now();
    // A queue that is full of ready runs looks again when it has room.
    const isLooking = wait <= 0 && ![...this.#states.values()].some((state) => this.#wants(state));
    if (isLooking) return;
    this.#alarm = this.#options.clock.lookAfter(Math.max(0, wait), () => this.#fill.request());
  }

  /** Starts one ready run of each queue in turn. */
  #startReady(): void {
    for (let hasStarted = true; hasStarted; ) {
      hasStarted = false;
      for (const state of this.#states.values()) {
        if (this.#isStopped || this.#underWay.size - this.#runningCount() >= maxEnding) return;
        if (!this.#hasRoom(state)) continue;
        const at = state.ready.findIndex((head) => this.#mayStart(state.queue.path, head));
        const [next] = at < 0 ? [] : state.ready.splice(at, 1);
        if (next === undefined) continue;
        void this.#run(state.queue, next);
        hasStarted = true;
      }
    }
  }

  #hasRoom({ queue, running }: QueueState): boolean {
    if (running >= queue.concurrency) return false;
    return running === 0 || this.#runningCount() < this.#options.width;
  }

  #runningCount(): number {
    let n = 0;
    for (const running of this.#running.values()) n += running;
    return n;
  }

  #mayStart(path: string, { id, key }: QueueHead): boolean {
    return !this.#withheld.has(id) && (key === null || !this.#isTaken(path, key));
  }

  #isTaken(path: string, key: string): boolean {
    for (const run of this.#underWay.values()) if (run.key === key && run.path === path) return true;
    return false;
  }

  async #run(queue: QueueJob, head: QueueHead): Promise<void> {
    const { path } = queue;
    this.#underWay.set(head.id, { path, key: head.key });
    this.#countRunning(path, 1);
    const { left, end } = this.#options.attempt(queue, head);
    await left;
    this.#countRunning(path, -1);
    this.#startReady();
    const next = await end;
    this.#underWay.delete(head.id);
    const state = this.#states.get(path);
    if (next === "stays") this.#stuck.add(head.id);
    else if (next !== "over" && state !== undefined) this.#expect(state, next.notBefore);
    if (this.#underWay.size === 0) {
      this.#idle.resolve();
      this.#idle = Promise.withResolvers<void>();
    }
    this.#startReady();
    if (state !== undefined && this.#wants(state)) this.#fill.request();
    else if (typeof next !== "string") this.#arm();
  }

  #countRunning(path: string, by: 1 | -1): void {
    const running = (this.#running.get(path) ?? 0) + by;
    if (running === 0) this.#running.delete(path);
    else this.#running.set(path, running);
    const state = this.#states.get(path);
    if (state !== undefined) state.running = running;
  }
}
