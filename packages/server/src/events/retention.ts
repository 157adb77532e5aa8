/** Retention: trims the event log by age, count and bytes, in small steps. */
import type { Database } from "../database/index.ts";
import type { Clock } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import type { EventLog } from "./event-log.ts";
import { lastUntil, newestSeq, oldestEvent, trimEvents } from "./event-table.ts";

/** Rows that one transaction removes: small enough that a write which waits for it does not notice. */
const step = 500;
/**
 * Events of a clock that was ahead that are looked past for one that tells their age; more stay until they are too
 * many.
 */
const aheadStep = 10_000;
/** Bytes of events that one transaction removes, about. */
const stepBytes = 8 * 1024 ** 2;
const everyMs = 10_000;

export class EventRetention {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #maxAgeMs: number;
  readonly #maxCount: number;
  readonly #maxBytes: number;
  #isRunning = false;
  #timer: Timer | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(options: {
    database: Database;
    events: EventLog;
    clock: Clock;
    logger: Logger;
    maxAgeMs: number;
    maxCount: number;
    maxBytes: number;
  }) {
    this.#database = options.database;
    this.#events = options.events;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#maxAgeMs = options.maxAgeMs;
    this.#maxCount = options.maxAgeMs === 0 ? 0 : options.maxCount;
    this.#maxBytes = options.maxBytes;
  }

  /** Trims every few seconds, and at once when the log grows, which may be faster. */
  start(signal: AbortSignal): void {
    const run = (): void => {
      if (this.#isRunning || signal.aborted) return;
      this.#isRunning = true;
      clearTimeout(this.#timer ?? undefined);
      this.#running = this.trim(signal).catch((error) => {
        if (!signal.aborted) this.#logger.error("The event log could not be trimmed", { error });
      });
      this.#running.then(() => {
        this.#isRunning = false;
        if (!signal.aborted) this.#timer = setTimeout(run, everyMs).unref();
      });
    };
    this.#timer = setTimeout(run, everyMs).unref();
    this.#events.onGrowth(run);
    signal.addEventListener("abort", () => clearTimeout(this.#timer ?? undefined), { once: true });
  }

  /** Resolves when no trimming is under way. */
  settled(): Promise<void> {
    return this.#running;
  }

  /** Removes, in small steps, every event that is too old, too many, or beyond the bytes that are kept. */
  async trim(signal?: AbortSignal): Promise<void> {
    while (signal?.aborted !== true && (await this.#trimStep())) {
      // Between two steps the writes that wait get their turn.
      await Bun.sleep(5);
    }
  }

  /** Answers whether there may be more to remove. */
  async #trimStep(): Promise<boolean> {
    const border = await this.#border();
    if (border === null) return false;
    return this.#database.transact(async (tx) => {
      const until = Math.min(border, (await this.#events.size.seqAfter(tx, stepBytes)) ?? border);
      const trim = await trimEvents(tx, { until, limit: step }, (first, last) =>
        this.#events.beforeTrim(tx, first, last),
      );
      await this.#events.trimmed(tx, trim);
      return true;
    });
  }

  /** The newest seq that must go, or null when none must. */
  async #border(): Promise<number | null> {
    const { reader } = this.#database;
    const first = await oldestEvent(reader);
    if (first === null) return null;
    const byCount = ((await newestSeq(reader)) ?? 0) - this.#maxCount;
    const now = this.#clock.now();
    const horizon = now - this.#maxAgeMs;
    let byAge = 0;
    // Events of a clock that was ahead say nothing about their age: the first ones after them do.
    const isAhead = first.at > now;
    if (first.at < horizon || this.#maxAgeMs === 0 || isAhead) {
      // Only as far as one step goes: there is no index on the time, and none is needed.
      byAge = (await lastUntil(reader, horizon, isAhead ? aheadStep : step)) ?? 0;
    }
    const byBytes = await this.#events.size.seqBeyond(reader, this.#maxBytes);
    const border = Math.max(byCount, byAge, byBytes);
    return border >= first.seq ? border : null;
  }
}
