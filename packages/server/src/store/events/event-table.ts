/** The table of events, and two single-row tables: the last assigned position and the last trimmed position of the log. */
import type { ModuleSchema, QueryTable, Reader, SlowReader, Transactor } from "../database/index.ts";
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
    // The last position when the newest events were trimmed: no seq is assigned twice.
    "CREATE TABLE _event_position (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, at INTEGER NOT NULL) STRICT",
    // The newest trimmed event: a reader that has seen only earlier events has a gap.
    "CREATE TABLE _event_trim (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, at INTEGER NOT NULL) STRICT",
    // Events that are not about records are a small part of most logs; searches for these events go by type.
    "CREATE INDEX _events_other ON _events (seq, type) WHERE source <> 'collections'",
    // 1 if the payload belongs to a large record, and holds only the changes of an update.
    "ALTER TABLE _events ADD COLUMN partial INTEGER NOT NULL DEFAULT 0",
    ...sizeMarkSchema,
    // The event's own time, if the clock was set back before the event: `at` never falls.
    "ALTER TABLE _events ADD COLUMN time INTEGER",
    // The previous record, as far as the read rule uses its fields: a replay reads the basis to find the users that can no longer
    // see the record.
    "ALTER TABLE _events ADD COLUMN basis TEXT",
    // The time by which the retention counts the age of events; see `EventTime`.
    "CREATE TABLE _event_clock (only INTEGER PRIMARY KEY CHECK (only = 1), at INTEGER NOT NULL) STRICT",
  ],
};

/** `db.query` may read the whole table. */
export const eventQueryTable: QueryTable = { table: "_events" };

/** A position in the log: its seq, and the time in the event's id. */
export interface LogPosition {
  readonly seq: number;
  readonly at: number;
}

const columns = "seq, at, time, type, source, actor, owner, payload, partial, basis";

const insert = `INSERT INTO _events (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function insertEvent(tx: Transactor, row: WrittenRow): void {
  const { seq, at, time, type, source, actor, owner, payload, partial, basis } = row;
  tx.run(insert, seq, at, time, type, source, actor, owner, payload, partial, basis);
}

export function eventAt(reader: Reader, seq: number): EventRow | null {
  return reader.get<EventRow>(`SELECT ${columns} FROM _events WHERE seq = ?`, seq);
}

export function eventsAfter(reader: Reader, seq: number, limit: number): EventRow[] {
  return reader.all<EventRow>(`SELECT ${columns} FROM _events WHERE seq > ? ORDER BY seq LIMIT ?`, seq, limit);
}

export function stampsAt(
  reader: SlowReader,
  seqs: readonly number[],
): Promise<{ seq: number; type: string; at: number; time: number }[]> {
  return reader.all(
    "SELECT seq, type, at, coalesce(time, at) AS time FROM _events WHERE seq IN (SELECT value FROM json_each(?))",
    JSON.stringify(seqs),
  );
}

/** The events of some types in a range of seqs, without payloads. `at` is the time at which the event happened. */
export function headsOf(
  reader: Reader,
  types: readonly string[],
  { after, until }: { after: number; until: number },
): { seq: number; at: number; type: string; owner: string | null }[] {
  return reader.all(
    `SELECT seq, coalesce(time, at) AS at, type, owner FROM _events WHERE seq > ? AND seq <= ? AND type IN (${types.map(() => "?").join(", ")}) ORDER BY seq`,
    after,
    until,
    ...types,
  );
}

/** The types that occur in a range of seqs. */
export function typesBetween(reader: Reader, after: number, until: number): string[] {
  const rows = reader.all<{ type: string }>(
    "SELECT DISTINCT type FROM _events WHERE seq > ? AND seq <= ?",
    after,
    until,
  );
  return rows.map(({ type }) => type);
}

/** The oldest event in the log; `at` is the time at which the event happened. */
export function oldestEvent(reader: Reader): LogPosition | null {
  return reader.get<LogPosition>("SELECT seq, coalesce(time, at) AS at FROM _events ORDER BY seq LIMIT 1");
}

export function positionOf(reader: Reader, seq: number): LogPosition | null {
  return reader.get<LogPosition>("SELECT seq, at FROM _events WHERE seq = ?", seq);
}

/**
 * The newest assigned seq and its time, even if that event was trimmed. The statement is sent before `lastGiven`
 * returns.
 */
export function lastGiven(reader: Reader): LogPosition {
  // A single statement, because a thread runs one statement at a time.
  const last = reader.get<{ seq: number | null; at: number | null }>(
    `SELECT max(seq) AS seq, max(at) AS at FROM (
       SELECT seq, at FROM _event_position
       UNION ALL SELECT seq, at FROM (SELECT seq, at FROM _events ORDER BY seq DESC LIMIT 1))`,
  );
  return { seq: last?.seq ?? 0, at: last?.at ?? 0 };
}

/** The newest trimmed event; null if no event was trimmed. */
export function lastTrimmed(reader: Reader): LogPosition | null {
  return reader.get<LogPosition>("SELECT seq, at FROM _event_trim");
}

/** The newest seq in the log; null if the log is empty. */
export function newestSeq(reader: Reader): number | null {
  const last = reader.get<{ seq: number | null }>("SELECT max(seq) AS seq FROM _events");
  return last?.seq ?? null;
}

/**
 * Of the oldest `limit` events, the newest seq that is older than every young event; null when no event is old. An old
 * event happened at `horizon` or before, a young event after `horizon`. An event that is later than `now` is neither.
 */
export function lastUntil(
  reader: Reader,
  { horizon, now, limit }: { horizon: number; now: number; limit: number },
): number | null {
  const last = reader.get<{ seq: number | null }>(
    `WITH oldest AS MATERIALIZED (SELECT seq, coalesce(time, at) AS at FROM _events ORDER BY seq LIMIT ?1)
     SELECT max(seq) AS seq FROM oldest WHERE at <= ?2
     AND seq < coalesce((SELECT min(seq) FROM oldest WHERE at > ?2 AND at <= ?3), 9e15)`,
    limit,
    horizon,
    now,
  );
  return last?.seq ?? null;
}

/** The newest event that the log holds; `at` is the time at which it happened. */
export function newestEvent(reader: Reader): LogPosition | null {
  return reader.get<LogPosition>("SELECT seq, coalesce(time, at) AS at FROM _events ORDER BY seq DESC LIMIT 1");
}

/** The time by which the retention counted the age of events when the time was stored last; null before the first time. */
export function storedTime(reader: Reader): number | null {
  return reader.get<{ at: number }>("SELECT at FROM _event_clock")?.at ?? null;
}

export function storeTime(tx: Transactor, at: number): void {
  tx.run("INSERT INTO _event_clock (only, at) VALUES (1, ?) ON CONFLICT (only) DO UPDATE SET at = excluded.at", at);
}

/**
 * Deletes the oldest events: at most `limit`, up to seq `until`.
 * @param before is called with the first and the last seq to delete, before the deletion.
 * @returns the newest trimmed seq.
 */
export function trimEvents(
  tx: Transactor,
  { until, limit }: { until: number; limit: number },
  before: (first: number, last: number) => void,
): number {
  tx.run(
    `INSERT INTO _event_position (only, seq, at) SELECT 1, seq, at FROM _events ORDER BY seq DESC LIMIT 1
     ON CONFLICT (only) DO UPDATE SET seq = excluded.seq, at = excluded.at`,
  );
  tx.run(
    `INSERT INTO _event_trim (only, seq, at)
     SELECT 1, seq, at FROM (SELECT seq, at FROM _events WHERE seq <= ? ORDER BY seq LIMIT ?) ORDER BY seq DESC LIMIT 1
     ON CONFLICT (only) DO UPDATE SET seq = excluded.seq, at = excluded.at`,
    until,
    limit,
  );
  const trim = lastTrimmed(tx)?.seq ?? 0;
  const first = oldestEvent(tx);
  before(first?.seq ?? trim, trim);
  tx.run("DELETE FROM _events WHERE seq <= ?", trim);
  return trim;
}
