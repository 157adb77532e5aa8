/**
 * The soak in the short form: some seconds of the load, with a right answer to every request; and the judge, on made-up
 * samples. `npm run soak` runs half an hour.
 */
// Promises: B3.
import { expect, test } from "bun:test";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { project, serve, until } from "./kit.ts";
import { Caller } from "./reliability/kills-caller.ts";
import { collections, config, files, Load } from "./reliability/soak-load.ts";
import { type Sample, slope, take } from "./reliability/soak-samples.ts";
import { write } from "./scripts-kit.ts";

test("some seconds of the load: each request gets the expected response, and no error is in the log", async () => {
  const cwd = await project({ collections, config });
  await write(cwd, files);
  // On a busy machine, the runs of the load take longer than the default.
  const server = await serve(cwd, { env: { SERVICE_SCRIPTS_TIMEOUT: "5m" } });
  const admin = await new Caller(() => server.url).as(config.admin.email);
  const load = new Load(admin, (name) => server.signal(name));
  const running = load.run();
  await until(() => (load.counts.get("writes") ?? 0) >= 200 || load.failures.length > 0);
  expect(take(server.pid, cwd, performance.now()).service).toBeGreaterThan(0);
  load.stop();
  await running;
  expect(load.failures).toEqual([]);
  expect(load.counts.get("writes")).toBeGreaterThan(0);
  expect(await server.stop()).toBe(0);
  expect(server.output()).not.toContain(" ERROR ");
});

/** Half an hour of samples: a floor that rises by so much per minute, garbage above the floor, and two peaks. */
function samples(rise: number, random: () => number): Sample[] {
  const none = { children: 0, descriptors: 0, threads: 0, log: 0, database: 0 };
  return Array.from({ length: 900 }, (_, i) => {
    const minute = i / 30;
    const peak = i % 400 > 380 ? 300 : 0;
    return { ...none, minute, service: 150 + rise * minute + 60 * random() + peak };
  });
}

test("a rise is seen under garbage and peaks, and garbage and peaks are no rise", () => {
  const random = randomNumbers(randomSeed("soak"));
  expect(Math.abs(slope(samples(0, random), "service"))).toBeLessThan(0.3);
  expect(slope(samples(2, random), "service")).toBeGreaterThan(1.7);
});
