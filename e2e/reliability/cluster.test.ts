/**
 * `npm run test:cluster`: a cluster of three instances under load and random faults for 20 minutes. `CLUSTER_MINUTES=…` takes another time, `SEED=…`
 * sets the random choices, `CLUSTER_WRITE=1` writes the table into docs/reliability.md. The moments of the faults differ from run to run.
 */
// Promises: C1, C2, C3.
import { expect, test } from "bun:test";
import { randomNumbers, randomSeed } from "../../packages/server/test/random.ts";
import { endure, tableOf } from "./cluster-suite.ts";
import { startWorld } from "./cluster-world.ts";
import { writeTable } from "./kills-table.ts";

const minutes = Number(process.env["CLUSTER_MINUTES"] ?? 20);
const world = await startWorld();

test(
  `${minutes} minutes of random faults under load: no acknowledged write is lost or doubled`,
  async () => {
    const start = performance.now();
    let toldAt = start;
    const outcome = await endure(world, {
      minutes,
      random: randomNumbers(randomSeed("cluster")),
      rewriteChance: 0.1,
      onFaults: (faults) => {
        if (performance.now() < toldAt + 60_000) return;
        toldAt = performance.now();
        console.log(`${faults} faults, ${Math.round((toldAt - start) / 1_000)} s`);
      },
    });
    const written = tableOf(outcome);
    console.log(written);
    expect(outcome.problems).toEqual([]);
    if (process.env["CLUSTER_WRITE"] === "1") writeTable("cluster", written);
  },
  (minutes + 15) * 60_000,
);
