/** Views: lists, pages, rules, single records, live queries and the time of a collection whose records are the rows of a query. */
import { describe, expect, test } from "bun:test";
import type { RecordPage } from "@socle/protocol";
import { LiveClient } from "../../../test/live-client.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { openServer, until } from "../../../test/sockets.ts";

const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
const stats = `SELECT a.id AS id, a.name, a.id AS author, a.createdAt, CAST(count(p.id) AS INTEGER) AS n,
  CAST(total(p.points) AS REAL) AS points, CAST(min(p.title) AS TEXT) AS first
  FROM authors a LEFT JOIN posts p ON p.author = a.id GROUP BY a.id`;
const api = await openServer({
  collections: [
    { name: "authors", fields: [text("name")] },
    {
      name: "posts",
      fields: [
        text("title"),
        { name: "points", type: "integer" },
        { name: "isOpen", type: "boolean" },
        { name: "meta", type: "json" },
        { name: "labels", type: "string", multiple: true },
        { name: "author", type: "relation", collection: "authors" },
        { name: "place", type: "geo" },
        text("size", { values: ["small", "middle", "large"] }),
      ],
      permissions: { read: "owner", create: "authenticated" },
      trash: "30d",
    },
    { name: "stats", query: stats },
    { name: "all", query: "SELECT id, createdAt, title, points, isOpen, meta, labels, author, place, size FROM posts" },
    {
      name: "mine",
      query: "SELECT id, title, _owner AS owner FROM posts",
      permissions: { read: "owner" },
    },
    {
      name: "open",
      query: "SELECT id, title, isOpen FROM posts",
      permissions: { read: "isOpen = true && @user.id != null" },
    },
    { name: "closed", query: "SELECT id, title FROM posts", permissions: { read: "admin" } },
    { name: "links", query: "SELECT id, id AS post FROM posts" },
    { name: "none", query: "SELECT CAST(NULL AS TEXT) AS id, title FROM posts" },
    {
      name: "endless",
      query: `WITH a AS MATERIALIZED (SELECT p.id FROM posts p, posts q, posts r)
        SELECT CAST('x' AS TEXT) AS id, CAST((SELECT count(*) FROM a, a b, a c, a d) AS INTEGER) AS n`,
    },
    { name: "broken", query: "SELECT id, CAST(json_extract(title, '$.a') AS TEXT) AS a FROM posts" },
  ],
  settings: { SERVICE_LIMITS_QUERY_TIME: "2s" },
});
const { request, service } = api;
const admin = await api.admin();
const [ann, bob] = [await api.register("ann@example.com"), await api.register("bob@example.com")];
const random = randomNumbers(randomSeed("views"));
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;

async function add(collection: string, body: object, token = ann.accessToken): Promise<string> {
  const answer = await request<{ id: string }>("POST", `/api/${collection}`, { body, token });
  expect(answer.status).toBe(201);
  return answer.body.id;
}
const list = async (name: string, parameters: Record<string, string> = {}, token?: string): Promise<RecordPage> => {
  const path = `/api/${name}?${new URLSearchParams(parameters)}`;
  const { status, body } = await request<RecordPage>("GET", path, token === undefined ? {} : { token });
  expect([path, status, status === 200 ? "" : body]).toEqual([path, 200, ""]);
  return body;
};
const refused = async (method: string, path: string, options: object = {}): Promise<[number, string, string]> => {
  const { status, body } = await request(method, path, options);
  return [status, String(body["error"]?.["code"]), String(body["error"]?.["message"])];
};

const authors: string[] = [];
for (const name of ["Ada", "Ben", "Cyd", "Dan", "Eve", "Fay", "Gil"]) authors.push(await add("authors", { name }));
const posts: string[] = [];
for (let n = 0; n < 60; n++) {
  const values = {
    title: pick(["a", "b", "ä", "Ö", "zz"]) + n,
    points: random() < 0.2 ? null : Math.floor(random() * 9),
    isOpen: pick([true, false, null]),
    meta: pick([{ n, deep: [1, { a: null }] }, [n], "text", null]),
    labels: pick([[], ["x"], ["x", "y"]]),
    author: random() < 0.1 ? null : pick(authors.slice(0, 5)),
    place: random() < 0.3 ? null : { lat: Math.floor(random() * 50), lon: 10 },
    size: pick(["small", "middle", "large", null]),
  };
  posts.push(await add("posts", values, n % 3 === 0 ? bob.accessToken : ann.accessToken));
}
const rowsOf = (sql: string): { [name: string]: unknown }[] => service.database.reader.all(sql);

describe("a view", () => {
  test("lists all rows with the types of the fields, and reads a record, with an expansion and a tag", async () => {
    const own = [...(await list("posts", { limit: "1000" }, admin)).items].map(({ updatedAt: _, ...post }) => post);
    const { items } = await list("all");
    expect(items).toEqual(own as never);
    expect(await list("all", { limit: "1000", sort: "-createdAt" })).toEqual({ items: own, nextCursor: null } as never);
    const path = `/api/stats/${authors[0]}?expand=author&fields=id,n`;
    const { status, body, headers } = await request("GET", path);
    const n = rowsOf(`SELECT count(*) AS n FROM posts WHERE author = '${authors[0]}'`)[0]?.["n"];
    expect([status, body]).toMatchObject([200, { id: authors[0], n, expand: { author: { name: "Ada" } } }]);
    const tag = headers.get("etag") ?? "";
    const whole = await request("GET", "/api/stats?sort=name");
    const listTag = { "If-None-Match": whole.headers.get("etag") ?? "" };
    expect((await request("GET", "/api/stats?sort=name", { headers: listTag })).status).toBe(304);
    expect((await request("GET", path, { headers: { "If-None-Match": tag } })).status).toBe(304);
    await add("posts", { title: "new", author: authors[0] });
    expect((await request("GET", "/api/stats?sort=name", { headers: listTag })).status).toBe(200);
    expect((await request("GET", path, { headers: { "If-None-Match": tag } })).body).toMatchObject({
      n: Number(n) + 1,
    });
    expect(await refused("GET", "/api/stats/rec_x")).toEqual([404, "not_found", expect.stringContaining("rec_x")]);
    expect((await refused("GET", `/api/stats/${encodeURIComponent('"] or 1=1 \n')}`))[0]).toBe(404);
  });

  test("answers each page, sort, filter and count as the same SQL", async () => {
    const columns = ["name", "n", "points", "first", "createdAt", "id"];
    const filters: [string, string][] = [
      ["", "1"],
      ["n > 3", "n > 3"],
      ["points >= 10 && n < 20", "points >= 10 AND n < 20"],
      ['name = "Ada" || first = null', "name = 'Ada' OR first IS NULL"],
      [`author = "${authors[1]}"`, `author = '${authors[1]}'`],
      ['author.name != "Ben"', "name <> 'Ben'"],
      [`createdAt > "2020-01-01"`, "1"],
    ];
    for (let run = 0; run < 60; run++) {
      const [filter, where] = pick(filters);
      const keys = [...new Set([pick(columns), pick(columns)])].map((name) => ({ name, down: random() < 0.5 }));
      const sort = keys.map(({ name, down }) => `${down ? "-" : ""}${name}`).join(",");
      const last = keys.at(-1)?.down === true ? " DESC" : "";
      const order = keys.map(({ name, down }) => `${name}${down ? " DESC" : ""}`).join(", ");
      const sql = `SELECT id FROM (${stats}) WHERE ${where} ORDER BY ${order}, id${last}`;
      const wanted = rowsOf(sql).map(({ id }) => id);
      const limit = String(1 + Math.floor(random() * 4));
      const found: unknown[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page: RecordPage = await list("stats", {
          limit,
          sort,
          count: "exact",
          ...(filter !== "" && { filter }),
          ...(cursor !== "" && { cursor }),
        });
        expect(page.total).toBe(wanted.length);
        found.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor;
      }
      expect([filter, sort, found]).toEqual([filter, sort, wanted]);
    }
  });

  test("has places and named values as the collection has", async () => {
    for (const parameters of [
      { filter: "distance(place, 20, 10) < 900km", sort: "distance(place, 20, 10),title" },
      { filter: 'size > "small"', sort: "-size,title" },
    ]) {
      const titles = ({ items }: RecordPage): unknown[] => items.map(({ title }) => title);
      const wanted = titles(await list("posts", parameters, admin));
      expect([wanted.length > 1, titles(await list("all", parameters))]).toEqual([true, wanted]);
    }
    expect((await list("all", { group: "size", aggregate: "count" })).items).toEqual(
      (await list("posts", { group: "size", aggregate: "count" }, admin)).items,
    );
  });

  test("has groups and aggregates, offsets, and a query in the body of a POST", async () => {
    const { items } = await list("all", { group: "isOpen", aggregate: "count,sum(points)" });
    const wanted = rowsOf(
      "SELECT isOpen, count(*) AS n, total(points) AS p FROM posts GROUP BY isOpen ORDER BY isOpen",
    ).map(({ isOpen, n, p }) => ({ isOpen: isOpen === null ? null : isOpen === 1, count: n, "sum(points)": p }));
    expect(items).toEqual(wanted as never);
    const sorted = (await list("stats", { sort: "name" })).items.map(({ name }) => name);
    expect((await list("stats", { sort: "name", limit: "2", offset: "3" })).items.map(({ name }) => name)).toEqual(
      sorted.slice(3, 5),
    );
    const posted = await request<RecordPage>("POST", "/api/stats/query", { body: { sort: "name", limit: 1 } });
    expect([posted.status, posted.body.items[0]?.["name"]]).toEqual([200, "Ada"]);
    expect(await list("none")).toEqual({ items: [] } as never);
  });

  test("shows the rows that the rules of the view allow: owners, conditions, admins; the default is everybody", async () => {
    const mine = (await list("mine", {}, bob.accessToken)).items;
    expect(mine.length).toBe(20);
    expect(mine.every(({ owner }) => owner === bob.user.id)).toBe(true);
    expect((await list("mine", { count: "exact", limit: "1" }, bob.accessToken)).total).toBe(20);
    expect((await refused("GET", "/api/mine"))[0]).toBe(401);
    const others = posts[1] ?? "";
    expect((await refused("GET", `/api/mine/${others}`, { token: bob.accessToken }))[0]).toBe(404);
    expect((await list("mine", { filter: `id = "${others}"` }, bob.accessToken)).items).toEqual([]);
    expect((await list("mine", { aggregate: "count" }, bob.accessToken)).items).toEqual([{ count: 20 }] as never);
    expect((await list("mine", {}, admin)).items.length).toBe(61);

    const open = (await list("open", {}, ann.accessToken)).items;
    expect(open.length).toBe(Number(rowsOf("SELECT count(*) AS n FROM posts WHERE isOpen = 1")[0]?.["n"]));
    expect(open.every(({ isOpen }) => isOpen === true)).toBe(true);
    expect((await list("open")).items).toEqual([]);
    const shut = rowsOf("SELECT id FROM posts WHERE isOpen IS NOT 1 LIMIT 1")[0]?.["id"];
    expect((await refused("GET", `/api/open/${shut}`, { token: ann.accessToken }))[0]).toBe(404);

    expect((await refused("GET", "/api/closed"))[0]).toBe(401);
    expect((await refused("GET", "/api/closed", { token: ann.accessToken }))[0]).toBe(403);
    expect((await refused("GET", `/api/closed/${others}`, { token: ann.accessToken }))[0]).toBe(403);
    expect((await list("closed", {}, admin)).items.length).toBe(61);
  });

  test("gives no way to the records that the rules of other collections hide", async () => {
    expect((await refused("GET", "/api/all?expand=posts(author)"))[0]).toBe(400);
    for (const { post, expand } of (await list("links", { expand: "post" }, bob.accessToken)).items) {
      const isOwn = rowsOf(`SELECT _owner FROM posts WHERE id = '${post}'`)[0]?.["_owner"] === bob.user.id;
      expect([post, expand]).toEqual([post, { post: isOwn ? expect.objectContaining({ id: post }) : null }] as never);
    }
    const link = await request("GET", `/api/links/${posts[1]}?expand=post`, { token: bob.accessToken });
    expect([link.status, link.body["post"], link.body["expand"]]).toEqual([200, posts[1], { post: null }] as never);
    // A stranger may not read posts, so neither the filter nor the expansion leads to the posts.
    expect((await refused("GET", "/api/stats?filter=author.posts(author).points%20%3E%203"))[0]).toBe(401);
    expect((await refused("GET", "/api/stats?sort=secret"))[0]).toBe(400);
    expect((await refused("GET", "/api/posts?expand=stats(author)", { token: admin }))[0]).toBe(400);
    expect((await refused("GET", "/api/authors?filter=stats(author).n%20%3E%203"))[0]).toBe(400);
  });

  test("is not written, deleted, imported, exported, restored or searched: 405 and 400", async () => {
    const id = authors[0];
    const options = { token: admin, body: { name: "x" } };
    const readOnly = [405, "method_not_allowed", expect.stringContaining('"stats" is a view')];
    expect(await refused("POST", "/api/stats", options)).toEqual(readOnly as never);
    expect(await refused("PUT", `/api/stats/${id}`, options)).toEqual(readOnly as never);
    expect(await refused("PUT", "/api/stats?by=name", options)).toEqual(readOnly as never);
    expect(await refused("DELETE", `/api/stats/${id}`, { token: admin })).toEqual(readOnly as never);
    expect(await refused("POST", `/api/stats/${id}/restore`, { token: admin })).toEqual(readOnly as never);
    expect(await refused("GET", `/api/stats/${id}/history`, { token: admin })).toEqual(readOnly as never);
    expect(await refused("GET", "/api/stats/export", { token: admin })).toEqual(readOnly as never);
    const operations = [
      { method: "create", collection: "authors", body: { name: "Zoe" } },
      { method: "update", collection: "stats", id, body: { name: "x" } },
    ];
    const batch = await request<{ error: { details: unknown } }>("POST", "/api/batch", {
      token: admin,
      body: { operations },
    });
    expect([batch.status, batch.body.error.details]).toEqual([405, [expect.objectContaining({ operation: 1 })]]);
    expect(rowsOf("SELECT 1 FROM authors WHERE name = 'Zoe'")).toEqual([]);
    expect((await refused("GET", "/api/stats?search=a"))[0]).toBe(400);
    expect((await refused("POST", "/api/query", { body: { search: "a", in: ["stats"] } }))[0]).toBe(405);
    expect((await request("POST", "/api/stats", options)).headers.get("allow")).toBe("GET, HEAD, OPTIONS");
  });

  test("forgets a deleted record, also a record in the trash", async () => {
    const id = await add("posts", { title: "short-lived" });
    const found = (): Promise<RecordPage> => list("all", { filter: 'title = "short-lived"' });
    expect((await found()).items).toHaveLength(1);
    await request("DELETE", `/api/posts/${id}`, { token: ann.accessToken });
    expect((await found()).items).toEqual([]);
  });

  test("that never ends is stopped in time, and other callers do not wait; a failing query is an error of the service", async () => {
    // A single caller takes one of the three places.
    const slow = Array.from({ length: 4 }, () => refused("GET", "/api/endless"));
    const before = performance.now();
    expect((await list("stats", { limit: "1" }, ann.accessToken)).items).toHaveLength(1);
    expect((await list("authors", { filter: 'name ~ "A"' })).items.length).toBeGreaterThan(0);
    expect(performance.now() - before).toBeLessThan(60_000);
    for (const each of await Promise.all(slow))
      expect(each).toEqual([503, "unavailable", expect.stringMatching(/takes longer than|being looked at already/)]);
    expect((await refused("GET", "/api/broken"))[0]).toBe(500);
    expect((await list("stats", { limit: "1" })).items).toHaveLength(1);
  }, 30_000);

  test("is live: changes of the collections that the view reads change the window", async () => {
    const client = new LiveClient(api, { collection: "stats", filter: 'name = "Gil"' });
    await client.connect(undefined);
    expect(client.items).toMatchObject([{ name: "Gil", n: 0, first: null }]);
    const id = await add("posts", { title: "live", author: authors[6] });
    await until(() => {
      client.follow();
      return client.items[0]?.["n"] === 1;
    });
    await request("PUT", `/api/posts/${id}`, { body: { title: "changed" }, token: ann.accessToken });
    await until(() => {
      client.follow();
      return client.items[0]?.["first"] === "changed";
    });
    const { frames } = client;
    await add("authors", { name: "Nobody" });
    await request("PUT", `/api/authors/${authors[6]}`, { body: { name: "Gus" }, token: ann.accessToken });
    await until(() => {
      client.follow();
      return client.items.length === 0;
    });
    expect(client.frames).toBeGreaterThan(frames);
    client.break();
    const stranger = new LiveClient(api, { collection: "mine" });
    await stranger.connect(undefined).catch(() => undefined);
    expect([stranger.items, stranger.error]).toEqual([[], 'forbidden: To read records of "mine", sign in.']);
    stranger.break();
  });
});
