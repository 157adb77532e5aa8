/** The tables of jobs, and the steps from earlier versions. */
import type { ModuleSchema } from "../../store/database/index.ts";

export const jobSchema: ModuleSchema = {
  module: "jobs",
  steps: [
    // The attempts of the last runs of each job (history-table.ts).
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
    // A table of runs (runs/run-table.ts): runs of jobs that are not over (job-table.ts).
    `CREATE TABLE _job_queue (
      id INTEGER PRIMARY KEY,
      handler INTEGER NOT NULL,
      failures INTEGER NOT NULL DEFAULT 0,
      notBefore INTEGER NOT NULL DEFAULT 0,
      failedAt INTEGER,
      error TEXT,
      runId TEXT NOT NULL UNIQUE,
      firstAt INTEGER NOT NULL,
      isByHand INTEGER NOT NULL
    ) STRICT`,
    // Until now, an attempt was marked with `retryAt` while the run waited for another attempt.
    `INSERT OR IGNORE INTO _handlers (path, handler)
     SELECT DISTINCT 'jobs/' || job || '.ts', 'default' FROM _job_runs WHERE status = 'running' OR retryAt IS NOT NULL`,
    `INSERT OR IGNORE INTO _job_queue (handler, failures, notBefore, runId, firstAt, isByHand)
     SELECT h.id, iif(r.status = 'running', r.attempt - 1, r.attempt), coalesce(r.retryAt, 0), r.runId,
       (SELECT min(startedAt) FROM _job_runs AS f WHERE f.runId = r.runId), r.isByHand
     FROM _job_runs AS r JOIN _handlers AS h ON h.path = 'jobs/' || r.job || '.ts' AND h.handler = 'default'
     WHERE r.status = 'running' OR r.retryAt IS NOT NULL ORDER BY r.id`,
    "DROP INDEX _job_runs_open",
    "ALTER TABLE _job_runs DROP COLUMN retryAt",
    "CREATE INDEX _job_runs_running ON _job_runs (status) WHERE status = 'running'",
    // Runs of queues (job-table.ts): rows with a payload, as JSON. `actor` is the user behind the run, `depth` the
    // number of functions that led to the run.
    "ALTER TABLE _job_queue ADD COLUMN payload TEXT",
    "ALTER TABLE _job_queue ADD COLUMN key TEXT",
    "ALTER TABLE _job_queue ADD COLUMN actor TEXT",
    "ALTER TABLE _job_queue ADD COLUMN depth INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX _job_queue_due ON _job_queue (handler, notBefore) WHERE payload IS NOT NULL AND failedAt IS NULL",
    "CREATE INDEX _job_queue_key ON _job_queue (handler, key) WHERE key IS NOT NULL AND failedAt IS NULL",
    "CREATE INDEX _job_queue_failed ON _job_queue (failedAt) WHERE failedAt IS NOT NULL",
    // Runs of schedules are found among any number of runs of queues.
    "CREATE INDEX _job_queue_scheduled ON _job_queue (handler, notBefore) WHERE payload IS NULL",
    // The due times of jobs that catch up (due-table.ts).
    `CREATE TABLE _job_due (
      name TEXT PRIMARY KEY,
      schedule TEXT NOT NULL,
      timezone TEXT NOT NULL,
      due INTEGER NOT NULL
    ) STRICT`,
    // The cause that added the run, and the first cause of the trace.
    "ALTER TABLE _job_queue ADD COLUMN cause TEXT",
    "ALTER TABLE _job_queue ADD COLUMN trace TEXT",
    "CREATE INDEX _job_queue_trace ON _job_queue (trace) WHERE trace IS NOT NULL",
  ],
};
