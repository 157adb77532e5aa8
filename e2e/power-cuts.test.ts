/**
 * The power-cut suite in the short form: one run of the executable below the tracer, cut off once, and a restore of the backup, cut
 * off once. `npm run test:power-cuts` makes 500 cuts, also at the first acknowledgement of each kind.
 */
// Promises: W1, W2, E1, R1, R3.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { randomSeed } from "../packages/server/test/random.ts";
import { singleService, temporaryFolder } from "./kit.ts";
import { makeRestore, sufferRestore } from "./reliability/power-cuts/restores.ts";
import { makeRun } from "./reliability/power-cuts/run.ts";
import { nameOf, randomCut, restoreCuts, suffer } from "./reliability/power-cuts/suite.ts";

singleService("faults");

const amount = { items: 20, tasks: 8, files: 3, users: 2, definitions: 3 };

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

  const cut = randomCut(run, seed);
  expect([nameOf(cut), await suffer(run, cut)]).toEqual([nameOf(cut), []]);
  const restore = await makeRestore(run, { isEmpty: seed % 2 === 0 });
  const cuts = restoreCuts(restore, seed, 3);
  const [restoreCut] = cuts.slice(seed % cuts.length);
  if (restoreCut === undefined) throw new Error("A restore has no cut");
  expect([nameOf(restoreCut), await sufferRestore(restore, restoreCut)]).toEqual([nameOf(restoreCut), []]);
});
