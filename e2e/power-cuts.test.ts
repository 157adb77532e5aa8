/**
 * The power-cut suite in the short form: one run of the executable below the tracer, cut off at the first acknowledgement of each
 * kind and at ten random entries of the log; a restore of the backup, cut off three times.
 * `npm run test:power-cuts` makes 500 cuts.
 */
// Promises: W1, W2, E1, R1, R3.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { randomSeed } from "../packages/server/test/random.ts";
import { inParallel, singleService, temporaryFolder } from "./kit.ts";
import { makeRestore, sufferRestore } from "./reliability/power-cuts/restores.ts";
import { makeRun } from "./reliability/power-cuts/run.ts";
import { firstCuts, nameOf, randomCut, restoreCuts, suffer } from "./reliability/power-cuts/suite.ts";

singleService("faults");

const randomCuts = 10;
const amount = { items: 40, tasks: 15, files: 6, users: 3, definitions: 6 };

function filesBelow(folder: string): Map<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    paths.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length), Bun.SHA256.hash(readFileSync(path), "hex")];
    }),
  );
}

test("power cuts: no acknowledged write is lost, and no write is half stored", async () => {
  const seed = randomSeed("power-cuts");
  const run = await makeRun(seed, amount);

  // The log is complete: rebuilt without a cut, the log gives the folder of the run.
  const whole = join(temporaryFolder(), "data");
  run.disk.rebuild(whole, { at: run.disk.entries, luck: "everything", names: 1, random: () => 0 });
  expect(filesBelow(whole)).toEqual(filesBelow(run.cwd));

  const faults: string[] = [];
  await inParallel(
    [...firstCuts(run), ...Array.from({ length: randomCuts }, (_, i) => randomCut(run, seed + i))],
    2,
    async (cut) => {
      const found = await suffer(run, cut);
      faults.push(...found.map((fault) => `${nameOf(cut)}: ${fault}`));
    },
  );
  const restore = await makeRestore(run, { isEmpty: seed % 2 === 0 });
  for (const cut of restoreCuts(restore, seed, 3))
    faults.push(...(await sufferRestore(restore, cut)).map((fault) => `restore, ${nameOf(cut)}: ${fault}`));
  expect(faults).toEqual([]);
});
