/** The schedule of backups: by the parser of jobs, a single backup at a time; a text that is no schedule stops the start. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { dataPathsOf } from "../../app/index.ts";
import { type Alarm, Clock, SetupError } from "../../base/kernel/index.ts";
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
    settings: { ...config, "backup.schedule": schedule },
    version: "test",
    clock,
  });
}

test("one is made when it is due, and none before", async () => {
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
  expect(yearly.totals()).toEqual({ last: null, failures: 0, isRunning: false });
  await hourly.stop();
  await yearly.stop();
  expect(() => hourly.begin(null)).toThrow("The service is stopping.");
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

test("what is no schedule and no recipient stops the start with one line", async () => {
  const refusal = (settings: object) =>
    checkBackups({ ...config, ...settings }, dataPathsOf(config)).catch((error: unknown) => error);
  const failure = await refusal({ "backup.schedule": "every day" });
  expect(failure).toBeInstanceOf(SetupError);
  expect(String(failure)).toMatch(/backup\.schedule: "every day" is not cron[^\n]*$/);
  const other = await refusal({ "backup.recipient": "age1nobody" });
  expect(other).toBeInstanceOf(SetupError);
  expect(String(other)).toMatch(/backup\.recipient: is not the public key[^\n]*$/);
});
