/**
 * The job queue: the runs of jobs that are not over, in the shape of all runs (runs/run-table.ts). Those of queues, which
 * have a payload, are in the same table (queued-runs.ts).
 */
import type { Database, Transactor } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import { type HandlerName, handlerNumber, type Postponement, type RunHead, RunTable } from "../runs/index.ts";

/** A run of a job that is not over. */
export interface QueuedRun extends RunHead {
  readonly runId: string;
  /** The start of the first attempt, in milliseconds since 1970. */
  readonly firstAt: number;
}

export const jobTable = new RunTable("_job_queue");

export class JobQueue {
  readonly #database: Database;
  #lastId: number | null = null;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(
    tx: Transactor,
    run: HandlerName & { readonly runId: string; readonly firstAt: number; readonly isByHand: boolean },
  ): Promise<void> {
    await tx.run(
      "INSERT INTO _job_queue (id, handler, runId, firstAt, isByHand) VALUES (?, ?, ?, ?, ?)",
      await this.nextId(tx),
      await handlerNumber(tx, run),
      run.runId,
      run.firstAt,
      run.isByHand ? 1 : 0,
    );
  }

  /** The id of a new row. Ids grow in the order of commits and are never used again, as long as the service runs. */
  async nextId(tx: Transactor): Promise<number> {
    this.#lastId ??= (await tx.get<{ id: number | null }>("SELECT max(id) AS id FROM _job_queue"))?.id ?? 0;
    this.#lastId += 1;
    return this.#lastId;
  }

  /** An attempt has failed, and another follows. */
  async postpone(tx: Transactor, runId: string, next: Postponement): Promise<void> {
    const id = await this.#idOf(tx, runId);
    if (id !== null) await jobTable.postpone(tx, id, next);
  }

  /** The run is over. */
  async remove(tx: Transactor, runId: string): Promise<void> {
    const id = await this.#idOf(tx, runId);
    if (id !== null) await jobTable.remove(tx, id);
  }

  /** For the attempts that the last process had under way when it ended: those made by hand are over, the others failed. */
  async interrupted(tx: Transactor, runIds: readonly string[], notBefore: number): Promise<void> {
    await tx.run("DELETE FROM _job_queue WHERE isByHand = 1 AND failedAt IS NULL");
    await tx.run(
      "UPDATE _job_queue SET failures = failures + 1, notBefore = ? WHERE runId IN (SELECT value FROM json_each(?))",
      notBefore,
      JSON.stringify(runIds),
    );
  }

  /** The runs of schedules that wait or are under way, in the order in which they began. */
  open(): Awaitable<QueuedRun[]> {
    return this.#database.reader.all(
      `SELECT ${jobTable.headColumns}, r.runId, r.firstAt FROM ${jobTable.source}
       WHERE r.payload IS NULL AND r.failedAt IS NULL ORDER BY r.id`,
    );
  }

  async #idOf(tx: Transactor, runId: string): Promise<number | null> {
    const row = await tx.get<{ id: number }>("SELECT id FROM _job_queue WHERE runId = ?", runId);
    return row?.id ?? null;
  }
}
