import type { Database, ModuleSchema, Reader, Transactor } from "../database/index.ts";
import type { AppendedEvent, LoggedEvent } from "../events/index.ts";
import { AppError, type Awaitable, newId } from "../kernel/index.ts";
import type { Trigger } from "./triggers.ts";

export const functionSchema: ModuleSchema = {
  module: "functions",
  steps: [
    // What a function is still to be run for. It holds the event itself, so that the event log may be trimmed.
    `CREATE TABLE _deliveries (
      id INTEGER PRIMARY KEY,
      runId TEXT NOT NULL,
      path TEXT NOT NULL,
      handler TEXT NOT NULL,
      eventSeq INTEGER NOT NULL,
      subject TEXT NOT NULL,
      event TEXT NOT NULL,
      previous TEXT,
      actor TEXT,
      depth INTEGER NOT NULL,
      failures INTEGER NOT NULL DEFAULT 0,
      notBefore INTEGER NOT NULL DEFAULT 0,
      failedAt INTEGER,
      error TEXT
    ) STRICT`,
    "CREATE INDEX _deliveries_failed ON _deliveries (failedAt) WHERE failedAt IS NOT NULL",
  ],
};

/** Deliveries whose last attempt has failed, and that are kept to be looked at. */
const maxFailed = 1_000;

/** Functions that make each other run: one further is refused, so that an endless chain ends. */
export const maxDepth = 16;

/** What the dispatcher must know of a delivery to decide when it is its turn. */
export interface DeliveryHead {
  readonly id: number;
  readonly path: string;
  readonly handler: string;
  /** The place of its event in the log. */
  readonly eventSeq: number;
  /** The id of the record, or user, that it is about. */
  readonly subject: string;
  /** Attempts that have failed. */
  readonly failures: number;
  /** Milliseconds since 1970; 0 for at once. */
  readonly notBefore: number;
}

export interface Delivery extends DeliveryHead {
  readonly runId: string;
  /** JSON of the event as it goes over the wire. */
  readonly event: string;
  /** JSON of the record before the change. */
  readonly previous: string | null;
  readonly actor: string | null;
  readonly depth: number;
}

const heads = "id, path, handler, eventSeq, subject, failures, notBefore";

/** The table of deliveries: one row for each event and each function that wants it, until that has run. */
export class Deliveries {
  readonly #database: Database;
  #lastId = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Continues where the table stands. To be called once, before the first. */
  async start(): Promise<void> {
    const last = await this.#database.reader.get<{ id: number | null }>("SELECT max(id) AS id FROM _deliveries");
    this.#lastId = last?.id ?? 0;
  }

  /** Writes, in the transaction of a change, that these functions are to be run. Answers the last id. */
  async add(tx: Transactor, appended: AppendedEvent, triggers: readonly Trigger[]): Promise<number> {
    const { event, previous } = appended;
    const depth = appended.depth + 1;
    if (depth > maxDepth) throw chainTooLong(event, triggers);
    const text = event.toText();
    const before = previous === null ? null : JSON.stringify(previous);
    const subject = subjectOf(event);
    for (const { path, handler } of triggers) {
      this.#lastId += 1;
      await tx.run(
        "INSERT INTO _deliveries (id, runId, path, handler, eventSeq, subject, event, previous, actor, depth) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        this.#lastId,
        newId("run", Date.now()),
        path,
        handler,
        event.seq,
        subject,
        text,
        before,
        event.actor,
        depth,
      );
    }
    return this.#lastId;
  }

  /** The last id that was given. */
  get lastId(): number {
    return this.#lastId;
  }

  /** What waits for some handlers, as `path:handler`, in the order of commits: after one id, up to another. */
  page(options: {
    after: number;
    until: number;
    limit: number;
    handlers: readonly string[];
  }): Awaitable<DeliveryHead[]> {
    const { after, until, limit, handlers } = options;
    return this.#database.reader.all<DeliveryHead>(
      `SELECT ${heads} FROM _deliveries WHERE id > ? AND id <= ? AND failedAt IS NULL
       AND path || ':' || handler IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?`,
      after,
      until,
      JSON.stringify(handlers),
      limit,
    );
  }

  /** Files for which something waits, and how much. */
  waiting(): Awaitable<{ path: string; waiting: number }[]> {
    return this.#database.reader.all(
      "SELECT path, count(*) AS waiting FROM _deliveries WHERE failedAt IS NULL GROUP BY path",
    );
  }

  get(id: number, reader: Reader = this.#database.reader): Awaitable<Delivery | null> {
    return reader.get<Delivery>(
      `SELECT ${heads}, runId, event, previous, actor, depth FROM _deliveries WHERE id = ?`,
      id,
    );
  }

  remove(tx: Transactor, id: number): Awaitable<unknown> {
    return tx.run("DELETE FROM _deliveries WHERE id = ?", id);
  }

  retry(tx: Transactor, { id, failures, notBefore }: DeliveryHead): Awaitable<unknown> {
    return tx.run("UPDATE _deliveries SET failures = ?, notBefore = ? WHERE id = ?", failures, notBefore, id);
  }

  /** The last attempt has failed: it is kept, among the newest of its kind. */
  async fail(tx: Transactor, id: number, now: number, error: string): Promise<void> {
    await tx.run("UPDATE _deliveries SET failedAt = ?, error = ? WHERE id = ?", now, error, id);
    await tx.run(
      "DELETE FROM _deliveries WHERE failedAt IS NOT NULL AND id <= (SELECT id FROM _deliveries WHERE failedAt IS NOT NULL ORDER BY failedAt DESC, id DESC LIMIT 1 OFFSET ?)",
      maxFailed,
    );
  }
}

/** The id of what an event is about. */
function subjectOf({ payload }: LoggedEvent): string {
  const id = payload["id"] ?? payload["userId"];
  return typeof id === "string" ? id : "";
}

function chainTooLong(event: LoggedEvent, triggers: readonly Trigger[]): AppError {
  const names = triggers.map(({ path, handler }) => `${handler} of ${path}`).join(", ");
  return new AppError(
    "bad_request",
    `A chain of ${maxDepth} functions, each started by a change that the one before it made, would go on with ${names} for ${event.type}; the change is refused. Does a function react to its own changes?`,
  );
}
