/** Groups by multiple fields: a record in the group of each item, pairs of items, paths behind items, rights and pages. */
import { expect, test } from "bun:test";
import type { JsonValue } from "@socle/protocol";
import { openApi } from "../../../../test/kit.ts";

const statuses = ["todo", "doing", "done"];
const api = await openApi({
  collections: [
    { name: "teams", fields: [{ name: "name", type: "string" }] },
    {
      name: "labels",
      fields: [
        { name: "name", type: "string" },
        { name: "color", type: "string", values: ["red", "blue"] },
        { name: "team", type: "relation", collection: "teams" },
        { name: "kin", type: "relation", collection: "labels", multiple: true },
        { name: "secret", type: "string", permissions: { read: "admin" } },
      ],
      permissions: { read: 'name ~ "open"', create: "admin" },
    },
    {
      name: "issues",
      fields: [
        { name: "status", type: "string", values: statuses },
        { name: "points", type: "integer" },
        { name: "by", type: "relation", collection: "users", owner: true },
        { name: "tags", type: "string", multiple: true },
        { name: "kinds", type: "string", values: statuses, multiple: true },
        { name: "labels", type: "relation", collection: "labels", multiple: true },
        { name: "parent", type: "relation", collection: "issues" },
        { name: "watchers", type: "relation", collection: "users", multiple: true },
        { name: "vault", type: "string", multiple: true, permissions: { read: "admin" } },
      ],
      permissions: { read: "by = @user.id", create: "authenticated" },
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

const [red, blue] = [
  await label({ name: "open red", color: "red", secret: "s" }),
  await label({ name: "closed blue", color: "blue" }),
];
const twin = await label({ name: "open red", color: "red" });

async function label(body: object): Promise<string> {
  return (await api.request<{ id: string }>("POST", "/api/labels", { body, token: admin })).body.id;
}

const rows = async (parameters: Record<string, string>, token = admin): Promise<(JsonValue | undefined)[][]> =>
  (await groups(parameters, token)).items.map((item) => Object.values(item));

test("a record counts in the group of each item, and without items in the group of null", async () => {
  await clear();
  const by = ann.user.id;
  const [first = ""] = await make([
    { points: 1, tags: ["a", "b"], kinds: ["done", "todo"], labels: [red, blue, twin], by },
    { points: 10, tags: ["b"], labels: [red], status: "todo", by },
    { points: 100, kinds: ["doing"], status: "todo", by },
  ]);
  await make([{ points: 1_000, parent: first, labels: [], by }]);
  const aggregate = "count,sum(points)";
  expect(await rows({ group: "tags", aggregate })).toEqual([
    [null, 2, 1_100],
    ["a", 1, 1],
    ["b", 2, 11],
  ]);
  // In the order of the values.
  expect(await rows({ group: "kinds", aggregate })).toEqual([
    [null, 2, 1_010],
    ["todo", 1, 1],
    ["doing", 1, 100],
    ["done", 1, 1],
  ]);
  expect(await rows({ group: "kinds", sort: "-kinds", filter: "kinds != null" })).toEqual([
    ["done"],
    ["doing"],
    ["todo"],
  ]);
  const ids = [null, ...[red, blue, twin].toSorted()];
  expect((await rows({ group: "labels", aggregate })).map(([id]) => id)).toEqual(ids);
  expect(await rows({ group: "labels", aggregate, filter: `labels = "${red}"`, sort: "-count", limit: "1" })).toEqual([
    [red, 2, 11],
  ]);
  // A record has two labels of one name, and each of them is an item.
  expect(await rows({ group: "labels.name,labels.color", aggregate })).toEqual([
    [null, null, 2, 1_100],
    ["closed blue", "blue", 1, 1],
    ["open red", "red", 3, 12],
  ]);
  // Keys of the same items are of the same item.
  expect(await rows({ group: "labels,labels.name", aggregate: "count", filter: "points = 1" })).toHaveLength(3);
  expect(await rows({ group: "parent.tags", aggregate })).toEqual([
    [null, 3, 111],
    ["a", 1, 1_000],
    ["b", 1, 1_000],
  ]);
  // The groups of two fields are the pairs of items.
  expect(await rows({ group: "kinds,tags", aggregate: "count", filter: "points = 1" })).toEqual([
    ["todo", "a", 1],
    ["todo", "b", 1],
    ["done", "a", 1],
    ["done", "b", 1],
  ]);
  expect(await rows({ group: "status,tags", aggregate: "count", filter: 'status = "todo"' })).toEqual([
    ["todo", null, 1],
    ["todo", "b", 1],
  ]);
  expect(await rows({ group: "labels.team.name", aggregate: "count" })).toEqual([[null, 6]]);
});

test("a caller gets the ids of the record, and no value of a label that the caller may not read", async () => {
  const token = ann.accessToken;
  expect(await rows({ group: "labels", aggregate: "count" }, token)).toEqual(
    await rows({ group: "labels", aggregate: "count" }),
  );
  expect(await rows({ group: "labels.name", aggregate: "count" }, token)).toEqual([
    [null, 3],
    ["open red", 3],
  ]);
  expect(await rows({ group: "labels.color", aggregate: "count" }, token)).toEqual([
    [null, 3],
    ["red", 3],
  ]);
  for (const group of ["vault", "labels.secret", "parent.vault"])
    expect(await refusal({ group }, token)).toContain(`has no field "${group.split(".").at(-1)}"`);
  expect(
    await rows({ group: "labels", aggregate: "count" }, (await api.register("eve@example.com")).accessToken),
  ).toEqual([]);
  const anonymous = await api.request("GET", "/api/issues?group=watchers.email", {});
  expect(anonymous.status).toBe(401);
});

test("pages follow each other by cursor", async () => {
  await clear();
  const tags = Array.from({ length: 50 }, (_, n) => `t${n}`);
  await make(tags.map((_, n) => ({ points: n, tags: tags.slice(0, n), kinds: statuses.slice(0, n % 3) })));
  for (const sort of ["tags", "-tags", "-count,tags", "-kinds"]) {
    const query = { group: "tags,kinds", aggregate: "count,sum(points)", sort };
    const whole = (await groups(query)).items;
    const found: Groups["items"] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: Groups = await groups({ ...query, limit: "7", ...(cursor !== "" && { cursor }) });
      found.push(...page.items);
      cursor = page.nextCursor;
    }
    expect(found).toEqual(whole);
  }
});

test("the product of the items of several fields ends at the time limit", async () => {
  const several = (name: string) => ({ name, type: "string", multiple: true, max: 1_000 });
  const small = await openApi({
    collections: [{ name: "wide", fields: ["a", "b", "c"].map(several) }],
    settings: { SERVICE_LIMITS_QUERY_TIME: "1s" },
  });
  const many = Array.from({ length: 1_000 }, (_, n) => `t${n}`);
  expect((await small.request("POST", "/api/wide", { body: { a: many, b: many, c: many } })).status).toBe(201);
  const ask = async (group: string): Promise<number> =>
    (await small.request("GET", `/api/wide?group=${group}&aggregate=count`)).status;
  // A thousand million rows, of a single record.
  expect(await ask("a,b,c")).toBe(503);
  expect(await ask("a")).toBe(200);
});
