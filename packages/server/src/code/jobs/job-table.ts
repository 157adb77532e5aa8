/**
 * The table of runs of jobs (runs/run-table.ts): runs that wait or are under way, and queues' runs that have failed for good.
 * A run of a queue has a payload; a run of a schedule has no payload.
 */
import { type Database, noteKind, type Reader, type Transactor } from "../../store/database/index.ts";
import { traceIn } from "../../store/events/index.ts";
import {
  type HandlerName,
  type HandlerRun,
  type OpenRun,
  type Postponement,
  pageSize,
  type RunHead,
  type RunPage,
  type RunRow,
  RunTable,
  type StatusFilter,
  statusCondition,
  type WaitingRun,
} from "../runs/index.ts";
import { type JobDefinition, jobHandler } from "./job-file.ts";

/** The file of a job, and its kind. */
type JobOfRun = Pick<JobDefinition, "path" | "kind">;

/** An attempt of a run of a job. */
export interface JobAttempt extends HandlerRun {
  /** The id of the run's row; null before the begin of a run by hand. */
  id: number | null;
  readonly job: JobDefinition;
  /** The start of the first attempt, in milliseconds since 1970. */
  readonly firstAt: number;
  /** The start of this attempt. */
  readonly startedAt: number;
  readonly isByHand: boolean;
}

/** A run with its job. */
interface RunOfJob extends RunRow {
  readonly job: JobOfRun;
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** The part of a run that the dispatcher keeps in memory. */
export interface JobHead extends WaitingRun {
  readonly runId: string;
  /** The start of the first attempt of a schedule's run, or the time at which a queue's run was added. */
  readonly firstAt: number;
}

/** The rest of a run: the payload, and the user behind the run. */
export interface JobInput {
  /** JSON; null for a schedule. */
  readonly payload: string | null;
  /** The user behind the run, or null. */
  readonly actor: string | null;
  /** The number of functions that led to the run. */
  readonly depth: number;
  /** The cause that added the run, as `causeText`; null for a run of a schedule. */
  readonly cause: string | null;
}

/** An unfinished run, or a run that has failed for good, in the form for admins. `payload` is JSON, null if not requested. */
export interface QueueRow extends Postponement {
  readonly id: number;
  readonly runId: string;
  readonly key: string | null;
  readonly createdAt: number;
  readonly failedAt: number | null;
  readonly error: string | null;
  readonly payloadSize: number;
  readonly payload: string | null;
}

/** @see JobTable.ofTrace */
export interface RunOfTrace extends RunHead, Pick<OpenRun, "runId" | "at" | "failedAt" | "error"> {
  readonly cause: string;
}

const headColumns = "id, runId, key, failures, notBefore, firstAt";
const rowColumns =
  "id, runId, key, failures, notBefore, firstAt AS createdAt, failedAt, error, octet_length(payload) AS payloadSize";
/** The unfinished runs of a file, in the words of the indexes. The dispatcher does not start runs by hand. */
const open: { readonly [kind in JobDefinition["kind"]]: string } = {
  queue: "handler = ? AND payload IS NOT NULL AND failedAt IS NULL",
  schedule: "handler = ? AND payload IS NULL AND isByHand = 0",
};
const failed = "handler = ? AND failedAt IS NOT NULL AND payload IS NOT NULL";

const jobAdded = noteKind<{ readonly id: number }>("jobs.added");
/** The number of a job's open runs has changed. */
const jobsCounted = noteKind<{ readonly job: JobOfRun; readonly by: 1 | -1 }>("jobs.counted");

export class JobTable extends RunTable<RunOfJob> {
  /** The number of runs that wait or are under way, by kind and file; null before the count. */
  #open: Map<string, number> | null = null;
  #lastId = 0;

  constructor(database: Database) {
    super(database, { name: "_job_queue", bytes: "octet_length(coalesce(payload, '')) + octet_length(error)" });
    const { projection } = database;
    projection.on(jobAdded, ({ id }) => {
      this.#lastId = id;
    });
    projection.on(jobsCounted, ({ job, by }) => this.#open?.set(countKey(job), this.openCount(job) + by));
  }

  override register(handlers: readonly HandlerName[]): Promise<void> {
    this.#open ??= this.#count();
    this.#lastId = Math.max(this.#lastId, this.lastId());
    return super.register(handlers);
  }

  #count(): Map<string, number> {
    const rows = this.database.reader.all<JobOfRun & { n: number }>(
      `SELECT h.path, iif(r.payload IS NULL, 'schedule', 'queue') AS kind, count(*) AS n FROM ${this.source}
       WHERE r.failedAt IS NULL GROUP BY 1, 2`,
    );
    return new Map(rows.map((row) => [countKey(row), row.n]));
  }

  /** The number of a job's runs that wait or are under way. */
  openCount(job: JobOfRun): number {
    return this.#open?.get(countKey(job)) ?? 0;
  }

  /** The files with waiting runs of queues, and the numbers of runs. */
  override waiting(): { path: string; waiting: number }[] {
    return super.waiting("r.payload IS NOT NULL AND r.failedAt IS NULL");
  }

  /** Adds a run and answers the id. Ids rise in commit order; no id is used twice while the service runs. */
  add(
    tx: Transactor,
    job: JobOfRun,
    run: JobInput & Pick<JobHead, "runId" | "key" | "notBefore" | "firstAt"> & { readonly isByHand?: boolean },
  ): number {
    const id = (tx.lastNote(jobAdded)?.id ?? this.#lastId) + 1;
    const { runId, key, notBefore, firstAt, payload, actor, depth, cause, isByHand = false } = run;
    tx.run(
      `INSERT INTO _job_queue (id, handler, notBefore, runId, firstAt, isByHand, payload, key, actor, depth, cause, trace)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      this.#number(job.path),
      notBefore,
      runId,
      firstAt,
      isByHand ? 1 : 0,
      payload,
      key,
      actor,
      depth,
      cause,
      cause && traceIn(cause),
    );
    tx.note(jobAdded.of({ id }));
    noteCount(tx, job, 1);
    return id;
  }

  /** Whether a run of a schedule waits or is under way. */
  has(tx: Transactor, { path }: JobOfRun, runId: string): boolean {
    const sql = `SELECT 1 AS n FROM _job_queue WHERE ${open.schedule} AND runId = ?`;
    return tx.get(sql, this.#number(path), runId) !== null;
  }

  /** The unfinished runs of a queue with a key, oldest first. */
  withKey(tx: Transactor, path: string, key: string): { id: number; runId: string }[] {
    return tx.all(
      "SELECT id, runId FROM _job_queue WHERE handler = ? AND key = ? AND failedAt IS NULL AND payload IS NOT NULL ORDER BY id",
      this.#number(path),
      key,
    );
  }

  /**
   * Runs that are due, among the runs up to an id, in the order of starts. Runs without a time
   * and runs that are due take turns, so that no group waits for an endless supply of the other.
   */
  due(job: JobOfRun, { until, passed, now }: { until: number; passed: number; now: number }): RunPage<JobHead> {
    const { reader } = this.database;
    const [handler, condition, limit] = [this.#number(job.path), open[job.kind], passed + pageSize];
    const dueIn = (from: number, to: number): JobHead[] =>
      reader.all<JobHead>(
        `SELECT ${headColumns} FROM _job_queue WHERE ${condition} AND notBefore BETWEEN ? AND ? AND id <= ?
         ORDER BY notBefore, id LIMIT ?`,
        handler,
        from,
        to,
        until,
        limit,
      );
    const [atOnce, timed] = [dueIn(0, 0), dueIn(1, now)];
    const runs: JobHead[] = [];
    for (let i = 0; i < Math.max(atOnce.length, timed.length); i++)
      for (const row of [atOnce[i], timed[i]]) {
        if (row === undefined) continue;
        // A key counts within a queue: other files have separate keys.
        const key = row.key === null ? null : `${job.path} ${row.key}`;
        runs.push({ ...row, path: job.path, key, turn: row.id });
      }
    const next = reader.get<{ at: number | null }>(
      `SELECT min(notBefore) AS at FROM _job_queue WHERE ${condition} AND notBefore > ?`,
      handler,
      now,
    );
    return { runs, hasMore: Math.max(atOnce.length, timed.length) >= limit, nextTime: next?.at ?? null };
  }

  /** The time since which the longest-waiting due run of a queue is due; null when no run is due. */
  dueSince(path: string, now: number): number | null {
    const handler = this.#number(path);
    const row = this.database.reader.get<{ at: number | null }>(
      `SELECT min(at) AS at FROM (
         SELECT * FROM (SELECT firstAt AS at FROM _job_queue WHERE ${open.queue} AND notBefore = 0 ORDER BY id LIMIT 1)
         UNION ALL SELECT min(notBefore) FROM _job_queue WHERE ${open.queue} AND notBefore BETWEEN 1 AND ?)`,
      handler,
      handler,
      now,
    );
    return row?.at ?? null;
  }

  /** The input of a run; null when the run is over, or had another attempt after the head was read. */
  input({ id, failures }: JobHead): JobInput | null {
    return this.database.reader.get<JobInput>(
      "SELECT payload, actor, depth, cause FROM _job_queue WHERE id = ? AND failures = ? AND failedAt IS NULL",
      id,
      failures,
    );
  }

  /** Ends the attempts of the last process: a run by hand is over, any other run has a failed attempt more. */
  interrupted(tx: Transactor, runIds: readonly string[], notBefore: number): void {
    const sql = `SELECT r.id, h.path FROM ${this.source} WHERE r.isByHand = 1`;
    for (const { id, path } of tx.all<{ id: number; path: string }>(sql))
      this.remove(tx, { id, job: { path, kind: "schedule" } });
    tx.run(
      "UPDATE _job_queue SET failures = failures + 1, notBefore = ? WHERE runId IN (SELECT value FROM json_each(?))",
      notBefore,
      JSON.stringify(runIds),
    );
  }

  /** Gives another due time to attempts with a due time too far ahead, set by a later clock. */
  bringForward(tx: Transactor, { beyond, notBefore }: { beyond: number; notBefore: number }): void {
    tx.run(
      "UPDATE _job_queue SET notBefore = ? WHERE failedAt IS NULL AND failures > 0 AND notBefore > ?",
      notBefore,
      beyond,
    );
  }

  override remove(tx: Transactor, run: RunOfJob): void {
    super.remove(tx, run);
    // A run by hand without a written beginning was not counted.
    if (run.id !== null) noteCount(tx, run.job, -1);
  }

  /** A run of a queue is kept, among the newest failures; a run of a schedule is over. */
  override fail(tx: Transactor, run: RunOfJob, end: { at: number; error: string }): void {
    if (run.job.kind === "queue") super.fail(tx, run, end);
    else super.remove(tx, run);
    if (run.id !== null) noteCount(tx, run.job, -1);
  }

  /** Makes a queue's failed run wait again, with a due time. @throws AppError as `reopen`. */
  retry(tx: Transactor, run: Pick<QueueRow, "id" | "failedAt">, { path, at }: { path: string; at: number }): void {
    this.reopen(tx, run, at);
    noteCount(tx, { path, kind: "queue" }, 1);
  }

  /** The file of a run of a queue; null for a run that is over. */
  pathOf(reader: Reader, runId: string): string | null {
    const sql = `SELECT h.path FROM ${this.source} WHERE r.runId = ? AND r.payload IS NOT NULL`;
    return reader.get<{ path: string }>(sql, runId)?.path ?? null;
  }

  /** The runs of queues that have failed for good, oldest first. */
  failed(reader: Reader): { path: string; run: string; error: string; at: number }[] {
    return reader.all(
      `SELECT h.path, r.runId AS run, r.error, r.failedAt AS at FROM ${this.source}
       WHERE r.failedAt IS NOT NULL AND r.payload IS NOT NULL ORDER BY r.failedAt, r.id`,
    );
  }

  /** Deletes a run of a queue that is not under way. */
  discard(tx: Transactor, { id, failedAt }: Pick<QueueRow, "id" | "failedAt">, path: string): void {
    const job = { path, kind: "queue" } as const;
    super.remove(tx, { id, job });
    if (failedAt === null) noteCount(tx, job, -1);
  }

  /** An unfinished or failed run of a queue, with the payload; null without this run. */
  find(reader: Pick<Reader, "get">, path: string, runId: string): QueueRow | null {
    return reader.get<QueueRow>(
      `SELECT ${rowColumns}, payload FROM _job_queue WHERE handler = ? AND runId = ? AND payload IS NOT NULL`,
      this.#number(path),
      runId,
    );
  }

  /** The unfinished runs of a queue, in the order of due times; or runs that have failed for good, newest first. */
  runs(path: string, filter: StatusFilter, { limit, offset }: Page): QueueRow[] {
    const { conditions, values } = statusCondition("id", filter);
    const chosen =
      filter.status === "failed"
        ? `${failed} ORDER BY failedAt DESC, id DESC`
        : `${[open.queue, ...conditions].join(" AND ")} ORDER BY notBefore, id`;
    return this.database.reader.all(
      `SELECT ${rowColumns}, NULL AS payload FROM _job_queue WHERE ${chosen} LIMIT ? OFFSET ?`,
      this.#number(path),
      ...values,
      limit,
      offset,
    );
  }

  /** The file and the input of a run that is not over, or of a queue's run that has failed for good; null for another run. */
  runOf(runId: string): (JobInput & Pick<JobHead, "path" | "failures" | "firstAt">) | null {
    const sql = `SELECT h.path, payload, actor, depth, cause, failures, firstAt FROM ${this.source} WHERE runId = ?`;
    return this.database.reader.get(sql, runId);
  }

  /** The runs of a trace that are not over, or have failed for good, oldest first. @param trace the id of the first cause. */
  ofTrace(trace: string, limit: number): RunOfTrace[] {
    return this.database.reader.all(
      `SELECT ${this.headColumns}, r.runId, r.firstAt AS at, r.failedAt, r.error, r.cause FROM ${this.source} WHERE r.trace = ? ORDER BY r.id LIMIT ?`,
      trace,
      limit,
    );
  }

  failedCount(path: string): number {
    const sql = `SELECT count(*) AS n FROM _job_queue WHERE ${failed}`;
    return this.database.reader.get<{ n: number }>(sql, this.#number(path))?.n ?? 0;
  }

  #number(path: string): number {
    return this.numberOf(`${path}:${jobHandler}`);
  }
}

function noteCount(tx: Transactor, job: JobOfRun, by: 1 | -1): void {
  tx.note(jobsCounted.of({ job: { path: job.path, kind: job.kind }, by }));
}

function countKey({ path, kind }: JobOfRun): string {
  return `${kind} ${path}`;
}
