/** Index use: SQLite reads a list that a single index answers through this index, in order, without a row in vain. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { bind } from "../expressions/index.ts";
import { segmentsAfter } from "./cursor.ts";
import { parseListQuery } from "./list-query.ts";
import type { PagePlan } from "./plan.ts";
import { ReadScope } from "./read-scope.ts";
import { orderBy } from "./sql/rows.ts";

const fields = [
  ...["a", "b", "c"].map((name) => ({ name, type: "integer" })),
  { name: "slug", type: "string", unique: true },
  { name: "required", type: "integer", required: true },
  { name: "status", type: "string", values: ["todo", "doing"] },
  { name: "meta", type: "json" },
  { name: "next", type: "relation", collection: "t" },
];
const indexes = [["a"], ["a", "b"], ["c"], ["b", "c", "a"], ["required"], ["status", "a"]];
const { service } = await openApi({
  collections: [
    { name: "t", fields, indexes },
    { name: "own", fields: [{ name: "a", type: "integer" }], indexes: [["a"]], permissions: { read: "owner" } },
    { name: "late", fields },
    { name: "lateOwn", fields: [{ name: "a", type: "integer" }], permissions: { read: "owner" } },
  ],
});
// In these collections `createdAt` runs backwards.
for (const name of ["late", "lateOwn"]) {
  await service.database.transact((tx) => service.collections.noteOrder(tx, name, false));
  await service.collections.completeIndexes({ name });
  // A connection that explains a statement does not read a changed schema again.
  service.database.rows.get(`SELECT 1 FROM ${name}`);
}

const principal = { userId: "usr_1", role: "authenticated", sessionId: "ses_1" } as const;

function planOf(name: string, text: Record<string, string>): PagePlan {
  const collection = service.records.collection(name);
  const scope = new ReadScope(service.collections, principal);
  const { plan } = parseListQuery(collection, { limit: "5", ...text }, scope);
  if (plan.type === "groups") throw new Error("No groups are asked for");
  return plan;
}

/** Explains the first page, and the parts of the list after a position with and without values. */
function expectOneIndex(plan: PagePlan): void {
  const positions = [
    { seq: 5, values: plan.sort.keys.map(() => 5) },
    // No record is without a time, and so is no position.
    { seq: 5, values: plan.sort.keys.map(({ field }) => (field === "createdAt" ? 5 : null)) },
  ];
  const context = { now: 0, user: { id: "usr_1", role: "authenticated", email: null } };
  for (const segment of [null, ...positions.flatMap((position) => segmentsAfter(plan.sort, position))]) {
    const parts = [plan.where, segment].filter((part) => part !== null);
    const where = parts.length === 0 ? "" : ` WHERE ${parts.map((part) => part.text).join(" AND ")}`;
    const order = orderBy(plan.sort);
    const sql = `SELECT ${plan.selection.columns.text} FROM ${plan.selection.table}${where} ORDER BY ${order.text} LIMIT 6`;
    const values = [...parts.flatMap((part) => bind(part.values, context)), ...bind(order.values, context)];
    const steps = service.database.rows.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
    const isPoint = steps.some(({ detail }) => /\((id|slug)=\?/.test(detail));
    if (!isPoint) expect([sql, steps.map(({ detail }) => detail), steps.length]).toEqual([sql, expect.anything(), 1]);
  }
}

test.each([
  ["t", {}],
  ["t", { sort: "createdAt" }],
  ["t", { filter: "a = 1" }],
  ["t", { filter: "a = 1", sort: "createdAt" }],
  ["t", { filter: "a = null" }],
  ["t", { filter: "a = 1 && b = 2" }],
  ["t", { filter: "b = 2 && a = 1", sort: "-createdAt" }],
  ["t", { filter: "a = 1", sort: "b" }],
  ["t", { filter: "a = 1 && b > 2", sort: "-b" }],
  ["t", { filter: "c > 1 && c < 9", sort: "c" }],
  ["t", { sort: "-c" }],
  ["t", { sort: "required" }],
  ["t", { filter: "b = 1", sort: "c,a" }],
  ["t", { filter: 'status = "doing"', sort: "a" }],
  ["t", { sort: "-status,-a" }],
  ["t", { filter: 'status >= "doing"', sort: "status,a" }],
  ["t", { filter: 'id = "rec_1"' }],
  ["t", { filter: 'slug = "x"', sort: "b" }],
  ["t", { filter: 'slug in ("x", "y")', sort: "-a" }],
  ["t", { filter: 'slug = "x" && a = 1 && c = 2' }],
  ["t", { filter: 'next = "rec_1"' }],
  ["t", { expand: "next" }],
  ["own", {}],
  ["late", {}],
  ["late", { sort: "createdAt" }],
  ["late", { filter: 'createdAt > "2026-01-01"', sort: "-createdAt" }],
  ["late", { filter: 'next = "rec_1"' }],
  ["late", { filter: 'next = "rec_1"', sort: "createdAt" }],
  ["lateOwn", {}],
] as const)("%s %j is answered by an index", (name, text) => {
  expectOneIndex(planOf(name, { ...text }));
});

test.each([
  [{}, true],
  [{ filter: "a = 1 && b > 2", sort: "-b" }, true],
  [{ filter: "b = 1", sort: "c,a" }, true],
  [{ sort: "b" }, false],
  [{ sort: "a,-b" }, false],
  [{ sort: "a,c" }, false],
  [{ sort: "next.a" }, false],
])("%j: an index gives the order: %p", (text, expected) => {
  expect(planOf("t", { ...text }).sort.isIndexed).toBe(expected);
});

// A record may take long if a text or JSON is looked into.
test.each([
  [{ filter: "b = 1 || next.a > 2", sort: "next.b", count: "exact", expand: "t(next)" }, true],
  [{ filter: 'slug ~ "x"' }, false],
  [{ filter: 'a = 1 && !(slug !~ "x")' }, false],
  [{ filter: "slug = lower(slug)" }, false],
  [{ filter: "a in (1, length(slug))" }, false],
  [{ filter: "meta.size = 1" }, false],
  [{ filter: "t(next).meta.size = 1" }, false],
  [{ filter: 't(next).slug ~ "x"' }, false],
  [{ sort: "meta.size" }, false],
])("%j: the event loop tries the list: %p", (text, expected) => {
  expect(planOf("t", { ...text }).isTried).toBe(expected);
});
