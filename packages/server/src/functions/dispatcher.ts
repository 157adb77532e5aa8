/**
 * The dispatcher: decides which delivery runs next. Files take turns, so that none waits for the queue of another.
 * Deliveries about one record run in the order of commits: those of an event start when all of the event before it are
 * over. This order holds for all deliveries of one file; between files, for those in memory.
 *
 *     in the table ──► in the queue of its file, held by its record's chain ──► ready ──► running ──► over
 *          ▲                         ▲                                                       │
 *          └──── stays ──────────────┴──────────────────── again, at a later time ───────────┘
 */
import type { Alarm, Clock } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { CoalescedTask } from "../runs/index.ts";
import type { Deliveries } from "./deliveries.ts";
import { eventSeqOf } from "./delivery-id.ts";
import type { DeliveryHead } from "./delivery-table.ts";
import { StartLimiter } from "./start-limiter.ts";

/** Deliveries of one file in memory, without their events; the others wait in the table. */
const windowSize = 1_000;
const pageSize = 250;
/** The longest wait for a next attempt, should the clock have been set back since its time was decided. */
const longestWaitMs = 600_000;
/** The share of the width that one file may take, so that a slow file leaves room for the others. */
const shareOfFile = 2 / 3;

/** The result of an attempt: the delivery is over, comes again at a later time, or stays in the table. */
export type Verdict = "over" | "stays" | { readonly again: DeliveryHead };

/** The deliveries of one file that are in memory. */
interface FileQueue {
  /** The handlers of the file, as `path:handler`. */
  readonly handlers: readonly string[];
  /** Deliveries that may start. */
  readonly ready: Set<DeliveryHead>;
  running: number;
  /** Deliveries that are running, ready, or held by a chain. */
  known: number;
  /** The id up to which the table has been read. */
  readUntil: number;
}

export class Dispatcher {
  readonly #deliveries: Deliveries;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #width: number;
  readonly #attempt: (delivery: DeliveryHead) => Promise<Verdict>;
  readonly #limiter = new StartLimiter(() => this.#startReady());
  /** By path. */
  #queues = new Map<string, FileQueue>();
  /** The chain of each record: its deliveries that are not over, in the order of commits. */
  readonly #chains = new Map<string, DeliveryHead[]>();
  /** By delivery, those that wait for the time of their next attempt. */
  readonly #alarms = new Map<number, Alarm>();
  /** By delivery, those that are running: the path of the file. */
  readonly #running = new Map<number, string>();
  /** Deliveries that were reopened while their failed attempt was still being recorded. */
  readonly #reopened = new Map<number, DeliveryHead>();
  /** The last delivery that is on disk. */
  #writtenUntil = 0;
  readonly #fill = new CoalescedTask({ run: () => this.#fillAll(), after: () => this.#startReady() });
  #isStopped = false;
  #idle = Promise.withResolvers<void>();

  constructor(options: {
    deliveries: Deliveries;
    clock: Clock;
    logger: Logger;
    /** Deliveries that run at a time. */
    width: number;
    /** Makes one attempt, and resolves when its result is on disk. Never rejects. */
    attempt: (delivery: DeliveryHead) => Promise<Verdict>;
  }) {
    this.#deliveries = options.deliveries;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#width = options.width;
    this.#attempt = options.attempt;
  }

  /** Deliveries up to this id are on disk. */
  written(id: number): void {
    this.#limiter.arrived();
    this.#writtenUntil = Math.max(this.#writtenUntil, id);
    this.#fill.request();
  }

  /**
   * A delivery that had failed waits again, behind the others of its record. While its file is not loaded, it stays in
   * the table.
   */
  reopened(delivery: DeliveryHead): void {
    const { id, path, subject } = delivery;
    this.#writtenUntil = Math.max(this.#writtenUntil, id);
    const queue = this.#queues.get(path);
    if (queue === undefined || this.#isStopped) return;
    if (id > queue.readUntil) {
      this.#fill.request();
      return;
    }
    const chain = this.#chains.get(subject);
    if (this.#running.has(id)) {
      // Its last attempt is recorded, and has not returned here yet.
      this.#reopened.set(id, delivery);
      return;
    }
    // The table may have been read since.
    if (chain?.some((each) => each.id === id) === true) return;
    queue.known += 1;
    if (chain !== undefined) {
      chain.push(delivery);
      return;
    }
    this.#chains.set(subject, [delivery]);
    this.#makeReady(delivery);
    this.#startReady();
  }

  /** The ids of the deliveries that are running. */
  running(): ReadonlySet<number> {
    return new Set(this.#running.keys());
  }

  /** Replaces the handlers, by the path of their file. Deliveries to other handlers stay in the table. */
  use(handlers: ReadonlyMap<string, readonly string[]>): void {
    for (const alarm of this.#alarms.values()) alarm.cancel();
    this.#alarms.clear();
    for (const [subject, chain] of this.#chains) {
      const running = chain.filter(({ id }) => this.#running.has(id));
      if (running.length === 0) this.#chains.delete(subject);
      else this.#chains.set(subject, running);
    }
    this.#queues = new Map();
    for (const [path, names] of handlers) {
      const running = [...this.#running.values()].filter((each) => each === path).length;
      this.#queues.set(path, { handlers: names, ready: new Set(), running, known: running, readUntil: 0 });
    }
    this.#fill.request();
  }

  /** Starts no more deliveries. Resolves when none is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const alarm of this.#alarms.values()) alarm.cancel();
    if (this.#running.size > 0) await this.#idle.promise;
  }

  /** Whether a delivery is running, or waits for anything but a later time. */
  get isBusy(): boolean {
    if (this.#isStopped) return false;
    if (this.#fill.isPending || this.#running.size > 0) return true;
    return [...this.#queues.values()].some((queue) => queue.ready.size > 0 || queue.readUntil < this.#writtenUntil);
  }

  /** Resolves when no delivery is running, and none waits but for a later time. */
  async settled(): Promise<void> {
    while (this.isBusy) await Bun.sleep(5);
  }

  /**
   * Reads the table, as far as there is room in memory. Nothing starts before the queue of every file has been filled.
   */
  async #fillAll(): Promise<void> {
    if (this.#isStopped) return;
    try {
      const queues = this.#queues;
      for (const queue of queues.values()) await this.#fillQueue(queue, () => this.#queues === queues);
    } catch (error) {
      this.#logger.error("Deliveries could not be read", { error });
    }
  }

  async #fillQueue(queue: FileQueue, isCurrent: () => boolean): Promise<void> {
    while (queue.readUntil < this.#writtenUntil && queue.known < windowSize) {
      const until = this.#writtenUntil;
      const { readUntil: after, handlers } = queue;
      const page = await this.#deliveries.page({ after, until, limit: pageSize, handlers });
      // The handlers were replaced meanwhile, and everything is read again.
      if (!isCurrent()) return;
      queue.readUntil = page.length < pageSize ? until : (page.at(-1)?.id ?? until);
      for (const delivery of page) if (!this.#running.has(delivery.id)) this.#admit(delivery, queue);
    }
  }

  #admit(delivery: DeliveryHead, queue: FileQueue): void {
    const chain = this.#chains.get(delivery.subject);
    // A delivery that was running while the handlers were replaced, and comes again, is in the chain already.
    if (chain?.some(({ id }) => id === delivery.id) === true) return;
    queue.known += 1;
    if (chain === undefined) {
      this.#chains.set(delivery.subject, [delivery]);
      this.#makeReady(delivery);
      return;
    }
    // Queues are filled one after the other, so a later one may bring an earlier event.
    const at = chain.findIndex(({ id }) => id > delivery.id);
    chain.splice(at < 0 ? chain.length : at, 0, delivery);
    if (sameEvent(chain[0], delivery)) this.#makeReady(delivery);
    const next = chain[at + 1];
    if (at >= 0 && next !== undefined && !sameEvent(next, delivery)) this.#holdBack(chain.slice(at + 1));
  }

  #makeReady(delivery: DeliveryHead): void {
    if (this.#running.has(delivery.id) || this.#alarms.has(delivery.id)) return;
    const wait = delivery.notBefore === 0 ? 0 : Math.min(delivery.notBefore - Date.now(), longestWaitMs);
    if (wait <= 0) {
      this.#queues.get(delivery.path)?.ready.add(delivery);
      return;
    }
    const alarm = this.#clock.after(wait, () => {
      this.#alarms.delete(delivery.id);
      this.#queues.get(delivery.path)?.ready.add(delivery);
      this.#startReady();
    });
    this.#alarms.set(delivery.id, alarm);
  }

  /** An earlier event of the record has come in before these. */
  #holdBack(deliveries: readonly DeliveryHead[]): void {
    for (const delivery of deliveries) {
      this.#queues.get(delivery.path)?.ready.delete(delivery);
      this.#alarms.get(delivery.id)?.cancel();
      this.#alarms.delete(delivery.id);
    }
  }

  /** Starts one ready delivery of each file in turn, until the width is reached. */
  #startReady(): void {
    if (this.#fill.isRunning) return;
    const share = Math.max(1, Math.floor(this.#width * shareOfFile));
    for (let hasStarted = true; hasStarted; ) {
      hasStarted = false;
      for (const queue of this.#queues.values()) {
        if (this.#isStopped || this.#running.size >= this.#width) return;
        const [next] = queue.ready;
        if (next === undefined || queue.running >= share) continue;
        if (!this.#limiter.take()) return;
        queue.ready.delete(next);
        void this.#start(next);
        hasStarted = true;
      }
    }
  }

  async #start(delivery: DeliveryHead): Promise<void> {
    this.#running.set(delivery.id, delivery.path);
    const queue = this.#queues.get(delivery.path);
    if (queue !== undefined) queue.running += 1;
    const verdict = await this.#attempt(delivery);
    this.#running.delete(delivery.id);
    const reopened = this.#reopened.get(delivery.id);
    this.#reopened.delete(delivery.id);
    // The handlers may have been replaced meanwhile, and the queue with them.
    const current = this.#queues.get(delivery.path);
    if (current !== undefined) current.running -= 1;
    if (verdict !== "over" && verdict !== "stays") this.#again(delivery, verdict.again);
    else if (reopened !== undefined) this.#again(delivery, reopened);
    else this.#leave(delivery);
    if (this.#running.size === 0) {
      this.#idle.resolve();
      this.#idle = Promise.withResolvers<void>();
    }
    this.#startReady();
    if (current !== undefined && current.readUntil < this.#writtenUntil && current.known <= windowSize - pageSize)
      this.#fill.request();
  }

  /**
   * Takes a delivery out of its chain. When it was the last of its event, those of the record's next event are ready.
   */
  #leave(delivery: DeliveryHead): void {
    const queue = this.#queues.get(delivery.path);
    if (queue !== undefined) queue.known -= 1;
    const chain = this.#chains.get(delivery.subject) ?? [];
    const at = chain.findIndex(({ id }) => id === delivery.id);
    if (at < 0) return;
    chain.splice(at, 1);
    const [first] = chain;
    if (first === undefined) this.#chains.delete(delivery.subject);
    else for (const next of chain) if (sameEvent(next, first)) this.#makeReady(next);
  }

  #again(delivery: DeliveryHead, again: DeliveryHead): void {
    // The delivery stays in the table until its file is loaded again.
    if (!this.#queues.has(delivery.path)) {
      this.#leave(delivery);
      return;
    }
    const chain = this.#chains.get(delivery.subject) ?? [];
    const at = chain.findIndex(({ id }) => id === delivery.id);
    if (at < 0) return;
    chain[at] = again;
    this.#makeReady(again);
  }
}

function sameEvent(a: DeliveryHead | undefined, b: DeliveryHead): boolean {
  return a !== undefined && eventSeqOf(a) === eventSeqOf(b);
}
