/**
 * Random conditions, written as values: the service finds the records that the client finds in memory for optimistic changes, and
 * sorts records as the client does.
 */
import { expect, test } from "bun:test";
import { type Condition, filterOf } from "@socle/protocol/query";
import fc from "fast-check";
import { createClient } from "../packages/client/src/index.ts";
import { compareValues, matches } from "../packages/client/src/match.ts";
import { project, serve } from "./kit.ts";

const things = {
  name: "things",
  fields: [
    { name: "title", type: "string" },
    { name: "n", type: "integer" },
    { name: "done", type: "boolean" },
    { name: "due", type: "datetime" },
    { name: "tags", type: "string", multiple: true },
  ],
  permissions: { read: "public", create: "public" },
};
const { url } = await serve(await project({ collections: [things] }));
const client = createClient({ baseUrl: url });
const collection = client.collection("things");

const texts = ["", "a", "b", "Ab", "aB\\", 'say "hi"', "a && b", "ä", "Z"];
const times = ["2026-01-01T00:00:00.000Z", "2026-06-01T12:30:00.000Z"].map((text) => new Date(text));
const text = fc.constantFrom(...texts);
const orNull = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { freq: 4 });
const n = fc.integer({ min: -3, max: 3 });
const time = fc.constantFrom(...times);

/** A condition on a value: the value, values, or comparisons. */
function conditionOn<T>(value: fc.Arbitrary<T>, more: { [operator: string]: fc.Arbitrary<unknown> } = {}) {
  const equal = { eq: orNull(value), ne: orNull(value), in: fc.array(value, { maxLength: 3 }) };
  return fc.oneof(
    orNull(value),
    fc.array(value, { maxLength: 3 }),
    fc.record({ ...equal, ...more }, { requiredKeys: [] }).filter((comparisons) => Object.keys(comparisons).length > 0),
  );
}
function ordered<T>(value: fc.Arbitrary<T>): { [operator: string]: fc.Arbitrary<unknown> } {
  return { gt: value, gte: value, lt: value, lte: value };
}

const { condition } = fc.letrec<{ condition: Condition; simple: Condition }>((tie) => ({
  simple: fc.record(
    {
      title: conditionOn(text, { ...ordered(text), contains: text, lacks: text }),
      n: conditionOn(n, ordered(n)),
      done: conditionOn(fc.boolean()),
      due: conditionOn(time, ordered(time)),
      tags: conditionOn(text, { contains: text, lacks: text }),
    },
    { requiredKeys: [] },
  ),
  condition: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("simple"),
    fc.record({ $or: fc.array(tie("condition"), { maxLength: 3 }) }),
    fc.record({ $and: fc.array(tie("condition"), { maxLength: 3 }), $not: tie("condition") }),
  ),
}));

const made: { [field: string]: unknown }[] = [];
for (let i = 0; i < 60; i++) {
  const values = {
    title: i % 7 === 0 ? null : texts[i % texts.length],
    n: i % 5 === 0 ? null : (i % 7) - 3,
    done: i % 3 === 0 ? null : i % 2 === 0,
    due: i % 4 === 0 ? null : times[i % 2]?.toISOString(),
    tags: texts.slice(1).filter((_, place) => (i >> place) % 3 === 1),
  };
  made.push(await collection.create(values));
}

test("the service and the client find the same records", async () => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
  console.log(`SEED=${seed}`);
  let found = 0;
  await fc.assert(
    // A filter has at most 100 comparisons.
    fc.asyncProperty(
      condition.filter((where) => filterOf(where).length < 1_000),
      async (where) => {
        const { items } = await collection.where(where).select("id");
        const expected = made.filter((record) => matches(where, record) === true).map(({ id }) => String(id));
        // The record alone decides about each of these conditions.
        expect(made.every((record) => matches(where, record) !== undefined)).toBe(true);
        expect(items.map(({ id }) => id).sort()).toEqual(expected.sort());
        found += items.length;
      },
    ),
    { seed, numRuns: 400 },
  );
  expect(found).toBeGreaterThan(0);
});

test.each(["title", "n", "done", "due", "createdAt"])("the service and the client sort by %s alike", async (field) => {
  const { items } = await collection.orderBy(field);
  const values = items.map((item) => item[field]);
  expect(values).toEqual([...values].sort(compareValues));
  expect(new Set(values).size).toBeGreaterThan(1);
});
