/**
 * The disks suite in the short form: a full disk, a failed flush and damage, once each. Nothing that was acknowledged is lost, nothing
 * is half done, nothing crashes, and damage is told. `npm run test:disks` makes some thousand faults of further kinds.
 */
// Promises: W3.
import { expect, test } from "bun:test";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { singleService } from "./kit.ts";
import { callFault } from "./reliability/disks-calls.ts";
import { fullDisk, readOnlyDisk } from "./reliability/disks-cases.ts";
import { makeData } from "./reliability/disks-data.ts";
import { damagedPages, flippedLog } from "./reliability/disks-faults.ts";
import type { Tally } from "./reliability/disks-tally.ts";

singleService("faults");

const random = randomNumbers(randomSeed("disks"));
const size = { posts: 40, notes: 20, users: 1, files: 4 };
const cases: { readonly [name: string]: () => Promise<Tally> } = {
  "a full disk, and room comes back": () => fullDisk(random, 1),
  "a disk that is read-only": () => readOnlyDisk(random, 1),
  "EIO on a flush of the log": () => callFault("EIO on a flush of the log", random, 1),
  "a damaged page of the database": async () =>
    damagedPages(await makeData(size), random, (all) => {
      const pages = all.filter(({ page }) => page.owner === "posts");
      return pages.slice(Math.floor(random() * pages.length)).slice(0, 1);
    }),
  "flipped bits of the log": async () => flippedLog(await makeData(size, "killed"), random, 1),
};

test.each(Object.keys(cases))("%s", async (name) => {
  const tally = await cases[name]?.();
  expect(tally?.faults).toBeGreaterThan(0);
  expect(tally?.problems).toEqual([]);
});
