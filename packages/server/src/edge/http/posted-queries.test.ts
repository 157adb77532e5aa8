/** Queries in the body of a POST: lists with long parameters, and the search in several collections. */
import { describe, expect, test } from "bun:test";
import type { RecordPage } from "@socle/protocol";
import { openApi } from "../../../test/kit.ts";

const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
const api = await openApi({
  collections: [
    { name: "posts", fields: [text("title"), text("body")], search: ["title", "body"] },
    {
      name: "notes",
      fields: [text("text")],
      permissions: { read: "owner", create: "authenticated" },
      search: ["text"],
    },
    { name: "secrets", fields: [text("text")], permissions: { read: "admin" }, search: ["text"] },
    { name: "plain", fields: [text("text")] },
    {
      name: "mixed",
      fields: [text("open"), text("closed", { permissions: { read: "admin" } })],
      search: ["open", "closed"],
    },
  ],
});
const { request, service } = api;
const admin = await api.admin();
const [ann, bob] = [await api.register("ann@example.com"), await api.register("bob@example.com")];

async function add(collection: string, body: object, token = admin): Promise<string> {
  return String((await request("POST", `/api/${collection}`, { body, token })).body["id"]);
}

const ids: string[] = [];
await service.database.transactLong("test", async (tx) => {
  for (let n = 0; n < 1_200; n++)
    ids.push(service.records.createIn(tx, null, { collection: "posts", body: { title: `title ${n}` } }).record.id);
});

type Page = RecordPage & { error?: { message: string; code: string } };
const query = (collection: string, body: unknown, token?: string) =>
  request<Page>("POST", `/api/${collection}/query`, { body, ...(token !== undefined && { token }) });
const inIds = (some: readonly string[]): string => `id in (${some.map((id) => JSON.stringify(id)).join(", ")})`;

describe("POST /api/{collection}/query", () => {
  test("takes a thousand ids, and answers as the list", async () => {
    const wanted = ids.filter((_, i) => i % 6 !== 0).slice(0, 1_000);
    const { status, body } = await query("posts", { filter: inIds(wanted), sort: "createdAt", limit: 1_000 });
    expect([status, body.items.map(({ id }) => id).sort()]).toEqual([200, wanted.toSorted()]);
    expect(body.nextCursor).toBeNull();
  });

  test("has pages, groups, totals and selections as the list with the same parameters", async () => {
    for (const parameters of [
      {},
      { limit: 3, sort: "-title", count: "exact", fields: "id,title" },
      { aggregate: "count" },
      { search: "title", limit: 5 },
      { filter: 'title = "title 7"', limit: 2 },
    ]) {
      const search = new URLSearchParams(
        Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
      );
      const [listed, posted] = [await request<Page>("GET", `/api/posts?${search}`), await query("posts", parameters)];
      expect(posted.body.items).toEqual(listed.body.items);
      expect({ ...posted.body, nextCursor: 0 }).toEqual({ ...listed.body, nextCursor: 0 });
    }
    const first = await query("posts", { limit: 2 });
    const next = await query("posts", { limit: 2, cursor: first.body.nextCursor });
    const listed = await request<Page>("GET", "/api/posts?limit=4");
    expect([...first.body.items, ...next.body.items]).toEqual(listed.body.items);
  });

  test("an answer is no 304, changes nothing, and leaves no trace of a request", async () => {
    const ask = (headers = {}) => api.answer("POST", "/api/posts/query", { body: { limit: 1 }, token: admin, headers });
    const tag = (await ask()).headers.get("etag") ?? "";
    expect(tag).not.toBe("");
    const answer = await ask({ "If-None-Match": tag });
    expect(answer.status).toBe(200);
    // The position of a write is in answers to writes alone.
    expect(answer.headers.has("socle-position")).toBe(false);
    const write = await api.answer("POST", "/api/posts", { body: { title: "a write" }, token: admin });
    expect(write.headers.has("socle-position")).toBe(true);
    const trace = await request("GET", `/api/admin/trace/${answer.headers.get("x-request-id")}`, { token: admin });
    expect(trace.status).toBe(404);
  });

  test("has the rules of the collection, and the scope of reads alone", async () => {
    const own = await add("notes", { text: "mine" }, ann.accessToken);
    expect((await query("notes", {}, ann.accessToken)).body.items.map(({ id }) => id)).toEqual([own]);
    expect((await query("notes", {}, bob.accessToken)).body.items).toEqual([]);
    expect([(await query("notes", {})).status, (await query("secrets", {}, ann.accessToken)).status]).toEqual([
      401, 403,
    ]);
    expect((await query("nowhere", {})).status).toBe(404);
    // Rights are told before the error of the body.
    expect((await query("secrets", { what: 1 }, ann.accessToken)).status).toBe(403);
    const keyOf = async (scope: string): Promise<string> =>
      String(
        (await request("POST", "/api/auth/keys", { token: ann.accessToken, body: { name: "k", scopes: [scope] } }))
          .body["key"],
      );
    expect((await query("notes", {}, await keyOf("notes:read"))).status).toBe(200);
    expect((await query("notes", {}, await keyOf("notes:write"))).status).toBe(403);
  });

  test.each([
    [{ filter: 5 }, 400, /filter/],
    [{ filters: "a" }, 400, /"filters" cannot be set here; allowed: filter, sort/],
    [{ limit: "5" }, 400, /limit/],
    [{ limit: 0 }, 400, /"limit": it must be a whole number from 1 to 1000/],
    [{ filter: "nix = 1" }, 400, /"posts" has no field "nix"/],
    [[], 400, /./],
    [{ filter: "x".repeat(70_000) }, 413, /./],
  ])("%j is refused with %d", async (body, status, message) => {
    const answer = await query("posts", body);
    expect([answer.status, answer.body.error?.message]).toEqual([status, expect.stringMatching(message)]);
  });

  test("a rule stays within 4 KiB, and another method is 405", async () => {
    const rule = `title in (${Array.from({ length: 500 }, (_, i) => `"value ${i}"`).join(", ")})`;
    const answer = await request("POST", "/api/admin/collections", {
      token: admin,
      body: { name: "ruled", fields: [text("title")], permissions: { read: rule } },
    });
    expect([answer.status, String(answer.body["error"]?.["message"])]).toEqual([
      400,
      expect.stringContaining("at most 4096 are allowed"),
    ]);
    expect((await query("posts", { filter: rule })).status).toBe(200);
    expect((await request("PUT", "/api/posts/query", { body: {} })).status).toBe(405);
  });
});

describe("POST /api/query", () => {
  interface Found {
    items: { collection: string; record: { [field: string]: unknown } }[];
    error?: { message: string };
  }
  const find = (body: object, token?: string) =>
    request<Found>("POST", "/api/query", { body, ...(token !== undefined && { token }) });

  test("finds records of several collections, the best first, each under its rules", async () => {
    const [strong, weak] = [
      await add("posts", { title: "apple", body: "apple apple" }),
      await add("posts", { title: "one apple among many other words and fruits" }),
    ];
    const note = await add("notes", { text: "apple apple" }, ann.accessToken);
    await add("secrets", { text: "apple" });
    const mine = await find({ search: "apple", in: ["notes", "posts"] }, ann.accessToken);
    expect(mine.body.items.map(({ collection, record }) => [collection, record["id"]])).toEqual([
      ["posts", strong],
      ["notes", note],
      ["posts", weak],
    ]);
    expect(mine.body.items[1]?.record).toMatchObject({ text: "apple apple" });
    const others = await find({ search: "apple", in: ["notes", "posts"], limit: 1 }, bob.accessToken);
    expect(others.body.items.map(({ record }) => record["id"])).toEqual([strong]);
    expect((await find({ search: "apple", in: ["posts", "secrets"] }, ann.accessToken)).status).toBe(403);
    expect((await find({ search: "apple", in: ["posts", "notes"] })).status).toBe(401);
  });

  test("a hidden field neither matches nor weighs", async () => {
    const [first] = [
      await add("mixed", { open: "pear and more", closed: "" }),
      await add("mixed", { open: "pear with many more words around", closed: "pear pear pear" }),
    ];
    const found = await find({ search: "pear", in: ["mixed"] }, ann.accessToken);
    expect(found.body.items.map(({ record }) => record["id"])[0]).toBe(first);
    expect(JSON.stringify(found.body)).not.toContain("closed");
  });

  test.each([
    [{ search: "a", in: [] }, 400, /"in" names 1 to 10 collections, not 0/],
    [{ search: "a", in: ["posts", "posts"] }, 400, /"in" names "posts" twice/],
    [{ search: "a", in: ["posts"], limit: 101 }, 400, /from 1 to 100, not 101/],
    [{ search: "a", in: ["nowhere"] }, 404, /./],
    [{ search: "a", in: ["plain"] }, 400, /"plain" names no fields that are searched/],
    [{ search: "!", in: ["posts"] }, 400, /no word/],
    [{ in: ["posts"] }, 400, /search/],
    [{ search: "a", in: Array.from({ length: 11 }, (_, i) => `c${i}`) }, 400, /1 to 10 collections, not 11/],
  ])("%j is refused with %d", async (body, status, message) => {
    const answer = await find(body);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([
      status,
      expect.stringMatching(new RegExp(message.source.replaceAll('"', '\\\\"'))),
    ]);
  });
});
