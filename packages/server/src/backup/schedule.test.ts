/** The schedule of backups: by the parser of jobs, one at a time, and what is none stops the start. */
import { expect, test } from "bun:test";
import { openApi } from "../../test/kit.ts";
import { dataPathsOf } from "../app/index.ts";
import { SetupError } from "../kernel/index.ts";
import { Backups, type BackupsOptions } from "./backups.ts";
import { openTarget } from "./open-target.ts";

const api = await openApi({});
const { service, config } = api;

function open(options: Partial<BackupsOptions>): Backups {
  return new Backups({
    ...service,
    logger: api.parts.logger,
    paths: dataPathsOf(config),
    target: openTarget(config["backup.target"], dataPathsOf(config)),
    schedule: undefined,
    keep: 0,
    maxLog: 1024 ** 3,
    recipient: undefined,
    version: "test",
    ...options,
  });
}

test("one is made when it is due, and none before", async () => {
  // Half a second before a full hour.
  const start = performance.now();
  const now = (): number => Date.UTC(2026, 0, 1, 2, 59, 59, 500) + performance.now() - start;
  const hourly = open({ schedule: "0 * * * *", now });
  const yearly = open({ schedule: "0 0 1 6 *", now });
  await hourly.start();
  await yearly.start();
  expect(await hourly.list()).toEqual([]);
  while (hourly.totals().last === null) await Bun.sleep(10);
  expect(await hourly.list()).toHaveLength(1);
  expect(yearly.totals()).toEqual({ last: null, failures: 0, isRunning: false });
  await hourly.stop();
  await yearly.stop();
  expect(() => hourly.begin(null)).toThrow("The service is stopping.");
});

test("what is no schedule and no recipient stops the start with one line", async () => {
  const failure = await open({ schedule: "every day" })
    .start()
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(SetupError);
  expect(String(failure)).toMatch(/backup\.schedule: "every day" is not cron[^\n]*$/);
  const other = await open({ recipient: "age1nobody" })
    .start()
    .catch((error: unknown) => error);
  expect(other).toBeInstanceOf(SetupError);
  expect(String(other)).toMatch(/backup\.recipient: is not the public key[^\n]*$/);
});
