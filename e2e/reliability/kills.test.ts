/**
 * `npm run test:kills`: 300 kills of the service and the processes under mixed load. `KILLS=…` makes another number of rounds,
 * `SEED=…` repeats the choices of a run, `KILLS_WRITE=1` writes the table into docs/reliability.md.
 */
// Promises: W1, W2, E3, R1.
import { expect, test } from "bun:test";
import { cpus } from "node:os";
import { randomNumbers, randomSeed } from "../../packages/server/test/random.ts";
import { kinds, type Outcome, suffer } from "./kills-suite.ts";
import { writeTable } from "./kills-table.ts";

const rounds = Number(process.env["KILLS"] ?? 300);

function table({ kills, known, events, heard, runs, repeated, problems }: Outcome, seconds: number): string {
  const { uploads, deletions, logins, logouts, jobs, migrations } = known.acknowledged;
  const number = (value: number): string => value.toLocaleString("en");
  const rows: [string, string][] = [
    ...kinds.map((kind): [string, string] => [`processes killed: ${kind}`, number(kills[kind])]),
    ["requests that a kill has broken", number(known.broken.requests)],
    ["uploads that their client broke off", number(known.broken.uploads)],
    ["writes of records that were acknowledged", number(known.items.acknowledged + known.notes.acknowledged)],
    ["uploads and deletions of files", number(uploads + deletions)],
    ["registrations and logouts", number(logins + logouts)],
    ["migrations, jobs by hand", number(migrations + jobs)],
    ["events in the log", number(events)],
    ["events heard by listeners", number(heard)],
    ["runs of functions; again after a kill", `${number(runs)}; ${number(repeated)}`],
    ["lost, doubled, half-written or out of order", number(problems.length)],
  ];
  const head = `${cpus().length} cores, shared with other work, ${rounds} rounds, ${Math.round(seconds)} s:`;
  return [head, "", "| | |", "| --- | --- |", ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join("\n");
}

test(
  `${rounds} rounds with a kill under mixed load: no acknowledged write is lost`,
  async () => {
    const start = performance.now();
    const outcome = await suffer(rounds, randomNumbers(randomSeed("kills")), (round) => {
      if (round % 25 === 0) console.log(`${round} rounds, ${Math.round((performance.now() - start) / 1_000)} s`);
    });
    const written = table(outcome, (performance.now() - start) / 1_000);
    console.log(written);
    expect(outcome.problems).toEqual([]);
    if (process.env["KILLS_WRITE"] === "1") writeTable("kills", written);
  },
  60 * 60_000,
);
