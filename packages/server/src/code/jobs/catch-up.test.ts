/** Jobs with `catchUp`: a run at the start for times that have passed while the service was down. */
import { describe, expect, test } from "bun:test";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

const hour = 3_600_000;
const day = 24 * hour;

/** A clock that begins at noon (UTC), far from the scheduled times. */
function noonClock(): { now: () => number; by: (ms: number) => void } {
  let offset = day * 1.5 - (Date.now() % day);
  return {
    now: () => Date.now() + offset,
    by(ms) {
      offset += ms;
    },
  };
}

const job = (options: string, body = "", schedule = "0 3 * * *"): string =>
  `export const schedule = "${schedule}";\nexport const options = ${options};\nexport default async ({ attempt }: any) => {${body}};\n`;
const catching = job("{ catchUp: true }");

function runsOf({ scripts }: TestScripts, name = "daily"): string[] {
  return scripts.jobs.runs(name).map(({ attempt, status }) => `${attempt} ${status}`);
}

/** The alarm of a job that is due rings in the next turns of the loop. */
function untilNothingIsDue(
  { scripts }: TestScripts,
  { now }: Pick<ReturnType<typeof noonClock>, "now">,
): Promise<void> {
  return until(() => scripts.jobs.list().every(({ due }) => due > now()));
}

/** Opens the project when the clock stands so much later, and waits for the runs. */
async function openLater(
  clock: ReturnType<typeof noonClock>,
  { folder, ms, files = {} }: { folder: string; ms: number; files?: { [path: string]: string } },
): Promise<TestScripts> {
  clock.by(ms);
  const opened = await openScripts({ folder, files, now: clock.now });
  await untilNothingIsDue(opened, clock);
  await opened.scripts.settled();
  return opened;
}

async function closed(opened: TestScripts): Promise<string> {
  await opened.stop();
  return opened.folder;
}

describe("a job that catches up", () => {
  test("runs once for all times that passed, and not again at the next start; another job does not run", async () => {
    const clock = noonClock();
    const files = { "jobs/daily.ts": catching, "jobs/other.ts": job("{}") };
    const folder = await closed(await openScripts({ files, now: clock.now }));
    const early = await openLater(clock, { folder, ms: 14 * hour });
    expect(runsOf(early)).toEqual([]);
    await closed(early);
    const late = await openLater(clock, { folder, ms: 3 * day });
    expect(runsOf(late)).toEqual(["1 completed"]);
    expect(runsOf(late, "other")).toEqual([]);
    expect(late.log).toContain("INFO The job daily runs now: a scheduled time has passed while it was not loaded");
    await late.scripts.reload();
    await late.scripts.settled();
    await closed(late);
    const again = await openLater(clock, { folder, ms: hour / 4 });
    expect(runsOf(again)).toEqual(["1 completed"]);
    await closed(again);
  });

  test("and was cut off in the run that made up for the time has a further attempt, and no further run", async () => {
    const clock = noonClock();
    const files = { "jobs/daily.ts": job("{ catchUp: true }", " if (attempt === 1) await new Promise(() => {}); ") };
    const folder = await closed(await openScripts({ files, now: clock.now }));
    clock.by(day);
    const cut = await openScripts({ folder, now: clock.now });
    await until(() => runsOf(cut).length === 1);
    await closed(cut);
    clock.by(hour);
    const next = await openScripts({ folder, now: clock.now });
    await untilNothingIsDue(next, clock);
    // A run that was added is written by now.
    await next.service.database.transact(() => undefined);
    expect(next.service.database.reader.all("SELECT failures FROM _job_queue")).toEqual([{ failures: 1 }]);
    await closed(next);
    const last = await openLater(clock, { folder, ms: hour });
    await until(() => runsOf(last).length === 2);
    await last.scripts.settled();
    expect(runsOf(last)).toEqual(["2 completed", "1 failed"]);
    await closed(last);
  });

  test("makes up for a time beside a run that the end of the service has interrupted", async () => {
    const clock = noonClock();
    const files = { "jobs/daily.ts": job("{ catchUp: true }", " await new Promise(() => {}); ") };
    const folder = await closed(await openScripts({ files, now: clock.now }));
    for (const waiting of [1, 2]) {
      clock.by(day);
      const opened = await openScripts({ folder, now: clock.now });
      await untilNothingIsDue(opened, clock);
      await opened.service.database.transact(() => undefined);
      expect(opened.service.database.reader.all("SELECT id FROM _job_queue")).toHaveLength(waiting);
      await until(() => runsOf(opened).some((run) => run.endsWith("running")));
      await closed(opened);
    }
  });

  test("makes up for the time at a later start when the run could not be written", async () => {
    const clock = noonClock();
    const opened = await openScripts({ files: { "jobs/daily.ts": catching }, now: clock.now });
    await opened.service.database.transact((tx) =>
      tx.run("CREATE TRIGGER broken BEFORE INSERT ON _job_queue BEGIN SELECT RAISE(ABORT, 'broken'); END"),
    );
    const folder = await closed(opened);
    const broken = await openLater(clock, { folder, ms: day });
    expect(runsOf(broken)).toEqual([]);
    await broken.service.database.transact((tx) => tx.run("DROP TRIGGER broken"));
    await closed(broken);
    const next = await openLater(clock, { folder, ms: hour });
    expect(runsOf(next)).toEqual(["1 completed"]);
    await closed(next);
  });

  test("has missed no time when its schedule changes, or catchUp is new", async () => {
    const clock = noonClock();
    const files = { "jobs/daily.ts": catching, "jobs/other.ts": job("{}") };
    const folder = await closed(await openScripts({ files, now: clock.now }));
    const changed = {
      "jobs/daily.ts": job("{ catchUp: true }", "", "0 4 * * *"),
      "jobs/other.ts": job("{ catchUp: true }"),
    };
    const opened = await openLater(clock, { folder, ms: 2 * day, files: changed });
    expect([runsOf(opened), runsOf(opened, "other")]).toEqual([[], []]);
    await closed(opened);
    const next = await openLater(clock, { folder, ms: 2 * day });
    expect([runsOf(next), runsOf(next, "other")]).toEqual([["1 completed"], ["1 completed"]]);
    await closed(next);
  });

  test("whose file does not load makes up for the time when the file loads", async () => {
    const clock = noonClock();
    const folder = await closed(await openScripts({ files: { "jobs/daily.ts": catching }, now: clock.now }));
    const broken = await openLater(clock, { folder, ms: day, files: { "jobs/daily.ts": "nonsense(" } });
    await Bun.write(`${folder}/jobs/daily.ts`, catching);
    await broken.scripts.reload();
    await until(() => runsOf(broken).length === 1);
    await broken.scripts.settled();
    expect(runsOf(broken)).toEqual(["1 completed"]);
    await closed(broken);
  });

  test("catches up after the clock was a year ahead at a start, and after the clock was set back", async () => {
    const clock = noonClock();
    const poke = "export const queue = {};\nexport default () => undefined;\n";
    const files = { "jobs/daily.ts": catching, "jobs/poke.ts": poke };
    const folder = await closed(await openScripts({ files, now: clock.now }));
    const ahead = await openLater(clock, { folder, ms: 365 * day });
    expect(runsOf(ahead)).toEqual(["1 completed"]);
    await closed(ahead);
    const right = await openLater(clock, { folder, ms: -365 * day });
    expect(runsOf(right)).toHaveLength(1);
    await closed(right);
    const later = await openLater(clock, { folder, ms: day });
    expect(runsOf(later)).toHaveLength(2);
    // The time of the coming night comes a second time.
    clock.by(-day);
    // The clock is looked at before each start of runs.
    await later.scripts.jobs.queues.enqueue("poke", { payload: "1", options: undefined }, system);
    await later.scripts.settled();
    await closed(later);
    const last = await openLater(clock, { folder, ms: day });
    expect(runsOf(last)).toHaveLength(3);
    await closed(last);
  });

  test("takes true or false as catchUp", async () => {
    const opened = await openScripts({ files: { "jobs/daily.ts": job('{ catchUp: "yes" }') } });
    expect(opened.scripts.host.problems()).toEqual([
      { path: "jobs/daily.ts", message: 'options.catchUp: "yes" is not valid; allowed: true or false' },
    ]);
    await closed(opened);
  });
});
