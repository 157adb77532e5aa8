import { expect, test } from "bun:test";
import type { JsonValue, RecordPage } from "@socle/protocol";
import fc from "fast-check";
import { type Answer, openApi } from "../../../../test/kit.ts";
import { isLong } from "../../../../test/long.ts";
import { randomSeed } from "../../../../test/random.ts";
import { compareText } from "../../../base/kernel/index.ts";

/** Orders that an index gives (`b`, `a`+`c`), and others; `e` is required, so never null. */
const fields = [
  { name: "a", type: "string" },
  { name: "b", type: "integer" },
  { name: "c", type: "float" },
  { name: "d", type: "boolean" },
  { name: "e", type: "string", required: true },
  { name: "j", type: "json" },
  { name: "up", type: "relation", collection: "rows" },
];
const api = await openApi({
  collections: [{ name: "rows", fields, indexes: [["b"], ["a", "c"], ["e", "createdAt"]] }],
});

type Row = { [name: string]: JsonValue } & { id: string };

async function create(body: object): Promise<Row> {
  const answer = await api.request<Row>("POST", "/api/rows", { body });
  expect(answer.status).toBe(201);
  return answer.body;
}

const maybe = <T>(...values: T[]): fc.Arbitrary<T | null> =>
  fc.option(fc.constantFrom(...values), { nil: null, freq: 2 });
const values = fc.record({
  a: maybe("", "x", "X", "é", "\u{1f600}", "\uffee"),
  b: maybe(-1, 0, 1, 2 ** 53 - 1),
  c: maybe(-0.5, 0, 0.1, 1e300),
  d: maybe(true, false),
  e: fc.constantFrom("p", "q"),
  j: fc.oneof(
    fc.constant(null),
    fc.record({ k: fc.constantFrom<JsonValue>(null, 1, 2.5, 2 ** 53 - 1, 1.5e300, "t", "u", true) }),
  ),
});

const sortable = ["a", "b", "c", "d", "e", "j.k", "up.b", "up.a", "createdAt", "id"] as const;
const keys = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...sortable), fc.boolean()), { maxLength: 4, selector: ([name]) => name })
  .map((all) => all.map(([name, isDescending]) => ({ name, isDescending })));

/** The documented order of values: null, numbers and booleans, texts by code points. */
function compare(a: JsonValue, b: JsonValue): number {
  const rank = (value: JsonValue): number => (value === null ? 0 : typeof value === "string" ? 2 : 1);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  return Number(a) - Number(b);
}

function valueAt(row: Row | undefined, name: string, byId: ReadonlyMap<string, Row>): JsonValue {
  const [first = "", ...rest] = name.split(".");
  const value = row?.[first] ?? null;
  if (rest.length === 0) return value;
  if (first === "up") return valueAt(byId.get(String(value)), rest.join("."), byId);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value[rest.join(".")] ?? null) : null;
}

test("pages by cursor: every record that existed all along is listed once and in order, whatever is added and removed", async () => {
  const seed = randomSeed("paging");
  const property = fc.asyncProperty(
    fc.array(values, { minLength: 1, maxLength: 25 }),
    keys,
    fc.integer({ min: 1, max: 7 }),
    fc.array(fc.tuple(fc.constantFrom("create", "delete"), values, fc.nat(30)), { maxLength: 12 }),
    async (bodies, order, limit, disturbances) => {
      const rows: Row[] = [];
      for (const [i, body] of bodies.entries())
        rows.push(await create({ ...body, up: i % 3 === 0 ? (rows[i >> 1]?.id ?? null) : null }));
      const byId = new Map(rows.map((row) => [row.id, row]));
      const gone = new Set<string>();
      const come = new Set<string>();
      const found: Row[] = [];
      const sort = order.map(({ name, isDescending }) => `${isDescending ? "-" : ""}${name}`).join(",");
      let cursor: string | null = "";
      while (cursor !== null) {
        const search: string = String(new URLSearchParams({ sort, limit: String(limit), cursor }));
        const answer: Answer<RecordPage<Row>> = await api.request<RecordPage<Row>>("GET", `/api/rows?${search}`);
        expect(answer.status).toBe(200);
        expect(answer.body.items.length).toBeLessThanOrEqual(limit);
        found.push(...answer.body.items);
        cursor = answer.body.nextCursor;
        const [change, body, at] = disturbances.shift() ?? [null];
        if (change === "create") come.add((await create(body)).id);
        const victim = change === "delete" ? rows[at % rows.length] : undefined;
        // A deleted record that others are sorted by would move these others, which is no fault of the pages.
        if (victim !== undefined && !rows.some((row) => row["up"] === victim.id) && !gone.has(victim.id)) {
          await api.request("DELETE", `/api/rows/${victim.id}`);
          gone.add(victim.id);
        }
      }
      const last = order.at(-1);
      const place = new Map(rows.map((row, i) => [row.id, i]));
      const expected = [...rows].sort((x, y) => {
        for (const { name, isDescending } of order) {
          const result = compare(valueAt(x, name, byId), valueAt(y, name, byId));
          if (result !== 0) return isDescending ? -result : result;
        }
        const made = (place.get(x.id) ?? 0) - (place.get(y.id) ?? 0);
        return (last?.isDescending ?? true) ? -made : made;
      });
      const ids = found.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const stayed = (id: string): boolean => !gone.has(id) && !come.has(id);
      expect([sort, ...ids.filter(stayed)]).toEqual([sort, ...expected.map(({ id }) => id).filter(stayed)]);
      for (const id of [...byId.keys(), ...come]) await api.request("DELETE", `/api/rows/${id}`);
    },
  );
  await fc.assert(property, { seed, numRuns: isLong ? 500 : 40 });
});
