/** The table of events, and the two rows that say how far the log was given out and how far it was trimmed. */
import type { ModuleSchema, QueryTable, Reader, Transactor } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import type { EventRow, WrittenRow } from "./logged-event.ts";
import { sizeMarkSchema } from "./sql/size-marks.ts";

export const eventSchema: ModuleSchema = {
  module: "events",
  steps: [
    `CREATE TABLE _events (
      seq INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      type TEXT NOT NULL,
      source TEXT NOT NULL,
      actor TEXT,
      owner TEXT,
      payload TEXT NOT NULL
    ) STRICT`,
    // Where the log stood when its newest events were trimmed: no seq is given twice.
    "CREATE TABLE _event_position (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, at INTEGER NOT NULL) STRICT",
    // The newest event that was trimmed: who has seen less has a gap.
    "CREATE TABLE _event_trim (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, at INTEGER NOT NULL) STRICT",
    // Events that are not about records are a small part of most logs, and are searched by type.
    "CREATE INDEX _events_other ON _events (seq, type) WHERE source <> 'collections'",
    // 1 where the payload is that of a large record, and holds only what the update changed.
    "ALTER TABLE _events ADD COLUMN partial INTEGER NOT NULL DEFAULT 0",
    ...sizeMarkSchema,
    // The time of an event where a clock was set back before it: `at` never falls.
    "ALTER TABLE _events ADD COLUMN time INTEGER",
    // The record before the event, as far as the read rule asks about it: a replay decides by it who has lost sight of
    // the record.
    "ALTER TABLE _events ADD COLUMN basis TEXT",
  ],
};

/** `db.query` may read all of it. */
export const eventQueryTable: QueryTable = { table: "_events" };

/** A position in the log: its seq, and the time that the event's id is made of. */
export interface LogPosition {
  readonly seq: number;
  readonly at: number;
}

const columns = "seq, at, time, type, source, actor, owner, payload, partial, basis";

const insert = `INSERT INTO _events (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function insertEvent(tx: Transactor, row: WrittenRow): Awaitable<unknown> {
  const { seq, at, time, type, source, actor, owner, payload, partial, basis } = row;
  return tx.run(insert, seq, at, time, type, source, actor, owner, payload, partial, basis);
}

export function eventAt(reader: Reader, seq: number): Awaitable<EventRow | null> {
  return reader.get<EventRow>(`SELECT ${columns} FROM _events WHERE seq = ?`, seq);
}

/** Events after a seq, oldest first. */
export function eventsAfter(reader: Reader, seq: number, limit: number): Awaitable<EventRow[]> {
  return reader.all<EventRow>(`SELECT ${columns} FROM _events WHERE seq > ? ORDER BY seq LIMIT ?`, seq, limit);
}

/** Type and times of the events at some seqs. */
export function stampsAt(
  reader: Reader,
  seqs: readonly number[],
): Awaitable<{ seq: number; type: string; at: number; time: number }[]> {
  return reader.all(
    "SELECT seq, type, at, coalesce(time, at) AS time FROM _events WHERE seq IN (SELECT value FROM json_each(?))",
    JSON.stringify(seqs),
  );
}

/** The events of some types after a seq up to another, without payloads. `at` is the time at which each happened. */
export function headsOf(
  reader: Reader,
  types: readonly string[],
  { after, until }: { after: number; until: number },
): Awaitable<{ seq: number; at: number; type: string; owner: string | null }[]> {
  return reader.all(
    `SELECT seq, coalesce(time, at) AS at, type, owner FROM _events WHERE seq > ? AND seq <= ? AND type IN (${types.map(() => "?").join(", ")}) ORDER BY seq`,
    after,
    until,
    ...types,
  );
}

/** The types that occur after a seq up to another. */
export async function typesBetween(reader: Reader, after: number, until: number): Promise<string[]> {
  const rows = await reader.all<{ type: string }>(
    "SELECT DISTINCT type FROM _events WHERE seq > ? AND seq <= ?",
    after,
    until,
  );
  return rows.map(({ type }) => type);
}

/** The oldest event that the log holds; `at` is the time at which it happened. */
export function oldestEvent(reader: Reader): Awaitable<LogPosition | null> {
  return reader.get<LogPosition>("SELECT seq, coalesce(time, at) AS at FROM _events ORDER BY seq LIMIT 1");
}

export function positionOf(reader: Reader, seq: number): Awaitable<LogPosition | null> {
  return reader.get<LogPosition>("SELECT seq, at FROM _events WHERE seq = ?", seq);
}

/**
 * The newest seq that was ever given and its time, also where its event was trimmed. It is asked for before this
 * returns.
 */
export async function lastGiven(reader: Reader): Promise<LogPosition> {
  // One statement: a thread takes one at a time.
  const last = await reader.get<{ seq: number | null; at: number | null }>(
    `SELECT max(seq) AS seq, max(at) AS at FROM (
       SELECT seq, at FROM _event_position
       UNION ALL SELECT seq, at FROM (SELECT seq, at FROM _events ORDER BY seq DESC LIMIT 1))`,
  );
  return { seq: last?.seq ?? 0, at: last?.at ?? 0 };
}

/** The newest event that was trimmed; null when none was. */
export function lastTrimmed(reader: Reader): Awaitable<LogPosition | null> {
  return reader.get<LogPosition>("SELECT seq, at FROM _event_trim");
}

/** The newest seq that the log holds; null when it is empty. */
export async function newestSeq(reader: Reader): Promise<number | null> {
  const last = await reader.get<{ seq: number | null }>("SELECT max(seq) AS seq FROM _events");
  return last?.seq ?? null;
}

/** Of the oldest `limit` events, the newest seq whose event happened at a time or before it; null for none. */
export async function lastUntil(reader: Reader, time: number, limit: number): Promise<number | null> {
  const window = await reader.get<{ seq: number | null }>(
    `SELECT max(seq) AS seq FROM (SELECT seq, coalesce(time, at) AS at FROM _events ORDER BY seq LIMIT ?)
     WHERE at <= ?`,
    limit,
    time,
  );
  return window?.seq ?? null;
}

/**
 * Deletes the oldest events: `limit` at most, up to a seq.
 * @param before is called with the first and the last seq that go, while their events are still there.
 * @returns the newest seq that was trimmed.
 */
export async function trimEvents(
  tx: Transactor,
  { until, limit }: { until: number; limit: number },
  before: (first: number, last: number) => Awaitable<unknown>,
): Promise<number> {
  await tx.run(
    `INSERT INTO _event_position (only, seq, at) SELECT 1, seq, at FROM _events ORDER BY seq DESC LIMIT 1
     ON CONFLICT (only) DO UPDATE SET seq = excluded.seq, at = excluded.at`,
  );
  await tx.run(
    `INSERT INTO _event_trim (only, seq, at)
     SELECT 1, seq, at FROM (SELECT seq, at FROM _events WHERE seq <= ? ORDER BY seq LIMIT ?) ORDER BY seq DESC LIMIT 1
     ON CONFLICT (only) DO UPDATE SET seq = excluded.seq, at = excluded.at`,
    until,
    limit,
  );
  const trim = (await lastTrimmed(tx))?.seq ?? 0;
  const first = await oldestEvent(tx);
  await before(first?.seq ?? trim, trim);
  await tx.run("DELETE FROM _events WHERE seq <= ?", trim);
  return trim;
}
