/** An event log in a database of its own, with a clock that a test moves. */
import { join } from "node:path";
import type { EventSource } from "@socle/protocol";
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

function sourceOf(type: string): EventSource {
  if (type.startsWith("admin.")) return "admin";
  return type.startsWith("posts.") ? "collections" : "auth";
}

/** Bounds of the event log and of the audit that remove nothing. */
export const keepsAll = {
  "audit.maxCount": 1e6,
  "audit.retention": 1e12,
  "events.maxBytes": 2 ** 40,
  "events.maxCount": 1e9,
  "events.retention": 1e12,
};

/** Opens the log in a file of a folder. */
export async function openEventLog(folder: string, name: string) {
  const logger = quietLogger();
  const clock = new TestClock();
  const database = new Database({ path: join(folder, name), logger, onFatal: () => undefined });
  await database.prepare([eventSchema]);
  const events = new EventLog({ database, clock, logger });
  events.start();
  const append = (type: string) =>
    database.transact((tx) => events.append(tx, { type, source: sourceOf(type), payload: { type }, principal: null }));
  const retention = (maxAgeMs: number, maxCount: number, bounds: Partial<typeof keepsAll> = {}) => {
    const config = { ...keepsAll, "events.retention": maxAgeMs, "events.maxCount": maxCount, ...bounds };
    return new EventRetention({ clock, config, database, events, logger });
  };
  const types = async () => events.read(0, 1_000_000).map(({ type }) => type);
  return { clock, database, events, append, retention, types };
}
