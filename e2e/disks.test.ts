/**
 * The disks suite in the short form: each kind of fault once or a few times. Nothing that was acknowledged is lost, nothing is
 * half done, nothing crashes, and damage is told. `npm run test:disks` makes some thousand faults.
 */
// Promises: W3.
import { expect, test } from "bun:test";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { singleService } from "./kit.ts";
import { callFault } from "./reliability/disks-calls.ts";
import { fullDisk, makingRoom, missingData, readOnlyDisk } from "./reliability/disks-cases.ts";
import { makeData } from "./reliability/disks-data.ts";
import { damagedPages, flippedDatabase, flippedLog } from "./reliability/disks-faults.ts";
import type { Tally } from "./reliability/disks-tally.ts";

singleService("faults");

const random = randomNumbers(randomSeed("disks"));
const size = { posts: 40, notes: 20, users: 1, files: 4 };
/** Tables and indexes: a page of each table and of each index gets a fault. */
const tables = ["posts", "sqlite_autoindex_posts_1", "_users", "_handlers", "_events", "sqlite_schema", "freelist"];

const cases: { readonly [name: string]: () => Promise<Tally> } = {
  "a full disk, and room comes back": () => fullDisk(random, 1),
  "an admin who makes room on a full disk": () => makingRoom(random, 1),
  "a disk that is read-only": () => readOnlyDisk(random, 1),
  "a folder that is moved away": () => missingData(random, 1),
  "EIO on a write of the log": () => callFault("EIO on a write of the log", random, 1),
  "EIO on a flush of the log": () => callFault("EIO on a flush of the log", random, 1),
  "damaged pages and flipped bits of the database": async () => {
    const data = await makeData(size);
    const tally = await damagedPages(data, random, (all) =>
      tables.flatMap((table) => {
        const its = all.filter(({ page }) => page.owner === table);
        return its.slice(Math.floor(random() * its.length)).slice(0, 1);
      }),
    );
    tally.problems.push(...(await flippedDatabase(data, random, 4)).problems);
    return tally;
  },
  "flipped bits of the log": async () => flippedLog(await makeData(size, "killed"), random, 4),
};

test.each(Object.keys(cases))(
  "%s",
  async (name) => {
    const tally = await cases[name]?.();
    expect(tally?.faults).toBeGreaterThan(0);
    expect(tally?.problems).toEqual([]);
  },
  60_000,
);
