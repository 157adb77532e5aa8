import type { Logger } from "../logging/index.ts";
import { type Deliveries, type DeliveryHead, eventSeqOf } from "./deliveries.ts";
import { Pace } from "./pace.ts";

/** Deliveries of one file that are known in memory, without their events; the others wait in the table. */
const windowSize = 1_000;
const pageSize = 250;
/** Should the clock have been set back since a pause was decided. */
const longestWaitMs = 600_000;
/** The part of all places that one file may take, so that a slow one leaves room for the others. */
const shareOfFile = 2 / 3;

/** What became of an attempt: the delivery is over, comes again at a later time, or stays in the table. */
export type Verdict = "over" | "stays" | { readonly again: DeliveryHead };

/** The deliveries of one file. */
interface Line {
  /** Its handlers, as `path:handler`. */
  readonly handlers: readonly string[];
  /** Those whose turn it is. */
  readonly ready: Set<DeliveryHead>;
  running: number;
  /** Known in memory: those that run, are ready, or wait. */
  known: number;
  readUntil: number;
}

/**
 * Decides whose turn it is. Files take turns, so that none waits for the queue of another. Deliveries about one record go
 * in the order of commits: those of an event start when all of the event before it are over. That holds for all of one
 * file; between files, for those that are in memory.
 *
 * A delivery is: in the table → in the line of its file, where the chain of its record holds it → ready → running → over.
 */
export class Dispatcher {
  readonly #deliveries: Deliveries;
  readonly #logger: Logger;
  readonly #width: number;
  readonly #attempt: (delivery: DeliveryHead) => Promise<Verdict>;
  readonly #pace = new Pace(() => this.#pump());
  /** By path. */
  #lines = new Map<string, Line>();
  /** By record, in the order of commits: what is not over. */
  readonly #chains = new Map<string, DeliveryHead[]>();
  readonly #timers = new Map<number, Timer>();
  /** The path of each that runs, by its id. */
  readonly #running = new Map<number, string>();
  /** Runs that are to be made again, and whose last attempt is not over here. */
  readonly #reopened = new Map<number, DeliveryHead>();
  /** The last delivery that is on disk. */
  #writtenUntil = 0;
  #isFilling = false;
  #willFill = false;
  #isStopped = false;
  #idle = Promise.withResolvers<void>();

  constructor(options: {
    deliveries: Deliveries;
    logger: Logger;
    /** Deliveries that run at a time. */
    width: number;
    /** Runs one, and resolves when what became of it is on disk. Never rejects. */
    attempt: (delivery: DeliveryHead) => Promise<Verdict>;
  }) {
    this.#deliveries = options.deliveries;
    this.#logger = options.logger;
    this.#width = options.width;
    this.#attempt = options.attempt;
  }

  /** Deliveries up to this id are on disk. */
  written(id: number): void {
    this.#pace.arrived();
    this.#writtenUntil = Math.max(this.#writtenUntil, id);
    this.#fillSoon();
  }

  /**
   * One that was over is not any more. It comes after what is known about its record; while its file is not loaded, it
   * waits in the table.
   */
  reopened(delivery: DeliveryHead): void {
    const { id, path, subject } = delivery;
    this.#writtenUntil = Math.max(this.#writtenUntil, id);
    const line = this.#lines.get(path);
    if (line === undefined || this.#isStopped) return;
    if (id > line.readUntil) {
      this.#fillSoon();
      return;
    }
    const chain = this.#chains.get(subject);
    if (this.#running.has(id)) {
      // Its last attempt has just been written down, and is not over here.
      this.#reopened.set(id, delivery);
      return;
    }
    // A look into the table may have brought it already.
    if (chain?.some((each) => each.id === id) === true) return;
    line.known += 1;
    if (chain !== undefined) {
      chain.push(delivery);
      return;
    }
    this.#chains.set(subject, [delivery]);
    this.#makeReady(delivery);
    this.#pump();
  }

  /** The ids of those that run. */
  running(): ReadonlySet<number> {
    return new Set(this.#running.keys());
  }

  /** From now on these handlers, by the path of their file, can be run; what waits for others stays in the table. */
  use(handlers: ReadonlyMap<string, readonly string[]>): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    for (const [subject, chain] of this.#chains) {
      const running = chain.filter(({ id }) => this.#running.has(id));
      if (running.length === 0) this.#chains.delete(subject);
      else this.#chains.set(subject, running);
    }
    this.#lines = new Map();
    for (const [path, names] of handlers) {
      const running = [...this.#running.values()].filter((each) => each === path).length;
      this.#lines.set(path, { handlers: names, ready: new Set(), running, known: running, readUntil: 0 });
    }
    this.#fillSoon();
  }

  /** Starts no more. Resolves when nothing runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    if (this.#running.size > 0) await this.#idle.promise;
  }

  /** Resolves when nothing runs, and nothing waits but for a later time. */
  async settled(): Promise<void> {
    const isBusy = (): boolean =>
      this.#isFilling ||
      this.#willFill ||
      this.#running.size > 0 ||
      [...this.#lines.values()].some((line) => line.ready.size > 0 || line.readUntil < this.#writtenUntil);
    while (!this.#isStopped && isBusy()) await Bun.sleep(5);
  }

  /** Once for all that was written in this turn of the loop. */
  #fillSoon(): void {
    if (this.#willFill || this.#isStopped) return;
    this.#willFill = true;
    setImmediate(() => {
      this.#willFill = false;
      void this.#fill();
    });
  }

  /** Reads what waits in the table, as far as there is room; nothing starts before every line has been looked at. */
  async #fill(): Promise<void> {
    if (this.#isFilling || this.#isStopped) return;
    this.#isFilling = true;
    try {
      const lines = this.#lines;
      for (const line of lines.values()) await this.#fillLine(line, () => this.#lines === lines);
    } catch (error) {
      this.#logger.error("What functions are to be run for could not be read", { error });
    } finally {
      this.#isFilling = false;
    }
    this.#pump();
  }

  async #fillLine(line: Line, isCurrent: () => boolean): Promise<void> {
    while (line.readUntil < this.#writtenUntil && line.known < windowSize) {
      const until = this.#writtenUntil;
      const { readUntil: after, handlers } = line;
      const page = await this.#deliveries.page({ after, until, limit: pageSize, handlers });
      // The files have changed meanwhile, and everything is read again.
      if (!isCurrent()) return;
      line.readUntil = page.length < pageSize ? until : (page.at(-1)?.id ?? until);
      for (const delivery of page) if (!this.#running.has(delivery.id)) this.#admit(delivery, line);
    }
  }

  #admit(delivery: DeliveryHead, line: Line): void {
    const chain = this.#chains.get(delivery.subject);
    // One that ran while the files were loaded again, and is to be tried again, is there already.
    if (chain?.some(({ id }) => id === delivery.id) === true) return;
    line.known += 1;
    if (chain === undefined) {
      this.#chains.set(delivery.subject, [delivery]);
      this.#makeReady(delivery);
      return;
    }
    // Lines are read one after the other, so a later one may bring an earlier event.
    const at = chain.findIndex(({ id }) => id > delivery.id);
    chain.splice(at < 0 ? chain.length : at, 0, delivery);
    if (sameEvent(chain[0], delivery)) this.#makeReady(delivery);
    const next = chain[at + 1];
    if (at >= 0 && next !== undefined && !sameEvent(next, delivery)) this.#holdBack(chain.slice(at + 1));
  }

  #makeReady(delivery: DeliveryHead): void {
    if (this.#running.has(delivery.id) || this.#timers.has(delivery.id)) return;
    const wait = delivery.notBefore === 0 ? 0 : Math.min(delivery.notBefore - Date.now(), longestWaitMs);
    if (wait <= 0) {
      this.#lines.get(delivery.path)?.ready.add(delivery);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(delivery.id);
      this.#lines.get(delivery.path)?.ready.add(delivery);
      this.#pump();
    }, wait);
    this.#timers.set(delivery.id, timer.unref());
  }

  /** An earlier event has come in before these. */
  #holdBack(deliveries: readonly DeliveryHead[]): void {
    for (const delivery of deliveries) {
      this.#lines.get(delivery.path)?.ready.delete(delivery);
      clearTimeout(this.#timers.get(delivery.id));
      this.#timers.delete(delivery.id);
    }
  }

  /** One of each file in turn, until all places are taken. */
  #pump(): void {
    if (this.#isFilling) return;
    const share = Math.max(1, Math.floor(this.#width * shareOfFile));
    for (let hasStarted = true; hasStarted; ) {
      hasStarted = false;
      for (const line of this.#lines.values()) {
        if (this.#isStopped || this.#running.size >= this.#width) return;
        const [next] = line.ready;
        if (next === undefined || line.running >= share) continue;
        if (!this.#pace.take()) return;
        line.ready.delete(next);
        void this.#start(next);
        hasStarted = true;
      }
    }
  }

  async #start(delivery: DeliveryHead): Promise<void> {
    this.#running.set(delivery.id, delivery.path);
    const line = this.#lines.get(delivery.path);
    if (line !== undefined) line.running += 1;
    const verdict = await this.#attempt(delivery);
    this.#running.delete(delivery.id);
    const reopened = this.#reopened.get(delivery.id);
    this.#reopened.delete(delivery.id);
    // The files may have changed meanwhile: the line of then is not that of now.
    const current = this.#lines.get(delivery.path);
    if (current !== undefined) current.running -= 1;
    if (verdict !== "over" && verdict !== "stays") this.#again(delivery, verdict.again);
    else if (reopened !== undefined) this.#again(delivery, reopened);
    else this.#leave(delivery);
    if (this.#running.size === 0) {
      this.#idle.resolve();
      this.#idle = Promise.withResolvers<void>();
    }
    this.#pump();
    if (current !== undefined && current.readUntil < this.#writtenUntil && current.known <= windowSize - pageSize)
      this.#fillSoon();
  }

  /** The next event about the same record has its turn when this was the last delivery of its own. */
  #leave(delivery: DeliveryHead): void {
    const line = this.#lines.get(delivery.path);
    if (line !== undefined) line.known -= 1;
    const chain = this.#chains.get(delivery.subject) ?? [];
    const at = chain.findIndex(({ id }) => id === delivery.id);
    if (at < 0) return;
    chain.splice(at, 1);
    const [first] = chain;
    if (first === undefined) this.#chains.delete(delivery.subject);
    else for (const next of chain) if (sameEvent(next, first)) this.#makeReady(next);
  }

  #again(delivery: DeliveryHead, again: DeliveryHead): void {
    // The table has it, for when the file is back.
    if (!this.#lines.has(delivery.path)) {
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
