/** Index use: SQLite reads a bounded list through one index, in order, without a row in vain. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { bind } from "../expressions/index.ts";
import { segmentsAfter } from "./cursor.ts";
import { parseListQuery } from "./list-query.ts";
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
  ],
});

const principal = { userId: "usr_1", role: "authenticated", sessionId: "ses_1" } as const;

function isBounded(name: string, text: Record<string, string>): boolean {
  const collection = service.records.collection(name);
  const query = parseListQuery(collection, { limit: "5", ...text }, new ReadScope(service.collections, principal));
  if (query.site === "thread") return false;
  // The first page, and the parts of the list after a position with and without values.
  const { plan } = query;
  if (plan.type === "groups") throw new Error("No groups are asked for");
  const positions = [
    { seq: 5, values: plan.sort.keys.map(() => 5) },
    { seq: 5, values: plan.sort.keys.map(() => null) },
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
  return true;
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
] as const)("%s %j is answered by an index, on the event loop", (name, text) => {
  expect(isBounded(name, { ...text })).toBe(true);
});

test.each([
  // A field without an index, or two of which no index has both.
  ["t", { filter: "b = 1" }],
  ["t", { filter: "a = 1 && c = 2" }],
  ["t", { filter: "a = 1 && a = 2" }],
  // A second bound of a kind is looked at row by row.
  ["t", { filter: "c > 1 && c > 2", sort: "c" }],
  // An order that has to be made.
  ["t", { filter: "a = 1", sort: "c" }],
  ["t", { filter: "c > 1" }],
  ["t", { sort: "b" }],
  ["t", { sort: "a,-b" }],
  ["t", { sort: "a,c" }],
  ["t", { sort: "next.a" }],
  // Null is no value of a unique index, and many records may have null.
  ["t", { filter: "slug = null && a = 1" }],
  ["t", { filter: "a in (1, 2)" }],
  ["t", { filter: "a = 1 || b = 2" }],
  ["t", { filter: "!(a = 1)" }],
  ["t", { filter: "a != 1" }],
  // As a text the status has no index.
  ["t", { filter: "status = @user.role" }],
  ["t", { filter: 'status ~ "do"', sort: "status" }],
  ["t", { filter: 'slug ~ "x"' }],
  ["t", { filter: "meta.size = 1" }],
  ["t", { filter: "next.a = 1" }],
  ["t", { filter: "a = b" }],
  // A function of a field has another value for each row.
  ["t", { filter: "slug = lower(slug)" }],
  ["t", { filter: "a = length(slug)" }],
  ["t", { filter: 'slug in (lower(slug), "x")' }],
  ["t", { filter: "c > length(slug)", sort: "c" }],
  ["t", { filter: "a = 1", count: "exact" }],
  ["t", { offset: "2000" }],
  ["t", { limit: "1000" }],
  ["t", { expand: "t(next)" }],
  // Own records are found by the owner, and not by another field.
  ["own", { filter: "a = 1" }],
] as const)("%s %j runs on a thread", (name, text) => {
  expect(isBounded(name, { ...text })).toBe(false);
});
