/** Definition files that change while the database has changes of its own: what the file changed is applied, the rest stays. */
import { describe, expect, test } from "bun:test";
import type { CollectionDefinition } from "@socle/protocol";
import { project } from "../../../test/project.ts";

type Part = Partial<CollectionDefinition>;
const text = (name: string, more: object = {}) => ({ name, type: "string" as const, ...more });

/** A project with the file `posts`, and changes by PUT. */
async function posts(fields: object[], more: object = {}) {
  const p = await project({ name: "posts", fields, ...more });
  return {
    ...p,
    get api() {
      return p.api;
    },
    /** Changes the collection as the dashboard does. */
    async put(body: object, name = "posts"): Promise<void> {
      const { status, body: answer } = await p.api.request("PUT", `/api/admin/collections/${name}`, {
        token: await p.api.admin(),
        body,
      });
      expect([status, answer["error"]]).toEqual([200, undefined]);
    },
    to: (next: object[], other: object = {}) => p.restart({ name: "posts", fields: next, ...other }),
    definition: (name = "posts") => p.api.service.collections.named(name).definition,
    warnings: () => p.api.log.filter((line) => line.startsWith("WARN")),
  };
}

test("a new field of the file takes nothing from a field that only the dashboard made", async () => {
  const p = await posts([text("title")]);
  await p.put({ fields: [text("title"), text("privateNote", { permissions: { read: "admin" } })] });
  const token = await p.api.admin();
  const body = { title: "a", privateNote: "secret" };
  expect((await p.api.request("POST", "/api/posts", { token, body })).status).toBe(201);
  await p.to([text("title"), text("city")]);
  expect(await p.all("posts")).toEqual([{ title: "a", city: null }]);
  const { items } = (await p.api.request("GET", "/api/posts", { token: await p.api.admin() })).body;
  expect(items).toMatchObject([{ title: "a", city: null, privateNote: "secret" }]);
  expect(p.warnings()).toEqual([]);
});

test("rules, indexes, attributes and the search of the dashboard stay when another part of the file changes", async () => {
  const n = { name: "n", type: "integer" as const };
  const start = [text("title"), text("code"), n];
  const p = await posts(start, { permissions: { create: "authenticated" }, indexes: [["n"]] });
  const mine: Part & { fields: object[] } = {
    fields: [text("title", { max: 9 }), text("code", { unique: true, permissions: { read: "admin" } }), n],
    permissions: { read: "owner", create: "authenticated" },
    indexes: [["n"], { fields: ["title", "n"], unique: true }],
    search: ["title"],
  };
  await p.put(mine);
  const before = p.definition();
  await p.to([...start, text("city")], { permissions: { create: "authenticated" }, indexes: [["n"], ["city"]] });
  expect(p.definition()).toEqual({
    ...before,
    fields: [...before.fields, text("city")],
    indexes: [["n"], { fields: ["title", "n"], unique: true }, ["city"]],
  });
  expect(p.warnings()).toEqual([]);
});

describe("for a unit that both changed, the file wins, and a WARN names the replaced part", () => {
  test.each<[name: string, file: Part, database: Part, next: Part, unit: string]>([
    [
      "an attribute",
      { fields: [text("a", { max: 5 })] },
      { fields: [text("a", { max: 6, min: 1 })] },
      { fields: [text("a", { max: 7 })] },
      '"max" of the field "a"',
    ],
    [
      "the rule of a field",
      { fields: [text("a")] },
      { fields: [text("a", { permissions: { read: "admin" } })] },
      { fields: [text("a", { permissions: { read: "owner" } })] },
      'the rule "read" of the field "a", the rule "update" of the field "a"',
    ],
    [
      "a rule",
      { permissions: { read: "public", delete: "admin" } },
      { permissions: { read: "authenticated", create: "public", update: "public", delete: "admin" } },
      { permissions: { read: "admin", create: "public", update: "public", delete: "admin" } },
      'the rule "read"',
    ],
    ["an index", { indexes: [["a"]] }, { indexes: [{ fields: ["a"], unique: true }] }, { indexes: [] }, "the index a"],
    ["the search", { search: ["a"] }, { search: ["a", "b"] }, { search: ["b"] }, '"search"'],
    [
      "a field",
      { fields: [text("a"), text("c")] },
      { fields: [text("a")] },
      { fields: [text("a"), text("c", { max: 1 })] },
      'the field "c"',
    ],
  ])("%s", async (_name, file, database, next, unit) => {
    const fields = [text("a"), text("b")];
    const p = await posts(file.fields ?? fields, file);
    await p.put({ fields, ...database });
    await p.to(next.fields ?? fields, next);
    const { indexes: _, ...others } = next;
    const { indexes = [], ...definition } = p.definition();
    expect(indexes).toEqual(next.indexes ?? []);
    expect(definition).toMatchObject({ fields, ...others });
    expect(p.warnings().filter((line) => line.includes("replaced"))).toEqual([
      `WARN 00.json replaced what was changed in the database since: ${unit}`,
    ]);
  });
});

test("a minimum of the dashboard stays beside a maximum of the file; both together must make sense", async () => {
  const p = await posts([text("a", { max: 9 })]);
  await p.put({ fields: [text("a", { min: 5, max: 9 })] });
  await expect(p.to([text("a", { max: 4 })])).rejects.toThrow(
    /00\.json: together with the definition of the database: field "a": "min" \(5\) is greater than "max" \(4\)/,
  );
  // The refused text is no base: the next start begins from the applied text again.
  await p.to([text("a", { max: 8 })]);
  expect(p.definition().fields).toEqual([text("a", { min: 5, max: 8 })]);
});

test("a field that the dashboard dropped stays away while the file does not change the field", async () => {
  const p = await posts([text("a"), text("b")]);
  await p.put({ fields: [text("a")] });
  await p.to([text("a", { max: 5 }), text("b")]);
  expect(p.definition().fields).toEqual([text("a", { max: 5 })]);
  expect(p.warnings()).toEqual([]);
});

test("the order of fields follows the file after a change of order in the file, and the database otherwise", async () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => text(name));
  const p = await posts([a ?? {}, b ?? {}]);
  await p.put({ fields: [b, c, a] });
  await p.to([a ?? {}, text("d"), b ?? {}]);
  expect(p.definition().fields.map(({ name }) => name)).toEqual(["b", "c", "a", "d"]);
  await p.to([b ?? {}, a ?? {}, text("d")]);
  expect(p.definition().fields.map(({ name }) => name)).toEqual(["b", "c", "a", "d"]);
  await p.to([text("d"), a ?? {}, b ?? {}]);
  expect(p.definition().fields.map(({ name }) => name)).toEqual(["d", "a", "b", "c"]);
});

describe("renames", () => {
  test("a renamed field keeps the attributes of the dashboard, and the indexes of the dashboard follow", async () => {
    const p = await posts([text("a"), text("b")]);
    await p.put({ fields: [text("a", { max: 9 }), text("b"), text("c")], indexes: [["a", "c"]], search: ["c", "a"] });
    await p.add("posts", { a: "1", c: "3" });
    await p.to([text("title", { renamedFrom: "a" }), text("b")]);
    expect(p.definition()).toMatchObject({
      fields: [text("title", { max: 9 }), text("b"), text("c")],
      indexes: [["title", "c"]],
      search: ["c", "title"],
    });
    expect(await p.all("posts")).toEqual([{ title: "1", b: null, c: "3" }]);
  });

  test("a rename in the file and in the dashboard is done once", async () => {
    const p = await posts([text("a")]);
    await p.add("posts", { a: "1" });
    await p.put({ fields: [text("title", { renamedFrom: "a", max: 9 })] });
    await p.to([text("title", { renamedFrom: "a" })]);
    expect(p.definition().fields).toEqual([text("title", { max: 9 })]);
    expect(await p.all("posts")).toEqual([{ title: "1" }]);
  });

  test("a collection that the dashboard renamed is still the collection of the file", async () => {
    const p = await posts([text("a")]);
    await p.add("posts", { a: "1" });
    await p.put({ name: "articles", renamedFrom: "posts" });
    await p.to([text("a"), text("b")]);
    expect(p.api.service.collections.all().map(({ name }) => name)).toEqual(["articles"]);
    expect(await p.all("articles")).toEqual([{ a: "1", b: null }]);
    expect(p.warnings()).toEqual([]);
  });

  test("a file with another name continues the file that is gone", async () => {
    const p = await project({ name: "posts", fields: [text("a"), text("b")] }, { name: "zeta", fields: [] });
    const body = { fields: [text("a"), text("b"), text("c")] };
    await p.api.request("PUT", "/api/admin/collections/posts", { token: await p.api.admin(), body });
    // The files are numbered: posts becomes 01.json, which described zeta before.
    await p.restart(
      { name: "alpha", fields: [] },
      { name: "zeta", fields: [] },
      { name: "posts", fields: [text("a")] },
    );
    expect(p.api.service.collections.named("posts").definition.fields).toEqual([text("a"), text("c")]);
    // Also a file without a change.
    await p.restart({ name: "alpha", fields: [] }, { name: "posts", fields: [text("a")] });
    await p.restart({ name: "alpha", fields: [] }, { name: "posts", fields: [] });
    expect(p.api.service.collections.named("posts").definition.fields).toEqual([text("c")]);
    expect(p.api.log.filter((line) => line.includes("described"))).toEqual([]);
  });
});

test("values and a type that both sides gave a new field: the file decides, a type change is refused", async () => {
  const p = await posts([text("a")]);
  await p.put({ fields: [text("a"), text("s", { values: ["x"], permissions: { read: "admin" } })] });
  await p.to([text("a"), text("s", { values: ["y", "z"] })]);
  expect(p.definition().fields[1]).toEqual(text("s", { values: ["y", "z"], permissions: { read: "admin" } }));
  await p.put({ fields: [...p.definition().fields, { name: "n", type: "integer" }] });
  await expect(p.to([text("a"), text("s", { values: ["y", "z"] }), text("n")])).rejects.toThrow(
    '00.json: field "n": its type cannot change from integer to string',
  );
});

describe("a database of an earlier version, without the texts of the files", () => {
  const forget = (p: Awaited<ReturnType<typeof posts>>) =>
    p.api.service.database.transact((tx) => tx.run("UPDATE _definition_files SET content = NULL"));

  test("additions are applied, nothing is dropped, and a WARN names the differences", async () => {
    const p = await posts([text("a"), text("old")]);
    await p.put({
      fields: [text("a", { max: 5, permissions: { read: "admin" } }), text("old"), text("mine")],
      permissions: { read: "owner" },
      indexes: [{ fields: ["mine"], unique: true }],
    });
    await forget(p);
    const next = [text("a", { max: 9, min: 1 }), text("b", { permissions: { read: "admin" } })];
    await p.to(next, { indexes: [["b"]] });
    expect(p.definition()).toMatchObject({
      fields: [
        text("a", { max: 5, min: 1, permissions: { read: "admin" } }),
        text("b", { permissions: { read: "admin" } }),
        text("old"),
        text("mine"),
      ],
      permissions: { read: "owner" },
    });
    expect(p.definition().indexes).toContainEqual(["b"]);
    expect(p.definition().indexes).toContainEqual({ fields: ["mine"], unique: true });
    expect(p.warnings()).toHaveLength(1);
    expect(p.warnings()[0]).not.toContain('of the field "mine"');
    for (const unit of [
      '"max" of the field "a"',
      'the field "old"',
      'the field "mine"',
      'the rule "read"',
      "the index mine",
    ])
      expect(p.warnings()[0]).toContain(unit);
    // From now on, the text is known.
    await p.to([text("a", { max: 9, min: 1 })]);
    expect(p.definition().fields.map(({ name }) => name)).toEqual(["a", "old", "mine"]);
  });

  test("the text of an unchanged file is stored at the first start", async () => {
    const p = await posts([text("a"), text("b")]);
    await p.put({ fields: [text("a"), text("b"), text("c")] });
    await forget(p);
    await p.to([text("a"), text("b")]);
    await p.to([text("a")]);
    expect(p.definition().fields).toEqual([text("a"), text("c")]);
  });

  test("a finished rename is not repeated", async () => {
    const p = await posts([text("a")]);
    await p.add("posts", { a: "1" });
    await p.to([text("b", { renamedFrom: "a" })]);
    await p.put({ fields: [text("b"), text("a")] });
    await forget(p);
    await p.to([text("b", { renamedFrom: "a" }), text("c")]);
    expect(await p.all("posts")).toEqual([{ b: "1", c: null, a: null }]);
  });
});

test("the definition of users is merged, too", async () => {
  const users = (more: object[] = []) => ({ name: "users", fields: [text("nick"), ...more] });
  const p = await project(users());
  const token = await p.api.admin();
  const body = {
    fields: [{ name: "email", permissions: { read: "public" } }, text("nick", { max: 9 }), text("mine")],
    permissions: { read: "public", update: "owner" },
  };
  expect((await p.api.request("PUT", "/api/admin/collections/users", { token, body })).status).toBe(200);
  await p.restart(users([text("city")]));
  const { fields, permissions } = p.api.service.collections.named("users").definition;
  expect(permissions).toEqual({ read: "public", update: "owner" });
  expect(fields.map(({ name }) => name)).toEqual(["email", "role", "verified", "nick", "city", "mine"]);
  expect(fields[0]?.permissions).toEqual({ read: "public" });
  expect(fields[3]).toEqual(text("nick", { max: 9 }));
});
