/** A collection gets another name: the table and all that names the collection follow. */
import { describe, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";
import { project } from "../../../test/project.ts";
import { openServer, until } from "../../../test/sockets.ts";

const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
const fieldsOf = (name: string) => [
  text("title", { unique: true }),
  text("tags", { multiple: true }),
  { name: "no", type: "integer", sequence: true },
  { name: "parent", type: "relation", collection: name },
];
const posts = {
  name: "posts",
  fields: fieldsOf("posts"),
  search: ["title"],
  indexes: [["title", "no"]],
  permissions: { read: 'parent.title != "x" && posts(parent)[title = "none"] || title != "hidden"', update: "owner" },
};
const comments = {
  name: "comments",
  fields: [text("text"), { name: "post", type: "relation", collection: "posts", onDelete: "cascade" }],
  permissions: { read: 'post.posts(parent)[title = "none"] || text != ""' },
};
const articles = { ...posts, name: "articles", renamedFrom: "posts", fields: fieldsOf("articles") };

describe("over HTTP", () => {
  test("records, items, words, numbers, indexes, relations and rules follow", async () => {
    const { request, admin, service } = await openApi({ collections: [posts, comments] });
    const token = await admin();
    const first = await request("POST", "/api/posts", { token, body: { title: "one", tags: ["a"] } });
    const id = String(first.body["id"]);
    await request("POST", "/api/comments", { token, body: { text: "hello", post: id } });
    const tag = first.headers.get("etag") ?? "";
    const path = "/api/admin/collections/posts";
    const body = { name: "articles", renamedFrom: "posts" };
    const [before, seq] = [service.collections.definitions(), await lastSeq(service)];
    const planned = await request("PUT", `${path}?dryRun=true`, { token, body });
    expect<unknown>(planned.body).toMatchObject({
      collection: "articles",
      action: "update",
      records: 1,
      steps: [
        { step: "renameCollection", from: "posts", to: "articles" },
        { step: "follow", field: "parent", from: "posts", to: "articles" },
        { step: "permissions" },
      ],
    });
    expect([service.collections.definitions(), await lastSeq(service)]).toEqual([before, seq]);
    const answer = await request("PUT", path, { token, body });
    expect([answer.status, answer.body["name"], answer.body["records"]] as unknown[]).toEqual([200, "articles", 1]);

    for (const gone of ["/api/posts", `/api/posts/${id}`, path])
      expect((await request("GET", gone, { token })).status).toBe(404);
    const { body: list } = await request("GET", "/api/articles?search=one&expand=parent", { token });
    expect(list["items"]).toMatchObject([{ id, title: "one", tags: ["a"], no: 1, parent: null }]);
    const tagged = await request("GET", `/api/articles?filter=${encodeURIComponent('tags = "a"')}`);
    expect(tagged.body["items"]).toMatchObject([{ id }]);
    const added = await request("POST", "/api/articles", { token, body: { title: "two", parent: id, tags: ["b"] } });
    expect(added.body).toMatchObject({ no: 2, parent: id });
    expect((await request("POST", "/api/articles", { token, body: { title: "two" } })).status).toBe(400);
    expect((await request("GET", "/api/comments?expand=post", { token })).body["items"]).toMatchObject([
      { expand: { post: { id } } },
    ]);
    const unchanged = await request("GET", `/api/articles/${id}`, { token, headers: { "If-None-Match": tag } });
    expect(unchanged.status).toBe(200);

    const rules = service.collections.all().map(({ name, definition }) => [name, definition.permissions?.read]);
    expect(rules).toEqual([
      ["articles", 'parent.title != "x" && articles(parent)[title = "none"] || title != "hidden"'],
      ["comments", 'post.articles(parent)[title = "none"] || text != ""'],
    ]);
    const events = await eventsSince(service, seq);
    expect(events.slice(0, 1)).toEqual([
      { type: "system.collection.updated", payload: { name: "articles", renamedFrom: "posts" } },
    ]);
    // The old name is free, and the new collection has nothing of the old one.
    const anew = { name: "posts", fields: [text("title", { unique: true })], indexes: [["title"]], search: ["title"] };
    expect((await request("POST", "/api/admin/collections", { token, body: anew })).status).toBe(201);
    expect((await request("GET", "/api/posts?search=one")).body["items"]).toHaveLength(0);
    // The relation leads to the records of the new name.
    await request("DELETE", `/api/articles/${id}`, { token });
    expect((await request("GET", "/api/comments", { token })).body["items"]).toHaveLength(0);
  });

  test("a collection that gets back its former name is counted anew", async () => {
    const { request, admin } = await openApi({ collections: [{ name: "a", fields: [text("t")] }] });
    const token = await admin();
    const rename = async (from: string, to: string): Promise<unknown> => {
      const body = { name: to, renamedFrom: from };
      return (await request("PUT", `/api/admin/collections/${from}`, { token, body })).body["records"];
    };
    await request("POST", "/api/a", { body: {} });
    const tag = (await request("GET", "/api/a")).headers.get("etag") ?? "";
    expect(await rename("a", "b")).toBe(1);
    await request("POST", "/api/b", { body: {} });
    expect(await rename("b", "a")).toBe(2);
    expect((await request("GET", "/api/admin/collections/a", { token })).body["records"] as unknown).toBe(2);
    expect((await request("GET", "/api/a", { headers: { "If-None-Match": tag } })).status).toBe(200);
  });

  test("a refused rename changes nothing", async () => {
    const { request, admin, service } = await openApi({ collections: [posts, comments] });
    const token = await admin();
    const before = service.collections.definitions();
    const refusal = async (method: string, path: string, body: object): Promise<unknown> =>
      (await request(method, `/api/admin/${path}`, { token, body })).body["error"]?.["message"];
    const put = (name: string, body: object): Promise<unknown> => refusal("PUT", `collections/${name}`, body);
    expect(await put("posts", { name: "articles" })).toContain('send "renamedFrom": "posts" beside its new name');
    expect(await put("posts", { name: "comments", renamedFrom: "posts" })).toContain(
      'there is a collection "comments" already; delete "comments" first if "posts" is to take the name',
    );
    expect(await put("posts", { name: "Posts", renamedFrom: "posts" })).toContain("differs only in case");
    expect(await put("posts", { name: "auth", renamedFrom: "posts" })).toContain("reserved collection name");
    expect(await put("posts", { name: "articles", renamedFrom: "posts", fields: fieldsOf("posts") })).toBe(
      'field "parent": there is no collection "posts" to point to; it is "articles" from now on',
    );
    expect(await put("none", { name: "articles", renamedFrom: "none" })).toContain("There is no collection");
    expect(await refusal("POST", "collections", { name: "x", fields: [], renamedFrom: "posts" })).toBe(
      'PUT /api/admin/collections/posts renames the collection "posts".',
    );
    const whole = (...collections: object[]): Promise<unknown> => refusal("PUT", "schema.json", { collections });
    const renamed = (name: string, from: string) => ({ name, fields: [], renamedFrom: from });
    expect(await whole(renamed("x", "posts"), renamed("y", "posts"))).toContain('"x" is renamed from "posts", too');
    expect(await whole(renamed("comments", "posts"), renamed("posts", "comments"))).toContain(
      "leave out one of the two",
    );
    expect(service.collections.definitions()).toEqual(before);
  });

  test("a whole schema renames, and drops the rest", async () => {
    const { request, admin } = await openApi({ collections: [posts, comments] });
    const token = await admin();
    await request("POST", "/api/posts", { token, body: { title: "one" } });
    const body = { collections: [{ ...articles, permissions: { read: "public" } }] };
    for (let n = 0; n < 2; n++)
      expect((await request("PUT", "/api/admin/schema.json", { token, body })).body["error"]).toBeUndefined();
    expect((await request("GET", "/api/articles")).body["items"]).toMatchObject([{ title: "one" }]);
    expect((await request("GET", "/api/comments")).status).toBe(404);
  });
});

describe("in files", () => {
  const rules = 'parent.title != "x" && articles(parent)[title = "none"] || title != "hidden"';
  const renamed = { ...articles, permissions: { read: rules } };

  test("the file keeps its renamedFrom; a new database starts from the same files", async () => {
    const p = await project(posts, comments);
    await p.add("posts", { title: "one", tags: ["a"] });
    await p.restart(renamed, comments);
    await p.add("articles", { title: "two" });
    const api = await p.restart({ ...renamed, indexes: [] }, comments);
    expect(await p.all("articles")).toMatchObject([
      { title: "two", no: 2 },
      { title: "one", no: 1, tags: ["a"] },
    ]);
    const target = api.service.collections.named("comments").definition.fields[1];
    expect(target?.collection).toBe("articles");
    // A later collection of the old name is another collection.
    const token = await api.admin();
    const anew = { name: "posts", fields: [] };
    expect((await api.request("POST", "/api/admin/collections", { token, body: anew })).status).toBe(201);
    await p.restart({ ...renamed, indexes: [["no"]] }, comments);
    expect(p.api.service.collections.all().map(({ name }) => name)).toEqual(["articles", "comments", "posts"]);
    const fresh = await openApi({ collections: [renamed] });
    expect(fresh.service.collections.all().map(({ name }) => name)).toEqual(["articles"]);
  });

  test("a changed file may use the old name of the collection in unchanged parts; a new field with the old name is refused", async () => {
    const p = await project(posts, comments);
    const more = { ...comments, fields: [...comments.fields, text("more")] };
    const relation = { name: "second", type: "relation", collection: "posts" };
    const changed = { ...comments, fields: [...comments.fields, relation] };
    await expect(p.restart(renamed, changed)).rejects.toThrow(
      '01.json: field "second": there is no collection "posts" to point to; it is "articles" from now on',
    );
    const api = await p.restart(posts, comments);
    expect(api.service.collections.all().map(({ name }) => name)).toEqual(["comments", "posts"]);
    const after = await p.restart(renamed, more);
    const { fields } = after.service.collections.named("comments").definition;
    expect(fields.find(({ name }) => name === "post")?.collection).toBe("articles");
    expect(fields.at(-1)?.name).toBe("more");
  });
});

describe("the former name in a changed file", () => {
  const renamed = { name: "articles", renamedFrom: "posts", fields: [text("title")] };
  const withRule = (read: string) => ({
    name: "comments",
    fields: [{ name: "post", type: "relation", collection: "articles" }],
    permissions: { read },
  });
  const inRelation = { name: "comments", fields: [{ name: "post", type: "relation", collection: "posts" }] };
  const inRule = { ...renamed, fields: [text("title"), { name: "parent", type: "relation", collection: "articles" }] };
  const wrong = { ...inRule, permissions: { read: 'posts(parent)[title = "a"]' } };

  test.each([
    [
      "a relation",
      inRelation,
      'field "post": there is no collection "posts" to point to; it is "articles" from now on',
    ],
    ["a rule", wrong, 'there is no collection "posts" that could point to "articles"; it is "articles" from now on'],
  ])("%s is refused with the new name, in the change and later", async (_, file, message) => {
    const p = await project({ name: "posts", fields: [text("title")] });
    await p.add("posts", { title: "one" });
    const files = file.name === "comments" ? [renamed, file] : [file];
    await expect(p.restart(...files)).rejects.toThrow(message);
    await p.restart(renamed);
    await expect(p.restart(...files)).rejects.toThrow(message);
    const api = await p.restart(renamed, withRule('post.title = "one"'));
    expect(api.service.collections.all().map(({ name }) => name)).toEqual(["articles", "comments"]);
  });

  test("the rename of a value in a rule is refused with the new name, too", async () => {
    const file = (from: string, rule: string) => ({
      name: "posts",
      fields: [text("status", { values: ["new", from === "held" ? "held" : { name: from, renamedFrom: "held" }] })],
      permissions: { read: `status = "${rule}"` },
    });
    const p = await project(file("held", "new"));
    await expect(p.restart(file("kept", "held"))).rejects.toThrow(
      '"held" is none of the values of the field; allowed: "new", "kept"; it is "kept" from now on',
    );
    await p.restart(file("kept", "kept"));
  });
});

test("a file that describes another collection is a WARN, once; after a deletion the file renames", async () => {
  const fields = [text("title")];
  const p = await project({ name: "tickets", fields });
  await p.add("tickets", { title: "one" });
  const warned = async (): Promise<string[]> => p.api.log.filter((line) => line.includes('described "tickets" before'));
  const first = await p.restart({ name: "passes", fields });
  expect(await warned()).toEqual([expect.stringContaining('To rename "tickets" instead, delete "passes", and save')]);
  await p.restart({ name: "passes", fields });
  expect(await warned()).toEqual([]);
  expect(first).not.toBe(p.api);
  const file = { name: "passes", renamedFrom: "tickets", fields };
  await expect(p.restart(file)).rejects.toThrow('delete "passes" first if "tickets" is to take the name');
  const api = await p.restart({ name: "passes", fields });
  const token = await api.admin();
  expect((await api.request("DELETE", "/api/admin/collections/passes", { token })).status).toBe(204);
  await p.restart(file);
  expect(await p.all("passes")).toEqual([{ title: "one" }]);
  expect([p.api.service.collections.get("tickets"), await warned()]).toEqual([undefined, []]);
});

test("a socket that resumes from before the rename is notified of the gap; a waiting socket receives the new name", async () => {
  const server = await openServer({ collections: [{ name: "posts", fields: [text("title")] }] });
  const { events } = server.service;
  const since = (await events.at(events.flushedSeq))?.id ?? "";
  await server.request("POST", "/api/posts", { body: { title: "before" } });
  const waiting = await server.connect();
  await waiting.subscribe("articles.*");
  const token = await server.admin();
  const body = { name: "articles", renamedFrom: "posts" };
  expect((await server.request("PUT", "/api/admin/collections/posts", { token, body })).status).toBe(200);
  const place = (await events.at(events.flushedSeq))?.id ?? "";
  await server.request("POST", "/api/articles", { body: { title: "after" } });
  const heard = async (client: typeof waiting): Promise<string[]> => {
    await until(() => client.frames.some(({ type }) => type === "event"));
    return (await client.events()).map(({ type }) => type);
  };
  expect(await heard(waiting)).toEqual(["articles.created"]);
  const resumed = await server.connect();
  await resumed.subscribe("articles.*", place);
  expect(await heard(resumed)).toEqual(["articles.created"]);
  const late = await server.connect();
  late.send({ action: "subscribe", channel: "articles.*", since });
  await until(() => late.frames.some((frame) => frame.type === "error" && frame.code === "resume_gap"));
});

test.each(["public", 'title != "hidden"'])(
  "a reader by %p receives a change whose flush goes on during the rename",
  async (read) => {
    const permissions = { read, create: "public" };
    const api = await openServer({ collections: [{ name: "posts", fields: [text("title")], permissions }] });
    const token = await api.admin();
    const socket = await api.connect();
    await socket.subscribe("posts.*");
    const { fdatasync } = fs;
    const held: (() => void)[] = [];
    const hold = (...args: Parameters<typeof fdatasync>): void => void held.push(() => fdatasync(...args));
    const holding = spyOn(fs, "fdatasync").mockImplementation(Object.assign(hold, fdatasync));
    const created = api.request("POST", "/api/posts", { body: { title: "a" } });
    await until(() => held.length > 0);
    const body = { name: "articles", renamedFrom: "posts" };
    const renamed = api.request("PUT", "/api/admin/collections/posts", { token, body });
    const { collections } = api.service;
    // Without a wait for the flush, the rename is in force by then.
    for (let looks = 0; looks < 100 && collections.get("articles") === undefined; looks++) await Bun.sleep(1);
    holding.mockRestore();
    for (const flush of held) flush();
    expect([(await created).status, (await renamed).status]).toEqual([201, 200]);
    expect(await socket.types()).toEqual(["posts.created"]);
  },
);
