/** Queues: runs by payload, keys, delays, attempts, and what becomes of runs when clocks or processes change. */
import { describe, expect, spyOn, test } from "bun:test";
import { eventsSince } from "../../../test/kit.ts";
import { echo, enqueue, idle, queue, ran, refusal, waiting } from "../../../test/queues.ts";
import { openScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";

/** A clock that is set by hand. */
function clock(): { now: () => number; by: (ms: number) => void } {
  let offset = 0;
  return {
    now: () => Date.now() + offset,
    by(ms) {
      offset += ms;
    },
  };
}

describe("a run", () => {
  test("gets its payload, is announced and stored, and leaves nothing in the table", async () => {
    const opened = await openScripts({ files: { "jobs/mail.ts": echo } });
    const runId = await enqueue(opened, "mail", { to: ["a@b.c"], n: 1 });
    await idle(opened, "mail");
    expect(ran(opened)).toEqual(['{"to":["a@b.c"],"n":1} 1']);
    const events = (await eventsSince(opened.service)).filter(({ type }) => type.startsWith("job."));
    const about = { name: "mail", filePath: "jobs/mail.ts", schedule: null, runId, attempt: 1 };
    expect(events).toEqual([
      { type: "job.started", payload: about },
      { type: "job.completed", payload: { ...about, durationMs: expect.any(Number) } },
    ]);
    expect(await opened.scripts.jobs.runs("mail")).toMatchObject([{ runId, status: "completed", attempt: 1 }]);
    const rows = await opened.service.database.reader.all("SELECT id FROM _job_queue");
    expect(rows).toEqual([]);
    await opened.stop();
  });

  test("is enqueued by functions and jobs, for the user who caused the function", async () => {
    const opened = await openScripts({
      collections: [{ name: "items", fields: [{ name: "name", type: "string" }] }],
      files: {
        "functions/items/enqueue.ts": `export const onCreate = async ({ record, jobs, logger }) => {
          const { runId } = await jobs.enqueue("first", { item: record.id }, { at: new Date(0), key: record.id });
          logger.info("enqueued " + runId.slice(0, 4));
        };\n`,
        "jobs/first.ts": `${queue()}export default async ({ payload, auth, jobs }) => { await jobs.enqueue("second", [payload.item, auth.user.email]); };\n`,
        "jobs/second.ts": `${queue()}export default ({ payload, auth, logger }) => logger.info("ran " + payload[0].slice(0, 4) + payload[1] + auth.user.email);\n`,
      },
    });
    const { accessToken } = await opened.register("eva@example.com");
    await opened.request("POST", "/api/items", { body: { name: "x" }, token: accessToken });
    await until(() => ran(opened).length === 1);
    expect(ran(opened)).toEqual(["rec_eva@example.comeva@example.com"]);
    expect(opened.log).toContain("INFO enqueued run_");
    await opened.stop();
  });

  test("starts while fewer runs are under way than the concurrency allows, first come first served", async () => {
    const opened = await openScripts({
      files: {
        "jobs/two.ts": `${queue("{ concurrency: 2 }")}let now = 0;
export default async ({ payload, logger }) => {
  now += 1;
  logger.info("ran " + payload + " of " + now);
  await Bun.sleep(2);
  now -= 1;
};\n`,
      },
    });
    for (let n = 0; n < 300; n++) void enqueue(opened, "two", n);
    await until(() => ran(opened).length === 300);
    expect(ran(opened).map((line) => Number(line.split(" ")[0]))).toEqual(Array.from({ length: 300 }, (_, n) => n));
    expect(new Set(ran(opened).map((line) => line.split(" of ")[1]))).toEqual(new Set(["1", "2"]));
    await opened.stop();
  });
});

describe("a batch", () => {
  test("adds its runs in its transaction, with the ids of its records: both, or neither", async () => {
    const opened = await openScripts({
      collections: [{ name: "items", fields: [{ name: "name", type: "string", required: true }] }],
      files: {
        "jobs/mail.ts": `${queue()}export default async ({ payload, db, logger }) =>
          logger.info("ran " + (await db.collection("items").get(payload.item)).name + " " + payload.more[0].slice(0, 4));\n`,
        "jobs/make.ts": `export const schedule = "0 0 1 1 *";
export default async ({ db, logger }) => {
  const create = (name) => ({ method: "create", collection: "items", body: { name } });
  const item = { $ref: 0 };
  await db.batch([create("good")], { enqueue: [{ name: "mail", payload: { item, more: [item] }, key: "k" }] });
  for (const [operations, enqueue] of [
    [[create("a"), create("")], [{ name: "mail", payload: { item, more: [item] } }]],
    [[create("b")], [{ name: "none" }]],
    [[create("c")], [{ name: "mail", payload: { $ref: 7 } }]],
    [[create("d")], [{ name: "mail", payload: 1, at: "never" }]],
    [[create("e")], "mail"],
  ])
    await db.batch(operations, { enqueue }).then(() => logger.error("not refused"), ({ code }) => logger.info("refused " + code));
};\n`,
      },
    });
    await opened.scripts.jobs.runByHand("make")?.outcome;
    await idle(opened, "mail");
    expect(ran(opened)).toEqual(["good rec_"]);
    expect(opened.log.filter((line) => line.startsWith("INFO refused"))).toEqual([
      "INFO refused validation_error",
      "INFO refused not_found",
      "INFO refused bad_request",
      "INFO refused bad_request",
      "INFO refused bad_request",
    ]);
    expect(await opened.service.database.reader.all("SELECT name FROM items")).toEqual([{ name: "good" }]);
    expect(opened.log).not.toContain("ERROR not refused");
    await opened.stop();
  });
});

describe("a key", () => {
  test("returns its waiting run; beside a started run, the new run waits for the end", async () => {
    const opened = await openScripts({ files: { "jobs/wait.ts": waiting, "jobs/other.ts": waiting } });
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const later = await enqueue(opened, "wait", "never", { key: "later", at });
    expect(await enqueue(opened, "wait", "a", { key: "later" })).toBe(later);
    expect(await enqueue(opened, "other", "never", { key: "later", at })).not.toBe(later);
    const first = await enqueue(opened, "wait", "a", { key: "k" });
    await until(() => opened.log.includes("INFO began a"));
    const second = await enqueue(opened, "wait", "b", { key: "k" });
    expect(second).not.toBe(first);
    expect(await enqueue(opened, "wait", "c", { key: "k" })).toBe(second);
    // Others go on meanwhile.
    await enqueue(opened, "wait", "d", { key: "l" });
    await until(() => opened.log.includes("INFO began d"));
    expect(opened.log).not.toContain("INFO began b");
    await Bun.write(`${opened.folder}/go-a`, "");
    await until(() => opened.log.includes("INFO began b"));
    expect(opened.log.indexOf("INFO began b")).toBeGreaterThan(opened.log.indexOf("INFO ended a"));
    expect(opened.log).not.toContain("INFO began c");
    await opened.stop();
  });

  test("makes a thousand calls at once a single run, and runs with a key never overlap", async () => {
    const opened = await openScripts({
      files: {
        "jobs/once.ts": `${queue("{ concurrency: 8 }")}const open = new Set();
export default async ({ payload, logger }) => {
  if (open.has(payload)) logger.error("overlap of " + payload);
  open.add(payload);
  await Bun.sleep(1);
  open.delete(payload);
  logger.info("ran " + payload);
};\n`,
      },
    });
    const ids = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => enqueue(opened, "once", n % 3, { key: `k${n % 3}` })),
    );
    const distinct = new Set(ids).size;
    for (let n = 0; n < 200; n++) {
      await enqueue(opened, "once", n % 3, { key: `k${n % 3}` });
    }
    await idle(opened, "once");
    expect(distinct).toBeLessThan(100);
    expect(ran(opened).length).toBeGreaterThanOrEqual(3);
    expect(opened.log.filter((line) => line.startsWith("ERROR"))).toEqual([]);
    await opened.stop();
  });
});

describe("a time", () => {
  test("delays a run, and thousands of delayed runs are no thousands of timers", async () => {
    const { now, by } = clock();
    const opened = await openScripts({ files: { "jobs/mail.ts": echo }, now });
    const timers = spyOn(globalThis, "setTimeout");
    const at = (ms: number): string => new Date(now() + ms).toISOString();
    const delayed = Array.from({ length: 2_000 }, (_, n) =>
      enqueue(opened, "mail", n, { at: at(3_600_000 + 1_000 * n) }),
    );
    await Promise.all([...delayed, enqueue(opened, "mail", "soon", { at: at(150) })]);
    await enqueue(opened, "mail", "now");
    await until(() => ran(opened).length === 2);
    const long = timers.mock.calls.filter(([, wait]) => (wait ?? 0) > 1_000).length;
    timers.mockRestore();
    expect(long).toBeLessThan(100);
    expect(ran(opened).toSorted()).toEqual(['"now" 1', '"soon" 1']);
    // The clock is set forward, and looked at again with the next run.
    by(4_100_000);
    await enqueue(opened, "mail", "after");
    await until(() => ran(opened).length > 100);
    expect((await opened.scripts.jobs.queues.counts("mail")).waiting).toBeGreaterThan(1_000);
    by(10_000_000);
    await enqueue(opened, "mail", "last");
    await idle(opened, "mail");
    expect(ran(opened)).toHaveLength(2_004);
    expect(new Set(ran(opened)).size).toBe(2_004);
    await opened.stop();
  });

  test("that is set back delays neither due runs nor retries for longer than a pause", async () => {
    const { now, by } = clock();
    const year = 365 * 86_400_000;
    by(year);
    const files = {
      "jobs/bad.ts": `${queue()}export default ({ payload, attempt, logger }) => {
  if (attempt === 1 && payload === "bad") throw new Error("no");
  logger.info("ran " + payload + attempt);
};\n`,
    };
    const opened = await openScripts({ files, now });
    await enqueue(opened, "bad", "bad");
    await until(() => opened.log.some((line) => line.includes("tried again in 5 s")));
    await opened.scripts.jobs.settled();
    by(-year);
    await enqueue(opened, "bad", "good");
    await until(() => ran(opened).includes("good1"));
    // The longest pause there is.
    by(3_600_000);
    await enqueue(opened, "bad", "more");
    await until(() => ran(opened).includes("bad2"));
    await opened.stop();
  });
});

describe("attempts", () => {
  test("follow failures with growing pauses; then the run has failed, and is stored until its retry", async () => {
    const { now, by } = clock();
    const opened = await openScripts({
      files: {
        "jobs/bad.ts": `import { existsSync } from "node:fs";
${queue("{ retries: 2 }")}export default ({ payload, attempt, logger }) => {
  if (!existsSync("./mended")) throw new Error("no " + attempt);
  logger.info("ran " + payload + " " + attempt);
};\n`,
      },
      now,
    });
    const { queues } = opened.scripts.jobs;
    const runId = await enqueue(opened, "bad", "x", { key: "k" });
    for (const [attempt, pause] of [
      [1, 5],
      [2, 10],
    ] as const) {
      const failure = `ERROR The job bad failed: no ${attempt} (jobs/bad.ts:4:`;
      await until(() => opened.log.some((line) => line.startsWith(failure) && line.endsWith(`again in ${pause} s`)));
      while ((await queues.counts("bad")).running > 0) await Bun.sleep(1);
      expect((await queues.runs("bad", null, { limit: 9, offset: 0 })).items).toMatchObject([
        { runId, status: "waiting", failures: attempt, key: "k", error: null },
      ]);
      // Between the attempts, the run waits: the key answers the run.
      expect(await enqueue(opened, "bad", "y", { key: "k" })).toBe(runId);
      by(pause * 1_000);
      await opened.scripts.reload();
    }
    await idle(opened, "bad");
    const failed = await queues.runs("bad", "failed", { limit: 9, offset: 0 });
    expect(failed).toMatchObject({
      total: 1,
      items: [{ runId, status: "failed", error: expect.stringMatching(/^no 3 \(jobs\/bad/) }],
    });
    expect(await queues.find("bad", runId)).toMatchObject({ runId, payload: "x" });
    const types = (await eventsSince(opened.service)).map(({ type }) => type).filter((type) => type.startsWith("job."));
    expect(types).toEqual(["job.started", "job.failed"]);
    expect((await opened.scripts.jobs.runs("bad")).map(({ attempt, status }) => `${attempt} ${status}`)).toEqual([
      "3 failed",
      "2 failed",
      "1 failed",
    ]);
    // A run that has failed for good does not wait: its key is free.
    expect(await enqueue(opened, "bad", "y", { key: "k", at: new Date(now() + 1e9).toISOString() })).not.toBe(runId);

    await Bun.write(`${opened.folder}/mended`, "");
    const retry = () => opened.service.database.transact((tx) => queues.retry(tx, "bad", runId));
    await retry();
    await until(() => ran(opened).length === 1);
    expect(ran(opened)).toEqual(["x 1"]);
    while ((await queues.counts("bad")).running > 0) await Bun.sleep(1);
    expect(await refusal(retry())).toStartWith("not_found");
    expect(await queues.counts("bad")).toEqual({ waiting: 1, running: 0, failed: 0 });
    await opened.stop();
  });

  test("end with the service, and run again: nothing is lost", async () => {
    const files = { "jobs/wait.ts": waiting };
    const first = await openScripts({ files });
    for (const payload of ["a", "b", "c", "d", "e", "f"]) await enqueue(first, "wait", payload);
    await until(() => first.log.filter((line) => line.startsWith("INFO began")).length === 4);
    await first.stop();
    for (const payload of ["a", "b", "c", "d", "e", "f"]) await Bun.write(`${first.folder}/go-${payload}`, "");
    const second = await openScripts({ folder: first.folder });
    await idle(second, "wait");
    const ended = second.log.filter((line) => line.startsWith("INFO ended"));
    expect(ended.toSorted()).toEqual(["a", "b", "c", "d", "e", "f"].map((payload) => `INFO ended ${payload}`));
    await second.stop();
  });
});
