/** The tables of jobs of an earlier version are brought up to date, with the runs that are not over. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { Database } from "../../store/database/index.ts";
import { functionSchema } from "../functions/index.ts";
import { JobHistory } from "./history-table.ts";
import { JobTable } from "./job-table.ts";
import { jobSchema } from "./schema.ts";

/** Steps of the version that had no queue. */
const earlierSteps = 3;

test("waiting and started runs are in the queue, and the history is unchanged", async () => {
  const path = join(temporaryFolder(), "old.db");
  const openDatabase = () => new Database({ path, logger: quietLogger(), onFatal: () => undefined });
  const old = openDatabase();
  await old.prepare([functionSchema, { ...jobSchema, steps: jobSchema.steps.slice(0, earlierSteps) }]);
  const attempts: [run: string, job: string, attempt: number, status: string, retryAt: number | null, hand: 0 | 1][] = [
    ["run_done", "tidy", 1, "completed", null, 0],
    ["run_waits", "tidy", 1, "failed", null, 0],
    ["run_waits", "tidy", 2, "failed", 5_000, 0],
    ["run_failed", "mail", 1, "failed", null, 0],
    ["run_runs", "mail", 1, "failed", null, 0],
    ["run_runs", "mail", 2, "running", null, 0],
    ["run_hand", "mail", 1, "running", null, 1],
  ];
  await old.transactLong("test", async (tx) => {
    for (const [i, [runId, job, attempt, status, retryAt, isByHand]] of attempts.entries())
      await tx.run(
        "INSERT INTO _job_runs (runId, job, attempt, status, startedAt, retryAt, isByHand) VALUES (?, ?, ?, ?, ?, ?, ?)",
        runId,
        job,
        attempt,
        status,
        i,
        retryAt,
        isByHand,
      );
  });
  await old.close();

  const database = openDatabase();
  await database.prepare([functionSchema, jobSchema]);
  const [history, table] = [new JobHistory(database), new JobTable(database)];
  await table.register(["jobs/tidy.ts", "jobs/mail.ts"].map((path) => ({ path, handler: "default" })));
  const open = () =>
    database.reader.all(
      `SELECT h.path, h.handler, r.id, r.failures, r.notBefore, r.runId, r.firstAt FROM _job_queue AS r
       JOIN _handlers AS h ON h.id = r.handler WHERE r.failedAt IS NULL ORDER BY r.id`,
    );
  const tidy = { path: "jobs/tidy.ts", handler: "default" };
  const mail = { path: "jobs/mail.ts", handler: "default" };
  const waits = { ...tidy, id: 1, failures: 2, notBefore: 5_000, runId: "run_waits", firstAt: 1 };
  const runs = { ...mail, id: 2, failures: 1, notBefore: 0, runId: "run_runs", firstAt: 4 };
  const byHand = { ...mail, id: 3, failures: 0, notBefore: 0, runId: "run_hand", firstAt: 6 };
  expect(open()).toEqual([waits, runs, byHand]);
  expect(history.list("tidy").map(({ runId, attempt }) => `${runId} ${attempt}`)).toEqual([
    "run_waits 2",
    "run_waits 1",
    "run_done 1",
  ]);

  // The start of the service: attempts that were under way have failed, and those made by hand are not tried again.
  await database.transact((tx) =>
    table.interrupted(tx, history.interrupted(tx, { endedAt: 10, error: "ended" }), 9_000),
  );
  expect(open()).toEqual([waits, { ...runs, failures: 2, notBefore: 9_000 }]);
  const due = { until: 99, passed: 0, now: 6_000 };
  expect(table.due({ path: "jobs/tidy.ts", kind: "schedule" }, due).runs).toMatchObject([
    { runId: "run_waits", failures: 2 },
  ]);
  expect(table.due({ path: "jobs/mail.ts", kind: "schedule" }, due)).toEqual({
    runs: [],
    hasMore: false,
    nextTime: 9_000,
  });
  expect(history.list("mail").map(({ runId, status }) => `${runId} ${status}`)).toEqual([
    "run_hand failed",
    "run_runs failed",
    "run_runs failed",
    "run_failed failed",
  ]);
  await database.close();
});
