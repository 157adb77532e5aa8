/** `GET /api/admin/collections/{name}/explain`: the plan of a list, with the parameters of a list; other parameters are refused. */
import { expect, test } from "bun:test";
import { openApi } from "../../../../../test/kit.ts";

const fields = [
  { name: "title", type: "string" },
  { name: "size", type: "integer" },
  { name: "vector", type: "vector", dimensions: 1 },
  { name: "place", type: "geo" },
  { name: "labels", type: "string", multiple: true },
  { name: "post", type: "relation", collection: "posts" },
];
const collections = [{ name: "posts", fields, indexes: [["size"]], permissions: { read: "public" } }];
const { request, admin, register } = await openApi({ collections });
const token = await admin();

async function explain(query: object, as = token, name = "posts"): Promise<[number, Record<string, unknown>]> {
  const search = new URLSearchParams(Object.entries(query));
  const { status, body } = await request("GET", `/api/admin/collections/${name}/explain?${search}`, { token: as });
  return [status, { ...body }];
}

test("the plan names the index that SQLite takes, and the index that would help", async () => {
  const [status, indexed] = await explain({ filter: "size = 1" });
  expect([status, indexed]).toMatchObject([200, { ms: expect.any(Number), plan: [expect.stringContaining("size")] }]);
  const [, missing] = await explain({ filter: 'title = "a"' });
  expect(String(missing["plan"])).not.toContain("title");
  expect(missing["index"]).toContain('["title"]');
  const [, whole] = await explain({});
  expect(whole["plan"]).toEqual([expect.stringContaining("posts")]);
});

test.each(["vector = null", "post.vector = null", 'labels = "a"', "place = null"])(
  "for the filter %s, no index is proposed that a definition may not have",
  async (filter) => {
    const [status, { index }] = await explain({ filter });
    const proposed = /add (\[.*\]) to/.exec(String(index))?.[1];
    const indexes = [["size"], ...(proposed === undefined ? [] : [JSON.parse(proposed)])];
    const body = { fields, indexes };
    const plan = await request("PUT", "/api/admin/collections/posts?dryRun=true", { token, body });
    expect([status, index, plan.status]).toEqual([200, index, 200]);
  },
);

test("a cursor is no part of the plan: the plan is that of the first page", async () => {
  for (const title of ["a", "b"]) await request("POST", "/api/posts", { token, body: { title } });
  const { body } = await request("GET", "/api/posts?sort=title&limit=1", { token });
  const [, first] = await explain({ sort: "title", limit: "1" });
  const [status, next] = await explain({ sort: "title", limit: "1", cursor: String(body["nextCursor"]) });
  expect([status, next["plan"]]).toEqual([200, first["plan"]]);
});

test.each([
  [{ filter: "title =" }, '"filter"'],
  [{ filter: "gone = 1" }, '"gone"'],
  [{ sort: "gone" }, '"sort"'],
  [{ sort: "title,,size" }, '"sort"'],
  [{ limit: "-1" }, '"limit"'],
  [{ limit: "many" }, '"limit"'],
  [{ offset: "1.5" }, '"offset"'],
  [{ count: "all" }, '"count"'],
  [{ cursor: "none", sort: "title" }, "cursor"],
  [{ search: "word" }, "search"],
  [{ group: "gone" }, '"group"'],
  [{ other: "1" }, "has no parameter of a list"],
])("%j is refused, and the parameter is named", async (query, named) => {
  const [status, { error }] = await explain(query);
  expect([status, error]).toEqual([
    400,
    expect.objectContaining({ code: "bad_request", message: expect.stringContaining(named) }),
  ]);
});

test("users, callers without a token and names of no collection are refused", async () => {
  const user = await register("user@example.com");
  expect((await explain({ sort: "title" }, user.accessToken))[0]).toBe(403);
  expect((await request("GET", "/api/admin/collections/posts/explain")).status).toBe(401);
  expect((await explain({ sort: "title" }, token, "none"))[0]).toBe(404);
});
