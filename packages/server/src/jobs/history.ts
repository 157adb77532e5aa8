import type { Database, ModuleSchema, Transactor } from "../database/index.ts";
import { type Awaitable, toTimestamp } from "../kernel/index.ts";

export const jobSchema: ModuleSchema = {
  module: "jobs",
  steps: [
    // One entry for each attempt. `retryAt`: when the run is tried again, as long as it has not been.
    `CREATE TABLE _job_runs (
      id INTEGER PRIMARY KEY,
      runId TEXT NOT NULL,
      job TEXT NOT NULL,
      attempt INTEGER NOT NULL,
      status TEXT NOT NULL,
      startedAt INTEGER NOT NULL,
      endedAt INTEGER,
      error TEXT,
      retryAt INTEGER,
      isByHand INTEGER NOT NULL
    ) STRICT`,
    "CREATE INDEX _job_runs_job ON _job_runs (job, id)",
    "CREATE INDEX _job_runs_open ON _job_runs (status) WHERE status = 'running' OR retryAt IS NOT NULL",
  ],
};

/** Runs of each job that are remembered. */
const maxRuns = 100;

type RunStatus = "running" | "completed" | "failed";

/** An attempt of a run, as it is listed (spec, "Job entry and job run"). */
export interface JobRunEntry {
  readonly runId: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly error?: string;
}

/** An attempt that is to be made, of a run that has failed before or was cut off. */
export interface OpenRun {
  readonly runId: string;
  readonly job: string;
  /** Of the attempt that has failed. */
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly retryAt: number;
  /** When the first attempt started. */
  readonly firstAt: number;
}

interface Row {
  runId: string;
  startedAt: number;
  endedAt: number | null;
  status: RunStatus;
  attempt: number;
  error: string | null;
}

function toEntry({ runId, startedAt, endedAt, status, attempt, error }: Row): JobRunEntry {
  return {
    runId,
    startedAt: toTimestamp(startedAt),
    endedAt: endedAt === null ? null : toTimestamp(endedAt),
    status,
    attempt,
    ...(error === null ? {} : { error }),
  };
}

/** What jobs have done, in the database: the attempts of the last runs of each. */
export class JobHistory {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Newest first. */
  async list(job: string): Promise<JobRunEntry[]> {
    const rows = await this.#database.reader.all<Row>(
      "SELECT runId, startedAt, endedAt, status, attempt, error FROM _job_runs WHERE job = ? ORDER BY id DESC",
      job,
    );
    return rows.map(toEntry);
  }

  /** The newest attempt of a job's newest run; null when there was none. */
  async last(job: string): Promise<JobRunEntry | null> {
    const row = await this.#database.reader.get<Row>(
      `SELECT runId, startedAt, endedAt, status, attempt, error FROM _job_runs WHERE job = ?1 AND runId = (
         SELECT runId FROM _job_runs WHERE job = ?1 AND attempt = 1 ORDER BY id DESC LIMIT 1) ORDER BY id DESC LIMIT 1`,
      job,
    );
    return row === null ? null : toEntry(row);
  }

  /** An attempt starts. The oldest runs of the job are forgotten. */
  async begin(
    tx: Transactor,
    run: { runId: string; job: string; attempt: number; startedAt: number; isByHand: boolean },
  ): Promise<void> {
    const { runId, job, attempt, startedAt, isByHand } = run;
    await tx.run("UPDATE _job_runs SET retryAt = NULL WHERE runId = ?", runId);
    await tx.run(
      "INSERT INTO _job_runs (runId, job, attempt, status, startedAt, isByHand) VALUES (?, ?, ?, 'running', ?, ?)",
      runId,
      job,
      attempt,
      startedAt,
      isByHand ? 1 : 0,
    );
    if (attempt > 1) return;
    await tx.run(
      `DELETE FROM _job_runs WHERE job = ?1 AND status <> 'running' AND retryAt IS NULL AND id < (
         SELECT min(id) FROM (SELECT id FROM _job_runs WHERE job = ?1 AND attempt = 1 ORDER BY id DESC LIMIT ${maxRuns}))`,
      job,
    );
  }

  /** An attempt is over. `retryAt`: when there is another, else null. */
  end(
    tx: Transactor,
    run: { runId: string; attempt: number; endedAt: number; error: string | null; retryAt: number | null },
  ): Awaitable<unknown> {
    const { runId, attempt, endedAt, error, retryAt } = run;
    return tx.run(
      "UPDATE _job_runs SET status = ?, endedAt = ?, error = ?, retryAt = ? WHERE runId = ? AND attempt = ?",
      error === null ? "completed" : "failed",
      endedAt,
      error,
      retryAt,
      runId,
      attempt,
    );
  }

  /** Attempts that a process which has ended had under way have failed; those not made by hand are to be made again. */
  endCutOff(tx: Transactor, end: { endedAt: number; error: string; retryAt: number }): Awaitable<unknown> {
    return tx.run(
      "UPDATE _job_runs SET status = 'failed', endedAt = ?, error = ?, retryAt = iif(isByHand, NULL, ?) WHERE status = 'running'",
      end.endedAt,
      end.error,
      end.retryAt,
    );
  }

  /** There is no further attempt. */
  close(tx: Transactor, runId: string): Awaitable<unknown> {
    return tx.run("UPDATE _job_runs SET retryAt = NULL WHERE runId = ?", runId);
  }

  /** Runs that wait for another attempt. */
  async open(): Promise<OpenRun[]> {
    return this.#database.reader.all(
      `SELECT runId, job, attempt, retryAt, ${firstAt} FROM _job_runs AS r WHERE retryAt IS NOT NULL ORDER BY id`,
    );
  }
}

const firstAt = "(SELECT min(startedAt) FROM _job_runs AS f WHERE f.runId = r.runId) AS firstAt";
