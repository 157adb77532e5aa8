/** Tests of schedules: a clock that was set back, and jobs that are replaced at the same moment. */
import { expect, test } from "bun:test";
import { Clock } from "../../base/kernel/index.ts";
import { Schedules } from "./schedules.ts";

test("a replacement checks the clock first: a former job makes up for a missed time, a new job has missed no time", async () => {
  let time = Date.parse("2026-11-21T10:00:30Z");
  const schedules = new Schedules({ clock: new Clock(), now: () => time, onDue: () => undefined });
  const [before, after] = ["before", "after"].map((name) => ({ name, schedule: "* * * * *", timezone: "UTC" }));
  if (before === undefined || after === undefined) throw new Error("There are two jobs");
  schedules.use([before]);
  // Some milliseconds later, the clock was set back to a millisecond after the beginning of a minute.
  await Bun.sleep(5);
  time = Date.parse("2026-11-21T09:00:00.001Z");
  schedules.use([before, after]);
  expect(schedules.list().map(({ job, due }) => [job.name, new Date(due).toISOString()])).toEqual([
    ["before", "2026-11-21T09:00:00.000Z"],
    ["after", "2026-11-21T09:01:00.000Z"],
  ]);
});
