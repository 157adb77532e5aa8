import { expect, test } from "bun:test";
import type { RecordPage } from "@socle/protocol";
import { numbers, openQueryWorld, relation, string } from "../../../../test/query-world.ts";

const { api, request, ann, posts, create, list, refusal } = await openQueryWorld();

test("as many values in a list as the text holds", async () => {
  const many = Array.from({ length: 1_000 }, (_, n) => n % 8).join(",");
  const eight = [0, 1, 2, 3, 4, 5, 6, 7];
  expect(numbers(await list("/api/posts", { filter: `n in (${many})`, sort: "n", fields: "n" }))).toEqual(eight);
  const mixed = `meta.size in (${many}) || meta.list in ("a", true, null)`;
  expect(numbers(await list("/api/posts", { filter: `(${mixed}) && n < 9`, sort: "n", fields: "n" }))).toEqual(eight);
  expect((await list("/api/posts", { offset: "9007199254740991" })).items).toEqual([]);
});

test("a page that is too large ends earlier, and the next page goes on", async () => {
  const heavy = "x".repeat(900_000);
  const ids: string[] = [];
  for (let n = 0; n < 12; n++) ids.unshift(await create("comments", { text: `${n}${heavy}` }));
  for (const limit of ["12", "64", "1000"]) {
    const found: string[] = [];
    let cursor: string | null = "";
    let pages = 0;
    while (cursor !== null && found.length < 12) {
      const page: RecordPage = await list("/api/comments", { limit, cursor });
      expect(page.items.length).toBeGreaterThan(0);
      found.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
      pages += 1;
    }
    expect(found.slice(0, 12)).toEqual(ids);
    expect(pages).toBe(3);
    expect(await refusal("/api/comments", `limit=${limit}&offset=0`)).toEqual([
      400,
      '"limit": this page is larger than 4 MiB; ask for fewer records, for less of each with "fields", or use "cursor".',
    ]);
  }
  expect((await list("/api/comments", { limit: "12", fields: "id" })).items).toHaveLength(12);
  for (const id of ids) await request("DELETE", `/api/comments/${id}`);
});

test("the bytes of expansions count as sent, and repeatedly if sent repeatedly", async () => {
  const author = await create("authors", { name: "\u0001".repeat(30_000) });
  const made: string[] = [];
  for (let n = 0; n < 100; n++) made.push(await create("posts", { n: 1_000, author }));
  const query = { filter: "n = 1000", expand: "author" };
  expect(await refusal("/api/posts", String(new URLSearchParams(query)))).toEqual([
    400,
    '"expand": the answer is larger than 16 MiB; ask for fewer records, or for less of each with "fields".',
  ]);
  expect((await list("/api/posts", { ...query, fields: "n,author.id" })).items).toHaveLength(100);
  expect((await list("/api/posts", { ...query, limit: "20" })).items).toHaveLength(20);
  for (const id of made) await request("DELETE", `/api/posts/${id}`, { token: ann.accessToken });
});

test("parameters of lists are unknown for a single record", async () => {
  const path = `/api/posts/${posts[0]}`;
  const plain = await request("GET", path);
  expect((await request("GET", `${path}?limit=a&limit=b&filter=(&cursor=x`)).body).toEqual(plain.body);
});

test("an unreadable field is not even named", async () => {
  const admin = await api.admin();
  const closed = {
    name: "closed",
    fields: [string("hush"), relation("post", "posts")],
    permissions: { read: "admin" },
  };
  expect((await request("POST", "/api/admin/collections", { token: admin, body: closed })).status).toBe(201);
  for (const search of [
    "expand=clos(post)",
    "expand=closed(nope)",
    "fields=closed(post).nope",
    "fields=closed(nope).x",
  ]) {
    const { body } = await request("GET", `/api/posts?${search}`);
    expect(JSON.stringify(body["error"] ?? "")).not.toMatch(/hush|"closed"|closed\(post\)/);
  }
  await request("DELETE", "/api/admin/collections/closed", { token: admin });
});

test("names to which SQLite gives a meaning are collections like others", async () => {
  const admin = await api.admin();
  const fields = [string("key"), string("value"), string("type"), relation("post", "posts")];
  for (const name of ["json_each", "json_tree", "pragma_table_info", "visit"])
    expect((await request("POST", "/api/admin/collections", { token: admin, body: { name, fields } })).status).toBe(
      201,
    );
  await create("json_each", { key: "k", value: "v", post: posts[0] ?? null });
  const page = await list("/api/posts", {
    filter: 'meta.size = 1 && meta.list ~ "B1"',
    expand: "author,json_each(post),comments(post)",
    fields: "n",
  });
  expect<unknown>(page.items).toMatchObject([{ n: 1, expand: { "json_each(post)": [], author: { name: "Boss" } } }]);
  expect(
    (await list("/api/json_each", { filter: 'value = "v" && post.n = 0', sort: "key", count: "exact" })).total,
  ).toBe(1);
});

test("a field of the name under which expansions stand", async () => {
  expect(await refusal("/api/odd", "expand=odd(in)")).toEqual([
    400,
    '"expand": "odd" has a field "expand" itself, where expansions would stand.',
  ]);
});

test("names that mean something elsewhere are fields like others", async () => {
  const id = await create("odd", { rowid: "r", select: "s", in: "i", expand: "e", toString: "t" });
  const page = await list("/api/odd", {
    filter: 'rowid = "r" && select = "s" && in in ("i") && expand = "e" && toString = "t"',
    sort: "rowid,select,in,expand,toString",
    fields: "rowid,toString,expand",
  });
  expect<unknown>(page.items).toEqual([{ rowid: "r", expand: "e", toString: "t" }]);
  expect(numbers(await list("/api/odd", { filter: 'toString = "x"' }))).toEqual([]);
  await request("DELETE", `/api/odd/${id}`);
});

test("a slow query is logged with its plan, and the index that would help", async () => {
  const advice = async (parameters: Record<string, string>): Promise<unknown> => {
    await list("/api/posts", { limit: "1", ...parameters });
    const entry = api.entries("A query was slow").at(-1);
    expect(entry?.level).toBe("WARN");
    expect(entry?.fields).toMatchObject({ collection: "posts", ...parameters, ms: expect.any(Number) });
    expect(String(entry?.fields?.["plan"])).toMatch(/^(SCAN|SEARCH) posts/);
    return entry?.fields?.["index"];
  };
  expect(await advice({ filter: "n = 1 && title > 'a'", sort: "-due" })).toBe(
    'add ["n", "due"] to "indexes" of "posts"',
  );
  expect(await advice({ filter: "n = 1", sort: "id" })).toBe('add ["n"] to "indexes" of "posts"');
  expect(await advice({ filter: "n = 1 && score > 1" })).toBe('add ["n", "score"] to "indexes" of "posts"');
  expect(await advice({ filter: "author.name = 'Ada'", fields: "n" })).toBe('add ["name"] to "indexes" of "authors"');
  expect(await advice({ filter: "author.name = 'Ada' && n > 1", expand: "author" })).toBe(
    'add ["name"] to "indexes" of "authors"; add ["n"] to "indexes" of "posts"',
  );
  expect(await advice({ filter: "title ~ 'a' || n = 1", count: "exact" })).toStartWith("none: only =, in, >");
  const admin = await api.admin();
  const change = (body: object) => request("PUT", "/api/admin/collections/posts", { token: admin, body });
  expect((await change({ indexes: [["n", "due"], ["score"]] })).status).toBe(200);
  expect(await advice({ filter: "n = 1", sort: "-due" })).toBe('none: ["n", "due"] exists');
  expect(await advice({ sort: "n,-due" })).toBe('none: ["n", "due"] exists, but gives an order in one direction alone');
  expect(await advice({ filter: "score > 1" })).toBe('["score"] is there; it helps with "sort" by score');
  expect((await change({ indexes: null, permissions: { read: "owner" } })).status).toBe(200);
  const { body } = await request("GET", "/api/posts?sort=-score&limit=1", { token: ann.accessToken });
  expect<unknown>(body["items"]).toHaveLength(1);
  expect(api.entries("A query was slow").at(-1)?.fields?.["index"]).toBe('add ["by", "score"] to "indexes" of "posts"');
  expect((await change({ permissions: null })).status).toBe(200);
});

test("escapes that are no UTF-8 are refused with the position, in every query; a % alone stands for itself", async () => {
  for (const [search, odd] of [
    ["filter=title=%E9", "%E9"],
    ["filter=title%3D%22caf%C3%28%22", "%C3%28%22"],
    ["sort=%ED%A0%80", "%ED%A0%80"],
    ["unknown=%ff", "%ff"],
  ] as const) {
    const [status, message] = await refusal("/api/posts", search);
    expect([search, status, message]).toEqual([search, 400, expect.stringContaining(`"${odd}", which is no UTF-8`)]);
  }
  for (const search of ["filter=title%3D%22%C3%A9%22", "filter=title%3D%22100%%22", "filter=title%3D%22%zz%22", "x=%"])
    expect((await request("GET", `/api/posts?${search}`)).status).toBe(200);
  const { status } = await request("GET", `/api/posts/${posts[0]}?fields=%E9`);
  expect(status).toBe(400);
  expect((await request("GET", "/api/admin/events?type=%E9", { token: await api.admin() })).status).toBe(400);
});
