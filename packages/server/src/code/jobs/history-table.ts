/**
 * The history of jobs: the attempts of the last runs of each job, in the database. The history has an attempt of a schedule from the
 * begin of the attempt on, so that an attempt which the end of the service cut off is known. The attempts of queues are many: the
 * history has an attempt of a queue from the end of the attempt on.
 */

import type { JobRun } from "@socle/protocol";
import { toTimestamp } from "../../base/kernel/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import type { RunEnd, RunHistory } from "../runs/index.ts";
import type { JobDefinition } from "./job-file.ts";
import type { JobAttempt } from "./job-table.ts";

/** Runs of each job that are kept; of a queue, attempts of either end. */
const maxRuns = 100;
/** Attempts of a queue that are written between two removals of old ones. */
const trimEvery = 50;

const columns = "runId, startedAt, endedAt, status, attempt, error";

interface Row {
  runId: string;
  startedAt: number;
  endedAt: number | null;
  status: JobRun["status"];
  attempt: number;
  error: string | null;
}

function toEntry({ runId, startedAt, endedAt, status, attempt, error }: Row): JobRun {
  return {
    runId,
    startedAt: toTimestamp(startedAt),
    endedAt: endedAt === null ? null : toTimestamp(endedAt),
    status,
    attempt,
    ...(error === null ? {} : { error }),
  };
}

/** SQL: the runs with a list of values in a column whose newest attempt has failed, and that no further attempt follows. */
function failedIn(column: "job" | "runId"): string {
  return `_job_runs AS r WHERE r.status = 'failed' AND r.${column} IN (SELECT value FROM json_each(?))
       AND r.id = (SELECT max(id) FROM _job_runs WHERE job = r.job AND runId = r.runId)
       AND NOT EXISTS (SELECT 1 FROM _job_queue WHERE runId = r.runId)`;
}

export class JobHistory implements RunHistory<JobAttempt> {
  readonly #database: Database;
  /** The attempts written since the last removal of old attempts, by queue. */
  readonly #untrimmed = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** The attempts of a job, newest first. */
  list(job: string): JobRun[] {
    const sql = `SELECT ${columns} FROM _job_runs WHERE job = ? ORDER BY id DESC`;
    return this.#database.reader.all<Row>(sql, job).map(toEntry);
  }

  /** Whether an attempt of a run is noted. */
  has(tx: Transactor, job: Pick<JobDefinition, "name">, runId: string): boolean {
    return tx.get("SELECT 1 AS n FROM _job_runs WHERE job = ? AND runId = ?", job.name, runId) !== null;
  }

  /** The name of the job of a run; null without an attempt of the run. */
  jobOf(runId: string): string | null {
    return this.#database.reader.get<{ job: string }>("SELECT job FROM _job_runs WHERE runId = ?", runId)?.job ?? null;
  }

  /** The newest attempt of the newest run of each schedule, and of each queue the newest attempt, by job. */
  last(jobs: readonly Pick<JobDefinition, "name" | "kind">[]): ReadonlyMap<string, JobRun> {
    const rows = this.#database.reader.all<Row & { job: string }>(
      `SELECT job, ${columns} FROM _job_runs WHERE id IN (SELECT (
         SELECT r.id FROM _job_runs AS r WHERE r.job = j.value ->> 'name' AND (j.value ->> 'kind' = 'queue' OR r.runId = (
           SELECT runId FROM _job_runs WHERE job = r.job AND attempt = 1 ORDER BY id DESC LIMIT 1)) ORDER BY r.id DESC LIMIT 1
       ) FROM json_each(?) AS j)`,
      JSON.stringify(jobs.map(({ name, kind }) => ({ name, kind }))),
    );
    return new Map(rows.map((row) => [row.job, toEntry(row)]));
  }

  /** The runs of some jobs whose newest attempt has failed, and that no further attempt follows. */
  failedRuns(jobs: readonly string[]): number {
    const sql = `SELECT count(*) AS n FROM ${failedIn("job")}`;
    return this.#database.reader.get<{ n: number }>(sql, JSON.stringify(jobs))?.n ?? 0;
  }

  /** The runs of `failedRuns`, oldest first. */
  failed(reader: Reader, jobs: readonly string[]): { job: string; run: string; error: string; at: number }[] {
    return reader.all(
      `SELECT r.job, r.runId AS run, coalesce(r.error, '') AS error, coalesce(r.endedAt, r.startedAt) AS at
       FROM ${failedIn("job")} ORDER BY r.id`,
      JSON.stringify(jobs),
    );
  }

  /** How many of some runs are over, with a failed attempt. */
  failedOf(reader: Reader, runIds: readonly string[]): number {
    const sql = `SELECT count(*) AS n FROM ${failedIn("runId")}`;
    return reader.get<{ n: number }>(sql, JSON.stringify(runIds))?.n ?? 0;
  }

  /** The oldest runs of the job are removed at the begin of a run. */
  begin(run: JobAttempt): ((tx: Transactor) => void) | null {
    const { job, failures } = run;
    if (job.kind === "queue") return null;
    return (tx) => {
      insert(tx, run, { status: "running", endedAt: null, error: null });
      if (failures > 0) return;
      tx.run(
        `DELETE FROM _job_runs WHERE job = ?1 AND runId NOT IN (SELECT runId FROM _job_queue) AND id < (
           SELECT min(id) FROM (SELECT id FROM _job_runs WHERE job = ?1 AND attempt = 1 ORDER BY id DESC LIMIT ${maxRuns}))`,
        job.name,
      );
    };
  }

  ended(tx: Transactor, run: JobAttempt, { at, error }: RunEnd): void {
    if (run.job.kind === "schedule") {
      this.endedLate(tx, run, { at, error });
      return;
    }
    insert(tx, run, { status: error === null ? "completed" : "failed", endedAt: at, error });
    this.#trim(tx, run.job.name);
  }

  takenBack(tx: Transactor, { runId, failures }: JobAttempt): void {
    tx.run("DELETE FROM _job_runs WHERE runId = ? AND attempt = ?", runId, failures + 1);
  }

  endedLate(tx: Transactor, { runId, failures }: JobAttempt, { at, error }: RunEnd): void {
    tx.run(
      "UPDATE _job_runs SET status = ?, endedAt = ?, error = ? WHERE runId = ? AND attempt = ?",
      error === null ? "completed" : "failed",
      at,
      error,
      runId,
      failures + 1,
    );
  }

  /** The attempts that the last process had under way have failed. Answers the runs. */
  interrupted(tx: Transactor, { endedAt, error }: { endedAt: number; error: string }): string[] {
    const rows = tx.all<{ runId: string }>(
      "UPDATE _job_runs SET status = 'failed', endedAt = ?, error = ? WHERE status = 'running' RETURNING runId",
      endedAt,
      error,
    );
    return rows.map(({ runId }) => runId);
  }

  /** Removes the oldest attempts of a queue from time to time. */
  #trim(tx: Transactor, queue: string): void {
    const untrimmed = (this.#untrimmed.get(queue) ?? trimEvery) + 1;
    this.#untrimmed.set(queue, untrimmed > trimEvery ? 0 : untrimmed);
    if (untrimmed <= trimEvery) return;
    for (const status of ["completed", "failed"])
      tx.run(
        `DELETE FROM _job_runs WHERE job = ?1 AND status = ?2 AND id < (
           SELECT min(id) FROM (SELECT id FROM _job_runs WHERE job = ?1 AND status = ?2 ORDER BY id DESC LIMIT ${maxRuns}))`,
        queue,
        status,
      );
  }
}

function insert(
  tx: Transactor,
  { runId, job, failures, startedAt, isByHand }: JobAttempt,
  { status, endedAt, error }: Pick<Row, "status" | "endedAt" | "error">,
): void {
  tx.run(
    "INSERT INTO _job_runs (runId, job, attempt, status, startedAt, endedAt, error, isByHand) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    runId,
    job.name,
    failures + 1,
    status,
    startedAt,
    endedAt,
    error,
    isByHand ? 1 : 0,
  );
}
