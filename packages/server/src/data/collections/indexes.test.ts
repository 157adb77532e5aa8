import { describe, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { IndexDefinition } from "@socle/protocol";
import { indexesIn, indexTexts } from "../../../test/indexes.ts";
import { eventsSince, lastSeq, openApi, temporaryFolder } from "../../../test/kit.ts";
import { system } from "../../base/kernel/index.ts";
import { parseDefinition } from "./index.ts";

const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
const relation = (name: string, more: object = {}) => ({ name, type: "relation", collection: "users", ...more });
const posts = (fields: object[], indexes?: unknown, more: object = {}) => ({ name: "posts", fields, indexes, ...more });

/** A service with a definition file that changes between restarts. */
async function project(definition: object) {
  const folder = temporaryFolder();
  let api = await openApi({ folder, collections: [definition] });
  return {
    get api() {
      return api;
    },
    indexes: () => indexesIn(api.service, "posts"),
    async restart(next: object) {
      await api.close();
      await rm(join(folder, "collections"), { recursive: true });
      api = await openApi({ folder, collections: [next] });
      return api;
    },
    async add(body: object, token?: string): Promise<string> {
      const answer = await api.request("POST", "/api/posts", { body, ...(token !== undefined && { token }) });
      expect(answer.status).toBe(201);
      return String(answer.body["id"]);
    },
  };
}

describe("the indexes of a table", () => {
  const owner = relation("by", { owner: true });
  const cases: [string, object, string[]][] = [
    ["without any", posts([text("a")]), []],
    [
      "several fields, times, both forms",
      posts([text("a"), text("b")], [["a", "createdAt"], { fields: ["b", "a"], unique: true }]),
      ["a, createdAt", "unique b, a"],
    ],
    [
      "in another order it is another one",
      posts(
        [text("a"), text("b")],
        [
          ["a", "b"],
          ["b", "a"],
        ],
      ),
      ["a, b", "b, a"],
    ],
    ["of a unique field: no second one", posts([text("a", { unique: true })], [["a"]]), ["unique a"]],
    [
      "of a unique field, unique: no second one",
      posts([text("a", { unique: true })], [{ fields: ["a"], unique: true }]),
      ["unique a"],
    ],
    ["of a relation: no second one", posts([relation("r")], [["r"]]), ["r"]],
    [
      "of a relation, unique: the relation has no other",
      posts([relation("r")], [{ fields: ["r"], unique: true }]),
      ["unique r"],
    ],
    [
      "that begins with a relation leaves the relation its own",
      posts([relation("r")], [["r", "createdAt"]]),
      ["r", "r, createdAt"],
    ],
    ["of the owner", posts([owner, text("a")], [["by", "a"]]), ["_owner", "_owner, a"]],
    [
      "of the owner, who is searched by",
      posts([text("a")], [["a"]], { permissions: { read: "owner" } }),
      ["_owner", "a"],
    ],
    [
      "of names that SQLite keeps for itself",
      posts([text("rowid"), text("OID"), text("select")], [["rowid", "OID", "select"]]),
      ["_field_rowid, _field_OID, select"],
    ],
  ];
  test.each(cases)("%s", async (_name, definition, expected) => {
    const { service } = await openApi({ collections: [definition] });
    expect(await indexTexts(service, "posts")).toEqual(expected);
  });

  test("serve a search", async () => {
    const { service } = await openApi({ collections: [posts([text("a"), text("b")], [["a", "createdAt"]])] });
    const plan = await service.database.reader.all<{ detail: string }>(
      "EXPLAIN QUERY PLAN SELECT * FROM posts WHERE a = 'x' ORDER BY createdAt",
    );
    expect(plan.map(({ detail }) => detail)).toEqual(["SEARCH posts USING INDEX posts.a.createdAt (a=?)"]);
  });
});

describe("definition files that change", () => {
  test("an index is added, becomes unique, is removed; the values stay", async () => {
    const fields = [text("a"), text("b")];
    const p = await project(posts(fields));
    await p.add({ a: "1", b: "2" });
    const seen: string[][] = [];
    for (const indexes of [[["a", "b"]], [{ fields: ["a", "b"], unique: true }], null]) {
      const api = await p.restart(posts(fields, indexes));
      seen.push(await indexTexts(api.service, "posts"));
      expect((await api.request("GET", "/api/posts")).body["items"]?.["0"]).toMatchObject({ a: "1", b: "2" });
    }
    expect(seen).toEqual([["a, b"], ["unique a, b"], []]);
  });

  test("a restart without a change keeps the indexes", async () => {
    const definition = posts([text("a"), text("b")], [["b"], { fields: ["a", "b"], unique: true }]);
    const p = await project(definition);
    await p.add({ a: "1", b: "2" });
    const [before, seq] = [await p.indexes(), await lastSeq(p.api.service)];
    await p.restart(definition);
    expect(await p.indexes()).toEqual(before);
    expect(await eventsSince(p.api.service, seq)).toEqual([]);
    expect((await p.api.request("POST", "/api/posts", { body: { a: "1", b: "2" } })).status).toBe(400);
  });

  test("another form of the same index builds nothing again", async () => {
    const fields = [text("a"), text("b")];
    const p = await project(posts(fields, [["a", "b"], ["b"]]));
    const version = async (): Promise<unknown> => p.api.service.database.reader.get("PRAGMA schema_version");
    const before = [await p.indexes(), await version()];
    await p.restart(posts(fields, [{ fields: ["b"] }, { fields: ["a", "b"], unique: false }]));
    expect([await p.indexes(), await version()]).toEqual(before);
    expect(before[0]).toHaveLength(2);
  });

  test("a field that is renamed keeps its indexes; nothing is built again", async () => {
    const p = await project(posts([text("a"), text("b")], [["a", "b"], { fields: ["a", "createdAt"], unique: true }]));
    await p.add({ a: "1", b: "2" });
    const before = await p.indexes();
    await p.restart(
      posts(
        [text("title", { renamedFrom: "a" }), text("b")],
        [["title", "b"], { fields: ["title", "createdAt"], unique: true }],
      ),
    );
    const after = await p.indexes();
    expect(after.map(({ text: each }) => each)).toEqual(["title, b", "unique title, createdAt"]);
    expect(after.map(({ name, place }) => [name, place])).toEqual(before.map(({ name, place }) => [name, place]));
    // The name that is in use does not stop another index of these fields.
    await p.restart(
      posts(
        [text("title"), text("b"), text("a", { renamedFrom: null })],
        [
          ["title", "b"],
          ["a", "b"],
        ],
      ),
    );
    expect((await p.indexes()).map(({ text: each }) => each)).toEqual(["a, b", "title, b"]);
  });

  test("two fields swap names: each index follows its field, and an index with the same names is another index", async () => {
    const swapped = [text("a", { renamedFrom: "b" }), text("b", { renamedFrom: "a" }), text("c")];
    const p = await project(posts([text("a"), text("b"), text("c")], [["a", "c"]]));
    const [before] = await p.indexes();
    await p.restart(posts(swapped, [["b", "c"]]));
    const [after] = await p.indexes();
    expect([after?.text, after?.name, after?.place]).toEqual(["b, c", before?.name, before?.place]);
    const q = await project(posts([text("a"), text("b"), text("c")], [["a", "c"]]));
    await q.restart(posts(swapped, [["a", "c"]]));
    expect((await q.indexes()).map(({ text: each }) => each)).toEqual(["a, c"]);
  });

  test("a removed field removes the indexes that name the field; indexes of other fields stay", async () => {
    const p = await project(posts([text("a"), text("b"), text("c")], [["b", "a"], ["c", "b"], ["c"]]));
    await p.add({ a: "1", b: "2", c: "3" });
    await p.restart(posts([text("b"), text("c")], [["c", "b"], ["c"]]));
    expect((await p.indexes()).map(({ text: each }) => each)).toEqual(["c", "c, b"]);
    await p.restart(posts([text("c")]));
    expect(await p.indexes()).toEqual([]);
  });

  test("a field that shows the owner, or does so no longer, stays indexed", async () => {
    const indexes = [{ fields: ["by", "a"], unique: true }];
    const p = await project(posts([relation("by"), text("a")], indexes));
    await p.add({ a: "1" });
    await p.restart(posts([relation("by", { owner: true }), text("a")], indexes));
    expect((await p.indexes()).map(({ text: each }) => each)).toEqual(["_owner", "unique _owner, a"]);
    await p.restart(posts([relation("by"), text("a")], indexes));
    expect((await p.indexes()).map(({ text: each }) => each)).toEqual(["by", "unique by, a"]);
  });

  test("the removal of an index is no loss: the log has no warning", async () => {
    const p = await project(posts([text("a")], [["a"]]));
    const api = await p.restart(posts([text("a")]));
    expect(api.log.filter((line) => line.includes("Applied"))).toEqual(["INFO Applied 00.json"]);
  });
});

test("a migration on the event loop sees the indexes of a migration on a thread, and the other way round", async () => {
  const { service } = await openApi({ collections: [posts([text("a"), text("b")])] });
  const change = async (indexes: IndexDefinition[], place: "event-loop" | "thread"): Promise<string[]> => {
    const define = [parseDefinition(posts([text("a"), text("b")], indexes))];
    await service.database.migrate((tx) => service.collections.migrate(tx, { define, drop: [] }, system), place);
    return indexTexts(service, "posts");
  };
  expect(await change([["a"], ["b"]], "thread")).toEqual(["a", "b"]);
  expect(await change([["b"]], "event-loop")).toEqual(["b"]);
  expect(await change([["b"], ["a", "b"]], "thread")).toEqual(["a, b", "b"]);
  expect(await change([["b"], ["a", "b"], ["b", "a"]], "event-loop")).toEqual(["a, b", "b", "b, a"]);
  expect(await change([], "thread")).toEqual([]);
});

describe("a unique index that records contradict is refused, and changes nothing", () => {
  test("over duplicate values", async () => {
    const fields = [text("a"), text("b")];
    const p = await project(posts(fields, [["a"]]));
    const ids = [await p.add({ a: "1", b: "2" }), await p.add({ a: "1", b: "3" }), await p.add({ a: "1", b: "2" })];
    await p.add({ a: "1", b: null });
    await p.add({ a: "1", b: null });
    const [before, seq] = [await p.indexes(), await lastSeq(p.api.service)];
    const next = posts([...fields, text("c")], [{ fields: ["a", "b"], unique: true }]);
    await expect(p.restart(next)).rejects.toThrow(
      `fields "a, b" cannot be unique together: 2 records have values that another has too (${ids[0]}, ${ids[2]})`,
    );
    await p.restart(posts(fields, [["a"]]));
    expect([await p.indexes(), await lastSeq(p.api.service)]).toEqual([before, seq]);
    expect(p.api.service.collections.get("posts")?.definition.indexes).toEqual([["a"]]);
  });

  test("null values and values of a new field contradict no unique index", async () => {
    const p = await project(posts([text("a"), text("b")]));
    for (let n = 0; n < 2; n++) await p.add({ a: "1" });
    const indexes = [
      { fields: ["a", "b"], unique: true },
      { fields: ["a", "c"], unique: true },
    ];
    await p.restart(posts([text("a"), text("b"), text("c")], indexes));
    expect(await p.indexes()).toHaveLength(2);
  });

  test("over a single field is reported as for a unique field", async () => {
    const p = await project(posts([text("a")]));
    for (let n = 0; n < 2; n++) await p.add({ a: "1" });
    const next = posts([text("a")], [{ fields: ["a"], unique: true }]);
    await expect(p.restart(next)).rejects.toThrow(
      'field "a" cannot be unique: 2 records have a value that another has',
    );
  });

  test("over a renamed field, and over a formerly hidden owner", async () => {
    const p = await project(posts([text("a"), text("b")]));
    const { accessToken } = await p.api.register("ann@example.com");
    for (const b of ["x", "x", "y"]) await p.add({ a: "1", b }, accessToken);
    const title = text("title", { renamedFrom: "a" });
    const renamed = posts([title, text("b")], [{ fields: ["title", "b"], unique: true }]);
    await expect(p.restart(renamed)).rejects.toThrow('fields "title, b" cannot be unique together: 2 records');
    const owned = posts(
      [text("a"), text("b"), relation("by", { owner: true })],
      [{ fields: ["by", "b"], unique: true }],
    );
    await expect(p.restart(owned)).rejects.toThrow('fields "by, b" cannot be unique together: 2 records');
  });

  test("over a field that takes over a formerly unnamed owner", async () => {
    const indexes = [{ fields: ["by", "a"], unique: true }];
    const p = await project(posts([relation("by"), text("a")], indexes));
    const { accessToken } = await p.api.register("ann@example.com");
    for (let n = 0; n < 2; n++) await p.add({ a: "1" }, accessToken);
    await expect(p.restart(posts([relation("by", { owner: true }), text("a")], indexes))).rejects.toThrow(
      'fields "by, a" cannot be unique together: 2 records',
    );
  });

  test("over times of records", async () => {
    const p = await project(posts([text("a")]));
    for (let n = 0; n < 2; n++) await p.add({ a: "1" });
    await p.api.service.database.transact((tx) => tx.run("UPDATE posts SET createdAt = '2026-03-01T00:00:00.000Z'"));
    const next = posts([text("a")], [{ fields: ["a", "createdAt"], unique: true }]);
    await expect(p.restart(next)).rejects.toThrow('fields "a, createdAt" cannot be unique together: 2 records');
  });
});
