/**
 * Random transactions by many callers at once against a serial model: the reads of each transaction are the reads of a run in
 * the order of the commits. Each transaction makes a record of `history`, so the order of these records is the order of commits.
 */
// Promises: W5.
import { expect, test } from "bun:test";
import { isLong } from "../../../test/long.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { openScripts } from "../../../test/scripts.ts";

/** A step of a transaction, as JSON. `slot` names a counter, by the value of its field `slot`, or a cell, by its place. */
interface Step {
  readonly do: "get" | "find" | "list" | "search" | "group" | "count" | "sum" | "set" | "put" | "add" | "delete";
  readonly slot: number;
  readonly above: number;
  readonly by: number;
}

const counters = {
  name: "counters",
  fields: [
    { name: "slot", type: "integer", unique: true },
    { name: "n", type: "integer" },
    { name: "title", type: "string" },
  ],
  indexes: [["n"]],
  search: ["title"],
};
/** Records that no step deletes: the ids are known, so a step reads a cell by the id. */
const cells = { name: "cells", fields: [{ name: "n", type: "integer" }] };
const history = { name: "history", fields: [{ name: "program", type: "json" }] };

/** The endpoint that runs the steps. A put writes the sum of all numbers read so far and `by`. */
const code = `export const access = "public";
export const POST = async (request, { db }) => {
  const program = await request.json();
  const seen = await db.transaction(async (tx) => {
    const [counters, cells] = [tx.collection("counters"), tx.collection("cells")];
    const seen = [];
    const find = async (slot) => (await counters.list({ filter: "slot = " + slot }))[0];
    let hasWritten = false;
    for (const step of program.steps) {
      if (step.do === "find") seen.push((await find(step.slot))?.n ?? null);
      else if (step.do === "get") seen.push((await cells.get(program.cells[step.slot])).n);
      else if (step.do === "search") seen.push((await counters.list({ search: "slot" + step.slot })).length);
      else if (step.do === "group") seen.push((await counters.list({ aggregate: "max(n)" }))[0]["max(n)"]);
      else if (step.do === "list") seen.push((await counters.list({ filter: "n > " + step.above, sort: "slot" })).map(({ n }) => n));
      else if (step.do === "count") seen.push((await counters.list({ filter: "n > " + step.above, count: "exact", limit: 1 })).total);
      else if (step.do === "sum") {
        if (!hasWritten) seen.push((await tx.query("SELECT sum(n) AS n FROM counters WHERE n > ?", [step.above]))[0].n);
      } else if (step.do === "set") {
        const last = [0, ...seen.flat()].filter((n) => n !== null).at(-1);
        hasWritten = true;
        await cells.update(program.cells[step.slot], { n: (last + step.by) % 1000 });
      } else {
        const found = await find(step.slot);
        const last = [0, ...seen.flat()].filter((n) => n !== null).at(-1);
        const n = step.do === "add" ? (found?.n ?? 0) + step.by : (last + step.by) % 1000;
        hasWritten = true;
        if (step.do === "delete") { if (found) await counters.delete(found.id); }
        else if (found) await counters.update(found.id, { n });
        else await counters.create({ slot: step.slot, n, title: "slot" + step.slot });
      }
    }
    await tx.collection("history").create({ program: program.id });
    return seen;
  });
  return Response.json(seen);
};`;

/** The numbers of the counters and the cells, by slot. */
interface Model {
  readonly counts: Map<number, number>;
  readonly cells: number[];
}

/** The reads of a program on a model, which the program changes. */
function replay({ counts, cells: ofCells }: Model, steps: readonly Step[]): unknown[] {
  const seen: (number | null | number[])[] = [];
  let hasWritten = false;
  const above = (least: number): number[] =>
    [...counts]
      .filter(([, n]) => n > least)
      .toSorted(([a], [b]) => a - b)
      .map(([, n]) => n);
  for (const step of steps) {
    if (step.do === "find") seen.push(counts.get(step.slot) ?? null);
    else if (step.do === "get") seen.push(ofCells[step.slot] ?? null);
    else if (step.do === "search") seen.push(counts.has(step.slot) ? 1 : 0);
    else if (step.do === "group") seen.push(counts.size === 0 ? null : Math.max(...counts.values()));
    else if (step.do === "list") seen.push(above(step.above));
    else if (step.do === "count") seen.push(above(step.above).length);
    else if (step.do === "sum") {
      const found = above(step.above);
      if (!hasWritten) seen.push(found.length === 0 ? null : found.reduce((sum, n) => sum + n));
    } else {
      hasWritten = true;
      const last = [0, ...seen.flat()].filter((n) => n !== null).at(-1) ?? 0;
      if (step.do === "set") ofCells[step.slot] = (last + step.by) % 1000;
      else if (step.do === "delete") counts.delete(step.slot);
      else if (step.do === "put") counts.set(step.slot, (last + step.by) % 1000);
      else counts.set(step.slot, (counts.get(step.slot) ?? 0) + step.by);
    }
  }
  return seen;
}

test("transactions of 16 callers equal transactions in a row", async () => {
  const random = randomNumbers(randomSeed("serializable"));
  const pick = (below: number): number => Math.floor(random() * below);
  const api = await openScripts({ collections: [counters, cells, history], files: { "endpoints/run.ts": code } });
  const made = Array.from({ length: 6 }, () => api.request("POST", "/api/cells", { body: { n: 0 } }));
  const ids = (await Promise.all(made)).map(({ body }) => String(body["id"]));
  const kinds = [
    "get",
    "get",
    "find",
    "list",
    "search",
    "group",
    "count",
    "sum",
    "set",
    "put",
    "add",
    "delete",
  ] as const;
  const stepOf = (): Step => {
    const kind = kinds[pick(kinds.length)] ?? "get";
    return { do: kind, slot: pick(6), above: pick(500), by: pick(kind === "add" ? 20 : 500) };
  };
  const programs = Array.from({ length: isLong ? 240 : 120 }, () => Array.from({ length: 1 + pick(5) }, stepOf));
  const seen = new Map<number, unknown>();
  const waiting = [...programs.keys()];
  const caller = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      const body = { id, cells: ids, steps: programs[id] };
      const { status, bytes } = await api.request("POST", "/api/function/run", { body });
      if (status !== 200) console.log(new TextDecoder().decode(bytes), api.log.slice(-3));
      expect(status).toBe(200);
      seen.set(id, JSON.parse(new TextDecoder().decode(bytes)));
    }
  };
  await Promise.all(Array.from({ length: 16 }, caller));
  const committed = (await api.request("GET", "/api/history")).body["items"] as unknown as { program: number }[];
  expect(committed.map(({ program }) => program).toSorted((a, b) => a - b)).toEqual([...programs.keys()]);
  const model: Model = { counts: new Map(), cells: [0, 0, 0, 0, 0, 0] };
  for (const { program } of committed.toReversed())
    expect({ program, seen: seen.get(program) }).toEqual({ program, seen: replay(model, programs[program] ?? []) });
  const stored = (await api.request("GET", "/api/counters")).body["items"] as unknown as { slot: number; n: number }[];
  expect(new Map(stored.map(({ slot, n }) => [slot, n]))).toEqual(model.counts);
  const kept = (await api.request("GET", "/api/cells")).body["items"] as unknown as { id: string; n: number }[];
  expect(ids.map((id) => kept.find((cell) => cell.id === id)?.n)).toEqual(model.cells as never);
});
