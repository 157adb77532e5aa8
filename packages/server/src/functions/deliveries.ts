/**
 * Deliveries: the runs of functions that are not over, or have failed for good. A delivery is written in the transaction
 * of the change that causes it, one for each event and each handler of its type, and refers to the event in the log.
 */
import type { Database, ModuleSchema, Reader, Transactor } from "../database/index.ts";
import type { AppendedEvent, EventLog, LoggedEvent } from "../events/index.ts";
import { AppError, type Awaitable, inTurn } from "../kernel/index.ts";
import { FailedRuns, HandlerNumbers, handlerTable, type Postponement, type RunHead, RunTable } from "../runs/index.ts";
import { eventOf, fromCopy, toCopy } from "./delivery-events.ts";
import { eventSeqOf, firstIdOf, lastIdOf } from "./delivery-id.ts";
import { type PreviousRecord, PreviousRecords } from "./previous-records.ts";
import type { Trigger } from "./triggers.ts";

export const functionSchema: ModuleSchema = {
  module: "functions",
  steps: [
    handlerTable,
    // A table of runs (runs/run-table.ts). The id is made of the event's place in the log (delivery-id.ts). `event` is a
    // copy, made when the log loses the event, or when the last attempt has failed.
    `CREATE TABLE _deliveries (
      id INTEGER PRIMARY KEY,
      handler INTEGER NOT NULL,
      subject TEXT NOT NULL,
      depth INTEGER NOT NULL,
      previous TEXT,
      failures INTEGER NOT NULL DEFAULT 0,
      notBefore INTEGER NOT NULL DEFAULT 0,
      failedAt INTEGER,
      error TEXT,
      event TEXT
    ) STRICT`,
    "CREATE INDEX _deliveries_failed ON _deliveries (failedAt) WHERE failedAt IS NOT NULL",
    // Shared records (previous-records.ts): `follows` is the delivery whose event made the record before this change, and
    // `result` the digest of the record that this event made.
    "ALTER TABLE _deliveries ADD COLUMN follows INTEGER",
    "ALTER TABLE _deliveries ADD COLUMN result TEXT",
    "CREATE INDEX _deliveries_follows ON _deliveries (follows) WHERE follows IS NOT NULL",
    "CREATE INDEX _deliveries_result ON _deliveries (result, handler) WHERE result IS NOT NULL",
  ],
};

/** Functions that cause each other's runs; one more is refused, so that an endless chain ends. */
const maxDepth = 16;

/** The part of a delivery that the dispatcher keeps in memory. */
export interface DeliveryHead extends RunHead {
  /** The id of the record, or user, that the event is about. */
  readonly subject: string;
}

export interface Delivery extends DeliveryHead {
  readonly event: LoggedEvent;
  /** JSON of the record before the change; null when there was none. */
  readonly previous: string | null;
  /** Functions that have caused this delivery, one after the other, itself included. */
  readonly depth: number;
}

export const deliveryTable = new RunTable("_deliveries");
const headColumns = `${deliveryTable.headColumns}, r.subject`;

export class Deliveries {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #handlers: HandlerNumbers;
  readonly #records: PreviousRecords;
  readonly #failed = new FailedRuns({
    table: "_deliveries",
    bytes: "octet_length(coalesce(previous, '')) + octet_length(event) + octet_length(error)",
  });

  constructor(database: Database, events: EventLog) {
    this.#database = database;
    this.#events = events;
    this.#handlers = new HandlerNumbers(database);
    this.#records = new PreviousRecords(events);
  }

  /** The id of the last delivery that is on disk, at a start. */
  async lastId(): Promise<number> {
    const row = await this.#database.reader.get<{ id: number | null }>(
      "SELECT max(id) AS id FROM _deliveries WHERE failedAt IS NULL",
    );
    return row?.id ?? 0;
  }

  /** Registers handlers. To be called before `add` has one. */
  name(triggers: readonly Trigger[]): Promise<void> {
    return this.#handlers.register(triggers);
  }

  /** Writes the deliveries of an event to these handlers, in the transaction of its change. */
  add(tx: Transactor, appended: AppendedEvent, triggers: readonly Trigger[]): Awaitable<unknown> {
    const { event, previous } = appended;
    const depth = appended.depth + 1;
    if (depth > maxDepth) throw chainTooLong(event, triggers);
    const json = previous === null ? null : JSON.stringify(previous);
    const digest = this.#records.digestOf(json);
    const result = json === null ? null : this.#records.digestOf(event.toRow().payload);
    const subject = event.subject ?? "";
    let id = firstIdOf(event.seq);
    const insert = (handler: number, { previous, follows }: PreviousRecord): Awaitable<unknown> =>
      tx.run(
        "INSERT INTO _deliveries (id, handler, subject, depth, previous, follows, result) VALUES (?, ?, ?, ?, ?, ?, ?)",
        id++,
        handler,
        subject,
        depth,
        previous,
        follows,
        result,
      );
    return inTurn(triggers, ({ path, handler }) => {
      const number = this.#handlers.of(`${path}:${handler}`);
      if (json === null || digest === null) return insert(number, { previous: json, follows: null });
      return this.#records.find(tx, number, { json, digest }).then((record) => insert(number, record));
    });
  }

  /** Deliveries that wait for some handlers, as `path:handler`, in the order of commits: after one id, up to another. */
  page(options: {
    after: number;
    until: number;
    limit: number;
    handlers: readonly string[];
  }): Awaitable<DeliveryHead[]> {
    const { after, until, limit, handlers } = options;
    return this.#database.reader.all<DeliveryHead>(
      `SELECT ${headColumns} FROM ${deliveryTable.source} WHERE r.id > ? AND r.id <= ? AND r.failedAt IS NULL
       AND r.handler IN (SELECT value FROM json_each(?)) ORDER BY r.id LIMIT ?`,
      after,
      until,
      JSON.stringify(handlers.map((name) => this.#handlers.of(name))),
      limit,
    );
  }

  /** A delivery with its event; null when it is over. */
  async get(head: DeliveryHead, reader: Reader = this.#database.reader): Promise<Delivery | null> {
    // Between two reads, the delivery that this one follows may end, and leave it its record: then the second look finds it.
    for (let look = 1; look <= 2; look++) {
      const row = await reader.get<PreviousRecord & { depth: number; event: string | null }>(
        "SELECT depth, previous, follows, event FROM _deliveries WHERE id = ? AND failedAt IS NULL",
        head.id,
      );
      if (row === null) return null;
      const event = await eventOf(this.#events, { id: head.id, event: row.event }, reader);
      const previous = await this.#records.read(reader, row);
      if (previous !== undefined) return event === null ? null : { ...head, event, previous, depth: row.depth };
    }
    throw new Error(`The record before the change is missing for run ${head.id}`);
  }

  /** Deliveries that wait or are under way, and those that have failed for good. */
  counts(): Promise<{ open: number; failed: number }> {
    return deliveryTable.counts(this.#database.reader);
  }

  /** The time of the event that has waited longest for a handler, in milliseconds since 1970; null when none waits. */
  async oldest(): Promise<number | null> {
    const { reader } = this.#database;
    const row = await reader.get<{ id: number; event: string | null }>(
      "SELECT id, event FROM _deliveries WHERE failedAt IS NULL ORDER BY id LIMIT 1",
    );
    if (row === null) return null;
    if (row.event !== null) {
      const { at, time } = fromCopy(row.event).toRow();
      return time ?? at;
    }
    const seq = eventSeqOf(row);
    return (await this.#events.headsAt([seq], reader)).get(seq)?.time ?? null;
  }

  /** The times of the last failure of some deliveries; those that have not failed are left out. */
  failed(ids: readonly number[]): Promise<Map<number, number>> {
    return this.#failed.timesOf(this.#database.reader, ids);
  }

  /**
   * Has a delivery that has failed for good wait again. Answers its head.
   * @param at the time of its event, which tells it from one of another event log.
   * @throws AppError `not_found`, or `bad_request` for one that is not over.
   */
  async reopen(tx: Transactor, id: number, at: number): Promise<DeliveryHead> {
    const row = await tx.get<DeliveryHead & { failedAt: number | null; event: string | null }>(
      `SELECT ${headColumns}, r.failedAt, r.event FROM ${deliveryTable.source} WHERE r.id = ?`,
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
    await deliveryTable.reopen(tx, id);
    const { path, handler, subject } = row;
    return { id, path, handler, subject, failures: 0, notBefore: 0 };
  }

  /** Files with deliveries that are not over, and how many. */
  waiting(): Awaitable<{ path: string; waiting: number }[]> {
    return deliveryTable.openByFile(this.#database.reader);
  }

  /** An attempt has failed, and another follows. */
  postpone(tx: Transactor, id: number, next: Postponement): Awaitable<unknown> {
    return deliveryTable.postpone(tx, id, next);
  }

  /** The delivery is over. */
  async remove(tx: Transactor, id: number): Promise<void> {
    await this.#records.release(tx, id);
    await deliveryTable.remove(tx, id);
  }

  /** The last attempt has failed. The delivery is kept with its event, among the newest that have failed. */
  async fail(tx: Transactor, { id, event, previous }: Delivery, now: number, error: string): Promise<void> {
    const copy = toCopy(event);
    await this.#records.release(tx, id);
    await deliveryTable.fail(tx, id, { at: now, error });
    await tx.run("UPDATE _deliveries SET event = ?, previous = ?, follows = NULL WHERE id = ?", copy, previous, id);
    await this.#failed.trim(tx, Buffer.byteLength(copy) + Buffer.byteLength(previous ?? "") + Buffer.byteLength(error));
  }

  /** Copies the events that the log is about to lose, from one place to another, into the deliveries that need them. */
  async keepEvents(tx: Transactor, first: number, last: number): Promise<void> {
    // Deliveries of older events have their copies; a look at those would read everything that waits.
    const rows = await tx.all<{ id: number }>(
      "SELECT id FROM _deliveries WHERE id >= ? AND id <= ? AND event IS NULL",
      firstIdOf(first),
      lastIdOf(last),
    );
    for (const { id } of rows) {
      const event = await this.#events.at(eventSeqOf({ id }), tx);
      if (event !== null) await tx.run("UPDATE _deliveries SET event = ? WHERE id = ?", toCopy(event), id);
    }
  }
}

function chainTooLong(event: LoggedEvent, triggers: readonly Trigger[]): AppError {
  const names = triggers.map(({ path, handler }) => `${handler} of ${path}`).join(", ");
  return new AppError(
    "bad_request",
    `A chain of ${maxDepth} functions, each started by a change that the one before it made, would go on with ${names} for ${event.type}; the change is refused. Does a function react to its own changes?`,
  );
}
