import type { Logger } from "../logging/index.ts";
import { type Deliveries, type DeliveryHead, eventSeqOf } from "./deliveries.ts";
import { Pace } from "./pace.ts";

/** Deliveries that are known in memory, without their events; the others wait in the table. */
const windowSize = 5_000;
const pageSize = 500;
/** The part of all places that the deliveries of one file may take, so that a slow one leaves room for the others. */
const shareOfFile = 2 / 3;

/** What became of an attempt: the delivery is over, or comes again at a later time, or the service stops. */
export type Verdict = "over" | "stopped" | { readonly again: DeliveryHead };

/** A file's deliveries whose turn it is, and how many of it run. */
interface Line {
  readonly ready: Set<DeliveryHead>;
  running: number;
}

/**
 * Decides whose turn it is. Deliveries about one record go in the order of commits: those of an event start when all of
 * the event before it are over. Files take turns, so that none waits for the queue of another.
 *
 * A delivery is: in the table → in the window, where the chain of its record holds it → ready → running → over.
 */
export class Dispatcher {
  readonly #deliveries: Deliveries;
  readonly #logger: Logger;
  readonly #width: number;
  readonly #attempt: (delivery: DeliveryHead) => Promise<Verdict>;
  /** By record, in the order of commits: what is not over. */
  readonly #chains = new Map<string, DeliveryHead[]>();
  readonly #lines = new Map<string, Line>();
  readonly #timers = new Map<number, Timer>();
  readonly #runningIds = new Set<number>();
  /** What can be run, as `path:handler`. */
  #handlers: readonly string[] = [];
  #inWindow = 0;
  #readUntil = 0;
  /** The last delivery that is on disk. */
  #writtenUntil = 0;
  #isFilling = false;
  #willFill = false;
  readonly #pace = new Pace(() => this.#pump());
  #isStopped = false;
  #idle = Promise.withResolvers<void>();

  constructor(options: {
    deliveries: Deliveries;
    logger: Logger;
    /** Deliveries that run at a time. */
    width: number;
    /** Runs one; never rejects. */
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

  /** From now on these handlers, as `path:handler`, can be run; what waits for others stays in the table. */
  use(handlers: readonly string[]): void {
    this.#handlers = handlers;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    for (const line of this.#lines.values()) line.ready.clear();
    for (const [subject, chain] of this.#chains) {
      const running = chain.filter(({ id }) => this.#runningIds.has(id));
      this.#inWindow -= chain.length - running.length;
      if (running.length === 0) this.#chains.delete(subject);
      else this.#chains.set(subject, running);
    }
    this.#readUntil = 0;
    this.#fill();
  }

  /** Starts no more. Resolves when nothing runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    if (this.#runningIds.size > 0) await this.#idle.promise;
  }

  /** Resolves when nothing waits but for a later time. */
  async settled(): Promise<void> {
    while (!this.#isStopped && (this.#isFilling || this.#runningIds.size > 0 || this.#readUntil < this.#writtenUntil))
      await Bun.sleep(5);
  }

  /** Once for all that was written in this turn of the loop. */
  #fillSoon(): void {
    if (this.#isFilling || this.#willFill || this.#inWindow >= windowSize) return;
    this.#willFill = true;
    setImmediate(() => {
      this.#willFill = false;
      this.#fill();
    });
  }

  /** Reads what waits in the table, as far as there is room. */
  async #fill(): Promise<void> {
    if (this.#isFilling || this.#isStopped) return;
    this.#isFilling = true;
    try {
      while (this.#readUntil < this.#writtenUntil && this.#inWindow < windowSize && this.#handlers.length > 0) {
        const until = this.#writtenUntil;
        const handlers = this.#handlers;
        const page = await this.#deliveries.page({ after: this.#readUntil, until, limit: pageSize, handlers });
        if (handlers !== this.#handlers) continue;
        this.#readUntil = page.length < pageSize ? until : (page.at(-1)?.id ?? until);
        for (const delivery of page) if (!this.#runningIds.has(delivery.id)) this.#admit(delivery);
        this.#pump();
      }
    } catch (error) {
      this.#logger.error("What functions are to be run for could not be read", { error });
    } finally {
      this.#isFilling = false;
    }
  }

  #admit(delivery: DeliveryHead): void {
    this.#inWindow += 1;
    const chain = this.#chains.get(delivery.subject);
    if (chain === undefined) this.#chains.set(delivery.subject, [delivery]);
    else chain.push(delivery);
    if (chain === undefined || sameEvent(chain[0], delivery)) this.#makeReady(delivery);
  }

  #makeReady(delivery: DeliveryHead): void {
    const wait = delivery.notBefore === 0 ? 0 : delivery.notBefore - Date.now();
    if (wait <= 0) {
      this.#lineOf(delivery.path).ready.add(delivery);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(delivery.id);
      this.#lineOf(delivery.path).ready.add(delivery);
      this.#pump();
    }, wait);
    this.#timers.set(delivery.id, timer.unref());
  }

  #lineOf(path: string): Line {
    let line = this.#lines.get(path);
    if (line === undefined) {
      line = { ready: new Set(), running: 0 };
      this.#lines.set(path, line);
    }
    return line;
  }

  /** One of each file in turn, until all places are taken. */
  #pump(): void {
    const share = Math.max(1, Math.floor(this.#width * shareOfFile));
    for (let hasStarted = true; hasStarted; ) {
      hasStarted = false;
      for (const line of this.#lines.values()) {
        if (this.#isStopped || this.#runningIds.size >= this.#width) return;
        const [next] = line.ready;
        if (next === undefined || line.running >= share) continue;
        if (!this.#pace.take()) return;
        line.ready.delete(next);
        this.#start(next, line);
        hasStarted = true;
      }
    }
  }

  async #start(delivery: DeliveryHead, line: Line): Promise<void> {
    line.running += 1;
    this.#runningIds.add(delivery.id);
    const verdict = await this.#attempt(delivery);
    line.running -= 1;
    this.#runningIds.delete(delivery.id);
    if (verdict === "over") this.#leave(delivery);
    else if (verdict !== "stopped") this.#again(delivery, verdict.again);
    if (this.#runningIds.size === 0) {
      this.#idle.resolve();
      this.#idle = Promise.withResolvers<void>();
    }
    this.#pump();
    this.#fillSoon();
  }

  /** The next event about the same record has its turn when this was the last delivery of its own. */
  #leave(delivery: DeliveryHead): void {
    const chain = this.#chains.get(delivery.subject) ?? [];
    const at = chain.indexOf(delivery);
    if (at < 0) return;
    chain.splice(at, 1);
    this.#inWindow -= 1;
    const [first] = chain;
    if (first === undefined) this.#chains.delete(delivery.subject);
    else if (!sameEvent(first, delivery))
      for (const next of chain.filter((each) => sameEvent(each, first))) this.#makeReady(next);
  }

  #again(delivery: DeliveryHead, again: DeliveryHead): void {
    const chain = this.#chains.get(delivery.subject) ?? [];
    const at = chain.indexOf(delivery);
    if (at < 0) return;
    chain[at] = again;
    this.#makeReady(again);
  }
}

function sameEvent(a: DeliveryHead | undefined, b: DeliveryHead): boolean {
  return a !== undefined && eventSeqOf(a) === eventSeqOf(b);
}
