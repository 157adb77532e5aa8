/** The history of jobs: the attempts of the last runs of each, in the database. */

import { toTimestamp } from "../../base/kernel/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";

/** Runs of each job that are kept; of a queue, attempts of either end. */
const maxRuns = 100;
/** Attempts of a queue that are written between two removals of old ones. */
const trimEvery = 50;

type RunStatus = "running" | "completed" | "failed";

/** An attempt of a run in the list of runs (spec, "Job entry and job run"). */
export interface JobRunEntry {
  readonly runId: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly error?: string;
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

export class JobHistory {
  readonly #database: Database;
  /** The attempts written since the last removal of old attempts, by queue. */
  readonly #untrimmed = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** The attempts of a job, newest first. */
  list(job: string): JobRunEntry[] {
    const rows = this.#database.reader.all<Row>(
      "SELECT runId, startedAt, endedAt, status, attempt, error FROM _job_runs WHERE job = ? ORDER BY id DESC",
      job,
    );
    return rows.map(toEntry);
  }

  /** The newest attempt of a job's newest run; null before the first run. */
  last(job: string): JobRunEntry | null {
    const row = this.#database.reader.get<Row>(
      `SELECT runId, startedAt, endedAt, status, attempt, error FROM _job_runs WHERE job = ?1 AND runId = (
         SELECT runId FROM _job_runs WHERE job = ?1 AND attempt = 1 ORDER BY id DESC LIMIT 1) ORDER BY id DESC LIMIT 1`,
      job,
    );
    return row === null ? null : toEntry(row);
  }

  /** The newest attempt of a queue; null before the first run. */
  newest(job: string): JobRunEntry | null {
    const row = this.#database.reader.get<Row>(
      "SELECT runId, startedAt, endedAt, status, attempt, error FROM _job_runs WHERE job = ? ORDER BY id DESC LIMIT 1",
      job,
    );
    return row === null ? null : toEntry(row);
  }

  /** An attempt of a queue's run, which is over. The oldest ones are removed from time to time. */
  add(
    tx: Transactor,
    run: { runId: string; job: string; attempt: number; startedAt: number; endedAt: number; error: string | null },
  ): void {
    const { runId, job, attempt, startedAt, endedAt, error } = run;
    tx.run(
      "INSERT INTO _job_runs (runId, job, attempt, status, startedAt, endedAt, error, isByHand) VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
      runId,
      job,
      attempt,
      error === null ? "completed" : "failed",
      startedAt,
      endedAt,
      error,
    );
    const untrimmed = (this.#untrimmed.get(job) ?? trimEvery) + 1;
    this.#untrimmed.set(job, untrimmed > trimEvery ? 0 : untrimmed);
    if (untrimmed <= trimEvery) return;
    for (const status of ["completed", "failed"])
      tx.run(
        `DELETE FROM _job_runs WHERE job = ?1 AND status = ?2 AND id < (
           SELECT min(id) FROM (SELECT id FROM _job_runs WHERE job = ?1 AND status = ?2 ORDER BY id DESC LIMIT ${maxRuns}))`,
        job,
        status,
      );
  }

  /** An attempt starts. The oldest runs of the job are removed. */
  begin(
    tx: Transactor,
    run: { runId: string; job: string; attempt: number; startedAt: number; isByHand: boolean },
  ): void {
    const { runId, job, attempt, startedAt, isByHand } = run;
    tx.run(
      "INSERT INTO _job_runs (runId, job, attempt, status, startedAt, isByHand) VALUES (?, ?, ?, 'running', ?, ?)",
      runId,
      job,
      attempt,
      startedAt,
      isByHand ? 1 : 0,
    );
    if (attempt > 1) return;
    tx.run(
      `DELETE FROM _job_runs WHERE job = ?1 AND runId NOT IN (SELECT runId FROM _job_queue) AND id < (
         SELECT min(id) FROM (SELECT id FROM _job_runs WHERE job = ?1 AND attempt = 1 ORDER BY id DESC LIMIT ${maxRuns}))`,
      job,
    );
  }

  /** An attempt is over. */
  endAttempt(tx: Transactor, run: { runId: string; attempt: number; endedAt: number; error: string | null }): void {
    const { runId, attempt, endedAt, error } = run;
    tx.run(
      "UPDATE _job_runs SET status = ?, endedAt = ?, error = ? WHERE runId = ? AND attempt = ?",
      error === null ? "completed" : "failed",
      endedAt,
      error,
      runId,
      attempt,
    );
  }

  /** The attempts that the last process had under way have failed. Answers their runs. */
  interrupted(tx: Transactor, end: { endedAt: number; error: string }): string[] {
    const rows = tx.all<{ runId: string }>("SELECT runId FROM _job_runs WHERE status = 'running'");
    tx.run(
      "UPDATE _job_runs SET status = 'failed', endedAt = ?, error = ? WHERE status = 'running'",
      end.endedAt,
      end.error,
    );
    return rows.map(({ runId }) => runId);
  }
}
