/** An event log in a database of its own, with a clock that a test moves. */
import { join } from "node:path";
import { Clock } from "../src/base/kernel/index.ts";
import { Database } from "../src/store/database/index.ts";
import { EventLog, EventRetention, eventSchema } from "../src/store/events/index.ts";
import { quietLogger } from "./kit.ts";

class TestClock extends Clock {
  /** Grows with the time that passes. */
  time = 1_800_000_000_000;
  /** Milliseconds by which the clock is wrong. */
  wrong = 0;
  override now(): number {
    return this.time + this.wrong;
  }
  override steady(): number {
    return this.time;
  }
}

/** Opens the log in a file of a folder. */
export async function openEventLog(folder: string, name: string) {
  const logger = quietLogger();
  const clock = new TestClock();
  const database = new Database({ path: join(folder, name), logger, onFatal: () => undefined });
  await database.prepare([eventSchema]);
  const events = new EventLog({ database, clock, logger });
  events.start();
  const append = (type: string) =>
    database.transact((tx) => events.append(tx, { type, source: "auth", payload: { type }, principal: null }));
  const retention = (maxAgeMs: number, maxCount: number, maxBytes = 2 ** 40) =>
    new EventRetention({ database, events, clock, logger, maxAgeMs, maxCount, maxBytes });
  const types = async () => events.read(0, 1_000_000).map(({ type }) => type);
  return { clock, database, events, append, retention, types };
}
