/**
 * The cluster suite in the short form: random faults of instances, ways and engine under load. `npm run test:cluster` takes 20 minutes. Then each check of
 * the suite gets the result of the run with something broken on purpose, and names the broken promise.
 */
// Promises: C1, C2, C3.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { differences, openFile } from "./cluster-content.ts";
import { temporaryFolder } from "./kit.ts";
import { checks, type Known, type ListenerHistory } from "./reliability/cluster-checks.ts";
import type { Operation } from "./reliability/cluster-clients.ts";
import { endure, type Outcome, tableOf } from "./reliability/cluster-suite.ts";
import { startWorld } from "./reliability/cluster-world.ts";

const minutes = 0.3;
const world = await startWorld();
let outcome: Outcome | null = null;

test("a cluster under random faults: acknowledged writes are stored once and in order, published and run", async () => {
  outcome = await endure(world, { minutes, random: randomNumbers(randomSeed("cluster")) });
  console.log(tableOf(outcome));
  expect(outcome.problems).toEqual([]);
  expect(outcome.faults.length).toBeGreaterThan(1);
});

/** An acknowledged change of a kind. */
function acknowledged({ operations }: Known, kind: Operation["kind"]): Operation {
  const found = operations.findLast((each) => each.kind === kind && each.outcome === "acknowledged");
  if (found === undefined) throw new Error(`No ${kind} was acknowledged`);
  return found;
}

function changed(known: Known, of: Operation, to: Partial<Operation>): Known {
  return { ...known, operations: known.operations.map((each) => (each === of ? { ...each, ...to } : each)) };
}

/** The evidence with other lists in the place of some lists. */
function evident(known: Known, to: Partial<Known["evidence"]>): Known {
  return { ...known, evidence: { ...known.evidence, ...to } };
}

/** The first listener has heard something else. */
function hearing(known: Known, heard: (before: ListenerHistory["heard"]) => ListenerHistory["heard"]): Known {
  const [first, ...others] = known.listeners;
  if (first === undefined || first.heard.length < 2) throw new Error("The first listener has heard too little");
  return { ...known, listeners: [{ ...first, heard: heard(first.heard) }, ...others] };
}

const broken: readonly [what: string, check: string, tamper: (known: Known) => Known][] = [
  [
    "an acknowledged change is lost",
    "changes, each once",
    (known) => {
      const { n } = acknowledged(known, "create");
      const { events, items } = known.evidence;
      return evident(known, {
        events: events.filter((each) => each.n !== n),
        items: items.filter((each) => each.n !== n),
      });
    },
  ],
  [
    "an acknowledged change is there twice",
    "changes, each once",
    (known) => {
      const { n } = acknowledged(known, "increment");
      const { events } = known.evidence;
      return evident(known, { events: [...events, ...events.filter((each) => each.n === n)] });
    },
  ],
  [
    "a refused change is there",
    "changes, each once",
    (known) => changed(known, acknowledged(known, "create"), { outcome: "refused" }),
  ],
  [
    "a batch without an answer is there in part",
    "changes, each once",
    (known) => {
      const batch = acknowledged(known, "batch");
      const part = known.evidence.items.find(({ n }) => n === batch.n);
      const items = known.evidence.items.filter((each) => each !== part);
      return evident(changed(known, batch, { outcome: "unknown" }), { items });
    },
  ],
  [
    "a later change has an earlier position",
    "positions and real time",
    (known) => {
      const { n } = acknowledged(known, "create");
      return evident(known, {
        events: known.evidence.events.map((each) => (each.n === n ? { ...each, seq: 1 } : each)),
      });
    },
  ],
  [
    "the position of an answer is too early",
    "positions and real time",
    // The position of an answer may be behind the change by the changes of other clients in the same commit.
    (known) => changed(known, acknowledged(known, "batch"), { position: 1 }),
  ],
  [
    "a record has counted a change twice",
    "counts and sequences",
    (known) =>
      evident(known, {
        tallies: known.evidence.tallies.map((each, i) => ({ ...each, value: each.value + (i === 0 ? 1 : 0) })),
      }),
  ],
  [
    "a number of a sequence is given twice",
    "counts and sequences",
    (known) =>
      evident(known, { items: known.evidence.items.map((each, i) => (i === 0 ? { ...each, serial: 2 } : each)) }),
  ],
  ["a listener misses an event", "events heard", (known) => hearing(known, (heard) => heard.toSpliced(1, 1))],
  ["a listener misses the last event", "events heard", (known) => hearing(known, (heard) => heard.slice(0, -1))],
  [
    "a listener hears an event twice",
    "events heard",
    (known) => hearing(known, (heard) => [...heard.slice(0, 1), ...heard]),
  ],
  ["a listener hears events out of order", "events heard", (known) => hearing(known, (heard) => heard.toReversed())],
  [
    "two events have had the same number",
    "events heard",
    (known) => hearing(known, (heard) => heard.map((each, i) => (i === 0 ? { ...each, record: "another" } : each))),
  ],
  [
    "an acknowledged run was never made",
    "runs of the queue",
    (known) => {
      const { n } = acknowledged(known, "enqueue");
      return evident(known, { runs: known.evidence.runs.filter((each) => each.n !== n) });
    },
  ],
  [
    "a call of the handler has made two records",
    "runs of the queue",
    (known) => evident(known, { runs: [...known.evidence.runs, ...known.evidence.runs.slice(0, 1)] }),
  ],
  [
    "a run is made again without a cause",
    "runs of the queue",
    (known) =>
      evident(known, { runs: known.evidence.runs.flatMap((each) => [each, { ...each, call: each.call + 1_000_000 }]) }),
  ],
];

test.each(broken)("the suite sees that %s", (_what, name, tamper) => {
  if (outcome === null) throw new Error("The run has not ended");
  const check = checks[name];
  if (check === undefined) throw new Error(`There is no check "${name}"`);
  expect(check(outcome.known).problems).toEqual([]);
  expect(check(tamper(outcome.known)).problems).not.toEqual([]);
});

test("the suite sees that a database has another row than the others", async () => {
  const [first] = world.instances;
  if (first === undefined) throw new Error("The world has no instances");
  const copies = [{ folder: temporaryFolder() }, { folder: temporaryFolder() }] as const;
  const [one, other] = copies.map(({ folder }) => join(folder, "socle.db")) as [string, string];
  {
    using original = openFile(first);
    original.run("VACUUM INTO ?", [one]);
  }
  copyFileSync(one, other);
  expect(await differences(copies)).toEqual([]);
  {
    using database = new Database(other);
    database.run("UPDATE tallies SET value = value + 1 WHERE _seq = 1");
  }
  expect(await differences(copies)).toEqual(["tallies"]);
});
