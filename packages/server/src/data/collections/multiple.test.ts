/**
 * Migrations of multiple fields: multiple fields come and go, take other names and rules, and turn from one value to
 * several and back.
 */
import { describe, expect, test } from "bun:test";
import { messageOf, openSchemaWorld, text } from "../../../test/schema-world.ts";

const world = await openSchemaWorld();
const { api, create, send, token } = world;
const several = (name: string, more: object = {}) => text(name, { multiple: true, ...more });
const relation = (name: string, more: object = {}) => ({ name, type: "relation", collection: "targets", ...more });
await send("POST", "/collections", { name: "targets", fields: [text("name")] });

async function add(collection: string, body: object): Promise<string> {
  const answer = await api.request("POST", `/api/${collection}`, { body, token });
  expect(answer.status).toBe(201);
  return String(answer.body["id"]);
}
async function valuesOf(collection: string, field: string): Promise<unknown[]> {
  const { body } = await api.request<{ items: Record<string, unknown>[] }>("GET", `/api/${collection}?sort=createdAt`, {
    token,
  });
  return body.items.map((item) => item[field]);
}
async function holding(collection: string, condition: string): Promise<number> {
  const { body } = await api.request(
    "GET",
    `/api/${collection}?${new URLSearchParams({ filter: condition, count: "exact" })}`,
    { token },
  );
  return Number(body["total"]);
}
const define = (name: string, fields: object[], more: object = {}) =>
  send("PUT", `/collections/${name}`, { fields, ...more });
/** The tables and triggers of items that a collection has. */
async function kept(collection: string): Promise<string[]> {
  const rows = await api.service.database.reader.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE name LIKE ? ORDER BY name",
    `_items_${collection}.%`,
  );
  return rows.map(({ name }) => name.replace(`_items_${collection}.`, ""));
}
const all = (field: string): string[] => [field, `${field}.delete`, `${field}.insert`, `${field}.update`];

describe("multiple fields", () => {
  test("a unique field with empty values turns multiple, and is unique no more", async () => {
    const name = await create({ fields: [text("a", { unique: true })] });
    for (const a of [null, null, "1"]) await add(name, { a });
    expect((await define(name, [several("a")])).status).toBe(200);
    expect(await valuesOf(name, "a")).toEqual([[], [], ["1"]]);
    await add(name, { a: ["1"] });
    expect((await send("DELETE", `/collections/${name}`)).status).toBe(204);
  });

  test("a new multiple field is empty in existing records, a removed multiple field takes its table along", async () => {
    const name = await create({ fields: [text("a")] });
    await add(name, { a: "1" });
    expect((await define(name, [text("a"), several("tags")])).status).toBe(200);
    await add(name, { tags: ["x", "y"] });
    expect(await valuesOf(name, "tags")).toEqual([[], ["x", "y"]]);
    expect(await holding(name, "tags = null")).toBe(1);
    expect(await kept(name)).toEqual(all("tags"));
    const dry = await send("PUT", `/collections/${name}?dryRun=true`, { fields: [text("a")] });
    expect(JSON.stringify(dry.body)).toContain('{"step":"drop","field":"tags","records":1}');
    expect((await define(name, [text("a")])).status).toBe(200);
    expect(await kept(name)).toEqual([]);
    await add(name, { a: "2" });
    expect((await send("DELETE", `/collections/${name}`)).status).toBe(204);
  });

  test("a new required multiple field with a default fills existing records, and its table has the items", async () => {
    const name = await create({ fields: [text("a")] });
    await add(name, {});
    expect(messageOf(await define(name, [text("a"), several("tags", { required: true })]))).toContain(
      "it is new and 1 record has no value",
    );
    expect((await define(name, [text("a"), several("tags", { required: true, default: ["b", "a"] })])).status).toBe(
      200,
    );
    expect(await valuesOf(name, "tags")).toEqual([["b", "a"]]);
    expect(await holding(name, 'tags = "a"')).toBe(1);
  });

  test("renames are followed, also when two fields swap names", async () => {
    const name = await create({ fields: [several("tags"), several("words")], permissions: { update: 'tags = "x"' } });
    const id = await add(name, { tags: ["x"], words: ["y"] });
    const swapped = [several("tags", { renamedFrom: "words" }), several("words", { renamedFrom: "tags" })];
    expect((await define(name, swapped)).status).toBe(200);
    expect([
      await holding(name, 'tags = "y"'),
      await holding(name, 'words = "x"'),
      await holding(name, 'tags = "x"'),
    ]).toEqual([1, 1, 0]);
    const { body } = await send("GET", `/collections/${name}`);
    expect(body["permissions"]).toEqual({ update: 'words = "x"' } as never);
    await api.request("PUT", `/api/${name}/${id}`, { body: { tags: ["z"] }, token });
    expect([await holding(name, 'tags = "y"'), await holding(name, 'tags = "z"')]).toEqual([0, 1]);
    expect((await define(name, [several("Tags", { renamedFrom: "tags" }), several("words")])).status).toBe(200);
    expect(await holding(name, 'Tags = "z"')).toBe(1);
    expect(await kept(name)).toEqual([...all("Tags"), ...all("words")]);
  });

  test("a new multiple field with the name of a removed field starts empty", async () => {
    const name = await create({ fields: [several("tags"), several("b")] });
    await add(name, { tags: ["x"], b: ["y"] });
    expect(
      (await define(name, [several("tags", { renamedFrom: "b" }), several("b", { renamedFrom: null })])).status,
    ).toBe(200);
    expect([
      await holding(name, 'tags = "y"'),
      await holding(name, "b = null"),
      await holding(name, 'tags = "x"'),
    ]).toEqual([1, 1, 0]);
  });
});

describe("rules that records break are refused", () => {
  const cases: [string, object, RegExp][] = [
    ["required", { required: true }, /cannot be required: 1 record has no value in it/],
    ["a greater min", { min: 3 }, /cannot have "min" 3: 1 record has fewer items/],
    ["a smaller max", { max: 1 }, /cannot have "max" 1: 1 record has more items/],
    ["regex", { regex: "^a" }, /cannot have "regex" "\^a": 1 record has a text that does not match/],
    ["values", { values: ["aa"] }, /cannot have "values" \["aa"\]: 1 record has another value: "b"/],
  ];
  test.each(cases)("%s", async (_name, rule, message) => {
    const name = await create({ fields: [several("tags")] });
    await add(name, {});
    await add(name, { tags: ["aa", "b"] });
    expect(messageOf(await define(name, [several("tags", rule)]))).toMatch(message);
    // Records that keep the rule let the rule take effect.
    await api.service.database.transact((tx) => tx.run(`DELETE FROM ${name}`));
    await add(name, { tags: ["aa", "ab", "abc"] });
    if (!("values" in rule) && !("max" in rule)) expect((await define(name, [several("tags", rule)])).status).toBe(200);
  });

  test("no index and no search contains a multiple field, also in stored definitions", async () => {
    const name = await create({ fields: [text("tags"), text("b")], indexes: [["tags", "b"]], search: ["tags"] });
    const problem = messageOf(await define(name, [several("tags"), text("b")]));
    expect(problem).toContain('field "tags" is multiple: its items have an index, and no other can contain it');
    expect(problem).toContain('field "tags" is multiple and cannot be searched: filters find its items');
    expect((await define(name, [several("tags"), text("b")], { indexes: null, search: null })).status).toBe(200);
  });
});

describe("a single value and an array", () => {
  test("a value becomes the only item, and back; dryRun says so and changes nothing", async () => {
    const name = await create({ fields: [text("tag", { max: 5 })] });
    for (const tag of ["x", null, "", "y"]) await add(name, { tag });
    const dry = await send("PUT", `/collections/${name}?dryRun=true`, { fields: [several("tag", { max: 2 })] });
    expect(JSON.stringify(dry.body)).toContain('{"step":"multiple","field":"tag","on":true,"records":4}');
    expect(await valuesOf(name, "tag")).toEqual(["x", null, "", "y"]);
    expect((await define(name, [several("tag", { max: 2 })])).status).toBe(200);
    expect(await valuesOf(name, "tag")).toEqual([["x"], [], [], ["y"]]);
    expect([await holding(name, 'tag = "x"'), await holding(name, "tag = null")]).toEqual([1, 2]);
    const id = await add(name, { tag: ["p", "q"] });
    const refused = await define(name, [text("tag")]);
    expect(messageOf(refused)).toBe(`field "tag" cannot hold a single value: 1 record has several items (${id})`);
    await api.request("PUT", `/api/${name}/${id}`, { body: { tag: ["q"] }, token });
    expect((await define(name, [text("tag")])).status).toBe(200);
    expect(await valuesOf(name, "tag")).toEqual(["x", null, null, "y", "q"]);
    expect(await kept(name)).toEqual([]);
    await add(name, { tag: "z" });
  });

  test("renamed in the same change", async () => {
    const name = await create({ fields: [text("tag", { values: ["x", "y"] })] });
    for (const tag of ["x", null]) await add(name, { tag });
    expect((await define(name, [several("tags", { values: ["x", "y", "z"] })])).status).toBe(200);
    expect(await valuesOf(name, "tags")).toEqual([["x"], []]);
    expect(await holding(name, 'tags = "x"')).toBe(1);
    expect((await define(name, [text("label", { values: ["y", "x"], renamedFrom: "tags" })])).status).toBe(200);
    expect(await valuesOf(name, "label")).toEqual(["x", null]);
    expect([await holding(name, 'label > "y"'), await kept(name)]).toEqual([1, []]);
  });

  test("with values, whose order is added and removed", async () => {
    const name = await create({ fields: [text("kind", { values: ["b", "a"] })], indexes: [["kind"]] });
    for (const kind of ["a", "b"]) await add(name, { kind });
    expect((await define(name, [several("kind", { values: ["b", "a", "c"] })], { indexes: [] })).status).toBe(200);
    expect(await holding(name, 'kind = "a"')).toBe(1);
    await add(name, { kind: ["c"] });
    expect(messageOf(await define(name, [text("kind", { values: ["b", "a"] })]))).toContain('another value: "c"');
    expect((await define(name, [text("kind", { values: ["c", "b", "a"] })])).status).toBe(200);
    expect(
      await api
        .request("GET", `/api/${name}?sort=kind`, { token })
        .then(({ body }) => Object(body["items"]).map((each: { kind: string }) => each.kind)),
    ).toEqual(["c", "b", "a"]);
    expect((await define(name, [several("kind", { values: ["c", "b", "a"] })])).status).toBe(200);
    expect((await define(name, [text("kind", { values: ["c", "b", "a"] })])).status).toBe(200);
    expect(await holding(name, 'kind < "a"')).toBe(2);
  });

  test("a relation, whose index becomes a table and back", async () => {
    const name = await create({ fields: [relation("to", { onDelete: "clear" })] });
    const [one, two] = [await add("targets", { name: "one" }), await add("targets", { name: "two" })];
    for (const to of [one, two, null]) await add(name, { to });
    expect((await define(name, [relation("to", { multiple: true, onDelete: "clear" })])).status).toBe(200);
    expect(await holding(name, 'to.name = "two"')).toBe(1);
    expect(await holding("targets", `${name}(to).id != null`)).toBeGreaterThanOrEqual(2);
    await api.request("DELETE", `/api/targets/${two}`, { token });
    expect(await valuesOf(name, "to")).toEqual([[one], [], []]);
    expect(messageOf(await define(name, [relation("to", { collection: "users" })]))).toContain(
      'cannot point to "users" instead of "targets": 1 record has a value',
    );
    expect((await define(name, [relation("to")])).status).toBe(200);
    expect(await valuesOf(name, "to")).toEqual([one, null, null]);
  });

  test("the owner, which a field shows, becomes the first item, and the only item the owner", async () => {
    const by = (more: object = {}) => ({ name: "by", type: "relation", collection: "users", ...more });
    const name = await create({ fields: [by({ owner: true })] });
    const ann = await api.register(`ann-${name}@example.com`);
    await api.request("POST", `/api/${name}`, { body: {}, token: ann.accessToken });
    expect((await define(name, [by({ multiple: true })])).status).toBe(200);
    expect(await valuesOf(name, "by")).toEqual([[ann.user.id]]);
    expect((await define(name, [by({ owner: true })])).status).toBe(200);
    expect(await valuesOf(name, "by")).toEqual([ann.user.id]);
  });

  test("the bounds mean something else, and are checked again", async () => {
    const name = await create({ fields: [text("tag", { max: 2000 })] });
    await add(name, { tag: "x".repeat(1001) });
    expect(messageOf(await define(name, [several("tag")]))).toContain(
      "cannot be multiple: 1 record has a text of more than 1000 characters",
    );
    expect(messageOf(await define(name, [several("tag", { min: 2 })]))).toContain(
      'cannot have "min" 2: 1 record has fewer items',
    );
    const other = await create({ fields: [several("tag")] });
    await add(other, { tag: ["long"] });
    expect(messageOf(await define(other, [text("tag", { max: 3 })]))).toContain(
      'cannot have "max" 3: 1 record has a text that is longer',
    );
  });

  test("unique, owner and a sequence by the field must be removed first", async () => {
    const name = await create({ fields: [text("tag", { unique: true })] });
    expect(messageOf(await define(name, [several("tag", { unique: true })]))).toContain(
      '"unique" means nothing beside "multiple"',
    );
    expect((await define(name, [several("tag")])).status).toBe(200);
  });
});
