/**
 * The second part of `npm run test:kills`: 5,000 crash points. `POINTS=…` makes another number, `SEED=…` repeats the choices of a
 * run, `KILLS_WRITE=1` writes the table into docs/reliability.md.
 */
import { expect, test } from "bun:test";
import { cpus } from "node:os";
import { randomNumbers, randomSeed } from "../../packages/server/test/random.ts";
import { killAtPoints } from "./kills-points.ts";
import { writeTable } from "./kills-table.ts";

const wanted = Number(process.env["POINTS"] ?? 5_000);

test(
  `the modules killed at ${wanted} random moments: no acknowledged write is lost`,
  async () => {
    const start = performance.now();
    const seconds = (): number => Math.round((performance.now() - start) / 1_000);
    const points = await killAtPoints(wanted, randomNumbers(randomSeed("crash points")), (kills) => {
      if (kills % 500 === 0) console.log(`${kills} kills, ${seconds()} s`);
    });
    const { kills, early, acknowledged, folders, problems } = points;
    const rows = [
      ["kills", kills],
      ["of these, during the first start of a folder or the recovery from the last kill", early],
      ["folders", folders],
      ["writes that were acknowledged", acknowledged],
      ["lost, half-written, without event or without record", problems.length],
    ] as const;
    const table = [
      `${cpus().length} cores, shared with other work, ${seconds()} s:`,
      "",
      "| | |",
      "| --- | --- |",
      ...rows.map(([name, value]) => `| ${name} | ${value.toLocaleString("en")} |`),
    ].join("\n");
    console.log(table);
    expect(problems.slice(0, 20)).toEqual([]);
    if (process.env["KILLS_WRITE"] === "1") writeTable("crash points", table);
  },
  60 * 60_000,
);
