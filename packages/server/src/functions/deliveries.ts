import type { Database, ModuleSchema, Reader, Transactor } from "../database/index.ts";
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
    // `previous` of a large record is kept once for the updates that wait: `follows` is the delivery whose event made
    // what was there before this one, and `result` the digest of what this one's event made.
    "ALTER TABLE _deliveries ADD COLUMN follows INTEGER",
    "ALTER TABLE _deliveries ADD COLUMN result TEXT",
    "CREATE INDEX _deliveries_follows ON _deliveries (follows) WHERE follows IS NOT NULL",
    "CREATE INDEX _deliveries_result ON _deliveries (result, handler) WHERE result IS NOT NULL",
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

/** Characters of a record's JSON from which on updates that wait share it. */
const largeRecord = 4_096;

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

/** The record before the change, as it is stored: itself, or where it comes from. */
interface Before {
  readonly previous: string | null;
  readonly follows: number | null;
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
/** The table with the names of handlers. */
export const joined = "_deliveries AS d JOIN _handlers AS h ON h.id = d.handler";

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
    const { payload } = event.toRow();
    const result = before !== null && payload.length > largeRecord ? digestOf(payload) : null;
    let id = event.seq * maxPerEvent;
    const insert = (handler: number, { previous, follows }: Before): Awaitable<unknown> =>
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
    const known = before !== null && before.length > largeRecord ? digestOf(before) : null;
    return inTurn(triggers, ({ path, handler }) => {
      const number = this.#handlers.get(`${path}:${handler}`) ?? 0;
      if (known === null) return insert(number, { previous: before, follows: null });
      return this.#maker(tx, number, known).then((follows) =>
        insert(number, follows === null ? { previous: before, follows } : { previous: null, follows }),
      );
    });
  }

  /** The delivery, of those that wait for a handler, whose event made a record of this digest; null when none has. */
  async #maker(tx: Transactor, handler: number, digest: string): Promise<number | null> {
    const row = await tx.get<{ id: number }>(
      "SELECT id FROM _deliveries WHERE result = ? AND handler = ? AND failedAt IS NULL ORDER BY id DESC LIMIT 1",
      digest,
      handler,
    );
    return row?.id ?? null;
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
  async get(head: DeliveryHead, isAgain = false): Promise<Delivery | null> {
    const { reader } = this.#database;
    const row = await reader.get<Before & { depth: number; event: string | null }>(
      "SELECT depth, previous, follows, event FROM _deliveries WHERE id = ? AND failedAt IS NULL",
      head.id,
    );
    if (row === null) return null;
    const event = await this.#eventOf(reader, { id: head.id, event: row.event });
    const previous = await this.#previousOf(reader, row);
    // The delivery that it follows has ended between the two reads, and left it its record.
    if (previous === undefined && !isAgain) return this.get(head, true);
    if (previous === undefined) throw new Error(`The record before the change is missing for run ${head.id}`);
    return event === null ? null : { ...head, event, previous, depth: row.depth };
  }

  async #eventOf(reader: Reader, row: { id: number; event: string | null }): Promise<LoggedEvent | null> {
    return row.event === null ? this.#events.at(eventSeqOf(row), reader) : fromCopy(row.event);
  }

  /** JSON of the record before a change; undefined when what it follows is not there. */
  async #previousOf(reader: Reader, { previous, follows }: Before): Promise<string | null | undefined> {
    if (follows === null) return previous;
    const changes: object[] = [];
    let base: object | null = null;
    for (let id: number | null = follows; id !== null && base === null; ) {
      const row: (Before & { id: number; event: string | null }) | null = await reader.get(
        "SELECT id, previous, follows, event FROM _deliveries WHERE id = ?",
        id,
      );
      const event = row === null ? null : await this.#eventOf(reader, row);
      if (row === null || event === null) return undefined;
      if (event.isPartial) changes.push(event.payload);
      else base = event.payload;
      // It was written from a record.
      if (event.isPartial && row.follows === null) base = JSON.parse(row.previous ?? "{}") as object;
      id = row.follows;
    }
    return JSON.stringify(Object.assign({}, base, ...changes.reverse()));
  }

  /** How many are not over, and how many have failed for good. */
  async counts(): Promise<{ open: number; failed: number }> {
    const row = await this.#database.reader.get<{ n: number; failed: number }>(
      "SELECT (SELECT count(*) FROM _deliveries) AS n, (SELECT count(*) FROM _deliveries WHERE failedAt IS NOT NULL) AS failed",
    );
    return { open: (row?.n ?? 0) - (row?.failed ?? 0), failed: row?.failed ?? 0 };
  }

  /** When the event happened that has waited longest for a handler, in milliseconds since 1970; null when none waits. */
  async oldest(): Promise<number | null> {
    const row = await this.#database.reader.get<{ at: number | null }>(
      `SELECT coalesce(e.time, e.at, json_extract(d.event, '$.time'), json_extract(d.event, '$.at')) AS at
       FROM _deliveries AS d LEFT JOIN _events AS e ON e.seq = d.id / ${maxPerEvent}
       WHERE d.failedAt IS NULL ORDER BY d.id LIMIT 1`,
    );
    return row?.at ?? null;
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

  async remove(tx: Transactor, id: number): Promise<void> {
    await this.#release(tx, id);
    await tx.run("DELETE FROM _deliveries WHERE id = ?", id);
  }

  /** A delivery ends: those that follow it get the record that its event made. */
  async #release(tx: Transactor, id: number): Promise<void> {
    const next = await tx.all<{ id: number }>("SELECT id FROM _deliveries WHERE follows = ?", id);
    if (next.length === 0) return;
    const made = await this.#previousOf(tx, { previous: null, follows: id });
    if (made === undefined) throw new Error("The event of a function's run is not in the log");
    for (const each of next)
      await tx.run("UPDATE _deliveries SET previous = ?, follows = NULL WHERE id = ?", made, each.id);
  }

  retry(tx: Transactor, { id, failures, notBefore }: DeliveryHead): Awaitable<unknown> {
    return tx.run("UPDATE _deliveries SET failures = ?, notBefore = ? WHERE id = ?", failures, notBefore, id);
  }

  /** The last attempt has failed: it is kept, among the newest of its kind. */
  async fail(tx: Transactor, { id, event, previous }: Delivery, now: number, error: string): Promise<void> {
    const copy = JSON.stringify(event.toRow());
    await this.#release(tx, id);
    await tx.run(
      "UPDATE _deliveries SET failedAt = ?, error = ?, event = ?, previous = ?, follows = NULL WHERE id = ?",
      now,
      error,
      copy,
      previous,
      id,
    );
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

function digestOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("base64");
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
