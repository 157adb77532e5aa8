/**
 * The runs of queues in the table of runs of jobs: those that wait or are under way, and those that have failed for
 * good.
 */
import type { Database, Transactor, Value } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import { FailedRuns, HandlerNumbers, type Postponement } from "../runs/index.ts";
import { type JobQueue, jobTable } from "./job-queue-table.ts";
import { jobHandler } from "./job-runs.ts";

/** The part of a queue's run that is kept in memory. */
export interface QueueHead extends Postponement {
  readonly id: number;
  readonly runId: string;
  readonly key: string | null;
}

/** The rest of a run: the payload of its handler, and the user on whose behalf it runs. */
interface QueueInput {
  /** JSON. */
  readonly payload: string;
  /** The user who enqueued it, or null. */
  readonly actor: string | null;
  /** Functions that led to it, one after the other. */
  readonly depth: number;
}

/** A run as admins see it; `payload` is JSON, null where it was not asked for. */
export interface QueueRow extends QueueHead {
  readonly createdAt: number;
  readonly failedAt: number | null;
  readonly error: string | null;
  readonly payloadSize: number;
  readonly payload: string | null;
}

const headColumns = "id, runId, key, failures, notBefore";
const rowColumns = `${headColumns}, firstAt AS createdAt, failedAt, error, octet_length(payload) AS payloadSize`;
/** The runs of one queue that are not over, in the words of the index. */
const open = "handler = ? AND payload IS NOT NULL AND failedAt IS NULL";

export class QueueTable {
  readonly #database: Database;
  readonly #jobQueue: JobQueue;
  readonly #handlers: HandlerNumbers;
  readonly #failed = new FailedRuns({
    table: "_job_queue",
    bytes: "octet_length(coalesce(payload, '')) + octet_length(error)",
  });
  /** By handler, the runs that wait or are under way. */
  readonly #open = new Map<number, number>();

  constructor(database: Database, jobQueue: JobQueue) {
    this.#database = database;
    this.#jobQueue = jobQueue;
    this.#handlers = new HandlerNumbers(database);
  }

  /** Counts the runs that earlier processes have left. Called once, before the first run is added. */
  async start(): Promise<void> {
    const rows = await this.#database.reader.all<{ handler: number; n: number }>(
      "SELECT handler, count(*) AS n FROM _job_queue WHERE payload IS NOT NULL AND failedAt IS NULL GROUP BY handler",
    );
    for (const { handler, n } of rows) this.#open.set(handler, n);
  }

  /** Registers the files of queues. To be called before a run of theirs is added. */
  register(paths: readonly string[]): Promise<void> {
    return this.#handlers.register(paths.map((path) => ({ path, handler: jobHandler })));
  }

  /** Runs of a file that wait or are under way. */
  openCount(path: string): number {
    return this.#open.get(this.#number(path)) ?? 0;
  }

  /** Files with runs that wait, and how many. */
  waiting(): Awaitable<{ path: string; waiting: number }[]> {
    return this.#database.reader.all(
      `SELECT h.path, count(*) AS waiting FROM ${jobTable.source} WHERE r.payload IS NOT NULL AND r.failedAt IS NULL GROUP BY h.path`,
    );
  }

  /** Adds a run. Answers its id. */
  async add(
    tx: Transactor,
    path: string,
    run: QueueInput & { runId: string; key: string | null; notBefore: number; createdAt: number },
  ): Promise<number> {
    const id = await this.#jobQueue.nextId(tx);
    const handler = this.#number(path);
    await tx.run(
      `INSERT INTO _job_queue (id, handler, notBefore, runId, firstAt, isByHand, payload, key, actor, depth)
       VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`,
      id,
      handler,
      run.notBefore,
      run.runId,
      run.createdAt,
      run.payload,
      run.key,
      run.actor,
      run.depth,
    );
    this.#countLater(tx, handler, 1);
    return id;
  }

  /** The runs of a file with a key that are not over, oldest first. */
  withKey(tx: Transactor, path: string, key: string): Awaitable<{ id: number; runId: string }[]> {
    return tx.all(
      "SELECT id, runId FROM _job_queue WHERE handler = ? AND key = ? AND failedAt IS NULL AND payload IS NOT NULL ORDER BY id",
      this.#number(path),
      key,
    );
  }

  /**
   * Runs of a file that are due, among those up to an id, in the order in which they are to start. Runs without a time
   * and runs whose time has come take turns, so that neither waits for an endless supply of the other.
   */
  async due(path: string, { until, now, limit }: { until: number; now: number; limit: number }): Promise<QueueHead[]> {
    const { reader } = this.#database;
    const handler = this.#number(path);
    const atOnce = await reader.all<QueueHead>(
      `SELECT ${headColumns} FROM _job_queue WHERE ${open} AND notBefore = 0 AND id <= ? ORDER BY id LIMIT ?`,
      handler,
      until,
      limit,
    );
    const later = await reader.all<QueueHead>(
      `SELECT ${headColumns} FROM _job_queue WHERE ${open} AND notBefore > 0 AND notBefore <= ? AND id <= ?
       ORDER BY notBefore, id LIMIT ?`,
      handler,
      now,
      until,
      limit,
    );
    const turns: QueueHead[] = [];
    for (let i = 0; i < Math.max(atOnce.length, later.length); i++)
      for (const head of [atOnce[i], later[i]]) if (head !== undefined) turns.push(head);
    return turns;
  }

  /** The next time after another at which a run of a file is due; null for none. */
  async nextTime(path: string, after: number): Promise<number | null> {
    const row = await this.#database.reader.get<{ at: number | null }>(
      `SELECT min(notBefore) AS at FROM _job_queue WHERE ${open} AND notBefore > ?`,
      this.#number(path),
      after,
    );
    return row?.at ?? null;
  }

  /** The time since which the run of a file is due that has waited longest; null when none is due. */
  async dueSince(path: string, now: number): Promise<number | null> {
    const { reader } = this.#database;
    const handler = this.#number(path);
    const first = await reader.get<{ at: number }>(
      `SELECT firstAt AS at FROM _job_queue WHERE ${open} AND notBefore = 0 ORDER BY id LIMIT 1`,
      handler,
    );
    const later = await reader.get<{ at: number }>(
      `SELECT notBefore AS at FROM _job_queue WHERE ${open} AND notBefore > 0 AND notBefore <= ? ORDER BY notBefore LIMIT 1`,
      handler,
      now,
    );
    const times = [first, later].flatMap((row) => (row === null ? [] : [row.at]));
    return times.length === 0 ? null : Math.min(...times);
  }

  /** The last id. Runs up to it are on disk at a start. */
  async lastId(): Promise<number> {
    const row = await this.#database.reader.get<{ id: number | null }>("SELECT max(id) AS id FROM _job_queue");
    return row?.id ?? 0;
  }

  /** The input of a run; null when it is over, or another attempt has been made since its head was read. */
  input({ id, failures }: QueueHead): Awaitable<QueueInput | null> {
    return this.#database.reader.get<QueueInput>(
      "SELECT payload, actor, depth FROM _job_queue WHERE id = ? AND failures = ? AND failedAt IS NULL",
      id,
      failures,
    );
  }

  /** Retries that a later clock had put off beyond the longest pause are due at another time. */
  bringForward(tx: Transactor, { beyond, notBefore }: { beyond: number; notBefore: number }): Awaitable<unknown> {
    return tx.run(
      `UPDATE _job_queue SET notBefore = ? WHERE payload IS NOT NULL AND failedAt IS NULL AND failures > 0 AND notBefore > ?`,
      notBefore,
      beyond,
    );
  }

  /** An attempt has failed, and another follows. */
  postpone(tx: Transactor, id: number, next: Postponement): Awaitable<unknown> {
    return jobTable.postpone(tx, id, next);
  }

  /** The run is over. */
  async remove(tx: Transactor, id: number, path: string): Promise<void> {
    await jobTable.remove(tx, id);
    this.#countLater(tx, this.#number(path), -1);
  }

  /** A run that is not under way is not to be made any more. */
  async discard(tx: Transactor, { id, failedAt }: Pick<QueueRow, "id" | "failedAt">, path: string): Promise<void> {
    if (failedAt === null) await this.remove(tx, id, path);
    else await jobTable.remove(tx, id);
  }

  /** The last attempt has failed. The run is kept, among the newest that have failed. */
  async fail(
    tx: Transactor,
    id: number,
    { path, at, error }: { path: string; at: number; error: string },
  ): Promise<void> {
    await jobTable.fail(tx, id, { at, error });
    this.#countLater(tx, this.#number(path), -1);
    const row = await tx.get<{ bytes: number }>(
      "SELECT octet_length(payload) AS bytes FROM _job_queue WHERE id = ?",
      id,
    );
    await this.#failed.trim(tx, (row?.bytes ?? 0) + Buffer.byteLength(error));
  }

  /** A run that has failed for good waits again, and is due at a time. */
  async reopen(tx: Transactor, row: Pick<QueueRow, "id">, { path, at }: { path: string; at: number }): Promise<void> {
    await jobTable.reopen(tx, row.id);
    await jobTable.postpone(tx, row.id, { failures: 0, notBefore: at });
    this.#countLater(tx, this.#number(path), 1);
  }

  /** A run that is not over or has failed, with its payload; null when there is none. */
  find(reader: Pick<Transactor, "get">, path: string, runId: string): Awaitable<QueueRow | null> {
    return reader.get<QueueRow>(
      `SELECT ${rowColumns}, payload FROM _job_queue WHERE handler = ? AND runId = ? AND payload IS NOT NULL`,
      this.#number(path),
      runId,
    );
  }

  /** Runs of a file that are not over, those that are due first at the top. */
  openRuns(
    path: string,
    filter: { only?: readonly number[]; except?: readonly number[] },
    { limit, offset }: { limit: number; offset: number },
  ): Awaitable<QueueRow[]> {
    const conditions = [open];
    const values: Value[] = [this.#number(path)];
    for (const [test, ids] of [
      ["IN", filter.only],
      ["NOT IN", filter.except],
    ] as const) {
      if (ids === undefined) continue;
      conditions.push(`id ${test} (SELECT value FROM json_each(?))`);
      values.push(JSON.stringify(ids));
    }
    return this.#database.reader.all(
      `SELECT ${rowColumns}, NULL AS payload FROM _job_queue WHERE ${conditions.join(" AND ")}
       ORDER BY notBefore, id LIMIT ? OFFSET ?`,
      ...values,
      limit,
      offset,
    );
  }

  /** Runs of a file that have failed for good, newest first. */
  failedRuns(path: string, { limit, offset }: { limit: number; offset: number }): Awaitable<QueueRow[]> {
    return this.#database.reader.all(
      `SELECT ${rowColumns}, NULL AS payload FROM _job_queue
       WHERE handler = ? AND failedAt IS NOT NULL AND payload IS NOT NULL ORDER BY failedAt DESC, id DESC LIMIT ? OFFSET ?`,
      this.#number(path),
      limit,
      offset,
    );
  }

  async failedCount(path: string): Promise<number> {
    const row = await this.#database.reader.get<{ n: number }>(
      "SELECT count(*) AS n FROM _job_queue WHERE handler = ? AND failedAt IS NOT NULL AND payload IS NOT NULL",
      this.#number(path),
    );
    return row?.n ?? 0;
  }

  #number(path: string): number {
    return this.#handlers.of(`${path}:${jobHandler}`);
  }

  #countLater(tx: Transactor, handler: number, by: 1 | -1): void {
    tx.onCommit(() => this.#open.set(handler, (this.#open.get(handler) ?? 0) + by));
  }
}
