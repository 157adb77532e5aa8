/** Retention: trims the event log by age, count and bytes, and the audit by age and count, in small steps. */
import type { Config } from "../../base/config/index.ts";
import type { Clock } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database } from "../database/index.ts";
import { isAuditFull, trimAudit } from "./audit-table.ts";
import type { EventLog } from "./event-log.ts";
import { lastUntil, newestEvent, oldestEvent, storedTime, storeTime } from "./event-table.ts";
import { hasOldRequests, trimRequests } from "./request-table.ts";
import { firstMark, markFrom } from "./size-mark-table.ts";

/** Rows that a transaction removes: so few that a waiting write is not delayed noticeably. */
const step = 500;
/**
 * The number of events with a future time that a step skips to find an event of known age. If more events have a future
 * time, the events stay until the log is over the count or the bytes.
 */
const aheadStep = 10_000;
/** The approximate bytes of events that a transaction removes. */
const stepBytes = 8 * 1024 ** 2;
const everyMs = 10_000;

/**
 * Milliseconds by which the event time moves in a real millisecond at most: more than a millisecond, to catch up after the
 * service was off.
 */
const pace = 2;
/** The stored time is written again when the event time has moved by so much. */
const storeEveryMs = 600_000;

/**
 * The time by which the retention counts the age of events. A clock that jumps must not make events old, so the event time
 * follows the clock by at most twice the time that has really passed, also across restarts.
 */
class EventTime {
  readonly #database: Database;
  readonly #clock: Clock;
  #stored: number | null = null;
  #time: number | null = null;
  #lookedAt: number;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    this.#lookedAt = clock.steady();
  }

  /** Milliseconds since 1970. */
  get now(): number {
    return this.#time ?? this.#begin();
  }

  /** Follows the clock. To be called before events are removed. */
  async advance(): Promise<void> {
    const steady = this.#clock.steady();
    const most = pace * (steady - this.#lookedAt);
    this.#lookedAt = steady;
    const [time, now] = [this.now, this.#clock.now()];
    const followed = time + Math.max(-most, Math.min(most, now - time));
    // The service was off until the oldest event that is left: nothing is lost when the event time skips the gap.
    const oldest = oldestEvent(this.#database.reader)?.at ?? 0;
    const moved = Math.round(oldest > now ? followed : Math.max(followed, oldest));
    this.#time = moved;
    if (this.#stored !== null && Math.abs(moved - this.#stored) < storeEveryMs) return;
    await this.#database.upkeep((tx) => storeTime(tx, moved));
    this.#stored = moved;
  }

  /**
   * The stored time; in a log without a stored time, the time of the newest event, which a clock that has jumped since
   * does not change.
   */
  #begin(): number {
    const { reader } = this.#database;
    this.#stored = storedTime(reader);
    this.#time = this.#stored ?? newestEvent(reader)?.at ?? this.#clock.now();
    return this.#time;
  }
}

interface EventRetentionOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The audit keeps some of the events that the log removes. With an age of 0, no event stays. */
  readonly config: Pick<
    Config,
    "audit.maxCount" | "audit.retention" | "events.maxBytes" | "events.maxCount" | "events.retention"
  >;
}

export class EventRetention {
  readonly #options: EventRetentionOptions;
  readonly #time: EventTime;
  #isRunning = false;
  #timer: Timer | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(options: EventRetentionOptions) {
    this.#options = options;
    this.#time = new EventTime(options.database, options.clock);
  }

  /** Trims every few seconds, and at once when the log grows: growth may be faster than the interval. */
  start(signal: AbortSignal): void {
    const run = (): void => {
      if (this.#isRunning || signal.aborted) return;
      this.#isRunning = true;
      clearTimeout(this.#timer ?? undefined);
      this.#running = this.trim(signal).catch((error) => {
        if (!signal.aborted) this.#options.logger.error("The event log could not be trimmed", { error });
      });
      this.#running.then(() => {
        this.#isRunning = false;
        if (!signal.aborted) this.#timer = setTimeout(run, everyMs).unref();
      });
    };
    this.#timer = setTimeout(run, everyMs).unref();
    this.#options.events.onGrowth(run);
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
    while (signal?.aborted !== true && (await this.#trimAudit())) await Bun.sleep(5);
    while (signal?.aborted !== true && (await this.#trimRequests())) await Bun.sleep(5);
  }

  /** Answers whether more events may have to be removed. */
  async #trimStep(): Promise<boolean> {
    const { database, events } = this.#options;
    const border = this.#border();
    if (border === null) return false;
    return database.upkeep((tx) => {
      const mark = markFrom(tx, (firstMark(tx)?.total ?? 0) + stepBytes);
      events.trim(tx, { until: Math.min(border, mark?.seq ?? border), limit: step });
      return true;
    });
  }

  /** Answers whether more entries of the audit may have to be removed. */
  async #trimAudit(): Promise<boolean> {
    const { database, clock, config } = this.#options;
    const horizon = Math.min(clock.now(), this.#time.now) - config["audit.retention"];
    const maxCount = config["audit.maxCount"];
    if (!isAuditFull(database.reader, horizon, maxCount)) return false;
    await database.upkeep((tx) => trimAudit(tx, horizon, maxCount));
    return true;
  }

  /** Removes requests from before the oldest event, and beyond the number of events. Answers whether more may have to be removed. */
  async #trimRequests(): Promise<boolean> {
    const { database, clock, config } = this.#options;
    const maxAgeMs = config["events.retention"];
    const byAge = Math.min(clock.now(), this.#time.now) - maxAgeMs;
    const before = Math.max(byAge, oldestEvent(database.reader)?.at ?? 0);
    const old = { before, keep: maxAgeMs === 0 ? 0 : config["events.maxCount"] };
    if (!hasOldRequests(database.reader, old)) return false;
    await database.upkeep((tx) => trimRequests(tx, old, step));
    return true;
  }

  /** The newest seq to remove, or null. */
  #border(): number | null {
    const { database, events, clock, config } = this.#options;
    const maxAgeMs = config["events.retention"];
    const { reader } = database;
    const first = oldestEvent(reader);
    if (first === null) return null;
    const byCount = (newestEvent(reader)?.seq ?? 0) - (maxAgeMs === 0 ? 0 : config["events.maxCount"]);
    const now = clock.now();
    const horizon = Math.min(now, this.#time.now) - maxAgeMs;
    let byAge = 0;
    // After the clock was ahead, events carry future times that do not tell the age: the first events after the false times do.
    const isAhead = first.at > now;
    if (first.at < horizon || maxAgeMs === 0 || isAhead) {
      // Only as far as a single step removes: the time needs no index then.
      byAge = lastUntil(reader, { horizon, now, limit: isAhead ? aheadStep : step }) ?? 0;
    }
    const byBytes = events.seqBeyond(reader, config["events.maxBytes"]);
    const border = Math.max(byCount, byAge, byBytes);
    return border >= first.seq ? border : null;
  }
}
