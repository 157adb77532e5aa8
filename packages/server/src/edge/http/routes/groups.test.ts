/** Groups and aggregates of lists: values, units of time, order, pages, rights, and refusals. */
import { describe, expect, test } from "bun:test";
import type { JsonValue } from "@socle/protocol";
import fc from "fast-check";
import { openApi } from "../../../../test/kit.ts";
import { randomSeed } from "../../../../test/random.ts";

const statuses = ["todo", "doing", "done"];
const api = await openApi({
  collections: [
    { name: "teams", fields: [{ name: "name", type: "string" }] },
    { name: "labels", fields: [{ name: "kin", type: "relation", collection: "labels", multiple: true }] },
    {
      name: "issues",
      fields: [
        { name: "status", type: "string", values: statuses },
        { name: "label", type: "string" },
        { name: "text", type: "text" },
        { name: "points", type: "integer" },
        { name: "score", type: "float" },
        { name: "count", type: "integer" },
        { name: "open", type: "boolean" },
        { name: "due", type: "datetime" },
        { name: "data", type: "json" },
        { name: "team", type: "relation", collection: "teams" },
        { name: "by", type: "relation", collection: "users", owner: true },
        { name: "secret", type: "integer", permissions: { read: "admin" } },
        { name: "tags", type: "string", multiple: true },
        { name: "kinds", type: "string", values: statuses, multiple: true },
        { name: "labels", type: "relation", collection: "labels", multiple: true },
      ],
      permissions: { read: "by = @user.id", create: "authenticated" },
      indexes: [["status"]],
    },
  ],
});
const admin = await api.admin();
const ann = await api.register("ann@example.com");

interface Groups {
  items: { [name: string]: JsonValue }[];
  nextCursor: string | null;
}

async function groups(parameters: Record<string, string>, token: string | null = admin): Promise<Groups> {
  const path = `/api/issues?${new URLSearchParams(parameters)}`;
  const answer = await api.request<Groups>("GET", path, token === null ? {} : { token });
  expect(answer.status).toBe(200);
  return answer.body;
}

async function refusal(parameters: Record<string, string>, token = admin): Promise<string> {
  const answer = await api.request<{ error: { code: string; message: string } }>(
    "GET",
    `/api/issues?${new URLSearchParams(parameters)}`,
    { token },
  );
  expect([parameters, answer.status, answer.body.error.code]).toEqual([parameters, 400, "bad_request"]);
  return answer.body.error.message;
}

async function make(bodies: object[], token = admin): Promise<string[]> {
  const operations = bodies.map((body) => ({ method: "create", collection: "issues", body }));
  const answer = await api.request<{ results: { body: { id: string } }[] }>("POST", "/api/batch", {
    body: { operations },
    token,
  });
  expect(answer.status).toBe(200);
  return answer.body.results.map(({ body }) => body.id);
}

async function clear(): Promise<void> {
  const { body } = await api.request<{ items: { id: string }[] }>("GET", "/api/issues", { token: admin });
  const operations = body.items.map(({ id }) => ({ method: "delete", collection: "issues", id }));
  for (let at = 0; at < operations.length; at += 1_000)
    await api.request("POST", "/api/batch", { body: { operations: operations.slice(at, at + 1_000) }, token: admin });
}

test("counts and sums of groups, in the order of the values", async () => {
  await clear();
  await make([
    { status: "todo", points: 2, score: 0.5 },
    { status: "done", points: 5 },
    { status: "todo", points: 3, score: 1.5 },
    { points: 1 },
    { status: "doing" },
  ]);
  const { items, nextCursor } = await groups({
    group: "status",
    aggregate: "count,sum(points),avg(score),min(points),max(points)",
  });
  expect(nextCursor).toBeNull();
  expect(items).toEqual([
    { status: null, count: 1, "sum(points)": 1, "avg(score)": null, "min(points)": 1, "max(points)": 1 },
    { status: "todo", count: 2, "sum(points)": 5, "avg(score)": 1, "min(points)": 2, "max(points)": 3 },
    { status: "doing", count: 1, "sum(points)": 0, "avg(score)": null, "min(points)": null, "max(points)": null },
    { status: "done", count: 1, "sum(points)": 5, "avg(score)": null, "min(points)": 5, "max(points)": 5 },
  ]);
  expect((await groups({ aggregate: "count,sum(points)" })).items).toEqual([{ count: 5, "sum(points)": 11 }]);
  expect((await groups({ aggregate: "count", filter: "points > 100" })).items).toEqual([{ count: 0 }]);
  expect((await groups({ group: "status", aggregate: "count", filter: "points > 100" })).items).toEqual([]);
  expect((await groups({ group: "status", filter: "points >= 3" })).items).toEqual([
    { status: "todo" },
    { status: "done" },
  ]);
});

test("groups by unit of time, boolean, relation, and through a relation", async () => {
  await clear();
  const [team = ""] = await Promise.all(
    ["red"].map(async (name) => (await api.request<{ id: string }>("POST", "/api/teams", { body: { name } })).body.id),
  );
  await make([
    { due: "2026-11-22T23:59:59.999Z", open: true, team },
    { due: "2026-11-23T00:00:00Z", open: false, team },
    { due: "2026-12-31", open: true },
    {},
  ]);
  const by = async (group: string): Promise<(JsonValue | undefined)[][]> =>
    (await groups({ group, aggregate: "count" })).items.map((item) => [item[group], item["count"]]);
  expect(await by("due:month")).toEqual([
    [null, 1],
    ["2026-11-01T00:00:00.000Z", 2],
    ["2026-12-01T00:00:00.000Z", 1],
  ]);
  // The 22nd is a Sunday.
  expect(await by("due:week")).toEqual([
    [null, 1],
    ["2026-11-16T00:00:00.000Z", 1],
    ["2026-11-23T00:00:00.000Z", 1],
    ["2026-12-28T00:00:00.000Z", 1],
  ]);
  expect((await by("due:day")).map(([day]) => day)).toEqual([
    null,
    "2026-11-22T00:00:00.000Z",
    "2026-11-23T00:00:00.000Z",
    "2026-12-31T00:00:00.000Z",
  ]);
  expect((await by("due:hour")).map(([hour]) => hour)).toContain("2026-11-22T23:00:00.000Z");
  expect(await by("due:year")).toEqual([
    [null, 1],
    ["2026-01-01T00:00:00.000Z", 3],
  ]);
  expect(await by("open")).toEqual([
    [null, 1],
    [false, 1],
    [true, 2],
  ]);
  expect(await by("team")).toEqual([
    [null, 2],
    [team, 2],
  ]);
  expect(await by("team.name")).toEqual([
    [null, 2],
    ["red", 2],
  ]);
  const { items } = await groups({ group: "open,due:month", aggregate: "count", sort: "-open" });
  expect(items.map((item) => [item["open"], item["due:month"]])).toEqual([
    [true, "2026-11-01T00:00:00.000Z"],
    [true, "2026-12-01T00:00:00.000Z"],
    [false, "2026-11-01T00:00:00.000Z"],
    [null, null],
  ]);
});

test("sums are exact up to 2^53 and approximate beyond", async () => {
  await clear();
  await make(Array.from({ length: 1_000 }, () => ({ points: 2 ** 53 - 1 })));
  const { items } = await groups({ aggregate: "sum(points),avg(points)" });
  expect(Number(items[0]?.["sum(points)"]) / (2 ** 53 * 1_000)).toBeCloseTo(1);
});

test("pages follow each other by cursor, in any order", async () => {
  await clear();
  await make(Array.from({ length: 1_000 }, (_, n) => ({ label: `l${n}`, points: n % 7 })));
  await make(Array.from({ length: 500 }, (_, n) => ({ label: `m${n}`, points: n % 7 })));
  const first = await groups({ group: "label", aggregate: "count" });
  expect([first.items.length, first.nextCursor === null]).toEqual([1_000, false]);
  for (const sort of ["label", "-label", "max(points)", "-max(points),-label", "count"]) {
    const whole = [...(await groups({ group: "label", aggregate: "count,max(points)", sort })).items];
    const rest = await groups({
      group: "label",
      aggregate: "count,max(points)",
      sort,
      cursor: (await groups({ group: "label", aggregate: "count,max(points)", sort })).nextCursor ?? "",
    });
    whole.push(...rest.items);
    const found: Groups["items"] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: Groups = await groups({
        group: "label",
        aggregate: "count,max(points)",
        sort,
        limit: "400",
        ...(cursor !== "" && { cursor }),
      });
      found.push(...page.items);
      cursor = page.nextCursor;
    }
    expect(found).toEqual(whole);
    expect(new Set(found.map(({ label }) => label)).size).toBe(1_500);
  }
  const { nextCursor } = await groups({ group: "label", aggregate: "count", limit: "5" });
  expect(await refusal({ group: "label", cursor: nextCursor ?? "" })).toContain("cursor");
});

test("texts that are too long for a cursor, and for a page", async () => {
  await clear();
  const text = (n: number): string => String(n).repeat(700_000);
  for (let n = 0; n < 8; n++) await make([{ text: text(n) }]);
  const found: JsonValue[] = [];
  let cursor: string | null = "";
  let pages = 0;
  while (cursor !== null) {
    const page: Groups = await groups({ group: "text", ...(cursor !== "" && { cursor }) });
    found.push(...page.items.map((item) => String(item["text"]).slice(0, 2)));
    cursor = page.nextCursor;
    pages += 1;
  }
  expect(found).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((n) => `${n}${n}`));
  expect(pages).toBe(2);
});

test("a field count is a group beside the number of its records", async () => {
  await clear();
  await make([{ count: 7 }, { count: 7 }, { count: 1 }]);
  const { items } = await groups({ group: "count", aggregate: "count(id)", sort: "-count(id)" });
  expect(items).toEqual([
    { count: 7, "count(id)": 2 },
    { count: 1, "count(id)": 1 },
  ]);
});

test("the weeks of the first years", async () => {
  await clear();
  await make(["0000-01-01", "0000-01-02T10:00:00Z", "0000-01-03", "0050-03-01", "0099-12-31"].map((due) => ({ due })));
  const { items } = await groups({ group: "due:week", aggregate: "count" });
  expect(items.map((item) => [item["due:week"], item["count"]])).toEqual([
    ["0000-01-01T00:00:00.000Z", 2],
    ["0000-01-03T00:00:00.000Z", 1],
    ["0050-02-28T00:00:00.000Z", 1],
    ["0099-12-28T00:00:00.000Z", 1],
  ]);
});

test("a sum beyond the greatest number is refused, and no null", async () => {
  await clear();
  await make([
    { label: "a", score: 1.7e308 },
    { label: "a", score: 1.7e308 },
    { label: "b", score: -1.7e308 },
    { label: "c", score: -1.7e308 },
    { label: "c", score: -1.7e308 },
  ]);
  for (const aggregate of ["sum(score)", "avg(score)"])
    expect(await refusal({ group: "label", aggregate })).toContain(`"${aggregate}" is beyond 1.8e308`);
  const { items } = await groups({ group: "label", aggregate: "sum(score),max(score)", filter: 'label = "b"' });
  expect(items).toEqual([{ label: "b", "sum(score)": -1.7e308, "max(score)": -1.7e308 }]);
});

describe("refused", () => {
  test.each<[Record<string, string>, string]>([
    [{ group: "titel" }, "titel"],
    [{ group: "status,status" }, "twice"],
    [{ group: "status," }, "comma"],
    [{ group: "a,b,c,d,e,f" }, "at most 5"],
    [{ group: "due:minute" }, "hour, day, week, month or year"],
    [{ group: "due:constructor" }, "the unit must be"],
    [{ group: "status:month" }, "only a datetime"],
    [{ group: "due:month:day" }, "the unit must be"],
    [{ group: "data" }, "JSON"],
    [{ group: "data.x" }, "JSON"],
    [{ group: "tags.x" }, '"tags" is a text'],
    [{ group: "labels.kin" }, '"kin" has several items'],
    [{ group: "labels.gone" }, '"labels" has no field "gone"'],
    [{ group: "tags:month" }, "only a datetime"],
    [{ group: "tags[0]" }, "only relations and json have something in them"],
    [{ group: "tags[*]" }, "is no path"],
    [{ group: "issues(parent)" }, "is no path"],
    [{ group: "every(labels)" }, "is no path"],
    [{ group: "@record.status" }, "is no path"],
    [{ aggregate: "max(tags)" }, "several items"],
    [{ aggregate: "sum(labels)" }, '"sum(labels)": "labels" has several items, and sum needs a single value'],
    [{ aggregate: "sum(data.x)" }, "JSON"],
    [{ aggregate: "sum" }, '"sum" must be'],
    [{ group: "count", aggregate: "count" }, "write count(id)"],
    [{ aggregate: "count(points)" }, '"count(points)" must be'],
    [{ aggregate: "sum()" }, "must be"],
    [{ aggregate: "count(points)" }, "must be"],
    [{ aggregate: "toString(points)" }, "must be"],
    [{ aggregate: "sum(label)" }, "needs a number"],
    [{ aggregate: "avg(due)" }, "needs a number"],
    [{ aggregate: "sum(open)" }, "needs a number"],
    [{ aggregate: "max(team)" }, "needs a number"],
    [{ aggregate: "min(status)" }, "needs a number"],
    [{ aggregate: "sum(points);DROP TABLE issues" }, "must be"],
    [{ aggregate: "sum(points) FROM x)" }, "must be"],
    [{ aggregate: Array.from({ length: 21 }, (_, n) => `sum(p${n})`).join() }, "at most 20"],
    [{ group: "status", sort: "count" }, '"count" is none'],
    [{ group: "status", sort: "points" }, '"points" is none'],
    [{ group: "status", limit: "1001" }, "1000"],
    [{ group: "status", offset: "1" }, "cannot stand beside"],
    [{ group: "status", fields: "id" }, "cannot stand beside"],
    [{ aggregate: "count", expand: "team" }, "cannot stand beside"],
    [{ aggregate: "count", count: "exact" }, "cannot stand beside"],
    [{ group: "status", filter: "status =" }, "filter"],
    [{ group: "status", cursor: "x" }, "cursor"],
  ])("%p", async (parameters, message) => {
    expect(await refusal(parameters)).toContain(message);
  });
});

test("the read rule holds, and a hidden field is unknown", async () => {
  await clear();
  await make([
    { points: 1, secret: 5, by: ann.user.id },
    { points: 10, secret: 7 },
  ]);
  expect((await groups({ aggregate: "count,sum(points)" }, ann.accessToken)).items).toEqual([
    { count: 1, "sum(points)": 1 },
  ]);
  expect((await groups({ aggregate: "count" }, null)).items).toEqual([{ count: 0 }]);
  expect((await groups({ aggregate: "sum(secret)" })).items).toEqual([{ "sum(secret)": 12 }]);
  for (const parameters of [
    { aggregate: "sum(secret)" },
    { group: "secret" },
    { group: "points", filter: "secret > 5" },
  ])
    expect(await refusal(parameters, ann.accessToken)).toContain("secret");
});

test("an ETag that changes with the records", async () => {
  await clear();
  const ask = (tag = "") =>
    api.request("GET", "/api/issues?aggregate=count", { token: admin, headers: { "If-None-Match": tag } });
  const tag = (await ask()).headers.get("etag") ?? "";
  expect((await ask(tag)).status).toBe(304);
  await make([{}]);
  expect((await ask(tag)).status).toBe(200);
});

test("random records have the groups of the model", async () => {
  const record = fc.record({
    label: fc.constantFrom(null, "", "a", "b"),
    status: fc.constantFrom(null, ...statuses),
    points: fc.constantFrom(null, -1, 0, 1, 2),
    open: fc.constantFrom(null, true, false),
    tags: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 3 }),
    kinds: fc.uniqueArray(fc.constantFrom(...statuses), { maxLength: 3 }),
  });
  const key = fc.constantFrom("label", "status", "open", "points", "tags", "kinds");
  /** The values of a key: of a multiple field the items, or null. */
  const valuesOf = (value: JsonValue): JsonValue[] =>
    !Array.isArray(value) ? [value] : value.length === 0 ? [null] : value;
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { maxLength: 30 }),
      fc.uniqueArray(key, { minLength: 1, maxLength: 5 }),
      async (records, keys) => {
        await clear();
        if (records.length > 0) await make(records);
        const expected = new Map<string, { count: number; sum: number }>();
        for (const each of records) {
          let tuples: JsonValue[][] = [[]];
          for (const name of keys)
            tuples = tuples.flatMap((tuple) => valuesOf(each[name]).map((value) => [...tuple, value]));
          for (const tuple of tuples) {
            const id = JSON.stringify(tuple);
            const group = expected.get(id) ?? { count: 0, sum: 0 };
            expected.set(id, { count: group.count + 1, sum: group.sum + (each.points ?? 0) });
          }
        }
        const { items } = await groups({ group: keys.join(), aggregate: "count,sum(points)" });
        const found = items.map((item): [string, { count: number; sum: number }] => [
          JSON.stringify(keys.map((name) => item[name])),
          { count: Number(item["count"]), sum: Number(item["sum(points)"]) },
        ]);
        expect(found.length).toBe(expected.size);
        expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
      },
    ),
    { seed: randomSeed("groups"), numRuns: 60 },
  );
});
