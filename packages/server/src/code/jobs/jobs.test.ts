/** Jobs: schedules, runs by the clock and by hand, attempts after failures and after the end of the service. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { eventsSince, temporaryFolder } from "../../../test/kit.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";
import { nextTime } from "./job-file.ts";

describe("schedules", () => {
  test.each([
    ["0 9 * * *", "UTC", "2026-11-21T09:00:00Z", "2026-11-22T09:00:00Z"],
    ["0 9 * * *", "Europe/Zurich", "2026-11-21T07:00:00Z", "2026-11-21T08:00:00Z"],
    ["*/15 * * * *", "UTC", "2026-11-21T09:07:30Z", "2026-11-21T09:15:00Z"],
    // A day of the month and a day of the week: either is enough.
    ["0 0 13 * FRI", "UTC", "2026-11-21T00:00:00Z", "2026-11-27T00:00:00Z"],
    ["0 0 29 2 *", "UTC", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"],
    ["@daily", "UTC", "2026-11-21T09:00:00Z", "2026-11-22T00:00:00Z"],
    // Clocks go forward at 2:00: 2:30 is not there, and comes an hour later.
    ["30 2 * * *", "Europe/Zurich", "2026-03-29T00:00:00Z", "2026-03-29T01:30:00Z"],
    // Clocks go back at 3:00: 2:30 is there twice, and comes once.
    ["30 2 * * *", "Europe/Zurich", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"],
    ["30 2 * * *", "Europe/Zurich", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
  ])("%s in %s after %s: %s", (schedule, timezone, after, due) => {
    expect(new Date(nextTime({ schedule, timezone }, Date.parse(after)) ?? 0).toISOString()).toBe(
      new Date(due).toISOString(),
    );
  });
});

/** A clock that a test sets forward: so that a minute begins soon. */
function clock(): {
  now: () => number;
  beforeMinute: (ms: number) => void;
  /**
   * Runs work while the clock stands still, so long before the next minute: however long the work takes, the minute begins
   * afterwards.
   */
  stillBefore: <T>(ms: number, work: () => Promise<T>) => Promise<T>;
  minuteOn: () => void;
  by: (ms: number) => void;
} {
  let offset = 0;
  let still: number | null = null;
  const now = (): number => still ?? Date.now() + offset;
  const beforeMinute = (ms: number): void => {
    offset += 120_000 - (now() % 60_000) - ms;
  };
  return {
    now,
    beforeMinute,
    async stillBefore(ms, work) {
      beforeMinute(ms);
      const at = now();
      still = at;
      const result = await work();
      offset = at - Date.now();
      still = null;
      return result;
    },
    minuteOn() {
      offset += 60_000;
    },
    by(ms) {
      offset += ms;
    },
  };
}

async function events({ service, scripts }: TestScripts, job: string): Promise<string[]> {
  await scripts.jobs.settled();
  const all = await eventsSince(service);
  return all.filter(({ payload }) => Reflect.get(payload, "name") === job).map(({ type }) => type);
}

const every = 'export const schedule = "* * * * *";\n';

describe("runs", () => {
  test("go on after a run while the clock was a year ahead", async () => {
    const { now, stillBefore, by } = clock();
    const year = 365 * 86_400_000;
    by(year);
    const opened = await stillBefore(100, () =>
      openScripts({ files: { "jobs/tick.ts": `${every}export default () => undefined;\n` }, now }),
    );
    const runs = async () => (await opened.scripts.jobs.runs("tick")).length;
    while ((await runs()) < 1) await Bun.sleep(5);
    by(-year);
    // The clock is looked at with each load, and once a minute.
    await stillBefore(100, () => opened.scripts.reload());
    while ((await runs()) < 2) await Bun.sleep(5);
    await opened.stop();
  });

  test("at a minute that begins between a step back of the clock and the next check start, once", async () => {
    const { now, stillBefore, beforeMinute, by } = clock();
    const opened = await stillBefore(250, () =>
      openScripts({ files: { "jobs/tick.ts": `${every}export default () => undefined;\n` }, now }),
    );
    const runs = async () => (await opened.scripts.jobs.runs("tick")).length;
    while ((await runs()) < 1) await Bun.sleep(5);
    by(-3_600_000);
    beforeMinute(20);
    await until(() => now() % 60_000 < 30_000);
    // The clock is looked at with each load, and once a minute.
    await opened.scripts.reload();
    while ((await runs()) < 2) await Bun.sleep(5);
    await opened.scripts.reload();
    await opened.scripts.settled();
    expect(await runs()).toBe(2);
    await opened.stop();
  });

  test("start on time, once, and are stored", async () => {
    const { now, stillBefore } = clock();
    const code = `${every}export default async ({ logger, runId, attempt }: any) => logger.info("tick " + attempt);\n`;
    const opened = await stillBefore(250, () => openScripts({ files: { "jobs/tick.ts": code }, now }));
    expect(await opened.scripts.jobs.runs("tick")).toEqual([]);
    await until(() => opened.log.includes("INFO tick 1"));
    while ((await events(opened, "tick")).length < 2) await Bun.sleep(5);
    expect(await events(opened, "tick")).toEqual(["job.started", "job.completed"]);
    const [run, ...others] = await opened.scripts.jobs.runs("tick");
    expect(others).toEqual([]);
    expect(run).toMatchObject({ status: "completed", attempt: 1 });
    expect(run).not.toHaveProperty("error");
    expect(run?.runId).toMatch(/^run_/);
    expect(Date.parse(run?.endedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(run?.startedAt ?? ""));
    await Bun.sleep(300);
    expect(await opened.scripts.jobs.runs("tick")).toHaveLength(1);
    await opened.stop();
  });

  test.each([
    [false, 1],
    [true, 2],
  ])("start while the last run is not over, with overlap %p", async (overlap, runs) => {
    const { now, stillBefore, minuteOn } = clock();
    const released = join(temporaryFolder(), "released");
    const wait = `while (!(await Bun.file(${JSON.stringify(released)}).exists())) await Bun.sleep(5);`;
    const code = `${every}export const options = { overlap: ${overlap} };\nexport default async () => { ${wait} };\n`;
    const opened = await stillBefore(200, () => openScripts({ files: { "jobs/long.ts": code }, now }));
    await until(() => opened.service.events.flushedSeq > 0);
    minuteOn();
    await opened.scripts.reload();
    const skipped = "WARN The job long is due, but its last run is not over; this one is skipped";
    const count = async (wanted: string): Promise<number> =>
      (await eventsSince(opened.service)).filter(({ type }) => type === wanted).length;
    if (!overlap) await until(() => opened.log.includes(skipped));
    while ((await count("job.started")) < runs) await Bun.sleep(5);
    await Bun.write(released, "");
    while ((await count("job.completed")) < runs) await Bun.sleep(5);
    await opened.scripts.settled();
    expect(await opened.scripts.jobs.runs("long")).toHaveLength(runs);
    expect(opened.log.includes(skipped)).toBe(!overlap);
    await opened.stop();
  });

  test("are retried after a failure, also after a restart, and then have failed", async () => {
    const time = clock();
    const code = `${every}export const options = { retries: 2 };\nexport default async ({ attempt }: any) => {\n  throw new Error("no " + attempt);\n};\n`;
    let opened = await time.stillBefore(200, () => openScripts({ files: { "jobs/bad.ts": code }, now: time.now }));
    const { folder } = opened;
    for (let attempt = 1; attempt <= 3; attempt++) {
      const failure = `ERROR The job bad failed: no ${attempt} (jobs/bad.ts:4:13)${attempt < 3 ? `; tried again in ${attempt * 5} s` : ""}`;
      await until(() => opened.log.includes(failure));
      expect(await events(opened, "bad")).toEqual(attempt < 3 ? ["job.started"] : ["job.started", "job.failed"]);
      if (attempt === 3) break;
      await opened.stop();
      // Past the pause, and away from the next minute.
      time.beforeMinute(30_000);
      opened = await openScripts({ folder, now: time.now });
    }
    const runs = await opened.scripts.jobs.runs("bad");
    expect(runs.map(({ attempt, status }) => [attempt, status])).toEqual([
      [3, "failed"],
      [2, "failed"],
      [1, "failed"],
    ]);
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(1);
    expect(runs[0]?.error).toBe("no 3 (jobs/bad.ts:4:13)");
    const failed = (await eventsSince(opened.service)).find(({ type }) => type === "job.failed");
    expect(failed?.payload).toMatchObject({
      name: "bad",
      filePath: "jobs/bad.ts",
      schedule: "* * * * *",
      attempt: 3,
      error: "no 3 (jobs/bad.ts:4:13)",
      durationMs: expect.any(Number),
    });
    await opened.stop();
  });

  test("are retried after the end of the service cut the run off", async () => {
    const time = clock();
    const code = (wait: string): string =>
      `${every}export default async ({ attempt, logger }: any) => { ${wait} logger.info("attempt " + attempt); };\n`;
    const files = { "jobs/cut.ts": code("await new Promise(() => {});") };
    const first = await time.stillBefore(150, () => openScripts({ files, now: time.now }));
    await until(() => first.service.events.flushedSeq > 0);
    await first.stop();
    time.beforeMinute(30_000);
    const { folder } = first;
    const second = await openScripts({ folder, files: { "jobs/cut.ts": code("") }, now: time.now });
    await second.scripts.jobs.settled();
    expect(await second.scripts.jobs.runs("cut")).toMatchObject([
      { attempt: 1, error: "The service ended while it ran" },
    ]);
    await second.stop();
    time.beforeMinute(30_000);
    const third = await openScripts({ folder, now: time.now });
    await until(() => third.log.includes("INFO attempt 2"));
    while ((await events(third, "cut")).length < 2) await Bun.sleep(5);
    expect(await events(third, "cut")).toEqual(["job.started", "job.completed"]);
    await third.stop();
  });

  test("stay stored for each job: the last hundred", async () => {
    const code = 'export const schedule = "0 0 1 1 *";\nexport default () => undefined;\n';
    const opened = await openScripts({ files: { "jobs/many.ts": code, "jobs/other.ts": code } });
    await opened.scripts.jobs.runByHand("other");
    for (let n = 0; n < 130; n++) await opened.scripts.jobs.runByHand("many")?.outcome;
    await opened.scripts.jobs.settled();
    expect(await opened.scripts.jobs.runs("many")).toHaveLength(100);
    expect(await opened.scripts.jobs.runs("other")).toHaveLength(1);
    await opened.stop();
  });
});
