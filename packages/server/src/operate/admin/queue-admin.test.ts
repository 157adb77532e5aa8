/** Queues in the admin API: enqueueing, the waiting runs, the dead letters and the retry, the metrics. */
import { describe, expect, test } from "bun:test";
import type { Page, QueueRun } from "@socle/protocol";
import { openScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";

const opened = await openScripts({
  files: {
    "jobs/mail.ts": `import { existsSync } from "node:fs";
      export const queue = { concurrency: 2, retries: 0 };
      export default ({ payload, auth, logger }) => {
        if (payload?.fail && !existsSync("./mended")) throw new Error("no such address");
        if (payload?.slow)
          return new Promise((resolve) => {
            const look = () => (existsSync("./go") ? resolve(null) : setTimeout(look, 5));
            look();
          });
        logger.info("sent " + JSON.stringify(payload) + " for " + auth.user?.email);
      };`,
    "jobs/tidy.ts": `export const schedule = "0 3 * * *"; export default () => undefined;`,
  },
});
const { request, log, scripts } = opened;
const token = await opened.admin();
const jobs = "/api/admin/jobs";
const enqueue = (body: unknown, name = "mail") => request("POST", `${jobs}/${name}/enqueue`, { body, token });
const queue = async (query = ""): Promise<Page<QueueRun>> =>
  (await request<Page<QueueRun>>("GET", `${jobs}/mail/queue${query}`, { token })).body;
const far = "2100-01-01T00:00:00.000Z";

async function idle(): Promise<void> {
  while ((await queue()).items.some(({ dueAt }) => dueAt !== far)) await Bun.sleep(3);
}

test("a run is enqueued for the admin, and is on disk before the response", async () => {
  const { status, body } = await enqueue({ payload: { to: "a" }, at: far, key: "a" });
  expect(status).toBe(202);
  const runId = String(body["runId"]);
  expect(body as unknown).toEqual({ runId });
  const row = await opened.service.database.reader.get("SELECT payload FROM _job_queue WHERE runId = ?", runId);
  expect(row).toEqual({ payload: '{"to":"a"}' });
  expect((await enqueue({ payload: 1, key: "a" })).body["runId"] as unknown).toBe(runId);
  const entry = { runId, status: "waiting", key: "a", dueAt: far, failures: 0, failedAt: null, error: null };
  expect(await queue()).toMatchObject({ total: 1, items: [{ ...entry, payloadSize: 10 }] });
  expect((await queue()).items[0]).not.toHaveProperty("payload");
  const one = await request("GET", `${jobs}/mail/queue/${runId}`, { token });
  expect(one.body as unknown).toMatchObject({ ...entry, payload: { to: "a" } });
  await enqueue({});
  await until(() => log.some((line) => /^INFO sent null for .+@/.test(line)));
  await idle();
});

test.each([
  ["a schedule", "tidy", {}, 404],
  ["no job", "none", {}, 404],
  ["an unknown member", "mail", { playload: 1 }, 400],
  ["a bad time", "mail", { at: 5 }, 400],
  ["a bad key", "mail", { key: 5 }, 400],
  ["a large payload", "mail", { payload: "x".repeat(70_000) }, 413],
])("%s is refused, and nothing is enqueued", async (_what, name, body, status) => {
  const before = (await queue()).total;
  const answer = await enqueue(body, name);
  expect(answer.status).toBe(status);
  expect(answer.body["error"]).toBeDefined();
  expect((await queue()).total).toBe(before);
});

test("a run that has failed for good is listed with its error, and repeated once", async () => {
  const { body } = await enqueue({ payload: { fail: true } });
  const runId = String(body["runId"]);
  await idle();
  await scripts.jobs.settled();
  const failed = await queue("?status=failed");
  expect(failed).toMatchObject({
    total: 1,
    items: [{ runId, status: "failed", error: expect.stringContaining("no such address") }],
  });
  expect((await queue("?status=waiting")).items.map(({ runId: id }) => id)).not.toContain(runId);
  const entry = async () => (await request("GET", jobs, { token })).body["items"] as unknown;
  expect(await entry()).toMatchObject([
    {
      name: "mail",
      schedule: null,
      timezone: null,
      nextRun: null,
      filePath: "jobs/mail.ts",
      retries: 0,
      queue: { concurrency: 2, backoff: "exponential", waiting: 1, running: 0, failed: 1 },
      lastRun: { runId, status: "failed" },
    },
    { name: "tidy", schedule: "0 3 * * *", queue: null },
  ]);
  const metrics = new TextDecoder().decode((await request("GET", "/metrics", { token })).bytes);
  expect(metrics).toContain('socle_queue_runs{queue="mail",state="failed"} 1\n');
  expect(metrics).toContain('socle_queue_runs{queue="mail",state="waiting"} 1\n');
  expect(metrics).toContain('socle_queue_oldest_due_seconds{queue="mail"} 0\n');
  expect(metrics).not.toContain('queue="tidy"');

  await Bun.write(`${opened.folder}/mended`, "");
  const retry = () => request("POST", `${jobs}/mail/queue/${runId}/retry`, { token });
  const [first, second] = [await retry(), await retry()];
  expect(first.status).toBe(202);
  expect([400, 404]).toContain(second.status);
  await until(() => log.some((line) => line.startsWith('INFO sent {"fail":true}')));
  await scripts.jobs.settled();
  expect((await queue("?status=failed")).total).toBe(0);
  expect((await retry()).status).toBe(404);
  const { body: events } = await request("GET", "/api/admin/events?type=admin.job.*", { token });
  const types = (events["items"] as unknown as { type: string }[]).map(({ type }) => type);
  expect(types.filter((type) => type === "admin.job.retried")).toHaveLength(1);
  expect(types).toContain("admin.job.enqueued");
});

test("unknown statuses, and a run by hand of a queue, are refused", async () => {
  expect((await request("GET", `${jobs}/mail/queue?status=done`, { token })).status).toBe(400);
  expect((await request("GET", `${jobs}/tidy/queue`, { token })).status).toBe(404);
  expect((await request("GET", `${jobs}/mail/queue/run_none`, { token })).status).toBe(404);
  const { status, body } = await request("POST", `${jobs}/mail/run`, { token });
  expect(status).toBe(400);
  expect(String(body["error"]?.["message"])).toContain("mail is a queue");
});

describe("a run is deleted", () => {
  const remove = (runId: string) => request("DELETE", `${jobs}/mail/queue/${runId}`, { token });
  const counts = () => scripts.jobs.queues.counts("mail");
  const add = async (body: object): Promise<string> => String((await enqueue(body)).body["runId"]);

  test("while waiting: the run never starts, and its key is free", async () => {
    const before = await counts();
    const runId = await add({ payload: "never", at: far, key: "deleted" });
    expect(await counts()).toEqual({ ...before, waiting: before.waiting + 1 });
    expect((await remove(runId)).status).toBe(204);
    expect([(await remove(runId)).status, (await remove("run_none")).status]).toEqual([404, 404]);
    expect(await counts()).toEqual(before);
    expect((await queue()).items.map((run) => run.runId)).not.toContain(runId);
    const again = await add({ payload: "again", at: far, key: "deleted" });
    expect(again).not.toBe(runId);
    expect((await remove(again)).status).toBe(204);
    const { body } = await request("GET", "/api/admin/events?type=admin.job.deleted", { token });
    const [event] = body["items"] as unknown as { payload: object }[];
    expect(event?.payload).toMatchObject({ target: again, before: { name: "mail" } });
  });

  test("after its final failure", async () => {
    await Bun.file(`${opened.folder}/mended`)
      .delete()
      .catch(() => undefined);
    while ((await counts()).running > 0) await Bun.sleep(1);
    const before = await counts();
    const runId = await add({ payload: { fail: true } });
    while ((await queue("?status=failed")).total === 0) await Bun.sleep(3);
    expect((await remove(runId)).status).toBe(204);
    while ((await counts()).running > 0) await Bun.sleep(1);
    expect(await counts()).toEqual({ ...before, failed: 0 });
    expect((await request("POST", `${jobs}/mail/queue/${runId}/retry`, { token })).status).toBe(404);
    // The attempts stay in the history.
    const { body } = await request("GET", `${jobs}/mail/runs`, { token });
    expect((body["items"] as unknown as { runId: string }[]).map((run) => run.runId)).toContain(runId);
  });

  test("not while the run is under way", async () => {
    const runId = await add({ payload: { slow: true } });
    while ((await queue("?status=running")).total === 0) await Bun.sleep(3);
    const { status, body } = await remove(runId);
    expect([status, body["error"]?.["code"]]).toEqual([400, "bad_request"] as never);
    await Bun.write(`${opened.folder}/go`, "");
    await idle();
    await scripts.jobs.settled();
    expect((await remove(runId)).status).toBe(404);
  });

  test("or started, and never both, whatever is first; the queue counts neither any more", async () => {
    while ((await counts()).running > 0) await Bun.sleep(1);
    const before = await counts();
    log.length = 0;
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const runId = await add({ payload: `mark ${n}.` });
        // Some runs are deleted before the start, some at the start, some after the end.
        for (let turns = 0; turns < n; turns++) await new Promise(setImmediate);
        return [n, (await remove(runId)).status] as const;
      }),
    );
    await idle();
    await scripts.jobs.settled();
    while ((await counts()).running > 0) await Bun.sleep(1);
    const isMade = (n: number): boolean => log.some((line) => line.startsWith(`INFO sent "mark ${n}."`));
    expect(outcomes.filter(([n, status]) => isMade(n) === (status === 204))).toEqual([]);
    // Both ends of the race, on any machine: before the run can start, and after the run is over.
    const early = await add({ payload: "mark early.", at: far });
    expect((await remove(early)).status).toBe(204);
    const late = await add({ payload: "mark late." });
    await until(() => log.some((line) => line.startsWith('INFO sent "mark late."')));
    await idle();
    await scripts.jobs.settled();
    expect((await remove(late)).status).toBe(404);
    expect(log.filter((line) => line.includes("mark early."))).toEqual([]);
    expect(await counts()).toEqual(before);
    const open = await opened.service.database.reader.get("SELECT count(*) AS n FROM _job_queue WHERE notBefore = 0");
    expect(open).toEqual({ n: 0 });
  });

  test("by admins only; an admin who loses the role deletes nothing", async () => {
    const runId = await add({ at: far });
    const { accessToken } = await opened.register("nobody@example.com");
    const path = `${jobs}/mail/queue/${runId}`;
    expect((await request("DELETE", path, { token: accessToken })).status).toBe(403);
    expect((await request("DELETE", path)).status).toBe(401);
    expect((await request("GET", path, { token })).body["status"] as unknown).toBe("waiting");
    expect((await remove(runId)).status).toBe(204);
  });
});
