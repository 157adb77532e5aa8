/**
 * Deliveries: the runs of functions that are not over, or have failed for good. A delivery is written in the transaction
 * of its change, a delivery for each event and handler, and refers to the event in the log.
 */

import { AppError, maxDepth } from "../../base/kernel/index.ts";
import {
  type Database,
  type Reader,
  type SlowReader,
  stopProbe,
  type Transactor,
  type Value,
} from "../../store/database/index.ts";
import type { AppendedEvent, EventLog, LoggedEvent } from "../../store/events/index.ts";
import { FailedRuns, HandlerNumbers, pageSize, type RunHead, type RunSource, RunTable } from "../runs/index.ts";
import { eventOf, eventSeqOf, firstIdOf, fromCopy, lastIdOf, maxPerEvent, toCopy } from "./delivery-event.ts";
import {
  digestOf,
  findPrevious,
  type PreviousRecord,
  readPrevious,
  releaseFollowers,
  setPrevious,
} from "./previous-record-table.ts";
import type { Trigger } from "./triggers.ts";

/** The part of a delivery that the dispatcher keeps in memory. */
export interface DeliveryHead extends RunHead {
  /** The id of the record, or user, that the event is about: its deliveries are made one after the other. */
  readonly key: string;
  /** The place of the event in the log: its deliveries are made side by side. */
  readonly turn: number;
}

export interface Delivery extends DeliveryHead {
  readonly event: LoggedEvent;
  /** JSON of the record before the change; null without such a record. */
  readonly previous: string | null;
  /** The number of functions that led to this delivery, with its own. */
  readonly depth: number;
  /** The functions, jobs and hooks that led to its event, as `path:handler`. */
  readonly chain: readonly string[];
}

/** `event` is the JSON of a copy; null while the log has the event. */
interface WithEvent {
  readonly event: string | null;
}

/** `at` and `type` are from the copy of the event, null while the log has the event. */
export interface OpenRow extends Pick<DeliveryHead, "id" | "path" | "handler" | "failures" | "notBefore"> {
  readonly at: number | null;
  readonly type: string | null;
}

/** The deliveries that are meant; null for any. */
export interface OpenFilter {
  readonly path: string | null;
  /** Ids of deliveries: only these, or all but these. */
  readonly among: readonly number[] | null;
  readonly except: readonly number[] | null;
}

const table = new RunTable("_deliveries");
const headColumns = `${table.headColumns}, r.subject AS key, r.id / ${maxPerEvent} AS turn`;

export class Deliveries {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #handlers: HandlerNumbers;
  readonly #failed = new FailedRuns({
    table: "_deliveries",
    bytes: "octet_length(coalesce(previous, '')) + octet_length(event) + octet_length(error)",
  });

  constructor(database: Database, events: EventLog) {
    this.#database = database;
    this.#events = events;
    this.#handlers = new HandlerNumbers(database);
  }

  /** The id of the last delivery that is not over; 0 without any. */
  lastId(): number {
    const sql = "SELECT max(id) AS id FROM _deliveries WHERE failedAt IS NULL";
    return this.#database.reader.get<{ id: number | null }>(sql)?.id ?? 0;
  }

  /** Registers handlers. To be called before `add`. */
  name(triggers: readonly Trigger[]): Promise<void> {
    return this.#handlers.register(triggers);
  }

  /** Writes the deliveries of an event to these handlers, in the transaction of its change. */
  add(tx: Transactor, { event, previous, ...cause }: AppendedEvent, triggers: readonly Trigger[]): void {
    const depth = cause.depth + 1;
    if (depth > maxDepth) throw chainTooLong(event, triggers);
    const json = previous === null ? null : JSON.stringify(previous);
    const result = json === null ? null : digestOf(event.toRow().payload);
    const chain = cause.chain.length === 0 ? null : JSON.stringify(cause.chain);
    for (const [i, { path, handler }] of triggers.entries()) {
      const number = this.#handlers.of(`${path}:${handler}`);
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

  /**
   * The deliveries of a file for the dispatcher: page by page, in the order of commits.
   * @param handlers as `path:handler`.
   */
  sourceOf(file: { path: string; handlers: readonly string[]; width: number }): RunSource<DeliveryHead> {
    const { path, handlers, width } = file;
    let after = 0;
    return {
      path,
      width,
      window: 1_000,
      holdsPlaces: true,
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
    return this.#database.reader.all<DeliveryHead>(
      `SELECT ${headColumns} FROM ${table.source} WHERE r.id > ? AND r.id <= ? AND r.failedAt IS NULL
       AND r.handler IN (SELECT value FROM json_each(?)) ORDER BY r.id LIMIT ?`,
      range.after,
      range.until,
      JSON.stringify(range.handlers.map((name) => this.#handlers.of(name))),
      range.limit,
    );
  }

  /** A delivery with its event; null when the delivery is over. */
  get(head: DeliveryHead, reader: Reader = this.#database.reader): Delivery | null {
    const row = reader.get<PreviousRecord & WithEvent & { readonly depth: number; readonly chain: string | null }>(
      "SELECT depth, chain, previous, follows, event FROM _deliveries WHERE id = ? AND failedAt IS NULL",
      head.id,
    );
    if (row === null) return null;
    const event = eventOf(this.#events, { id: head.id, event: row.event }, reader);
    const previous = readPrevious(this.#events, row, reader);
    if (previous === undefined) throw new Error(`The record before the change is missing for run ${head.id}`);
    // The service wrote the text.
    const chain = row.chain === null ? [] : (JSON.parse(row.chain) as string[]);
    return event === null ? null : { ...head, event, previous, depth: row.depth, chain };
  }

  /** The numbers of deliveries that are open, and that have failed for good. */
  counts(): { open: number; failed: number } {
    return table.counts(this.#database.reader);
  }

  /** The time of the event that has waited longest for a handler, in milliseconds since 1970; null when no event waits. */
  oldest(): number | null {
    const { reader } = this.#database;
    const sql = "SELECT id, event FROM _deliveries WHERE failedAt IS NULL ORDER BY id LIMIT 1";
    const row = reader.get<WithEvent & { readonly id: number }>(sql);
    const event = row === null ? null : eventOf(this.#events, row, reader)?.toRow();
    return event === null || event === undefined ? null : (event.time ?? event.at);
  }

  /** The times of the last failure of some deliveries; deliveries that have not failed are left out. */
  failed(ids: readonly number[]): Map<number, number> {
    return this.#failed.timesOf(this.#database.reader, ids);
  }

  /**
   * Has a delivery that has failed for good wait again. Answers its head.
   * @param at the time of its event: a delivery of another event log has another time.
   * @throws AppError `not_found`, or `bad_request` for a delivery that is not over.
   */
  reopen(tx: Transactor, id: number, at: number): DeliveryHead {
    const row = tx.get<DeliveryHead & WithEvent & { readonly failedAt: number | null }>(
      `SELECT ${headColumns}, r.failedAt, r.event FROM ${table.source} WHERE r.id = ?`,
      id,
    );
    const isSame = row !== null && (row.event === null || fromCopy(row.event).toRow().at === at);
    if (row === null || !isSame)
      throw new AppError(
        "not_found",
        "There is no such run, or it has completed; only one that has failed can be retried.",
      );
    if (row.failedAt === null)
      throw new AppError("bad_request", "The run is not over: it runs, or waits for its turn.");
    table.reopen(tx, id);
    const { path, handler, key, turn } = row;
    return { id, path, handler, key, turn, failures: 0, notBefore: 0 };
  }

  /** Files with deliveries that are not over, and how many. */
  waiting(): { path: string; waiting: number }[] {
    return table.openByFile(this.#database.reader);
  }

  /** An attempt has failed, and another follows. */
  postpone(tx: Transactor, id: number, next: Pick<DeliveryHead, "failures" | "notBefore">): void {
    table.postpone(tx, id, next);
  }

  /** The delivery is over. */
  remove(tx: Transactor, id: number): void {
    releaseFollowers(this.#events, tx, id);
    table.remove(tx, id);
  }

  /** The last attempt has failed. The delivery is kept with its event, among the newest that have failed. */
  fail(tx: Transactor, { id, event, previous }: Delivery, { at, error }: { at: number; error: string }): void {
    const copy = toCopy(event);
    releaseFollowers(this.#events, tx, id);
    table.fail(tx, id, { at, error });
    this.#setEvent(tx, id, copy);
    setPrevious(tx, id, previous);
    this.#failed.trim(tx, Buffer.byteLength(copy) + Buffer.byteLength(previous ?? "") + Buffer.byteLength(error));
  }

  /** Copies the events between two places, which the log is about to lose, into their deliveries. */
  keepEvents(tx: Transactor, first: number, last: number): void {
    // Deliveries of older events have their copies; a look at older rows would read all that waits.
    const rows = tx.all<{ id: number }>(
      "SELECT id FROM _deliveries WHERE id >= ? AND id <= ? AND event IS NULL",
      firstIdOf(first),
      lastIdOf(last),
    );
    for (const { id } of rows) {
      const event = this.#events.at(eventSeqOf({ id }), tx);
      if (event !== null) this.#setEvent(tx, id, toCopy(event));
    }
  }

  /**
   * Deliveries that are not over, newest first, with their number.
   * @throws AppError `unavailable` from a reader that gives up.
   */
  async search(
    reader: SlowReader,
    filter: OpenFilter,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<{ rows: OpenRow[]; total: number }> {
    const conditions = ["r.failedAt IS NULL"];
    const values: Value[] = [];
    const ask = (condition: string, value: string): void => {
      conditions.push(condition);
      values.push(value);
    };
    if (filter.path !== null) ask("h.path = ?", filter.path);
    if (filter.among !== null) ask("r.id IN (SELECT value FROM json_each(?))", JSON.stringify(filter.among));
    if (filter.except !== null) ask("r.id NOT IN (SELECT value FROM json_each(?))", JSON.stringify(filter.except));
    const isFiltered = values.length > 0;
    const where = [...(isFiltered ? [stopProbe("r")] : []), ...conditions].join(" AND ");
    const countSql = `SELECT count(*) AS n FROM ${table.source} WHERE ${where}`;
    const total = isFiltered ? ((await reader.get<{ n: number }>(countSql, ...values))?.n ?? 0) : this.counts().open;
    const rows = await reader.all<OpenRow>(
      `SELECT ${table.headColumns}, json_extract(r.event, '$.at') AS at, json_extract(r.event, '$.type') AS type
       FROM ${table.source} WHERE ${where} ORDER BY r.id DESC LIMIT ? OFFSET ?`,
      ...values,
      limit,
      offset,
    );
    return { rows, total };
  }

  #setEvent(tx: Transactor, id: number, event: string): void {
    tx.run("UPDATE _deliveries SET event = ? WHERE id = ?", event, id);
  }
}

function chainTooLong(event: LoggedEvent, triggers: readonly Trigger[]): AppError {
  const names = triggers.map(({ path, handler }) => `${handler} of ${path}`).join(", ");
  return new AppError(
    "bad_request",
    `A chain of ${maxDepth} functions and hooks, each started by a change that the one before it made, would go on with ${names} for ${event.type}; the change is refused. Does a function react to its own changes?`,
  );
}
