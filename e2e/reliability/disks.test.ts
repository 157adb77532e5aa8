/**
 * `npm run test:disks`: the disks suite in the long form. The suite prints the outcome of each kind of fault, and
 * writes the table into docs/reliability.md with `DISKS_WRITE=1`. `DISKS_ONLY` names a part of a kind's name, `SEED`
 * repeats a run.
 */
// Promises: W3.
import { afterAll, expect, test } from "bun:test";
import { cpus } from "node:os";
import { randomNumbers, randomSeed } from "../../packages/server/test/random.ts";
import { callFault, callFaults } from "./disks-calls.ts";
import { fullDisk, makingRoom, missingData, readOnlyDisk } from "./disks-cases.ts";
import { makeData } from "./disks-data.ts";
import { damagedPages, flippedDatabase, flippedLog } from "./disks-faults.ts";
import { Tally } from "./disks-tally.ts";
import { writeTable } from "./kills-table.ts";

const seed = randomSeed("disks");
const random = randomNumbers(seed);
const size = { posts: 300, notes: 200, users: 30, files: 30 };
/** Small enough for a log that no checkpoint has touched. */
const little = { posts: 60, notes: 40, users: 5, files: 10 };

/** Each time on a new disk: the load alone would fill a small disk. */
async function again(times: number, make: () => Promise<Tally>): Promise<Tally> {
  const all = new Tally();
  for (let n = 0; n < times; n++) all.merge(await make());
  return all;
}

const cases: { readonly [name: string]: () => Promise<Tally> } = {
  "a full disk": () => again(10, () => fullDisk(random, 4)),
  "a full disk, and an admin who makes room": () => again(10, () => makingRoom(random, 2)),
  "a read-only disk": () => again(5, () => readOnlyDisk(random, 8)),
  "data that go away": () => missingData(random, 20),
  ...Object.fromEntries(Object.keys(callFaults).map((name) => [name, () => callFault(name, random, 15)])),
  "damaged pages": async () => damagedPages(await makeData(size), random, (all) => all),
  "flipped bits of the database": async () => flippedDatabase(await makeData(size), random, 200),
  "flipped bits of the log": async () => flippedLog(await makeData(little, "killed"), random, 200),
};

const only = process.env["DISKS_ONLY"] ?? "";
const rows: string[] = [];
let faults = 0;

test.each(Object.keys(cases).filter((name) => name.includes(only)))("%s", async (name) => {
  const tally = await cases[name]?.();
  if (tally === undefined) throw new Error(`There is no case ${name}`);
  faults += tally.faults;
  rows.push(`| ${[name, tally.faults, tally.refused, tally.met, tally.problems.length].join(" | ")} |`);
  console.log(rows.at(-1));
  expect(tally.problems).toEqual([]);
});

afterAll(() => {
  const table = [
    `${cpus().length} cores, shared with other work, SEED=${seed}: ${faults.toLocaleString("en")} faults.`,
    "",
    "| fault | faults | starts refused | met | promises broken |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
  console.log(table);
  if (process.env["DISKS_WRITE"] === "1") writeTable("disks", table);
});
