/** Retention: trims the event log by age, count and bytes, in small steps. */

import type { Clock } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database } from "../database/index.ts";
import type { EventLog } from "./event-log.ts";
import { lastUntil, newestSeq, oldestEvent, trimEvents } from "./event-table.ts";
import { EventTime } from "./event-time.ts";
import { markAfter } from "./sql/size-marks.ts";

/** Rows that a transaction removes: so few that a waiting write is not delayed noticeably. */
const step = 500;
/**
 * The number of events with a future time that a step skips to find an event of known age. If more events have a future
 * time, the events stay until the log is over its count or its bytes.
 */
const aheadStep = 10_000;
/** The approximate bytes of events that a transaction removes. */
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
  readonly #time: EventTime;
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
    this.#time = new EventTime(options.database, options.clock);
  }

  /** Trims every few seconds, and at once when the log grows: growth may be faster than the interval. */
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

  /** Resolves when no trimming runs. */
  settled(): Promise<void> {
    return this.#running;
  }

  /** Removes, in small steps, every event beyond the maximum age, count or bytes. */
  async trim(signal?: AbortSignal): Promise<void> {
    await this.#time.advance();
    while (signal?.aborted !== true && (await this.#trimStep())) {
      // Waiting writes run between two steps.
      await Bun.sleep(5);
    }
  }

  /** Answers whether more events may have to be removed. */
  async #trimStep(): Promise<boolean> {
    const border = this.#border();
    if (border === null) return false;
    return this.#database.transact((tx) => {
      const until = Math.min(border, markAfter(tx, stepBytes)?.seq ?? border);
      const trim = trimEvents(tx, { until, limit: step }, (first, last) => this.#events.beforeTrim(tx, first, last));
      this.#events.trimmed(tx, trim);
      return true;
    });
  }

  /** The newest seq to remove, or null. */
  #border(): number | null {
    const { reader } = this.#database;
    const first = oldestEvent(reader);
    if (first === null) return null;
    const byCount = (newestSeq(reader) ?? 0) - this.#maxCount;
    const now = this.#clock.now();
    const horizon = Math.min(now, this.#time.now) - this.#maxAgeMs;
    let byAge = 0;
    // After the clock was ahead, events carry future times that do not tell their age: the first events after these do.
    const isAhead = first.at > now;
    if (first.at < horizon || this.#maxAgeMs === 0 || isAhead) {
      // Only as far as a single step removes: the time needs no index then.
      byAge = lastUntil(reader, { horizon, now, limit: isAhead ? aheadStep : step }) ?? 0;
    }
    const byBytes = this.#events.seqBeyond(reader, this.#maxBytes);
    const border = Math.max(byCount, byAge, byBytes);
    return border >= first.seq ? border : null;
  }
}
