/**
 * The table of due times of the jobs that catch up: the next start finds a due time that has passed. A time is recorded in the
 * transaction that adds the run of the time before, so that no crash comes between the two.
 */
import type { Database, Transactor } from "../../store/database/index.ts";
import type { ScheduledJob } from "./job-file.ts";
import type { Scheduled } from "./schedules.ts";

type DueJob = Pick<ScheduledJob, "name" | "schedule" | "timezone">;

interface Row extends DueJob {
  readonly due: number;
}

export class DueTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The recorded due times by job, in milliseconds since 1970. A job whose schedule was changed has no due time. */
  of(jobs: readonly DueJob[]): ReadonlyMap<string, number> {
    const isOf = (row: Row, job: DueJob): boolean =>
      row.name === job.name && row.schedule === job.schedule && row.timezone === job.timezone;
    const rows = this.#all().filter((row) => jobs.some((job) => isOf(row, job)));
    return new Map(rows.map(({ name, due }) => [name, due]));
  }

  get isEmpty(): boolean {
    return this.#all().length === 0;
  }

  /** A time that never comes is recorded as the last time. */
  record(tx: Transactor, { job: { name, schedule, timezone }, due }: Pick<Scheduled<DueJob>, "job" | "due">): void {
    tx.run(
      "INSERT OR REPLACE INTO _job_due (name, schedule, timezone, due) VALUES (?, ?, ?, ?)",
      name,
      schedule,
      timezone,
      Math.min(due, Number.MAX_SAFE_INTEGER),
    );
  }

  /** Removes the due times of all other jobs. */
  keep(tx: Transactor, names: readonly string[]): void {
    tx.run("DELETE FROM _job_due WHERE name NOT IN (SELECT value FROM json_each(?))", JSON.stringify(names));
  }

  #all(): Row[] {
    return this.#database.reader.all<Row>("SELECT name, schedule, timezone, due FROM _job_due");
  }
}
