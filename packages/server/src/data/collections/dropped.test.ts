/** Dropped values: what a migration drops is kept, and goes back. */
import { describe, expect, test } from "bun:test";
import type { DroppedEntry, RestoredValues } from "@socle/protocol";
import { openApi, type TestApi } from "../../../test/kit.ts";
import { project } from "../../../test/project.ts";
import { Logger } from "../../base/logging/index.ts";
import { DroppedRetention } from "./dropped.ts";

const text = (name: string, more: object = {}) => ({ name, type: "string" as const, ...more });

/** The calls of an admin. Each call signs in anew, because the service may have started anew. */
function adminOf(api: () => TestApi) {
  const call = async (method: string, path: string, body?: object) =>
    api().request(method, `/api/admin${path}`, { token: await api().admin(), ...(body && { body }) });
  return {
    call,
    async ok(method: string, path: string, body?: object) {
      const answer = await call(method, path, body);
      expect([answer.status < 300, answer.body["error"]]).toEqual([true, undefined]);
      return answer.body;
    },
    async dropped(): Promise<DroppedEntry[]> {
      return (await call("GET", "/dropped")).body["items"] as unknown as DroppedEntry[];
    },
    async restore(id = ""): Promise<RestoredValues> {
      const { status, body } = await call("POST", `/dropped/${id}/restore`);
      expect([status, body]).toEqual([200, { restored: expect.any(Number), left: expect.any(Number) }]);
      return body as unknown as RestoredValues;
    },
  };
}

async function service(...collections: object[]) {
  const api = await openApi({ collections });
  return { ...api, ...adminOf(() => api) };
}

describe("a dropped field", () => {
  test("v2, v1, v2: the dropped values are stored, the log names the restore, and the values return", async () => {
    const p = await project({ name: "posts", fields: [text("a"), text("phone")] });
    const admin = adminOf(() => p.api);
    for (const n of [1, 2, 3]) await p.add("posts", { a: String(n), phone: `+${n}` });
    await p.add("posts", { a: "4" });
    await p.restart({ name: "posts", fields: [text("a")] });
    const [entry] = await admin.dropped();
    expect(entry).toEqual({
      id: expect.stringMatching(/^\d+$/),
      collection: "posts",
      field: "phone",
      at: expect.stringMatching(/Z$/),
      cause: "file",
      values: 3,
    });
    const api = await p.restart({ name: "posts", fields: [text("a"), text("phone")] });
    expect(await p.all("posts")).toMatchObject([{ phone: null }, { phone: null }, { phone: null }, { phone: null }]);
    expect(api.log.join("\n")).toContain(
      `The field "posts.phone" had 3 values that were dropped at ${entry?.at}: socle schema restore ${entry?.id} brings them back`,
    );
    expect(await admin.restore(entry?.id)).toEqual({ restored: 3, left: 0 });
    expect(await p.all("posts")).toMatchObject([{ phone: null }, { phone: "+3" }, { phone: "+2" }, { phone: "+1" }]);
    expect(await admin.dropped()).toEqual([]);
    expect((await admin.call("POST", `/dropped/${entry?.id}/restore`)).status).toBe(404);
  });

  test("values return to existing records without a value; a deleted record takes its stored values along", async () => {
    const s = await service({ name: "posts", fields: [text("a"), text("b")] });
    const ids: string[] = [];
    for (const b of ["x", "y", "z", "w"])
      ids.push(String((await s.request("POST", "/api/posts", { body: { a: "1", b } })).body["id"]));
    await s.ok("PUT", "/collections/posts", { fields: [text("a")] });
    await s.request("DELETE", `/api/posts/${ids[0]}`);
    const [entry] = await s.dropped();
    expect([entry?.values, entry?.cause]).toEqual([3, "PUT"]);
    const values = () => s.service.database.reader.all("SELECT value FROM _dropped_values ORDER BY value");
    expect(values()).toEqual([{ value: "w" }, { value: "y" }, { value: "z" }]);
    const added = await s.ok("PUT", "/collections/posts", { fields: [text("a"), text("b")] });
    expect(added["restorable"]).toEqual([entry] as never);
    await s.request("PUT", `/api/posts/${ids[1]}`, { body: { b: "mine" } });
    expect(await s.restore(entry?.id)).toEqual({ restored: 2, left: 1 });
    const { items } = (await s.request("GET", "/api/posts")).body;
    expect(items).toMatchObject([{ b: "w" }, { b: "z" }, { b: "mine" }]);
    expect((await s.dropped()).map(({ values: n }) => n)).toEqual([1]);
    // The list of before is no answer any more.
    await s.request("PUT", `/api/posts/${ids[1]}`, { body: { b: null } });
    expect(await s.restore(entry?.id)).toEqual({ restored: 1, left: 0 });
    expect((await s.request("GET", "/api/posts")).body["items"]).toMatchObject([{ b: "w" }, { b: "z" }, { b: "y" }]);
  });

  test("every type returns exactly; items and words are found again", async () => {
    const target = { name: "targets", fields: [] };
    const types = [
      text("s"),
      { name: "n", type: "integer" },
      { name: "f", type: "float" },
      { name: "ok", type: "boolean" },
      { name: "at", type: "datetime" },
      { name: "j", type: "json" },
      { name: "r", type: "relation", collection: "targets" },
      text("tags", { multiple: true }),
      text("state", { values: ["todo", "done"] }),
    ];
    const s = await service(target, { name: "posts", fields: [text("a"), ...types], search: ["a", "s"] });
    const to = (await s.request("POST", "/api/targets", { body: {} })).body["id"];
    const bodies = [
      {
        s: "words here",
        n: -(2 ** 53) + 1,
        f: 0.1 + 0.2,
        ok: false,
        at: "2026-03-01T09:30:00.123Z",
        j: { a: [null, 1.5] },
      },
      { s: "", n: 0, f: 5, ok: true, j: "text", r: to, tags: ["b", "a"], state: "done" },
      { tags: [], state: null, j: null },
    ];
    for (const body of bodies) expect((await s.request("POST", "/api/posts", { body })).status).toBe(201);
    const before = (await s.request("GET", "/api/posts")).body["items"];
    await s.ok("PUT", "/collections/posts", { fields: [text("a")], search: ["a"] });
    const dropped = await s.dropped();
    expect(dropped.map(({ field }) => field).sort()).toEqual(["at", "f", "j", "n", "ok", "r", "s", "state", "tags"]);
    await s.ok("PUT", "/collections/posts", { fields: [text("a"), ...types], search: ["a", "s"] });
    for (const { id, values } of dropped) expect(await s.restore(id)).toEqual({ restored: values, left: 0 });
    expect((await s.request("GET", "/api/posts")).body["items"]).toEqual(before as never);
    for (const query of ["search=words", "filter=tags%20%3D%20%22a%22", "filter=state%20%3D%20%22done%22"])
      expect((await s.request("GET", `/api/posts?${query}`)).body).toMatchObject({ items: [{}] });
  });

  test("values that the present field refuses are reported and not restored; a value of another record is left out", async () => {
    const s = await service({ name: "posts", fields: [text("a"), text("b")] });
    const ids: string[] = [];
    for (const b of ["short", "long enough", "short"])
      ids.push(String((await s.request("POST", "/api/posts", { body: { a: "1", b } })).body["id"]));
    await s.ok("PUT", "/collections/posts", { fields: [text("a")] });
    const [entry] = await s.dropped();
    const refusal = async (field: object | null) => {
      if (field !== null) await s.ok("PUT", "/collections/posts", { fields: [text("a"), field] });
      const { status, body } = await s.call("POST", `/dropped/${entry?.id}/restore`);
      expect((await s.dropped()).map(({ values }) => values)).toEqual([3]);
      return [status, (body["error"] as { message?: string } | undefined)?.message];
    };
    const needed = `The values were of another field. Give "posts" this field, and restore then: {"name":"b","type":"string"}`;
    expect(await refusal(null)).toEqual([400, needed]);
    expect(await refusal({ name: "b", type: "integer" })).toEqual([400, needed]);
    await s.ok("PUT", "/collections/posts", { fields: [text("a")] });
    expect(await refusal(text("b", { max: 5 }))).toEqual([
      400,
      `field "b" cannot have "max" 5: 1 record has a text that is longer (${ids[1]})`,
    ]);
    expect((await refusal(text("b", { values: ["short"] })))[1]).toContain('another value: "long enough"');
    await s.ok("PUT", "/collections/posts", { fields: [text("a"), text("b", { unique: true })] });
    expect(await s.restore(entry?.id)).toEqual({ restored: 2, left: 1 });
    expect((await s.request("GET", `/api/posts/${ids[2]}`)).body["b"]).toBeNull();
  });

  test("only admins reach dropped values, also after the field is back for others", async () => {
    const s = await service({ name: "posts", fields: [text("a"), text("b", { permissions: { read: "admin" } })] });
    const body = { a: "1", b: "secret" };
    expect((await s.request("POST", "/api/posts", { token: await s.admin(), body })).status).toBe(201);
    await s.ok("PUT", "/collections/posts", { fields: [text("a")] });
    await s.ok("PUT", "/collections/posts", { fields: [text("a"), text("b")] });
    expect(JSON.stringify((await s.request("GET", "/api/posts")).body)).not.toContain("secret");
    const { accessToken } = await s.register("ann@example.com");
    const [entry] = await s.dropped();
    for (const token of [undefined, accessToken]) {
      const with_ = token === undefined ? {} : { token };
      expect((await s.request("GET", "/api/admin/dropped", with_)).status).toBe(token === undefined ? 401 : 403);
      expect((await s.request("POST", `/api/admin/dropped/${entry?.id}/restore`, with_)).status).not.toBe(200);
    }
  });

  test("the values follow a rename of the collection, and of the fields of users", async () => {
    const s = await service(
      { name: "posts", fields: [text("a"), text("b")] },
      { name: "users", fields: [text("nick")] },
    );
    await s.request("POST", "/api/posts", { body: { b: "x" } });
    await s.ok("PUT", "/collections/posts", { fields: [text("a")] });
    await s.ok("PUT", "/collections/posts", { name: "articles", renamedFrom: "posts" });
    const { user, accessToken } = await s.register("ann@example.com");
    await s.request("PUT", `/api/users/${user.id}`, { token: accessToken, body: { nick: "Ann" } });
    await s.ok("PUT", "/collections/users", { fields: [] });
    expect((await s.dropped()).map(({ collection, field }) => `${collection}.${field}`)).toEqual([
      "users.nick",
      "articles.b",
    ]);
    await s.ok("DELETE", `/users/${user.id}`);
    expect((await s.dropped()).map(({ collection }) => collection)).toEqual(["articles"]);
    await s.ok("PUT", "/collections/articles", { fields: [text("a"), text("b")] });
    expect(await s.restore((await s.dropped())[0]?.id)).toEqual({ restored: 1, left: 0 });
  });

  test("an owner field and an empty field leave nothing behind", async () => {
    const s = await service({
      name: "posts",
      fields: [
        { name: "by", type: "relation", collection: "users", owner: true },
        text("b"),
        text("tags", { multiple: true }),
      ],
    });
    const { accessToken } = await s.register("ann@example.com");
    await s.request("POST", "/api/posts", { token: accessToken, body: {} });
    await s.ok("PUT", "/collections/posts", { fields: [] });
    expect(await s.dropped()).toEqual([]);
  });

  test("a refused migration keeps nothing", async () => {
    const s = await service({ name: "posts", fields: [text("a"), text("b")] });
    for (let n = 0; n < 2; n++) await s.request("POST", "/api/posts", { body: { a: "1", b: "x" } });
    const refused = await s.call("PUT", "/collections/posts", { fields: [text("a", { unique: true })] });
    expect([refused.status, await s.dropped()]).toEqual([400, []]);
    await s.call("PUT", "/collections/posts?dryRun=true", { fields: [text("a")] });
    expect(await s.dropped()).toEqual([]);
  });
});

describe("a dropped collection", () => {
  test("returns whole: ids, owners, times, items, words, numbers, rules and indexes", async () => {
    const posts = {
      name: "posts",
      fields: [
        { name: "by", type: "relation", collection: "users", owner: true },
        text("title", { unique: true, permissions: { update: "owner" } }),
        { name: "no", type: "integer", sequence: true },
        text("tags", { multiple: true }),
        { name: "parent", type: "relation", collection: "posts" },
        text("state", { values: ["todo", "done"], default: "todo" }),
      ],
      permissions: { read: "authenticated", update: "owner" },
      indexes: [["no", "state"]],
      search: ["title"],
    };
    const s = await service(posts);
    const { accessToken: token } = await s.register("ann@example.com");
    const first = await s.request("POST", "/api/posts", { token, body: { title: "one word", tags: ["a", "b"] } });
    await s.request("POST", "/api/posts", { token, body: { title: "two", parent: first.body["id"], state: "done" } });
    const list = async () => (await s.request("GET", "/api/posts", { token })).body["items"];
    const [before, definition] = [await list(), s.service.collections.get("posts")?.definition];
    await s.ok("DELETE", "/collections/posts");
    expect((await s.request("GET", "/api/posts", { token })).status).toBe(404);
    const [entry] = await s.dropped();
    expect(entry).toMatchObject({ collection: "posts", field: null, cause: "DELETE", values: 2 });
    // A namesake is in the way, and does not get the records.
    const made = await s.ok("POST", "/collections", { ...posts, indexes: [["no", "state"]] });
    expect(made["restorable"]).toEqual([entry] as never);
    const refused = await s.call("POST", `/dropped/${entry?.id}/restore`);
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      400,
      expect.stringContaining("give it another name first"),
    ]);
    await s.ok("DELETE", "/collections/posts");
    expect(await s.restore(entry?.id)).toEqual({ restored: 2, left: 0 });
    expect(s.service.collections.get("posts")?.definition).toEqual(definition);
    expect(await list()).toEqual(before as never);
    for (const query of ["search=word", "filter=tags%20%3D%20%22b%22", "filter=parent.no%20%3D%201"])
      expect((await s.request("GET", `/api/posts?${query}`, { token })).body).toMatchObject({ items: [{}] });
    const third = await s.request("POST", "/api/posts", { token, body: { title: "three" } });
    expect<unknown>(third.body["no"]).toBe(3);
    expect((await s.request("POST", "/api/posts", { token, body: { title: "two" } })).status).toBe(400);
    const other = await s.register("bob@example.com");
    const put = { token: other.accessToken, body: { title: "x" } };
    expect((await s.request("PUT", `/api/posts/${first.body["id"]}`, put)).status).toBe(403);
    expect(await s.dropped()).toEqual([]);
  });

  test("collections in a ring that were dropped together return together; a renamed target is followed", async () => {
    const pointing = (name: string, to: string) => ({
      name,
      fields: [{ name: "to", type: "relation", collection: to }],
    });
    const s = await service(pointing("a", "b"), pointing("b", "a"), pointing("c", "d"), { name: "d", fields: [] });
    const a = (await s.request("POST", "/api/a", { body: {} })).body["id"];
    await s.request("POST", "/api/b", { body: { to: a } });
    const d = (await s.request("POST", "/api/d", { body: {} })).body["id"];
    await s.request("POST", "/api/c", { body: { to: d } });
    await s.ok("PUT", "/schema.json", { collections: [{ name: "d", fields: [] }] });
    await s.ok("PUT", "/collections/d", { name: "e", renamedFrom: "d" });
    const idOf = async (name: string) => (await s.dropped()).find(({ collection }) => collection === name)?.id;
    expect((await s.dropped()).map(({ cause }) => cause)).toEqual(["schema.json", "schema.json", "schema.json"]);
    expect(await s.restore(await idOf("b"))).toEqual({ restored: 2, left: 0 });
    expect(await s.restore(await idOf("c"))).toEqual({ restored: 1, left: 0 });
    const expanded = await s.request("GET", "/api/c?expand=to");
    expect(expanded.body["items"]).toMatchObject([{ to: d, expand: { to: { id: d } } }]);
    expect((await s.request("GET", "/api/b")).body["items"]).toMatchObject([{ to: a }]);
  });

  test("an empty collection leaves nothing behind", async () => {
    const s = await service({ name: "posts", fields: [text("a")] });
    await s.ok("DELETE", "/collections/posts");
    expect(await s.dropped()).toEqual([]);
  });
});

test("after dropped.keep, the values are gone from the disk; younger values stay", async () => {
  const s = await service({ name: "posts", fields: [text("a"), text("b")] }, { name: "old", fields: [text("a")] });
  await s.service.database.transactLong("test", async (tx) => {
    for (let n = 0; n < 1_200; n++) s.service.records.createIn(tx, null, { collection: "posts", body: { b: `b${n}` } });
  });
  await s.request("POST", "/api/old", { body: { a: "x" } });
  await s.ok("PUT", "/collections/posts", { fields: [text("a")] });
  await s.ok("DELETE", "/collections/old");
  const { database, clock } = s.service;
  await database.transact((tx) => tx.run("UPDATE _dropped SET at = '2020-01-01T00:00:00.000Z'"));
  await s.request("POST", "/api/posts", { body: { a: "young" } });
  await s.ok("PUT", "/collections/posts", { fields: [] });
  const logger = new Logger({ level: "ERROR", sinks: [] });
  await new DroppedRetention({ database, clock, logger, config: { "dropped.keep": 86_400_000 } }).sweep();
  expect((await s.dropped()).map(({ field }) => field)).toEqual(["a"]);
  expect(database.reader.all("SELECT value FROM _dropped_values")).toEqual([{ value: "young" }]);
  expect(database.reader.all("SELECT name FROM sqlite_schema WHERE name GLOB '_dropped_[0-9]*'")).toEqual([]);
});
