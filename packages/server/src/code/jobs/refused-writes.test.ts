/** Runs of jobs while the database refuses writes for now: no due time, no end and no other run is lost, and no handler is called twice. */
import { expect, test } from "bun:test";
import { eventsSince } from "../../../test/kit.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";
import { AppError, system } from "../../base/kernel/index.ts";

const warning = "WARN The state of a run cannot be written at the moment";
const never = 'export const schedule = "0 0 1 1 *";\n';

/** Refuses each transaction whose work is done, until `allow` is called: as a journal that is away at the commit. */
function refuse({ service: { database } }: TestScripts): { readonly count: number; allow(): void } {
  const refused = { count: 0, allow: () => Reflect.deleteProperty(database, "transact") };
  const transact = database.transact.bind(database);
  database.transact = (work, options) =>
    transact((tx) => {
      work(tx);
      refused.count += 1;
      throw new AppError("unavailable", "The journal is away.");
    }, options);
  return refused;
}

async function types({ service }: TestScripts): Promise<string[]> {
  return (await eventsSince(service)).map(({ type }) => type).filter((type) => type.startsWith("job."));
}

function rows({ service }: TestScripts): { runId: string; failures: number }[] {
  return service.database.reader.all("SELECT runId, failures FROM _job_queue ORDER BY id");
}

/** Adds a run of a schedule to the table, as an earlier start of the service has left the run. */
function leave(
  { service }: TestScripts,
  path: string,
  { failures, notBefore }: { failures: number; notBefore: number },
) {
  return service.database.transact((tx) =>
    tx.run(
      `INSERT INTO _job_queue (id, handler, failures, notBefore, runId, firstAt, isByHand, depth)
       SELECT 1, id, ?, ?, 'run_left', 1, 0, 0 FROM _handlers WHERE path = ?`,
      failures,
      notBefore,
      path,
    ),
  );
}

test("a due time of a schedule is written later, and the job runs once", async () => {
  let at = Date.parse("2026-03-01T08:59:59.900Z");
  const files = { "jobs/tick.ts": 'export const schedule = "0 9 * * *";\nexport default () => undefined;\n' };
  const opened = await openScripts({ files, now: () => at });
  const refused = refuse(opened);
  at += 1_000;
  await until(() => opened.log.includes(warning));
  expect(await types(opened)).toEqual([]);
  refused.allow();
  while ((await types(opened)).length < 2) await Bun.sleep(5);
  await opened.scripts.settled();
  expect(await types(opened)).toEqual(["job.started", "job.completed"]);
  expect(rows(opened)).toEqual([]);
  await opened.stop();
});

test("a run that its options no longer allow has failed later, and its row is gone", async () => {
  let at = Date.parse("2026-03-01T12:00:00.000Z");
  const now = (): number => at;
  const code = `${never}export const options = { retries: 0 };\nexport default () => undefined;\n`;
  const first = await openScripts({ files: { "jobs/bad.ts": code }, now });
  await leave(first, "jobs/bad.ts", { failures: 2, notBefore: at + 200 });
  await first.stop();
  const opened = await openScripts({ folder: first.folder, now });
  const refused = refuse(opened);
  at += 1_000;
  await until(() => opened.log.includes(warning));
  expect(rows(opened)).toEqual([{ runId: "run_left", failures: 2 }]);
  refused.allow();
  await until(() => rows(opened).length === 0);
  await opened.scripts.settled();
  expect(await types(opened)).toEqual(["job.failed"]);
  await opened.stop();
});

test("a run by hand whose begin was rolled back removes no run that has got its id", async () => {
  const files = {
    "jobs/hand.ts": `${never}export default () => new Promise((resolve) => setTimeout(resolve, 300));\n`,
    "jobs/later.ts": "export const queue = { concurrency: 1 };\nexport default () => undefined;\n",
  };
  const opened = await openScripts({ files });
  const refused = refuse(opened);
  const run = opened.scripts.jobs.runByHand("hand");
  expect(await run?.noted).toBe(false);
  refused.allow();
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const runId = await opened.scripts.jobs.queues.enqueue("later", { payload: "1", options: { at } }, system);
  expect((await run?.outcome)?.status).toBe("completed");
  expect(rows(opened)).toEqual([{ runId, failures: 0 }]);
  await opened.stop();
});

test("a run whose preparation is refused starts later, once", async () => {
  const code =
    'export const queue = { concurrency: 1 };\nexport default ({ logger, payload }: any) => logger.info("run " + payload);\n';
  const opened = await openScripts({ files: { "jobs/keyed.ts": code } });
  const { database } = opened.service;
  const options = { key: "a" };
  await opened.scripts.jobs.queues.enqueue("keyed", { payload: "7", options }, system);
  // The run is on disk and has not started: the dispatcher looks at the table in the next turn of the event loop.
  const refused = refuse(opened);
  await until(() => opened.log.includes("WARN A run cannot be prepared at the moment"));
  expect(opened.log).not.toContain("INFO run 7");
  refused.allow();
  await until(() => database.reader.all("SELECT 1 FROM _job_queue").length === 0);
  await opened.scripts.settled();
  expect(opened.log.filter((line) => line === "INFO run 7")).toHaveLength(1);
  await opened.stop();
});

test("an end that was refused is written once more when the service stops", async () => {
  const opened = await openScripts({
    files: { "jobs/one.ts": "export const queue = { concurrency: 1 };\nexport default () => undefined;\n" },
  });
  await opened.scripts.jobs.queues.enqueue("one", { payload: "1", options: {} }, system);
  const refused = refuse(opened);
  // The begin and the end.
  await until(() => refused.count >= 2);
  refused.allow();
  await opened.scripts.stop(0);
  expect(rows(opened)).toEqual([]);
  await opened.stop();
});
