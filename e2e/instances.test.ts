/**
 * The cluster suite in the short form: random faults of instances, ways and engine under load. `npm run test:cluster` takes 20 minutes. And the checks
 * themselves: each check sees what was broken on purpose.
 */
import { expect, test } from "bun:test";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { endure, tableOf } from "./reliability/cluster-suite.ts";
import { startWorld } from "./reliability/cluster-world.ts";

const world = await startWorld();

test("a cluster under random faults: what was acknowledged is there, once and in order, and is heard and run", async () => {
  const outcome = await endure(world, { minutes: 0.8, random: randomNumbers(randomSeed("cluster")) });
  console.log(tableOf(outcome));
  expect(outcome.problems).toEqual([]);
  expect(outcome.faults.length).toBeGreaterThan(5);
});
