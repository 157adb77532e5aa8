/**
 * `npm run test:power-cuts`: 500 power cuts in runs of different sizes. The test prints a table, written into docs/reliability.md with
 * `POWER_CUTS_WRITE=1`. `POWER_CUTS` is another number of cuts; `SEED` repeats the cuts and the amounts of work, but not the order
 * in which clients are served.
 */
// Promises: W1, W2, R1, R3.
import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomNumbers, randomSeed } from "../../../packages/server/test/random.ts";
import { inParallel, root } from "../../kit.ts";
import type { Kind } from "./ledger.ts";
import { makeRestore, sufferRestore } from "./restores.ts";
import { makeRun, type Run } from "./run.ts";
import { firstCuts, nameOf, randomCut, restoreCuts, suffer } from "./suite.ts";

const cutsOfRun = 25;
const cutsOfRestore = 6;
const runs = Math.ceil(Number(process.env["POWER_CUTS"] ?? 500) / cutsOfRun);
const page = join(root, "docs/reliability.md");
const seed = randomSeed("power-cuts");
const counted: { readonly [heading: string]: Kind } = {
  records: "items",
  "records with a function": "tasks",
  files: "file",
  users: "user",
  sessions: "session",
  definitions: "definition",
  backups: "backup",
};
const totals = { runs: 0, entries: 0, flushes: 0, cuts: 0, restoreCuts: 0, faults: 0 };
const acknowledged = new Map<Kind, number>();

function count({ disk, ledger }: Run): void {
  totals.runs += 1;
  totals.entries += disk.entries;
  totals.flushes += disk.flushes;
  for (const { kind, steps } of ledger.histories) acknowledged.set(kind, (acknowledged.get(kind) ?? 0) + steps.length);
}

test.each(Array.from({ length: runs }, (_, i) => i))("run %d", async (number) => {
  const random = randomNumbers(seed + number);
  // From a nearly empty run to a run that fills the log several times.
  const most = (amount: number): number => Math.ceil(random() ** 2 * amount);
  const run = await makeRun(seed + number, {
    items: most(200),
    tasks: most(60),
    files: most(20),
    users: most(8),
    definitions: most(15),
  });
  count(run);
  const first = firstCuts(run);
  const others = Array.from({ length: cutsOfRun - first.length }, (_, i) => randomCut(run, seed + number * 1_000 + i));
  const cuts = [...first, ...others];
  const faults: string[] = [];
  await inParallel(cuts, 2, async (cut) => {
    const found = await suffer(run, cut);
    totals.cuts += 1;
    if (found.length > 0) totals.faults += 1;
    faults.push(...found.map((fault) => `${nameOf(cut)}: ${fault}`));
  });
  const restore = await makeRestore(run, { isEmpty: number % 2 === 0 });
  await inParallel(restoreCuts(restore, seed + number, cutsOfRestore), 2, async (cut) => {
    const found = await sufferRestore(restore, cut);
    totals.restoreCuts += 1;
    if (found.length > 0) totals.faults += 1;
    faults.push(...found.map((fault) => `restore, ${nameOf(cut)}: ${fault}`));
  });
  expect(faults).toEqual([]);
});

afterAll(() => {
  const rows: readonly (readonly [string, number])[] = [
    ["runs", totals.runs],
    ["changes and flushes in their logs", totals.entries],
    ["flushes among them", totals.flushes],
    ...Object.entries(counted).map(
      ([heading, kind]) => [`acknowledged: ${heading}`, acknowledged.get(kind) ?? 0] as const,
    ),
    ["power cuts", totals.cuts],
    ["power cuts of restores", totals.restoreCuts],
    ["power cuts after which something was wrong", totals.faults],
  ];
  const table = [
    "| | |",
    "| --- | --- |",
    ...rows.map(([what, number]) => `| ${what} | ${number.toLocaleString("en")} |`),
  ];
  console.log(`\n${table.join("\n")}\n`);
  if (process.env["POWER_CUTS_WRITE"] !== "1") return;
  const [start, stop] = ["<!-- power-cuts: start -->", "<!-- power-cuts: end -->"];
  const text = readFileSync(page, "utf8");
  const [before = "", rest = ""] = text.split(start);
  writeFileSync(page, `${before}${start}\n\n${table.join("\n")}\n\n${stop}${rest.split(stop)[1] ?? ""}`);
});
