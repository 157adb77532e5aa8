/**
 * Deliveries: the runs of functions that are not over, or have failed for good. A delivery is written in the transaction
 * of its change, a delivery for each event and handler, and refers to the event in the log.
 */

import { AppError, maxDepth } from "../../base/kernel/index.ts";
import { type Database, type Reader, type SlowReader, stopProbe, type Transactor } from "../../store/database/index.ts";
import type { AppendedEvent, EventLog, LoggedEvent } from "../../store/events/index.ts";
import {
  type IdFilter,
  idConditions,
  pageSize,
  type RunHead,
  type RunRow,
  type RunSource,
  RunTable,
} from "../runs/index.ts";
import {
  type EventReference,
  eventOf,
  eventSeqOf,
  firstIdOf,
  fromCopy,
  lastIdOf,
  maxPerEvent,
  toCopy,
} from "./delivery-event.ts";
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

/** The rest of a delivery. */
export interface Delivery {
  readonly event: LoggedEvent;
  /** JSON of the record before the change; null without such a record. */
  readonly previous: string | null;
  /** The number of functions that led to this delivery, with its own. */
  readonly depth: number;
  /** The functions, jobs and hooks that led to its event, as `path:handler`. */
  readonly chain: readonly string[];
}

/** `at` and `type` are from the copy of the event, null while the log has the event. */
export interface OpenRow extends RunHead {
  readonly at: number | null;
  readonly type: string | null;
}

/** The deliveries that are meant. */
interface OpenFilter extends IdFilter {
  /** The path of a file; null for any. */
  readonly path: string | null;
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

  /** Writes the deliveries of an event to these handlers, in the transaction of its change. */
  add(tx: Transactor, { event, previous, ...cause }: AppendedEvent, triggers: readonly Trigger[]): void {
    const depth = cause.depth + 1;
    if (depth > maxDepth) throw chainTooLong(event, triggers);
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
    return this.database.reader.all<DeliveryHead>(
      `SELECT ${this.#columns} FROM ${this.source} WHERE r.id > ? AND r.id <= ? AND r.failedAt IS NULL
       AND r.handler IN (SELECT value FROM json_each(?)) ORDER BY r.id LIMIT ?`,
      range.after,
      range.until,
      JSON.stringify(range.handlers.map((name) => this.numberOf(name))),
      range.limit,
    );
  }

  /** A delivery with its event; null when the delivery is over. */
  get({ id }: RunRow, reader: Reader = this.database.reader): Delivery | null {
    const row = reader.get<PreviousRecord & EventReference & { readonly depth: number; readonly chain: string | null }>(
      "SELECT id, depth, chain, previous, follows, event FROM _deliveries WHERE id = ? AND failedAt IS NULL",
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
   * Makes a delivery that has failed for good wait again. Answers its head.
   * @param at the time of its event: a delivery of another event log has another time.
   * @throws AppError `not_found`, or `bad_request` for a delivery that is not over.
   */
  retry(tx: Transactor, id: number, at: number): DeliveryHead {
    const row = tx.get<DeliveryHead & EventReference & { readonly failedAt: number | null }>(
      `SELECT ${this.#columns}, r.failedAt, r.event FROM ${this.source} WHERE r.id = ?`,
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
    this.reopen(tx, id, 0);
    const { path, handler, key, turn } = row;
    return { id, path, handler, key, turn, failures: 0, notBefore: 0 };
  }

  override remove(tx: Transactor, run: RunRow): void {
    if (run.id !== null) releaseFollowers(this.#events, tx, run.id);
    super.remove(tx, run);
  }

  /** The delivery is kept with its event and its record. */
  override fail(tx: Transactor, run: RunRow, end: { at: number; error: string }): void {
    const delivery = this.get(run, tx);
    if (run.id === null || delivery === null) return;
    releaseFollowers(this.#events, tx, run.id);
    this.#setEvent(tx, run.id, delivery.event);
    setPrevious(tx, run.id, delivery.previous);
    super.fail(tx, run, end);
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
      if (event !== null) this.#setEvent(tx, id, event);
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
    const { conditions, values } = idConditions("r.id", filter);
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

  /** Copies the event into the delivery. */
  #setEvent(tx: Transactor, id: number, event: LoggedEvent): void {
    tx.run("UPDATE _deliveries SET event = ? WHERE id = ?", toCopy(event), id);
  }
}

function chainTooLong(event: LoggedEvent, triggers: readonly Trigger[]): AppError {
  const names = triggers.map(({ path, handler }) => `${handler} of ${path}`).join(", ");
  return new AppError(
    "bad_request",
    `A chain of ${maxDepth} functions and hooks, each started by a change that the one before it made, would go on with ${names} for ${event.type}; the change is refused. Does a function react to its own changes?`,
  );
}
