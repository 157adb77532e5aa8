/**
 * Event time: the time by which the retention counts the age of events. A clock that jumps must not make events old, so
 * the event time follows the clock by at most twice the time that has really passed, also across restarts.
 */
import type { Clock } from "../../base/kernel/index.ts";
import type { Database } from "../database/index.ts";
import { newestEvent, oldestEvent, storedTime, storeTime } from "./event-table.ts";

/** Milliseconds by which the event time moves in a real millisecond at most: more than one, to catch up after the service was off. */
const pace = 2;
/** The stored time is written again when the event time has moved by so much. */
const storeEveryMs = 600_000;

export class EventTime {
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
    await this.#database.transact((tx) => storeTime(tx, moved));
    this.#stored = moved;
  }

  /** The stored time; in a log that has none, the time of the newest event, which a clock that has jumped since does not change. */
  #begin(): number {
    const { reader } = this.#database;
    this.#stored = storedTime(reader);
    this.#time = this.#stored ?? newestEvent(reader)?.at ?? this.#clock.now();
    return this.#time;
  }
}
