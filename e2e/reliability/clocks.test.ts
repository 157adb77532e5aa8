/**
 * `npm run test:clocks`: the clocks suite in the long form. The suite prints the number of clock steps, and writes the table into
 * docs/reliability.md with `CLOCKS_WRITE=1`. `SEED` repeats a run.
 */
// Promises: T1.
import { afterAll, test } from "bun:test";
import { cpus } from "node:os";
import { randomNumbers, randomSeed } from "../../packages/server/test/random.ts";
import { hourBack, repeatedSecond, steps, yearAhead, yearAheadUnderWay } from "./clocks-cases.ts";
import { writeTable } from "./kills-table.ts";

const seed = randomSeed("clocks");
const random = randomNumbers(seed);
/** Longer than the event log goes without being trimmed. */
const settleMs = 11_000;

const cases: { readonly [name: string]: () => Promise<number> } = {
  "a year ahead at a start, right at the next": () => yearAhead(settleMs),
  "a year ahead under way, and right again": yearAheadUnderWay,
  "an hour back, to and fro": hourBack,
  "a second that repeats": () => repeatedSecond(200),
  "steps up to two days to and fro, under load": () => steps(random, 1_000),
};

const rows: string[] = [];

test.each(Object.keys(cases))("%s", async (name) => {
  const count = (await cases[name]?.()) ?? 0;
  rows.push(`| ${name} | ${count} |`);
});

afterAll(() => {
  const head = `${cpus().length} cores, shared with other work, SEED=${seed}:`;
  const table = [head, "", "| clock | steps |", "| --- | --- |", ...rows].join("\n");
  console.log(table);
  if (process.env["CLOCKS_WRITE"] === "1") writeTable("clocks", table);
});
