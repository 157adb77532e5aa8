/** The schedule of backups: by the parser of jobs, a single backup at a time; a text that is no schedule stops the start. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApi, temporaryFolder } from "../../../test/kit.ts";
import { dataPathsOf, knownSchemas } from "../../app/index.ts";
import { type Alarm, Clock, SetupError } from "../../base/kernel/index.ts";
import { Logger } from "../../base/logging/index.ts";
import { Backups, checkBackups } from "./backups.ts";

class TestClock extends Clock {
  readonly #now: () => number;
  /** The looks that wait. */
  looks: (() => void)[] = [];
  constructor(now: () => number) {
    super();
    this.#now = now;
  }
  override now(): number {
    return this.#now();
  }
  override lookAfter(ms: number, effect: () => void): Alarm {
    this.looks.push(effect);
    return super.lookAfter(ms, effect);
  }
}

const api = await openApi({});
const { service, config } = api;

function open(schedule: string, clock: Clock): Backups {
  return new Backups({
    ...service,
    logger: api.parts.logger,
    paths: dataPathsOf(config),
    config: { ...config, "backup.schedule": schedule },
    continuous: null,
    version: "test",
    schemas: knownSchemas,
    clock,
  });
}

test("a backup is made on time, and not before", async () => {
  // Half a second before a full hour.
  const start = performance.now();
  const now = (): number => Date.UTC(2026, 0, 1, 2, 59, 59, 500) + performance.now() - start;
  const hourly = open("0 * * * *", new TestClock(now));
  const yearly = open("0 0 1 6 *", new TestClock(now));
  hourly.start();
  yearly.start();
  expect(await hourly.list()).toEqual([]);
  while (hourly.totals().last === null) await Bun.sleep(10);
  expect(await hourly.list()).toHaveLength(1);
  expect(yearly.totals()).toEqual({ last: null, lastError: null, failures: 0, isRunning: false });
  await hourly.stop();
  await yearly.stop();
  expect(() => hourly.begin(null)).toThrow("The service is stopping.");
});

test("a schedule that is changed while the service runs is followed at once", async () => {
  const start = performance.now();
  const now = (): number => Date.UTC(2026, 0, 1, 2, 59, 59, 800) + performance.now() - start;
  let schedule: string | undefined;
  const changing = { ...config };
  Object.defineProperty(changing, "backup.schedule", { get: () => schedule });
  const backups = new Backups({
    ...service,
    logger: api.parts.logger,
    paths: dataPathsOf(config),
    config: changing,
    continuous: null,
    version: "test",
    schemas: knownSchemas,
    clock: new TestClock(now),
  });
  const before = (await backups.list()).length;
  backups.start();
  schedule = "0 * * * *";
  backups.reschedule();
  while ((await backups.list()).length === before) await Bun.sleep(10);
  await backups.stop();
});

test("a schedule that began while the clock was a year ahead is right again after the step back", async () => {
  let time = Date.UTC(2027, 0, 1, 2, 30);
  const clock = new TestClock(() => time);
  const nightly = open("0 3 * * *", clock);
  const look = (): void => {
    for (const effect of clock.looks.splice(0)) effect();
  };
  nightly.start();
  time = Date.UTC(2026, 0, 1, 2, 59);
  look();
  expect(nightly.totals().isRunning).toBe(false);
  time = Date.UTC(2026, 0, 1, 3, 0);
  look();
  expect(nightly.totals().isRunning).toBe(true);
  await nightly.stop();
});

describe("a target that cannot be written is a warning at the start", () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "file"), "");
  mkdirSync(join(folder, "there"));
  test.each<[name: string, target: string, schedule: string | undefined, problem: RegExp | null]>([
    ["a file in the way", join(folder, "file"), "0 3 * * *", /backup\.target .*file: .*ReadWritePaths=.*file/],
    ["a file in the way, without a schedule", join(folder, "file"), undefined, /backup\.target .*file: /],
    ["a folder below a file", join(folder, "file/below"), "0 3 * * *", /backup\.target .*below: .*ENOTDIR/],
    ["a folder that is made", join(folder, "new/below"), "0 3 * * *", null],
    ["a folder", join(folder, "there"), "0 3 * * *", null],
    ["a missing folder that nothing wants", join(folder, "file/none"), undefined, null],
  ])("%s", async (_name, target, schedule, problem) => {
    const warnings: string[] = [];
    const sink = ({ level, message }: { level: string; message: string }): void => {
      if (level === "WARN") warnings.push(message);
    };
    const backups = new Backups({
      ...service,
      logger: new Logger({ level: "WARN", sinks: [sink] }),
      paths: dataPathsOf(config),
      config: { ...config, "backup.schedule": schedule, "backup.target": target },
      continuous: null,
      version: "test",
      schemas: knownSchemas,
    });
    backups.start();
    await backups.stop();
    const found = warnings.filter((warning) => warning.startsWith("Backups cannot be written"));
    expect(found).toEqual(problem === null ? [] : [expect.stringMatching(problem)]);
  });
});

test("an invalid schedule or recipient stops the start with a single line", async () => {
  const refusal = (settings: object) =>
    checkBackups({ ...config, ...settings }, dataPathsOf(config)).catch((error: unknown) => error);
  const failure = await refusal({ "backup.schedule": "every day" });
  expect(failure).toBeInstanceOf(SetupError);
  expect(String(failure)).toMatch(/backup\.schedule: "every day" is not cron[^\n]*$/);
  const other = await refusal({ "backup.recipient": "age1nobody" });
  expect(other).toBeInstanceOf(SetupError);
  expect(String(other)).toMatch(/backup\.recipient: is not the public key[^\n]*$/);
});
