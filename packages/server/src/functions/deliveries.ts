import type { Database, ModuleSchema, Transactor } from "../database/index.ts";
import { type AppendedEvent, type EventLog, type EventRow, LoggedEvent } from "../events/index.ts";
import { AppError, type Awaitable, inTurn } from "../kernel/index.ts";
import type { Trigger } from "./triggers.ts";

export const functionSchema: ModuleSchema = {
  module: "functions",
  steps: [
    // Handlers that deliveries were ever written for: a number is shorter than a path.
    "CREATE TABLE _handlers (id INTEGER PRIMARY KEY, path TEXT NOT NULL, handler TEXT NOT NULL, UNIQUE (path, handler)) STRICT",
    // What a handler is still to be run for. The id is made of the event's place in the log, which holds the event;
    // `event` is a copy, made when the log was trimmed meanwhile, or the last attempt has failed.
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
  ],
};

/** Handlers of one type of event. */
export const maxPerEvent = 1_024;

/** Deliveries whose last attempt has failed, and that are kept to be looked at. */
const maxFailed = 1_000;

/** Bytes that those take with their records and events; the newest one is kept whatever it takes. */
const maxFailedBytes = 64 * 1024 ** 2;
/** Bytes of failed deliveries after which they are counted again. */
const recountFailedBytes = 1024 ** 2;

/** Functions that make each other run: one further is refused, so that an endless chain ends. */
const maxDepth = 16;

/** What the dispatcher must know of a delivery to decide when it is its turn. */
export interface DeliveryHead {
  readonly id: number;
  readonly path: string;
  /** The name of the export. */
  readonly handler: string;
  /** The id of the record, or user, that it is about. */
  readonly subject: string;
  /** Attempts that have failed. */
  readonly failures: number;
  /** Milliseconds since 1970; 0 for at once. */
  readonly notBefore: number;
}

export interface Delivery extends DeliveryHead {
  readonly event: LoggedEvent;
  /** JSON of the record before the change. */
  readonly previous: string | null;
  readonly depth: number;
}

/** A delivery that is not over, as it is listed. */
export interface OpenDelivery extends Pick<DeliveryHead, "id" | "path" | "handler"> {
  /** When the event happened, in milliseconds since 1970. */
  readonly at: number;
  readonly eventType: string;
}

/** The place of a delivery's event in the log. */
export function eventSeqOf({ id }: Pick<DeliveryHead, "id">): number {
  return Math.floor(id / maxPerEvent);
}

/** The last id that deliveries of an event can have. */
export function lastIdOf(eventSeq: number): number {
  return eventSeq * maxPerEvent + maxPerEvent - 1;
}

const heads = "d.id, h.path, h.handler, d.subject, d.failures, d.notBefore";
const joined = "_deliveries AS d JOIN _handlers AS h ON h.id = d.handler";

/** The table of deliveries: one row for each event and each handler that wants it, until that has run. */
export class Deliveries {
  readonly #database: Database;
  readonly #events: EventLog;
  /** The number of each handler, as `path:handler`. */
  #handlers = new Map<string, number>();
  /** Bytes of deliveries that failed since all of them were counted. */
  #failedBytes = Number.POSITIVE_INFINITY;

  constructor(database: Database, events: EventLog) {
    this.#database = database;
    this.#events = events;
  }

  /** The last delivery that is on disk, at a start. */
  async lastId(): Promise<number> {
    const row = await this.#database.reader.get<{ id: number | null }>(
      "SELECT max(id) AS id FROM _deliveries WHERE failedAt IS NULL",
    );
    return row?.id ?? 0;
  }

  /** Gives each handler its number. To be called before one is named in `add`. */
  async name(triggers: readonly Trigger[]): Promise<void> {
    await this.#database.transact(async (tx) => {
      for (const { path, handler } of triggers)
        await tx.run("INSERT OR IGNORE INTO _handlers (path, handler) VALUES (?, ?)", path, handler);
    });
    const rows = await this.#database.reader.all<{ id: number; name: string }>(
      "SELECT id, path || ':' || handler AS name FROM _handlers",
    );
    this.#handlers = new Map(rows.map(({ id, name }) => [name, id]));
  }

  /** Writes, in the transaction of a change, that these handlers are to be run. */
  add(tx: Transactor, appended: AppendedEvent, triggers: readonly Trigger[]): Awaitable<unknown> {
    const { event, previous } = appended;
    const depth = appended.depth + 1;
    if (depth > maxDepth) throw chainTooLong(event, triggers);
    const before = previous === null ? null : JSON.stringify(previous);
    const subject = event.subject ?? "";
    let id = event.seq * maxPerEvent;
    return inTurn(triggers, ({ path, handler }) =>
      tx.run(
        "INSERT INTO _deliveries (id, handler, subject, depth, previous) VALUES (?, ?, ?, ?, ?)",
        id++,
        this.#handlers.get(`${path}:${handler}`) ?? 0,
        subject,
        depth,
        before,
      ),
    );
  }

  /** What waits for some handlers, as `path:handler`, in the order of commits: after one id, up to another. */
  page(options: {
    after: number;
    until: number;
    limit: number;
    handlers: readonly string[];
  }): Awaitable<DeliveryHead[]> {
    const { after, until, limit, handlers } = options;
    const ids = handlers.map((name) => this.#handlers.get(name) ?? 0);
    return this.#database.reader.all<DeliveryHead>(
      `SELECT ${heads} FROM ${joined} WHERE d.id > ? AND d.id <= ? AND d.failedAt IS NULL
       AND d.handler IN (SELECT value FROM json_each(?)) ORDER BY d.id LIMIT ?`,
      after,
      until,
      JSON.stringify(ids),
      limit,
    );
  }

  /** A delivery with its event; null when it is over. */
  async get(head: DeliveryHead): Promise<Delivery | null> {
    const row = await this.#database.reader.get<{ depth: number; previous: string | null; event: string | null }>(
      "SELECT depth, previous, event FROM _deliveries WHERE id = ? AND failedAt IS NULL",
      head.id,
    );
    if (row === null) return null;
    const event = row.event === null ? await this.#events.at(eventSeqOf(head)) : fromCopy(row.event);
    return event === null ? null : { ...head, event, previous: row.previous, depth: row.depth };
  }

  /** What is not over, newest first, with the event that each is for. */
  async open(page: { limit: number; offset: number }): Promise<OpenDelivery[]> {
    return this.#database.reader.all<OpenDelivery>(
      `SELECT d.id, h.path, h.handler, coalesce(e.at, json_extract(d.event, '$.at')) AS at,
         coalesce(e.type, json_extract(d.event, '$.type')) AS eventType
       FROM ${joined} LEFT JOIN _events AS e ON e.seq = d.id / ${maxPerEvent}
       WHERE d.failedAt IS NULL ORDER BY d.id DESC LIMIT ? OFFSET ?`,
      page.limit,
      page.offset,
    );
  }

  /** How many are not over, and how many have failed for good. */
  async counts(): Promise<{ open: number; failed: number }> {
    const row = await this.#database.reader.get<{ n: number; failed: number }>(
      "SELECT (SELECT count(*) FROM _deliveries) AS n, (SELECT count(*) FROM _deliveries WHERE failedAt IS NOT NULL) AS failed",
    );
    return { open: (row?.n ?? 0) - (row?.failed ?? 0), failed: row?.failed ?? 0 };
  }

  /** When those of some deliveries that have failed for good did so last. They can be run again. */
  async failed(ids: readonly number[]): Promise<Map<number, number>> {
    const rows = await this.#database.reader.all<{ id: number; failedAt: number }>(
      "SELECT id, failedAt FROM _deliveries WHERE failedAt IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
      JSON.stringify(ids),
    );
    return new Map(rows.map(({ id, failedAt }) => [id, failedAt]));
  }

  /**
   * One that has failed for good is to be run again, as if it never had. Answers how it waits.
   * @throws AppError `not_found`, or `bad_request` for one that is not over.
   */
  async reopen(tx: Transactor, id: number, at: number): Promise<DeliveryHead> {
    const row = await tx.get<DeliveryHead & { failedAt: number | null; event: string | null }>(
      `SELECT ${heads}, d.failedAt, d.event FROM ${joined} WHERE d.id = ?`,
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
    await tx.run("UPDATE _deliveries SET failedAt = NULL, error = NULL, failures = 0, notBefore = 0 WHERE id = ?", id);
    const { path, handler, subject } = row;
    return { id, path, handler, subject, failures: 0, notBefore: 0 };
  }

  /** Files for which something waits, and how much. */
  waiting(): Awaitable<{ path: string; waiting: number }[]> {
    return this.#database.reader.all(
      `SELECT h.path, count(*) AS waiting FROM ${joined} WHERE d.failedAt IS NULL GROUP BY h.path`,
    );
  }

  remove(tx: Transactor, id: number): Awaitable<unknown> {
    return tx.run("DELETE FROM _deliveries WHERE id = ?", id);
  }

  retry(tx: Transactor, { id, failures, notBefore }: DeliveryHead): Awaitable<unknown> {
    return tx.run("UPDATE _deliveries SET failures = ?, notBefore = ? WHERE id = ?", failures, notBefore, id);
  }

  /** The last attempt has failed: it is kept, among the newest of its kind. */
  async fail(tx: Transactor, { id, event, previous }: Delivery, now: number, error: string): Promise<void> {
    const copy = JSON.stringify(event.toRow());
    await tx.run("UPDATE _deliveries SET failedAt = ?, error = ?, event = ? WHERE id = ?", now, error, copy, id);
    await tx.run(
      "DELETE FROM _deliveries WHERE failedAt IS NOT NULL AND id IN (SELECT id FROM _deliveries WHERE failedAt IS NOT NULL ORDER BY failedAt DESC, id DESC LIMIT -1 OFFSET ?)",
      maxFailed,
    );
    this.#failedBytes += Buffer.byteLength(copy) + Buffer.byteLength(previous ?? "") + Buffer.byteLength(error);
    if (this.#failedBytes < recountFailedBytes) return;
    await tx.run(
      `DELETE FROM _deliveries WHERE id IN (
         SELECT id FROM (
           SELECT id, row_number() OVER newest AS position, sum(bytes) OVER newest AS bytes FROM (
             SELECT id, failedAt, octet_length(coalesce(previous, '')) + octet_length(event) + octet_length(error) AS bytes
             FROM _deliveries WHERE failedAt IS NOT NULL)
           WINDOW newest AS (ORDER BY failedAt DESC, id DESC ROWS UNBOUNDED PRECEDING))
         WHERE position > 1 AND bytes > ?)`,
      maxFailedBytes - recountFailedBytes,
    );
    // One that is taken back leaves the table as it was, and is counted by the next.
    tx.whenVisible(() => {
      this.#failedBytes = 0;
    });
  }

  /** The log loses its oldest events, from one place to another: those that are still needed are copied. */
  async keepEvents(tx: Transactor, first: number, last: number): Promise<void> {
    // Deliveries of older events have their copies, and looking at those would read all that waits.
    const rows = await tx.all<{ id: number }>(
      "SELECT id FROM _deliveries WHERE id >= ? AND id < ? AND event IS NULL",
      first * maxPerEvent,
      (last + 1) * maxPerEvent,
    );
    for (const { id } of rows) {
      const event = await this.#events.at(eventSeqOf({ id }), tx);
      if (event !== null)
        await tx.run("UPDATE _deliveries SET event = ? WHERE id = ?", JSON.stringify(event.toRow()), id);
    }
  }
}

function fromCopy(text: string): LoggedEvent {
  // It was written from one.
  return new LoggedEvent(JSON.parse(text) as EventRow);
}

function chainTooLong(event: LoggedEvent, triggers: readonly Trigger[]): AppError {
  const names = triggers.map(({ path, handler }) => `${handler} of ${path}`).join(", ");
  return new AppError(
    "bad_request",
    `A chain of ${maxDepth} functions, each started by a change that the one before it made, would go on with ${names} for ${event.type}; the change is refused. Does a function react to its own changes?`,
  );
}
