/** Rules at their edges: of 4 KB, through rings of relations, over nulls, and a membership that ends between two pages. */
import { describe, expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";

const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
const fields = [
  { name: "name", type: "string" },
  { name: "note", type: "string" },
  { name: "n", type: "integer" },
  relation("u", "users"),
  relation("team", "teams"),
];

/** The rules over nulls, with the records that a member of the team, another user and an anonymous caller may read. */
const overNulls: readonly [rule: string, ann: string[], bob: string[], nobody: string[]][] = [
  ["u = @user.id", ["full"], [], []],
  ["u != @user.id", ["empty"], ["empty", "full"], ["empty", "full"]],
  ["!(u = @user.id)", ["empty"], ["empty", "full"], ["empty", "full"]],
  ["u = null", ["empty"], ["empty"], ["empty"]],
  ["@user.id = null", [], [], ["empty", "full"]],
  ["@user.id != null", ["empty", "full"], ["empty", "full"], []],
  ["team.members(team).user = @user.id", ["full"], [], []],
  ["!(team.members(team).user = @user.id)", ["empty"], ["empty", "full"], ["empty", "full"]],
  ["team.name = null", ["empty"], ["empty"], ["empty"]],
  ["team.name != null", ["full"], ["full"], ["full"]],
  ["note = team.name", ["empty"], ["empty"], ["empty"]],
  ["n > 0", ["full"], ["full"], ["full"]],
  ["!(n > 0)", ["empty"], ["empty"], ["empty"]],
  ["n != 1", ["empty"], ["empty"], ["empty"]],
  ['note in ("x", null)', ["empty", "full"], ["empty", "full"], ["empty", "full"]],
  ["u.id = @user.id && @user.role = null", [], [], []],
];

/** A rule of so many bytes, by which members read. */
function ruleOf(bytes: number): string {
  const [start, end] = [`team.members(team)[user = @user.id] || name = "`, `"`];
  return `${start}${"x".repeat(bytes - start.length - end.length)}${end}`;
}

const { request, register, admin } = await openApi({
  collections: [
    { name: "teams", fields: [{ name: "name", type: "string" }], permissions: { read: "admin" } },
    { name: "members", fields: [relation("team", "teams"), relation("user", "users")], permissions: { read: "admin" } },
    {
      name: "rings",
      fields: [{ name: "name", type: "string" }, relation("next", "rings"), relation("team", "teams")],
      permissions: { read: "next.next.team.members(team).user = @user.id" },
    },
    {
      name: "back_rings",
      fields: [{ name: "name", type: "string" }, relation("next", "back_rings"), relation("team", "teams")],
      permissions: { read: "back_rings(next)[back_rings(next)[team.members(team)[user = @user.id]]]" },
    },
    ...overNulls.map(([read], i) => ({ name: `nulls${i}`, fields, permissions: { read } })),
    { name: "long_rule", fields, permissions: { read: ruleOf(4_096) } },
    { name: "notes", fields, permissions: { read: "team.members(team)[user = @user.id]" } },
  ],
});
const root = await admin();
const [ann, bob] = [await register("ann@x.org"), await register("bob@x.org")];

async function make(collection: string, body: object): Promise<string> {
  const answer = await request("POST", `/api/${collection}`, { body, token: root });
  expect([collection, answer.status]).toEqual([collection, 201]);
  return String(answer.body["id"]);
}

interface Page {
  readonly items: { readonly id: string; readonly name: string }[];
  readonly nextCursor: string | null;
}

/** The names in a list, oldest first; single reads must find the same records. */
async function readable(collection: string, ids: readonly string[], token?: string): Promise<string[]> {
  const as = token === undefined ? {} : { token };
  const { items } = (await request<Page>("GET", `/api/${collection}?sort=createdAt`, as)).body;
  for (const id of ids) {
    const { status } = await request("GET", `/api/${collection}/${id}`, as);
    expect([collection, id, status]).toEqual([collection, id, items.some((item) => item.id === id) ? 200 : 404]);
  }
  return items.map(({ name }) => name);
}

const red = await make("teams", { name: "red" });
await make("members", { team: red, user: ann.user.id });

describe("over nulls", () => {
  test.each(overNulls.map((each, i) => [...each, i] as const))("%s", async (_, forAnn, forBob, forNobody, i) => {
    const name = `nulls${i}`;
    const ids = [
      await make(name, { name: "empty" }),
      await make(name, { name: "full", note: "x", n: 1, u: ann.user.id, team: red }),
    ];
    expect(await readable(name, ids, ann.accessToken)).toEqual(forAnn);
    expect(await readable(name, ids, bob.accessToken)).toEqual(forBob);
    expect(await readable(name, ids)).toEqual(forNobody);
  });
});

describe("through rings of relations", () => {
  /** Three records in a ring, of which the third belongs to the team, and a record that points to itself. */
  async function ring(collection: string): Promise<string[]> {
    const [a, b] = [await make(collection, { name: "a" }), await make(collection, { name: "b" })];
    const c = await make(collection, { name: "c", next: a, team: red });
    const self = await make(collection, { name: "self", team: red });
    const lonely = await make(collection, { name: "lonely" });
    for (const [id, next] of [
      [a, b],
      [b, c],
      [self, self],
      [lonely, lonely],
    ])
      expect((await request("PUT", `/api/${collection}/${id}`, { body: { next }, token: root })).status).toBe(200);
    return [a, b, c, self, lonely];
  }

  test("forward", async () => {
    const ids = await ring("rings");
    expect(await readable("rings", ids, ann.accessToken)).toEqual(["a", "self"]);
    expect(await readable("rings", ids, bob.accessToken)).toEqual([]);
  });

  test("backward", async () => {
    const ids = await ring("back_rings");
    expect(await readable("back_rings", ids, ann.accessToken)).toEqual(["b", "self"]);
    expect(await readable("back_rings", ids, bob.accessToken)).toEqual([]);
  });
});

test("a rule of 4 KB holds, and a longer rule is refused", async () => {
  const ids = [await make("long_rule", { name: "hers", team: red }), await make("long_rule", { name: "x" })];
  expect(await readable("long_rule", ids, ann.accessToken)).toEqual(["hers"]);
  expect(await readable("long_rule", ids)).toEqual([]);
  const body = { permissions: { read: ruleOf(4_097) } };
  const answer = await request<{ error: { message: string } }>("PUT", "/api/admin/collections/long_rule", {
    body,
    token: root,
  });
  expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining("4097 bytes are too many")]);
});

test("a membership that ends between two pages ends the list, and its ETag matches no longer", async () => {
  const membership = await make("members", { team: red, user: bob.user.id });
  for (const name of ["1", "2", "3", "4"]) await make("notes", { name, team: red });
  const get = (search: string, headers = {}) =>
    request<Page>("GET", `/api/notes?${search}`, { token: bob.accessToken, headers });
  const first = await get("limit=2");
  expect(first.body.items.map(({ name }) => name)).toEqual(["4", "3"]);
  const next = `limit=2&cursor=${first.body.nextCursor}`;
  expect((await get(next)).body.items.map(({ name }) => name)).toEqual(["2", "1"]);
  const tag = { "If-None-Match": first.headers.get("etag") ?? "" };
  expect((await get("limit=2", tag)).status).toBe(304);
  expect((await request("DELETE", `/api/members/${membership}`, { token: root })).status).toBe(204);
  expect((await get(next)).body).toEqual({ items: [], nextCursor: null });
  expect((await get("limit=2", tag)).status).toBe(200);
  expect((await get("limit=1&count=exact")).body).toEqual({ items: [], nextCursor: null, total: 0 } as Page);
});
