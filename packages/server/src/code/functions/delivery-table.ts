/**
 * Deliveries: the runs of functions that are not over, or have failed for good. A delivery is written in the transaction
 * of the change, a delivery for each event and handler. The place of the event in the log makes the ids of the delivery and
 * of the run; the log has the event, or the delivery has a copy, made before the log loses the event.
 *
 * A large record before a change is kept once for all updates that wait: a delivery follows the delivery of the event
 * that made the record of before the present change, and is given a copy when that delivery ends.
 */

import { AppError, maxDepth } from "../../base/kernel/index.ts";
import { type Database, type Reader, type SlowReader, stopProbe, type Transactor } from "../../store/database/index.ts";
import {
  type AppendedEvent,
  type EventLog,
  type EventRow,
  LoggedEvent,
  parseEventId,
} from "../../store/events/index.ts";
import type { Failure } from "../../store/failures/index.ts";
import {
  type HandlerName,
  type OpenRun,
  pageSize,
  type RunHead,
  type RunRow,
  type RunSource,
  RunTable,
  type StatusFilter,
  statusCondition,
} from "../runs/index.ts";
import { chainTooLong, type Trigger } from "./function-file.ts";

/** Handlers of a type of event, at most. */
export const maxPerEvent = 1_024;
/** Characters of a record's JSON from which on updates share the record. */
const largeRecord = 4_096;

/** The place of a delivery's event in the log. */
export function eventSeqOf({ id }: { readonly id: number }): number {
  return Math.floor(id / maxPerEvent);
}

/** The first id that deliveries of an event can have. */
function firstIdOf(eventSeq: number): number {
  return eventSeq * maxPerEvent;
}

/** The last id that deliveries of an event can have. */
export function lastIdOf(eventSeq: number): number {
  return firstIdOf(eventSeq) + maxPerEvent - 1;
}

/** The id of a run, which all attempts share: the id of the event, and the number of the delivery within the event. */
export function runIdOf(event: string, deliveryId: number): string {
  return `run_${event.slice("evt_".length)}${(deliveryId % maxPerEvent).toString(16).padStart(3, "0")}`;
}

/** The delivery of a run, and the time of the event: a delivery of another event log has another time. */
interface DeliveryOfRun {
  readonly deliveryId: number;
  readonly at: number;
}

/** Null for a text that is no id of a run. */
export function parseRunId(runId: string): DeliveryOfRun | null {
  const [, event, number] = /^run_([0-9a-f]{25})([0-9a-f]{3})$/.exec(runId) ?? [];
  const parsed = event === undefined ? null : parseEventId(`evt_${event}`);
  if (parsed === null || number === undefined) return null;
  return { deliveryId: firstIdOf(parsed.seq) + Number.parseInt(number, 16), at: parsed.at };
}

/** The columns of a delivery that lead to the event. */
interface EventReference {
  readonly id: number;
  /** The copy; null while the log has the event. */
  readonly event: string | null;
}

/** Null when neither the log nor a copy has the event. */
function eventOf(log: EventLog, row: EventReference, reader: Reader): LoggedEvent | null {
  return row.event === null ? log.at(eventSeqOf(row), reader) : fromCopy(row.event);
}

function fromCopy(text: string): LoggedEvent {
  // The text was written by `Deliveries`.
  return new LoggedEvent(JSON.parse(text) as EventRow);
}

/** The part of a delivery that the dispatcher keeps in memory. */
export interface DeliveryHead extends RunHead {
  /** The id of the record, or user, that the event is about: deliveries are made in turn. */
  readonly key: string;
  /** The place of the event in the log: deliveries are made side by side. */
  readonly turn: number;
}

/** The rest of a delivery. */
export interface Delivery {
  readonly event: LoggedEvent;
  /** JSON of the record before the change; null without this record. */
  readonly previous: string | null;
  /** The number of functions that led to this delivery, the function of this delivery included. */
  readonly depth: number;
  /** The functions, jobs and hooks that led to the event, as `path:handler`. */
  readonly chain: readonly string[];
}

/** `at` and `type` are from the copy of the event, null while the log has the event. */
export interface OpenRow extends RunHead {
  readonly at: number | null;
  readonly type: string | null;
}

export class Deliveries extends RunTable {
  readonly #events: EventLog;
  /** SQL: the columns of a `DeliveryHead`. */
  readonly #columns = `${this.headColumns}, r.subject AS key, r.id / ${maxPerEvent} AS turn`;

  constructor(database: Database, events: EventLog) {
    super(database, {
      name: "_deliveries",
      bytes: "octet_length(coalesce(previous, '')) + octet_length(event) + octet_length(error)",
    });
    this.#events = events;
  }

  /** Writes the deliveries of an event to these handlers, in the transaction of the change. */
  add(tx: Transactor, { event, previous, ...cause }: AppendedEvent, triggers: readonly Trigger[]): void {
    const depth = cause.depth + 1;
    if (depth > maxDepth) {
      const names = triggers.map(({ path, handler }) => `${handler} of ${path}`).join(", ");
      throw chainTooLong(
        `${names} for ${event.type}; the change is refused. Does a function react to its own changes?`,
      );
    }
    const json = previous === null ? null : JSON.stringify(previous);
    const result = json === null ? null : digestOf(event.toRow().payload);
    const chain = cause.chain.length === 0 ? null : JSON.stringify(cause.chain);
    for (const [i, { path, handler }] of triggers.entries()) {
      const number = this.numberOf(`${path}:${handler}`);
      const record = findPrevious(tx, number, json);
      tx.run(
        "INSERT INTO _deliveries (id, handler, subject, depth, previous, follows, result, chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        firstIdOf(event.seq) + i,
        number,
        event.subject ?? "",
        depth,
        record.previous,
        record.follows,
        result,
        chain,
      );
    }
  }

  /** The deliveries of a file for the dispatcher: page by page, in the order of commits. */
  sourceOf(path: string, triggers: readonly Trigger[], width: number): RunSource<DeliveryHead> {
    const handlers = triggers.map(({ handler }) => `${path}:${handler}`);
    let after = 0;
    return {
      path,
      width,
      window: 1_000,
      next: ({ until }) => {
        const runs = this.page({ after, until, limit: pageSize, handlers });
        after = Math.max(after, runs.length < pageSize ? until : (runs.at(-1)?.id ?? until));
        return { runs, hasMore: after < until, nextTime: null };
      },
      rewind: (id) => {
        after = Math.min(after, id - 1);
      },
    };
  }

  /** Deliveries that wait for some handlers, as `path:handler`, in the order of commits, after an id, up to another id. */
  page(range: { after: number; until: number; limit: number; handlers: readonly string[] }): DeliveryHead[] {
    return this.database.reader.all<DeliveryHead>(
      `SELECT ${this.#columns} FROM ${this.source} WHERE r.id > ? AND r.id <= ? AND r.failedAt IS NULL
       AND r.handler IN (SELECT value FROM json_each(?)) ORDER BY r.id LIMIT ?`,
      range.after,
      range.until,
      JSON.stringify(range.handlers.map((name) => this.numberOf(name))),
      range.limit,
    );
  }

  /** The deliveries of some events that are not over, or have failed for good. */
  ofEvents(seqs: readonly number[]): (RunHead & Pick<OpenRun, "failedAt" | "error">)[] {
    return this.database.reader.all(
      `SELECT ${this.headColumns}, r.failedAt, r.error FROM json_each(?) AS e CROSS JOIN ${this.source}
       WHERE r.id BETWEEN e.value * ${maxPerEvent} AND e.value * ${maxPerEvent} + ${maxPerEvent - 1}`,
      JSON.stringify(seqs),
    );
  }

  /** The head and the delivery of a run that is not over, or has failed for good; null for another run. */
  find(id: number): { head: DeliveryHead; delivery: Delivery } | null {
    const sql = `SELECT ${this.#columns} FROM ${this.source} WHERE r.id = ?`;
    const head = this.database.reader.get<DeliveryHead>(sql, id);
    const delivery = head === null ? null : this.#read("id = ?", id, this.database.reader);
    return head === null || delivery === null ? null : { head, delivery };
  }

  /** A delivery with its event; null when the delivery is over. */
  get({ id }: RunRow, reader: Reader = this.database.reader): Delivery | null {
    return this.#read("id = ? AND failedAt IS NULL", id, reader);
  }

  #read(condition: string, id: number | null, reader: Reader): Delivery | null {
    const row = reader.get<PreviousRecord & EventReference & { readonly depth: number; readonly chain: string | null }>(
      `SELECT id, depth, chain, previous, follows, event FROM _deliveries WHERE ${condition}`,
      id,
    );
    const event = row === null ? null : eventOf(this.#events, row, reader);
    if (row === null || event === null) return null;
    const previous = readPrevious(this.#events, row, reader);
    if (previous === undefined) throw new Error(`The record before the change is missing for run ${id}`);
    // The service wrote the text.
    const chain = row.chain === null ? [] : (JSON.parse(row.chain) as string[]);
    return { event, previous, depth: row.depth, chain };
  }

  /** The time of the event that has waited longest for a handler, in milliseconds since 1970; null when no event waits. */
  oldest(): number | null {
    const { reader } = this.database;
    const sql = "SELECT id, event FROM _deliveries WHERE failedAt IS NULL ORDER BY id LIMIT 1";
    const row = reader.get<EventReference>(sql);
    const event = row === null ? null : eventOf(this.#events, row, reader)?.toRow();
    return event === null || event === undefined ? null : (event.time ?? event.at);
  }

  /**
   * Makes a delivery that has failed for good wait again. Answers the head.
   * @param check refuses a handler, before anything is written.
   * @throws AppError `not_found`, or `bad_request` for a delivery that is not over; and as `check`.
   */
  retry(tx: Transactor, run: DeliveryOfRun, check: (handler: HandlerName) => void): DeliveryHead {
    const { deliveryId: id, at } = run;
    const row = tx.get<DeliveryHead & EventReference & { readonly failedAt: number | null }>(
      `SELECT ${this.#columns}, r.failedAt, r.event FROM ${this.source} WHERE r.id = ?`,
      id,
    );
    const isSame = row !== null && (row.event === null || fromCopy(row.event).toRow().at === at);
    if (row === null || !isSame)
      throw new AppError(
        "not_found",
        "There is no such run, or the run has completed; only a failed run can be retried.",
      );
    check(row);
    this.reopen(tx, row, 0);
    const { path, handler, key, turn } = row;
    return { id, path, handler, key, turn, failures: 0, notBefore: 0 };
  }

  /** The failures of the deliveries that have failed for good, oldest first. */
  failed(reader: Reader): Failure[] {
    const rows = reader.all<Pick<Failure, "path" | "error" | "at" | "record"> & { id: number; event: string }>(
      `SELECT r.id, h.path, r.error, r.failedAt AS at, r.subject AS record, r.event FROM ${this.source}
       WHERE r.failedAt IS NOT NULL AND r.event IS NOT NULL ORDER BY r.failedAt, r.id`,
    );
    return rows.map(({ id, event, ...row }) => ({ ...row, kind: "function", run: runIdOf(fromCopy(event).id, id) }));
  }

  override remove(tx: Transactor, run: RunRow): void {
    if (run.id !== null) releaseFollowers(this.#events, tx, run.id);
    super.remove(tx, run);
  }

  /** The delivery is kept with the event and the record. */
  override fail(tx: Transactor, run: RunRow, end: { at: number; error: string }): void {
    const delivery = this.get(run, tx);
    if (run.id === null || delivery === null) return;
    releaseFollowers(this.#events, tx, run.id);
    this.#setEvent(tx, run.id, delivery.event);
    setPrevious(tx, run.id, delivery.previous);
    super.fail(tx, run, end);
  }

  /** Copies the events between two places, which the log is about to lose, into the deliveries. */
  keepEvents(tx: Transactor, first: number, last: number): void {
    // Deliveries of older events have copies already; a look at older rows would read all that waits.
    const rows = tx.all<{ id: number }>(
      "SELECT id FROM _deliveries WHERE id >= ? AND id <= ? AND event IS NULL",
      firstIdOf(first),
      lastIdOf(last),
    );
    for (const { id } of rows) {
      const event = this.#events.at(eventSeqOf({ id }), tx);
      if (event !== null) this.#setEvent(tx, id, event);
    }
  }

  /**
   * Deliveries that are not over, newest first, with the number of all; of any file for a null path.
   * @throws AppError `unavailable` from a reader that gives up.
   */
  async search(
    reader: SlowReader,
    filter: StatusFilter & { readonly path: string | null },
    { limit, offset }: { limit: number; offset: number },
  ): Promise<{ rows: OpenRow[]; total: number }> {
    const { conditions, values } = statusCondition("r.id", filter);
    if (filter.path !== null) {
      conditions.push("h.path = ?");
      values.push(filter.path);
    }
    const isFiltered = values.length > 0;
    const where = [...(isFiltered ? [stopProbe("r")] : []), "r.failedAt IS NULL", ...conditions].join(" AND ");
    const countSql = `SELECT count(*) AS n FROM ${this.source} WHERE ${where}`;
    const total = isFiltered ? ((await reader.get<{ n: number }>(countSql, ...values))?.n ?? 0) : this.counts().open;
    const rows = await reader.all<OpenRow>(
      `SELECT ${this.headColumns}, json_extract(r.event, '$.at') AS at, json_extract(r.event, '$.type') AS type
       FROM ${this.source} WHERE ${where} ORDER BY r.id DESC LIMIT ? OFFSET ?`,
      ...values,
      limit,
      offset,
    );
    return { rows, total };
  }

  #setEvent(tx: Transactor, id: number, event: LoggedEvent): void {
    tx.run("UPDATE _deliveries SET event = ? WHERE id = ?", JSON.stringify(event.toRow()), id);
  }
}

/** The record before a change: the JSON, or the id of the delivery with the event that made the record. */
interface PreviousRecord {
  readonly previous: string | null;
  readonly follows: number | null;
}

/** The digest of a record, by which a later delivery finds the event that made the record; null for a small record. */
function digestOf(json: string | null): string | null {
  if (json === null || json.length <= largeRecord) return null;
  return new Bun.CryptoHasher("sha256").update(json).digest("base64");
}

/**
 * A delivery of a handler has the record from the newest waiting delivery with the event that made the record, or keeps the JSON.
 */
function findPrevious(tx: Transactor, handler: number, json: string | null): PreviousRecord {
  const digest = digestOf(json);
  if (digest === null) return { previous: json, follows: null };
  const row = tx.get<{ id: number }>(
    "SELECT id FROM _deliveries WHERE result = ? AND handler = ? AND failedAt IS NULL ORDER BY id DESC LIMIT 1",
    digest,
    handler,
  );
  return row === null ? { previous: json, follows: null } : { previous: null, follows: row.id };
}

/** The JSON of a record; null without a record, undefined when the followed delivery has ended meanwhile. */
function readPrevious(log: EventLog, { previous, follows }: PreviousRecord, reader: Reader): string | null | undefined {
  if (follows === null) return previous;
  const changes: object[] = [];
  let base: object | null = null;
  for (let id: number | null = follows; id !== null && base === null; ) {
    const row: (PreviousRecord & EventReference) | null = reader.get(
      "SELECT id, previous, follows, event FROM _deliveries WHERE id = ?",
      id,
    );
    const event = row === null ? null : eventOf(log, row, reader);
    if (row === null || event === null) return undefined;
    if (event.isPartial) changes.push(event.payload);
    else base = event.payload;
    // The text was written from a record.
    if (event.isPartial && row.follows === null) base = JSON.parse(row.previous ?? "{}") as object;
    id = row.follows;
  }
  return JSON.stringify(Object.assign({}, base, ...changes.reverse()));
}

/** Gives a delivery a separate copy of the record before the change. */
function setPrevious(tx: Transactor, id: number, previous: string | null): void {
  tx.run("UPDATE _deliveries SET previous = ?, follows = NULL WHERE id = ?", previous, id);
}

/** A delivery ends: followers get the record that its event made. */
function releaseFollowers(log: EventLog, tx: Transactor, id: number): void {
  const followers = tx.all<{ id: number }>("SELECT id FROM _deliveries WHERE follows = ?", id);
  if (followers.length === 0) return;
  const record = readPrevious(log, { previous: null, follows: id }, tx);
  if (record === undefined) throw new Error("The event of a function's run is not in the log");
  for (const follower of followers) setPrevious(tx, follower.id, record);
}
