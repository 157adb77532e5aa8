/** Views with the built executable: lists and live queries in several processes, code, types, the document, backups, and views that are refused or never end. */
import { describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import type { RecordPage, TokenResponse } from "@socle/protocol";
import { live } from "../packages/client/src/entries/live.ts";
import { createClient } from "../packages/client/src/index.ts";
import { longTest, post, root, serve, singleService, socle, temporaryFolder, until } from "./kit.ts";
import { scriptProject, write } from "./scripts-kit.ts";

// Commands read the database of the stopped service, and a backup is restored into a folder.
singleService("restore");

const collections = [
  { name: "authors", fields: [{ name: "name", type: "string" }] },
  {
    name: "posts",
    fields: [
      { name: "title", type: "string" },
      { name: "author", type: "relation", collection: "authors" },
      { name: "by", type: "relation", collection: "users", owner: true },
    ],
    permissions: { read: "owner", create: "authenticated" },
  },
  {
    name: "shelf",
    query:
      "SELECT a.id AS id, a.name, CAST(count(p.id) AS INTEGER) AS n FROM authors a LEFT JOIN posts p ON p.author = a.id GROUP BY a.id",
    permissions: { read: "public" },
  },
  { name: "mine", query: "SELECT id, createdAt, title, by FROM posts", permissions: { read: "owner" } },
  {
    name: "places",
    fields: [{ name: "place", type: "geo" }],
    indexes: [["place"]],
  },
  { name: "spots", query: "SELECT id, createdAt, place FROM places", permissions: { read: "public" } },
  {
    name: "endless",
    query:
      "WITH a AS MATERIALIZED (SELECT p.id FROM authors p, authors q, authors r, authors s) SELECT CAST('x' AS TEXT) AS id, CAST((SELECT count(*) FROM a, a b, a c, a d) AS INTEGER) AS n",
    permissions: { read: "public" },
  },
];
const files = {
  "endpoints/shelf.ts": `
    export const access = "public";
    export const GET = async (_, { db }) => {
      const shelf = db.collection("shelf");
      const { items } = await shelf.list({ filter: "n > 0" });
      const one = await shelf.get(items[0].id);
      const none = await shelf.get("nothing");
      const refused = await shelf.create({ name: "x" }).catch((error) => error.code);
      const all = await shelf.list();
      return Response.json({ items, one, none, refused, all: all.length });
    };`,
};
const cwd = await scriptProject({ collections, files, scripts: { timeout: "60s" } });

const register = async (url: string, email: string): Promise<TokenResponse> =>
  (await (
    await post(`${url}/api/auth/register`, { email, password: "correct horse battery" })
  ).json()) as TokenResponse;
const bearer = ({ accessToken }: TokenResponse) => ({ Authorization: `Bearer ${accessToken}` });
const list = async (url: string, path: string, headers: Record<string, string> = {}): Promise<RecordPage> =>
  (await (await fetch(`${url}/api/${path}`, { headers })).json()) as RecordPage;

describe.each([1, 3])("in %i processes", async (processes) => {
  const folder = processes === 1 ? cwd : await scriptProject({ collections, files, scripts: { timeout: "60s" } });
  const env = { SERVICE_PROCESSES: String(processes), SERVICE_LIMITS_QUERY_TIME: "2s" };
  const server = await serve(folder, { env });
  const { url } = server;
  const admin = await register(url, "listener@example.com");
  const [ann, bob] = [await register(url, "ann@example.com"), await register(url, "bob@example.com")];
  const add = async (collection: string, body: object, as: TokenResponse): Promise<string> => {
    const answer = await post(`${url}/api/${collection}`, body, bearer(as));
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  };
  const ada = await add("authors", { name: "Ada" }, ann);
  for (let n = 0; n < 20; n++) await add("authors", { name: `author ${n}` }, ann);
  await add("posts", { title: "by Ann", author: ada }, ann);
  await add("posts", { title: "by Bob" }, bob);

  test("a place of a view has distances, in filters and sorts", async () => {
    const berlin = await add("places", { place: { lat: 52.52, lon: 13.405 } }, ann);
    const paris = await add("places", { place: { lat: 48.8566, lon: 2.3522 } }, ann);
    const none = await add("places", { place: null }, ann);
    const idsOf = async (parameters: Record<string, string>): Promise<string[]> =>
      (await list(url, `spots?${new URLSearchParams(parameters)}`)).items.map(({ id }) => id);
    expect(await idsOf({ filter: "distance(place, 52.5, 13.4) < 5km" })).toEqual([berlin]);
    expect(await idsOf({ filter: "distance(place, 52.5, 13.4) > 5km" })).toEqual([paris]);
    expect(await idsOf({ sort: "distance(place, 48.8, 2.3)" })).toEqual([paris, berlin, none]);
    expect((await list(url, `spots/${paris}`)) as object).toMatchObject({ place: { lat: 48.8566, lon: 2.3522 } });
  });

  test("a view is listed by its rules, over connections to each process", async () => {
    for (let n = 0; n < 12; n++) {
      const close = { Connection: "close" };
      expect((await list(url, "shelf?sort=-n&limit=1", close)).items).toMatchObject([{ id: ada, name: "Ada", n: 1 }]);
      expect((await list(url, "mine", { ...close, ...bearer(bob) })).items).toMatchObject([{ title: "by Bob" }]);
    }
    expect((await fetch(`${url}/api/mine`)).status).toBe(401);
    expect((await list(url, "mine", bearer(admin))).items).toHaveLength(2);
  });

  test("a live query of a view follows the collections that the view reads, and shows nothing of others", async () => {
    const client = createClient({ baseUrl: url, live, session: "memory" });
    await client.login({ email: "bob@example.com", password: "correct horse battery" });
    const [counts, titles]: [unknown[], unknown[]] = [[], []];
    const stops = [
      client
        .collection("shelf")
        .where({ name: "Ada" })
        .live(({ items }) => void counts.push(items[0]?.["n"])),
      client
        .collection("mine")
        .orderBy("title")
        .live(({ items }) => void titles.push(items.map((row) => row["title"]).join())),
    ];
    await until(() => counts.at(-1) === 1 && titles.at(-1) === "by Bob");
    await add("posts", { title: "another by Ann", author: ada }, ann);
    await until(() => counts.at(-1) === 2);
    await add("posts", { title: "second by Bob", author: ada }, bob);
    await until(() => counts.at(-1) === 3 && titles.at(-1) === "by Bob,second by Bob");
    expect(titles.every((each) => !String(each).includes("Ann"))).toBe(true);
    for (const stop of stops) stop();
    client.close();
  });

  test("code reads a view, and cannot write to the view", async () => {
    const { items, one, none, refused, all } = (await (await fetch(`${url}/api/function/shelf`)).json()) as {
      [name: string]: unknown;
    };
    expect([one, none, refused, all]).toEqual([(items as unknown[])[0], null, "method_not_allowed", 21]);
    expect(items).toMatchObject([{ name: "Ada", n: 3 }]);
  });

  const slowTest = processes === 1 ? test : longTest;
  slowTest("a view that never ends is 503 in time, for its callers alone", async () => {
    // In a single process, two such queries leave the service its turn.
    const ends = Array.from({ length: processes === 1 ? 2 : 1 }, () => fetch(`${url}/api/endless`));
    expect((await list(url, "shelf?limit=1", bearer(ann))).items).toHaveLength(1);
    for (const { status } of await Promise.all(ends)) expect(status).toBe(503);
    expect((await list(url, "shelf?limit=1")).items).toHaveLength(1);
  });

  test("the document of the API has the reads of a view alone", async () => {
    const answer = await fetch(`${url}/api/openapi.json`, { headers: bearer(admin) });
    const { paths, components } = (await answer.json()) as {
      paths: { [path: string]: object };
      components: { schemas: { [name: string]: { required?: string[]; properties?: object } } };
    };
    const own = Object.entries(paths).filter(([path]) => path.startsWith("/api/shelf"));
    expect(own.map(([path, methods]) => [path, Object.keys(methods).join()]).sort()).toEqual([
      ["/api/shelf", "get"],
      ["/api/shelf/query", "post"],
      ["/api/shelf/{id}", "get"],
    ]);
    expect(components.schemas["shelf.record"]?.required).toEqual(["id", "name", "n"]);
    expect(Object.keys(components.schemas).filter((name) => name.startsWith("shelf."))).toEqual([
      "shelf.record",
      "shelf.list",
    ]);
  });

  slowTest("the service stops while a view runs", async () => {
    void fetch(`${url}/api/endless`).catch(() => undefined);
    await Bun.sleep(200);
    expect(await server.stop()).toBe(0);
  });
});

test("a backup has the views, and a restored service lists the views", async () => {
  const file = join(temporaryFolder(), "copy.socle");
  const made = await socle(["backup", file], { cwd });
  expect([made.code, made.stderr]).toEqual([0, made.stderr]);
  const target = await scriptProject({ collections: [], files: {} });
  const restored = await socle(["restore", file], { cwd: target });
  expect([restored.code, restored.stderr]).toEqual([0, restored.stderr]);
  const { url, stop } = await serve(target);
  expect((await list(url, "shelf?filter=n%20%3E%200")).items).toMatchObject([{ name: "Ada", n: 3 }]);
  await stop();
});

test("the types have a view without times, creates and updates, and the typed client only reads", async () => {
  const folder = await scriptProject({ collections, files: {} });
  const made = await socle(["types"], { cwd: folder });
  expect(made.code).toBe(0);
  await Bun.write(
    join(folder, "lib/uses.ts"),
    `const row: Collections["shelf"]["record"] = { id: "a", name: "x", n: 1 };
const own: Collections["mine"]["record"] = { id: "a", createdAt: "", title: "x", by: null };
// @ts-expect-error: a view has no creates.
const made: Collections["shelf"]["create"] = { name: "x" };
// @ts-expect-error: the query has no times.
row.createdAt;
export const all = [row, own, made];
`,
  );
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  await write(folder, {
    "endpoints/hello.ts": 'export const access = "public";\nexport const GET = () => new Response("");\n',
  });
  const { code, stdout } = await socle(["check"], { cwd: folder });
  expect([code, stdout]).toEqual([0, ""]);
});

test.each([
  ["reads users", "SELECT id FROM users", "no such table: users; a view reads collections, and not the users"],
  ["recurses", "WITH RECURSIVE a(id) AS (SELECT 'x' UNION ALL SELECT id FROM a) SELECT id FROM a", "may never end"],
  ["is ambiguous", "SELECT id FROM posts, authors", "ambiguous column name: id"],
  ["writes", "DELETE FROM posts", "it must start with SELECT or WITH"],
  ["reads itself", "SELECT id FROM bad", "no such table: bad"],
])("a file of a view that %s stops check and the start, with the name of the file", async (_, query, message) => {
  const folder = await scriptProject({ collections: [...collections, { name: "bad", query }], files: {} });
  for (const command of [["check"], ["serve"]]) {
    const { code, stderr, stdout } = await socle(command, { cwd: folder, env: { SERVICE_PORT: "0" } });
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain("bad.json");
    expect(stdout + stderr).toContain(message);
  }
});
