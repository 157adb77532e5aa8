/** The table of events: the rows, and two single-row tables with the last assigned and the last trimmed position of the log. */
import type { Event, EventSource, StoredRecord } from "@socle/protocol";
import { type Cause, originOf, type TraceOrigin, toTimestamp } from "../../base/kernel/index.ts";
import type { ModuleSchema, QueryTable, Reader, SlowReader, Transactor } from "../database/index.ts";
import { auditSteps, keepAudit } from "./audit-table.ts";
import { causeIn, idsIn } from "./cause-text.ts";
import { indexSteps, trimIndex } from "./index-table.ts";
import { requestSteps } from "./request-table.ts";
import { sizeSteps, trimMarks } from "./size-mark-table.ts";

const pattern = /^evt_([0-9a-f]{12})([0-9a-f]{13})$/;

export function eventId(at: number, seq: number): string {
  return `evt_${at.toString(16).padStart(12, "0")}${seq.toString(16).padStart(13, "0")}`;
}

/** Time and seq of an event; null if the text is not an event's id. */
export function parseEventId(id: string): { at: number; seq: number } | null {
  const [, at, seq] = pattern.exec(id) ?? [];
  if (at === undefined || seq === undefined) return null;
  return { at: Number.parseInt(at, 16), seq: Number.parseInt(seq, 16) };
}

export interface EventRow {
  readonly seq: number;
  /** Milliseconds since 1970; never less than the `at` of an earlier event. The event's id contains `at`. */
  readonly at: number;
  /** The event's own time, if the clock was set back and `at` repeats an earlier event's time; otherwise null. */
  readonly time: number | null;
  readonly type: string;
  readonly source: EventSource;
  readonly actor: string | null;
  readonly owner: string | null;
  readonly payload: string;
  /** 1 if the payload holds only the changed fields of a large record. */
  readonly partial: 0 | 1;
  /** JSON of `EventBasis`; null for a creation, without a record, and for events of versions without a basis. */
  readonly basis?: string | null;
  /** See `causeText`; null without a cause, and for events of versions without causes. */
  readonly cause?: string | null;
  /** The seq of the first event of the transaction; null for the first event, and for events of versions without this column. */
  readonly first?: number | null;
}

export type WrittenRow = EventRow & Required<Pick<EventRow, "basis" | "cause" | "first">>;

/** The record before an event: the fields that the event changed or that the read rule of the collection uses. */
export interface EventBasis {
  readonly fields: { readonly [name: string]: unknown };
  readonly owner: string | null;
  /** The changed fields with former values too long for the log. */
  readonly omitted?: readonly string[];
  /** The seq of the first deletion in the transaction of the change, if an earlier event. */
  readonly since?: number;
}

/** An event of the log without the payload: enough to decide the event's audience. */
export type EventHead = Pick<LoggedEvent, "seq" | "type" | "owner" | "timestamp">;

/** An event of the log, with the private parts. Costly parts are computed on demand. */
export class LoggedEvent implements Event {
  /** The position in the log; rises in commit order. */
  readonly seq: number;
  readonly type: string;
  readonly source: EventSource;
  /** The id of the user behind the event, or null. */
  readonly actor: string | null;
  /** The owner of the record after the change, or before the deletion; null without an owner, and without a record. */
  readonly owner: string | null;
  /** Whether the payload holds only the record's id and the changed fields. */
  readonly isPartial: boolean;
  /** The record before the event, while the event is live; null for an event read from the log. */
  readonly previous: StoredRecord | null;
  readonly #at: number;
  readonly #time: number | null;
  readonly #payload: string;
  readonly #basis: string | null;
  readonly #cause: string | null;
  readonly #first: number | null;

  constructor(row: EventRow, previous: StoredRecord | null = null) {
    this.previous = previous;
    this.#basis = row.basis ?? null;
    this.#cause = row.cause ?? null;
    this.#first = row.first ?? null;
    this.seq = row.seq;
    this.type = row.type;
    this.source = row.source;
    this.actor = row.actor;
    this.owner = row.owner;
    this.isPartial = row.partial === 1;
    this.#at = row.at;
    // Rows that an earlier version copied into a delivery have no time.
    this.#time = row.time ?? null;
    this.#payload = row.payload;
  }

  get id(): string {
    return eventId(this.#at, this.seq);
  }

  get timestamp(): string {
    return toTimestamp(this.#time ?? this.#at);
  }

  /** The cause of the change, without the origin; null without a cause, and for events of versions without causes. */
  get cause(): Cause | null {
    if (this.#cause === null) return null;
    const { trace: _trace, link: _link, ...cause } = causeIn(this.#cause);
    return cause;
  }

  /** The origin for causes that follow from this event, which is the first cause of a trace if the event has no cause. */
  get origin(): TraceOrigin {
    if (this.#cause !== null) return originOf(causeIn(this.#cause));
    const { runId, eventId } = this.#isOfRun ? this.payload : {};
    return { trace: [eventId, runId].find((id): id is string => typeof id === "string" && id !== "") ?? this.id };
  }

  /** The seq of the first event of the same transaction. */
  get first(): number {
    return this.#first ?? this.seq;
  }

  /** Whether the values of the record were erased from the log. */
  get isErased(): boolean {
    return this.isPartial && this.source === "collections" && this.#payload.length === erasedLength;
  }

  /** The kept part of the record before the event; null if no part was kept. */
  get basis(): EventBasis | null {
    // The text was written from an `EventBasis`.
    return this.#basis === null ? null : (JSON.parse(this.#basis) as EventBasis);
  }

  /** The seq from which deletions count as later than the record before the event: those of the same transaction do. */
  get deletedFrom(): number {
    return this.basis?.since ?? this.seq;
  }

  get payload(): Event["payload"] {
    // The text was written from an object.
    return JSON.parse(this.#payload) as Event["payload"];
  }

  /** The id of the event's record or user; null if the event has neither. */
  get subject(): string | null {
    return /^\{"(?:id|userId)":"([^"]*)"/.exec(this.#payload)?.[1] ?? null;
  }

  /** The keys of the index; see `event-index.ts`. */
  get keys(): readonly string[] {
    return this.keysWith(this.#cause === null ? [] : idsIn(this.#cause));
  }

  /** As `keys`, with the ids of the cause at hand. */
  keysWith(causeIds: readonly string[]): readonly string[] {
    // The payload of a record begins with the id, and ids of records and users have one length.
    if (this.source === "collections") return [this.#payload.slice(7, 47), ...causeIds];
    if (!this.#isOfRun) return causeIds;
    const { runId, eventId } = this.payload;
    return [runId, eventId, ...causeIds].filter((key) => typeof key === "string");
  }

  /** Whether the event is a step of a run. */
  get #isOfRun(): boolean {
    return this.source === "functions" || this.source === "jobs";
  }

  toRow(): EventRow {
    const { seq, type, source, actor, owner } = this;
    const partial = this.isPartial ? 1 : 0;
    const texts = { payload: this.#payload, cause: this.#cause };
    return { seq, at: this.#at, time: this.#time, type, source, actor, owner, partial, ...texts };
  }

  /** A live event with all private parts, as plain data; see `liveEventOf`. */
  toLive(): LiveEvent {
    return { row: { ...this.toRow(), basis: this.#basis }, previous: this.previous };
  }

  /** The event as sent over the wire; a caller may replace the payload (JSON) and the type. */
  toText(payload: string = this.#payload, type: string = this.type): string {
    // Types and sources need no escaping.
    return `{"id":"${this.id}","type":"${type}","timestamp":"${this.timestamp}","source":"${this.source}","payload":${payload}}`;
  }
}

/** A live event as plain data, for another process. */
export interface LiveEvent {
  readonly row: EventRow;
  readonly previous: StoredRecord | null;
}

export function liveEventOf({ row, previous }: LiveEvent): LoggedEvent {
  return new LoggedEvent(row, previous);
}

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
    ...sizeSteps,
    // The event's own time, if the clock was set back before the event: `at` never falls.
    "ALTER TABLE _events ADD COLUMN time INTEGER",
    // The previous record, as far as the read rule uses the fields: a replay reads the basis to find the users that can no longer
    // see the record.
    "ALTER TABLE _events ADD COLUMN basis TEXT",
    // The time by which the retention counts the age of events; see `EventTime`.
    "CREATE TABLE _event_clock (only INTEGER PRIMARY KEY CHECK (only = 1), at INTEGER NOT NULL) STRICT",
    ...auditSteps,
    "ALTER TABLE _events ADD COLUMN cause TEXT",
    ...indexSteps,
    "ALTER TABLE _events ADD COLUMN first INTEGER",
    ...requestSteps,
  ],
};

/** `db.query` may read the whole table. */
export const eventQueryTable: QueryTable = { table: "_events" };

/** A position in the log: its seq, and the time in the event's id. */
interface LogPosition {
  readonly seq: number;
  readonly at: number;
}

export const eventColumns = "seq, at, time, type, source, actor, owner, payload, partial, basis, cause, first";

const insert = `INSERT INTO _events (${eventColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function insertEvent(tx: Transactor, row: WrittenRow): void {
  const { seq, at, time, type, source, actor, owner, payload, partial, basis, cause, first } = row;
  tx.run(insert, seq, at, time, type, source, actor, owner, payload, partial, basis, cause, first);
}

export function eventAt(reader: Reader, seq: number): EventRow | null {
  return reader.get<EventRow>(`SELECT ${eventColumns} FROM _events WHERE seq = ?`, seq);
}

/** The events from a seq to a seq, with as much of the payload as tells the keys of the index. */
export function keysBetween(reader: Reader, from: number, until: number): EventRow[] {
  const payload = `CASE source WHEN 'collections' THEN substr(payload, 1, ${erasedLength}) ELSE payload END AS payload`;
  return reader.all<EventRow>(
    `SELECT seq, at, time, type, source, actor, owner, ${payload}, partial, cause FROM _events WHERE seq >= ? AND seq < ?`,
    from,
    until,
  );
}

/** The events at some seqs, newest first, without trimmed events. */
export const eventsAtSql = `SELECT ${eventColumns} FROM _events WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq DESC`;

export function eventsAfter(reader: Reader, seq: number, limit: number): EventRow[] {
  return reader.all<EventRow>(`SELECT ${eventColumns} FROM _events WHERE seq > ? ORDER BY seq LIMIT ?`, seq, limit);
}

/** The payload of an event about a record without values: the length of `{"id":"…"}`. */
const erasedLength = 49;

/** Erases the values of a record in some events: the id stays. */
export function eraseEvents(
  tx: Transactor,
  { id, seqs, types }: { id: string; seqs: readonly number[]; types: readonly string[] },
): number {
  return tx.run(
    `UPDATE _events SET payload = substr(payload, 1, ${erasedLength - 1}) || '}', basis = NULL, partial = 1
     WHERE seq IN (SELECT value FROM json_each(?)) AND type IN (SELECT value FROM json_each(?))
     AND source = 'collections' AND substr(payload, 8, 40) = ?`,
    JSON.stringify(seqs),
    JSON.stringify(types),
    id,
  );
}

/** The first events of some types in a range of seqs. */
export function eventsOf(
  reader: Reader,
  types: readonly string[],
  { after, until, limit }: { after: number; until: number; limit: number },
): EventRow[] {
  const list = types.map(() => "?").join(", ");
  const sql = `SELECT ${eventColumns} FROM _events WHERE seq > ? AND seq <= ? AND type IN (${list}) ORDER BY seq LIMIT ?`;
  return reader.all<EventRow>(sql, after, until, ...types, limit);
}

/** The records that were created, changed or deleted by the events after a seq, each record once. An event about a collection has no id. */
export function recordsAfter(reader: Reader, seq: number): { collection: string; id: string | null }[] {
  return reader.all(
    `SELECT DISTINCT substr(type, 1, instr(type, '.') - 1) AS collection, json_extract(payload, '$.id') AS id
     FROM _events WHERE seq > ? AND source = 'collections'`,
    seq,
  );
}

/**
 * The ids of the records of a collection that the events after a seq are about, and the seq of the last event. Null if the log does
 * not tell: an event was trimmed, or is about the definition of some collection.
 */
export function changesSince(reader: Reader, seq: number, collection: string): { seq: number; ids: string[] } | null {
  if ((lastTrimmed(reader)?.seq ?? 0) > seq) return null;
  const types = ["created", "updated", "deleted"].map((verb) => `${collection}.${verb}`);
  const rows = reader.all<{ id: string | null }>(
    `SELECT DISTINCT iif(type IN (?, ?, ?), substr(payload, 8, 40), NULL) AS id FROM _events
     WHERE seq > ? AND source = 'collections' AND (type IN (?, ?, ?) OR type LIKE 'system.%')`,
    ...types,
    seq,
    ...types,
  );
  const ids = rows.flatMap(({ id }) => id ?? []);
  return ids.length < rows.length ? null : { seq: lastSeqOf(reader), ids };
}

/** The seq of the last event, also of a trimmed event; 0 without events. */
export function lastSeqOf(reader: Reader): number {
  return lastGiven(reader).seq;
}

/** An event without payload, owner and actor. */
export interface EventStamp {
  readonly type: string;
  /** The time in the event's id, in milliseconds since 1970. */
  readonly at: number;
  /** The time at which the event happened; differs from `at` after the clock was set back. */
  readonly time: number;
}

/** The stamps of events by seq, without trimmed events. */
export async function stampsAt(reader: SlowReader, seqs: readonly number[]): Promise<Map<number, EventStamp>> {
  const rows = await reader.all<EventStamp & { seq: number }>(
    "SELECT seq, type, at, coalesce(time, at) AS time FROM _events WHERE seq IN (SELECT value FROM json_each(?))",
    JSON.stringify(seqs),
  );
  return new Map(rows.map((row) => [row.seq, row]));
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

/** The newest assigned seq and the time of its event, even if that event was trimmed. */
export function lastGiven(reader: Reader): LogPosition {
  const last = reader.get<LogPosition>(
    `SELECT seq, at FROM _event_position
     UNION ALL SELECT seq, at FROM (SELECT seq, at FROM _events ORDER BY seq DESC LIMIT 1) ORDER BY seq DESC LIMIT 1`,
  );
  return last ?? { seq: 0, at: 0 };
}

/** The newest trimmed event; null if no event was trimmed. */
export function lastTrimmed(reader: Reader): LogPosition | null {
  return reader.get<LogPosition>("SELECT seq, at FROM _event_trim");
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

/** The newest event that the log holds; `at` is the time of that event. */
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
  keepAudit(tx, first?.seq ?? trim, trim);
  tx.run("DELETE FROM _events WHERE seq <= ?", trim);
  trimIndex(tx, trim);
  trimMarks(tx, trim);
  return trim;
}
