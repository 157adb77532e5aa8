// Promises: D1.
import { describe, expect, test } from "bun:test";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { CollectionDefinition } from "@socle/protocol";
import { eventsSince, lastSeq, migrate, openApi, temporaryFolder } from "../../../test/kit.ts";
import { project } from "../../../test/project.ts";

type Fields = object[];
const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });

async function posts(fields: Fields, more: object = {}) {
  const started = await project({ name: "posts", fields, ...more });
  return {
    ...started,
    get api() {
      return started.api;
    },
    to: (next: Fields, other: object = {}) => started.restart({ name: "posts", fields: next, ...other }),
  };
}

describe("definition files that change", () => {
  test("a field is added: null in existing records", async () => {
    const p = await posts([text("a")]);
    await p.add("posts", { a: "1" });
    await p.to([text("a"), { name: "n", type: "integer" }, { name: "j", type: "json" }]);
    await p.add("posts", { a: "2", n: 5, j: {} });
    expect(await p.all("posts")).toEqual([
      { a: "2", n: 5, j: {} },
      { a: "1", n: null, j: null },
    ]);
  });

  test("a field is removed, with its index; the field is empty when added again", async () => {
    const p = await posts([text("a", { unique: true }), text("b")]);
    await p.add("posts", { a: "1", b: "x" });
    await p.to([text("b")]);
    expect(await p.all("posts")).toEqual([{ b: "x" }]);
    await p.to([text("a", { unique: true }), text("b")]);
    expect(await p.all("posts")).toEqual([{ a: null, b: "x" }]);
  });

  test("a removed and an added field of the same type are a drop and an add, and the log names renamedFrom", async () => {
    const p = await posts([text("a", { unique: true }), text("b")]);
    await p.add("posts", { a: "1", b: "x" });
    const api = await p.to([text("title", { unique: true }), text("b")]);
    expect(await p.all("posts")).toEqual([{ title: null, b: "x" }]);
    expect(api.log.filter((line) => line.startsWith("WARN"))).toEqual([
      'WARN Applied 00.json, which dropped fields. To rename instead, give "title" the attribute "renamedFrom": "a"',
    ]);
    // Neither does a field take over, whatever the number of fields and the rules.
    await p.add("posts", { title: "secret", b: "y" });
    await p.to([text("nickname"), text("c"), text("d")]);
    expect(await p.all("posts")).toEqual([
      { nickname: null, c: null, d: null },
      { nickname: null, c: null, d: null },
    ]);
  });

  test("renamedFrom: two fields swap names, a field takes the name of a dropped field, a name changes its case", async () => {
    const p = await posts([text("a"), text("b"), text("c"), text("d"), text("e")]);
    await p.add("posts", { a: "A", b: "B", c: "C", d: "D", e: "E" });
    const api = await p.to([
      text("a", { renamedFrom: "b" }),
      text("b", { renamedFrom: "a" }),
      text("d", { renamedFrom: "c" }),
      text("E", { renamedFrom: "e" }),
    ]);
    expect(await p.all("posts")).toEqual([{ a: "B", b: "A", d: "C", E: "E" }]);
    expect(JSON.stringify(api.service.collections.get("posts")?.definition)).not.toContain("renamedFrom");
  });

  test("renamedFrom null: a new field on purpose", async () => {
    const p = await posts([text("a")]);
    await p.add("posts", { a: "A" });
    await p.to([text("b", { renamedFrom: null })]);
    expect(await p.all("posts")).toEqual([{ b: null }]);
  });

  test("beside a renamedFrom nothing is guessed: a field never gets the data of an unnamed field", async () => {
    const p = await posts([text("title"), text("secret")]);
    await p.add("posts", { title: "T", secret: "S" });
    await p.to([text("headline", { renamedFrom: "title" }), text("summary")]);
    expect(await p.all("posts")).toEqual([{ headline: "T", summary: null }]);
    // The file still carries the rename that is done; that stays a renamedFrom.
    await p.add("posts", { headline: "H", summary: "private" });
    await p.to([text("headline", { renamedFrom: "title" }), text("teaser")]);
    expect(await p.all("posts")).toEqual([
      { headline: "H", teaser: null },
      { headline: "T", teaser: null },
    ]);
  });

  test("a file that keeps its renamedFrom goes on working", async () => {
    const p = await posts([text("a")]);
    await p.add("posts", { a: "A" });
    await p.to([text("b", { renamedFrom: "a" })]);
    await p.to([text("b", { renamedFrom: "a" }), { name: "n", type: "integer" }]);
    expect(await p.all("posts")).toEqual([{ b: "A", n: null }]);
  });

  test("a finished rename of the file is not repeated", async () => {
    const swapped = [text("a", { renamedFrom: "b" }), text("b", { renamedFrom: "a" })];
    const p = await posts([text("a"), text("b")]);
    await p.add("posts", { a: "A", b: "B" });
    await p.to(swapped);
    await p.to(swapped, { permissions: { update: "admin" } });
    expect(await p.all("posts")).toEqual([{ a: "B", b: "A" }]);

    const q = await posts([text("x"), text("y")]);
    await q.add("posts", { x: "X", y: "Y" });
    const moved = [text("w", { renamedFrom: "x" }), text("x"), text("y")];
    await q.to(moved);
    await q.add("posts", { w: "w2", x: "x2", y: "y2" });
    await q.to([...moved, text("z")]);
    expect(await q.all("posts")).toEqual([
      { w: "w2", x: "x2", y: "y2", z: null },
      { w: "X", x: null, y: "Y", z: null },
    ]);
  });

  test("permissions only", async () => {
    const p = await posts([text("a")], { permissions: { read: "admin" } });
    expect((await p.api.request("GET", "/api/posts")).status).toBe(401);
    const api = await p.to([text("a")]);
    expect((await api.request("GET", "/api/posts")).status).toBe(200);
    expect(await eventsSince(api.service)).toEqual([
      { type: "system.collection.created", payload: { name: "posts" } },
      { type: "system.collection.updated", payload: { name: "posts" } },
    ]);
  });

  test("unique comes and goes", async () => {
    const p = await posts([text("a")]);
    await p.add("posts", { a: "1" });
    await p.to([text("a", { unique: true })]);
    expect((await p.api.request("POST", "/api/posts", { body: { a: "1" } })).status).toBe(400);
    await p.to([text("a")]);
    await p.add("posts", { a: "1" });
  });

  test("an owner field shows the hidden owner, and hands the owner back", async () => {
    const by = { name: "by", type: "relation", collection: "users" };
    const p = await posts([text("a")]);
    const ann = await p.api.register("ann@example.com");
    const token = ann.accessToken;
    await p.api.request("POST", "/api/posts", { token, body: { a: "ann's" } });
    await p.to([text("a"), { ...by, owner: true }]);
    expect(await p.all("posts")).toEqual([{ a: "ann's", by: ann.user.id }]);
    await p.to([text("a"), by]);
    expect(await p.all("posts")).toEqual([{ a: "ann's", by: ann.user.id }]);
    await p.add("posts", { a: "nobody's", by: ann.user.id });
    await p.to([text("a"), { ...by, owner: true }], { permissions: { read: "owner" } });
    const { items } = (await p.api.request("GET", "/api/posts", { token })).body;
    expect(items).toHaveLength(2);
  });
});

describe("the owner moves", () => {
  const relation = (name: string, more: object = {}) => ({ name, type: "relation", collection: "users", ...more });

  test("from a field to another: both fields keep their values", async () => {
    const p = await posts([relation("reviewer"), relation("author", { owner: true })]);
    const [ann, bob] = [await p.api.register("ann@example.com"), await p.api.register("bob@example.com")];
    await p.api.request("POST", "/api/posts", { token: ann.accessToken, body: { reviewer: bob.user.id } });
    await p.to([relation("reviewer", { owner: true }), relation("author")]);
    expect(await p.all("posts")).toEqual([{ reviewer: bob.user.id, author: ann.user.id }]);
  });

  test("a field that points elsewhere does not become the owner by force", async () => {
    const people = { name: "people", fields: [] };
    const p = await project(people, { name: "posts", fields: [relation("author", { collection: "people" })] });
    const person = await p.add("people", {});
    await p.add("posts", { author: person });
    const next = { name: "posts", fields: [relation("author", { owner: true })] };
    await expect(p.restart(people, next)).rejects.toThrow('cannot point to "users" instead of "people": 1 record has');
  });

  test("unique over an owner with two records is refused", async () => {
    const p = await posts([text("a")]);
    const { accessToken } = await p.api.register("ann@example.com");
    for (const a of ["1", "2"]) await p.api.request("POST", "/api/posts", { token: accessToken, body: { a } });
    const next = [text("a"), relation("by", { owner: true, unique: true })];
    await expect(p.to(next)).rejects.toThrow('field "by" cannot be unique: 2 records');
  });
});

test("two migrations at the same moment, and a write behind both, all see the definition in force", async () => {
  const { service, request } = await openApi({ collections: [{ name: "p", fields: [text("a")] }] });
  const change = (name: string, field: string) =>
    migrate(service, {
      define: [{ definition: { name, fields: [{ name: field, type: "string" }] }, renamedFrom: new Map() }],
      drop: [],
    });
  const [, , , written] = await Promise.all([
    change("one", "x"),
    change("two", "x"),
    change("p", "b"),
    request("POST", "/api/p", { body: { a: "x" } }),
  ]);
  expect(service.collections.all().map(({ name }) => name)).toEqual(["one", "p", "two"]);
  expect([written.status, written.body["error"]?.["code"] as unknown]).toEqual([400, "validation_error"]);
  expect((await request("POST", "/api/p", { body: { b: "x" } })).status).toBe(201);
});

describe("a refused definition stops the start, names file and reason, and changes nothing", () => {
  const number = { name: "n", type: "integer" };
  const refusals: [string, Fields, Fields, RegExp][] = [
    [
      "a type change",
      [text("a")],
      [{ name: "a", type: "text" }],
      /00\.json: field "a": its type cannot change from string to text/,
    ],
    ["a renamed type change", [text("a")], [{ name: "b", type: "integer", renamedFrom: "a" }], /type cannot change/],
    ["a rename of nothing", [text("a")], [text("a"), text("b", { renamedFrom: "zzz" })], /no field "zzz" to rename/],
    [
      "two renames of one",
      [text("a")],
      [text("b", { renamedFrom: "a" }), text("c", { renamedFrom: "a" })],
      /two fields/,
    ],
    ["unique over duplicates", [text("a")], [text("a", { unique: true })], /"a" cannot be unique: 2 records/],
    [
      "required over nulls",
      [text("a"), number],
      [text("a"), { ...number, required: true }],
      /"n" cannot be required: 2 records have no value/,
    ],
    [
      "a new required field",
      [text("a")],
      [text("a"), { ...number, required: true }],
      /"n" cannot be required: it is new and 2 records/,
    ],
    [
      "a relation to nothing",
      [text("a")],
      [text("a"), { name: "r", type: "relation", collection: "postz" }],
      /no collection "postz" to point to; did you mean "posts"/,
    ],
  ];
  test.each(refusals)("%s", async (_name, before, after, message) => {
    const folder = temporaryFolder();
    const first = await openApi({ folder, collections: [{ name: "posts", fields: before }] });
    for (let i = 0; i < 2; i++) await first.request("POST", "/api/posts", { body: { a: "same" } });
    const items = (await first.request("GET", "/api/posts")).body;
    const seq = await lastSeq(first.service);
    await first.close();
    // A second, good file is part of the same transaction, and must not be applied either.
    const others = [
      { name: "posts", fields: after },
      { name: "others", fields: [] },
    ];
    const failure = await openApi({ folder, collections: others }).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(Error);
    expect(String(failure)).toMatch(message);
    expect(String(failure)).not.toContain("\n");
    await rm(join(folder, "collections"), { recursive: true });
    await mkdir(join(folder, "collections"));
    const again = await openApi({ folder });
    expect((await again.request("GET", "/api/posts")).body).toEqual(items);
    expect((await again.request("GET", "/api/others")).status).toBe(404);
    expect(await eventsSince(again.service, seq)).toEqual([]);
  });
});

describe("files and database", () => {
  test("relations among files, in any order and in a ring", async () => {
    const ring = (name: string, to: string) => ({ name, fields: [{ name: "next", type: "relation", collection: to }] });
    const api = await openApi({ collections: [ring("a", "b"), ring("b", "c"), ring("c", "a")] });
    const created = await api.request("POST", "/api/a", { body: { next: null } });
    const pointing = await api.request("POST", "/api/c", { body: { next: created.body["id"] } });
    expect(pointing.status).toBe(201);
  });

  test("an unchanged file leaves later changes of the definition; a changed file wins", async () => {
    const p = await posts([text("a")], { permissions: { read: "admin" } });
    const open = {
      definition: { name: "posts", fields: [{ name: "a", type: "string" as const }] },
      renamedFrom: new Map(),
    };
    await migrate(p.api.service, { define: [open], drop: [] });
    expect((await p.api.request("GET", "/api/posts")).status).toBe(200);
    await p.to([text("a")], { permissions: { read: "admin" } });
    expect((await p.api.request("GET", "/api/posts")).status).toBe(200);
    await p.to([text("a")], { permissions: { read: "authenticated" } });
    expect((await p.api.request("GET", "/api/posts")).status).toBe(401);
    expect(p.api.log.filter((line) => line.startsWith("WARN")).join()).toContain(
      'replaced what was changed in the database since: the rule "read", ',
    );
  });

  test("a changed file leaves changes that the API made since", async () => {
    const p = await posts([text("a")]);
    const fields = ["a", "added"].map((name) => ({ name, type: "string" as const }));
    await migrate(p.api.service, {
      define: [{ definition: { name: "posts", fields }, renamedFrom: new Map() }],
      drop: [],
    });
    const kept = await p.to([text("a")]);
    expect(kept.service.collections.get("posts")?.definition.fields).toHaveLength(2);
    const changed = await p.to([text("a", { max: 5 })]);
    expect(changed.service.collections.get("posts")?.definition.fields).toEqual([
      { name: "a", type: "string", max: 5 },
      { name: "added", type: "string" },
    ]);
    expect(changed.log.filter((line) => line.startsWith("WARN"))).toEqual([]);
  });

  test("a collection that relations point to cannot be dropped; another collection is dropped with its records", async () => {
    const target = { name: "target", fields: [] };
    const source = { name: "source", fields: [{ name: "to", type: "relation", collection: "target" }] };
    const { service, request } = await openApi({ collections: [source, target] });
    const drop = (name: string) => migrate(service, { define: [], drop: [name] });
    await expect(drop("target")).rejects.toThrow("source.to points to it");
    await drop("source");
    await drop("target");
    expect((await request("GET", "/api/target")).status).toBe(404);
    await expect(drop("target")).rejects.toMatchObject({ code: "not_found" });
  });

  test("a collection is dropped while its rule names a field that gets another name", async () => {
    const target = { name: "target", fields: [text("old")] };
    const to = { name: "to", type: "relation", collection: "target" };
    const source = { name: "source", fields: [to], permissions: { read: 'to.old = "x"' } };
    const { service } = await openApi({ collections: [source, target] });
    const next: CollectionDefinition = { name: "target", fields: [{ name: "new", type: "string" }] };
    const renamedFrom = new Map([["new", "old"]]);
    await migrate(service, { define: [{ definition: next, renamedFrom }], drop: ["source"] });
    expect(service.collections.all().map(({ definition }) => definition)).toEqual([next]);
  });

  const names = ["sqlite_master", "sqlite_x", "select", "rowid", "pragma_index_list", "constructor", "toString"];
  test.each(names)("a collection may be called %s", async (name) => {
    const fields = [text(name, { unique: true }), text("order"), text("rowid_"), text("value")];
    const { request } = await openApi({ collections: [{ name, fields }] });
    const created = await request("POST", `/api/${name}`, { body: { [name]: "x", order: "y" } });
    expect(created.status).toBe(201);
    expect((await request("GET", `/api/${name}`)).body).toEqual({ items: [created.body] } as never);
  });
});
