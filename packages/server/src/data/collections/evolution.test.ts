/** Changes of definitions that carry the stored values along: a wider type, renamed values, renamed collections. */
import { describe, expect, test } from "bun:test";
import { eventsSince, openApi } from "../../../test/kit.ts";
import { project } from "../../../test/project.ts";

describe("an integer becomes a float", () => {
  const integer = { name: "n", type: "integer", unique: true, default: 5, min: -(2 ** 53) + 1 };
  const definition = (field: object) => ({
    name: "sums",
    fields: [{ name: "group", type: "string" }, field],
    indexes: [["group", "n"]],
  });

  test("every value stays, with the index, the default and the bounds", async () => {
    const { default: _, ...start } = integer;
    const p = await project(definition(start));
    const numbers = [2 ** 53 - 1, -(2 ** 53) + 1, 0, 7, null];
    for (const n of numbers) await p.add("sums", { group: "a", n });
    const before = await p.api.request("GET", "/api/sums?sort=n");
    const api = await p.restart(
      definition({ ...start, unique: true, type: "float", convertedFrom: "integer", max: 2 ** 53 }),
    );
    expect((await api.request("GET", "/api/sums?sort=n")).body).toEqual(before.body);
    expect((await api.request("POST", "/api/sums", { body: { n: 7 } })).status).toBe(400);
    expect((await api.request("POST", "/api/sums", { body: { n: 2 ** 54 } })).status).toBe(400);
    expect((await api.request("POST", "/api/sums", { body: { n: 0.5 } })).status).toBe(201);
    const found = await api.request("GET", `/api/sums?filter=${encodeURIComponent("n = 7")}`);
    expect(found.body["items"]).toHaveLength(1);
    const sum = await api.request("GET", `/api/sums?group=group&aggregate=${encodeURIComponent("max(n),sum(n)")}`);
    expect<unknown>(sum.body["items"]).toContainEqual({ group: "a", "max(n)": 2 ** 53 - 1, "sum(n)": 7 });
  });

  test("the plan names both types; a rename goes along", async () => {
    const { request, admin } = await openApi({ collections: [definition({ name: "n", type: "integer" })] });
    const token = await admin();
    await request("POST", "/api/sums", { body: { n: 3 } });
    const body = {
      fields: [
        { name: "group", type: "string" },
        { name: "x", type: "float", renamedFrom: "n", convertedFrom: "integer" },
      ],
    };
    const planned = await request("PUT", "/api/admin/collections/sums?dryRun=true", { token, body });
    expect<unknown>(planned.body["steps"]).toEqual([
      { step: "rename", field: "x", from: "n", records: 1 },
      { step: "type", field: "x", from: "integer", to: "float", records: 1 },
    ]);
    expect((await request("PUT", "/api/admin/collections/sums", { token, body })).status).toBe(200);
    expect((await request("GET", "/api/sums")).body["items"]).toMatchObject([{ x: 3 }]);
  });

  test("and stays an integer without the word: by PUT, by a file and by the whole schema", async () => {
    const collection = definition({ name: "n", type: "integer" });
    const { request, admin } = await openApi({ collections: [collection] });
    const token = await admin();
    const float = { name: "n", type: "float" };
    const message = `field "n": its type cannot change from integer to float; add a field with another name; "convertedFrom": "integer" in the field keeps the values`;
    for (const [path, body] of [
      ["collections/sums", { fields: [collection.fields[0], float] }],
      ["collections/sums?dryRun=true", { fields: [collection.fields[0], float] }],
      ["schema.json", { collections: [definition(float)] }],
    ] as const) {
      const refused = await request("PUT", `/api/admin/${path}`, { token, body });
      expect([path, refused.status, String(refused.body["error"]?.["message"]).includes(message)]).toEqual([
        path,
        400,
        true,
      ]);
    }
    const p = await project(collection);
    await expect(p.restart(definition(float))).rejects.toThrow(message);
    for (const field of [
      { ...float, type: "integer" },
      { ...float, convertedFrom: "text" },
    ])
      expect(
        (
          await request("PUT", "/api/admin/collections/sums", {
            token,
            body: { fields: [{ ...field, convertedFrom: field["convertedFrom" as never] ?? "integer" }] },
          })
        ).status,
      ).toBe(400);
    // The word may stay, and is not stored.
    const body = { fields: [{ ...float, convertedFrom: "integer" }] };
    for (let i = 0; i < 2; i++)
      expect(
        (await request("PUT", "/api/admin/collections/sums", { token, body: { ...body, indexes: null } })).body[
          "fields"
        ],
      ).toEqual([float] as never);
  });

  test("a float becomes no integer, and a sequence no float", async () => {
    const { request, admin } = await openApi({
      collections: [
        { name: "floats", fields: [{ name: "n", type: "float" }] },
        { name: "numbers", fields: [{ name: "n", type: "integer", sequence: true }] },
      ],
    });
    const token = await admin();
    const to = async (name: string, field: object): Promise<unknown> =>
      (await request("PUT", `/api/admin/collections/${name}`, { token, body: { fields: [field] } })).body["error"];
    expect(await to("floats", { name: "n", type: "integer" })).toMatchObject({
      message: 'field "n": its type cannot change from float to integer; add a field with another name',
    });
    expect(await to("numbers", { name: "n", type: "float", convertedFrom: "integer", sequence: true })).toMatchObject({
      message: 'field "n": "sequence" means nothing on type float; it is for integer',
    });
  });
});

describe("a value gets another name", () => {
  const wip = { name: "doing", renamedFrom: "wip" };
  const status = (values: unknown[], more: object = {}) => ({ name: "status", type: "string", values, ...more });
  const tags = (values: unknown[]) => ({ name: "tags", type: "string", multiple: true, values });
  const text = { name: "text", type: "string" };
  const number = { name: "no", type: "integer", sequence: ["status"] };
  const fields = (old: unknown, more: object = {}) => [
    text,
    number,
    status(["todo", old, "done"], more),
    tags(["a", old, "c"]),
  ];
  const tasks = (old: unknown) => ({
    name: "tasks",
    fields: fields(old, { default: old === "wip" ? "wip" : "doing" }),
    indexes: [{ fields: ["status", "text"], unique: true }],
    search: ["text", "status"],
  });

  test("in every record, in items, sequences, words and the order, and in rules of any collection", async () => {
    const rule = 'status = "wip" || status in ("wip", "done") || "wip" = status || tags = \'wip\' || text = "wip"';
    const { request, admin, service } = await openApi({
      collections: [
        { ...tasks("wip"), permissions: { read: "public", update: rule } },
        {
          name: "notes",
          fields: [text, { name: "task", type: "relation", collection: "tasks" }],
          permissions: { read: 'task.status != "wip" && task.notes(task)[task.tags = "wip"]', create: "public" },
        },
      ],
    });
    const token = await admin();
    const post = async (body: object): Promise<string> =>
      String((await request("POST", "/api/tasks", { token, body })).body["id"]);
    const first = await post({ text: "one", tags: ["c", "wip", "a"] });
    await post({ text: "two", status: "todo", tags: ["c"] });
    const { headers } = await request("GET", `/api/tasks/${first}`);
    const body = {
      fields: fields(wip, { default: "doing" }),
    };
    const planned = await request("PUT", "/api/admin/collections/tasks?dryRun=true", { token, body });
    expect<unknown>(planned.body["steps"]).toContainEqual({
      step: "values",
      field: "status",
      renamed: [{ from: "wip", to: "doing", records: 1 }],
      records: 2,
    });
    const events = await eventsSince(service);
    expect((await request("PUT", "/api/admin/collections/tasks", { token, body })).body["error"]).toBeUndefined();

    const list = await request("GET", "/api/tasks?sort=-status");
    expect(list.body["items"]).toMatchObject([
      { text: "one", status: "doing", no: 1, tags: ["c", "doing", "a"] },
      { text: "two", status: "todo", no: 1, tags: ["c"] },
    ]);
    const answer = await request("GET", `/api/tasks/${first}`, {
      headers: { "If-None-Match": headers.get("etag") ?? "" },
    });
    expect(answer.status).toBe(200);
    const found = async (query: string): Promise<number | undefined> => {
      const { items } = (await request("GET", `/api/tasks?${query}`)).body;
      return Array.isArray(items) ? items.length : undefined;
    };
    expect(await found(`filter=${encodeURIComponent('tags = "doing"')}`)).toBe(1);
    expect(await found(`filter=${encodeURIComponent('tags = "wip"')}`)).toBeUndefined();
    expect([await found("search=doing"), await found("search=wip")]).toEqual([1, 0]);
    expect((await request("POST", "/api/tasks", { body: { text: "three", status: "doing" } })).body).toMatchObject({
      no: 2,
    });
    const refused = await request("POST", "/api/tasks", { body: { text: "one", status: "doing" } });
    expect(refused.body["error"]).toMatchObject({ details: [{ rule: "unique" }, { rule: "unique" }] });
    expect((await request("POST", "/api/tasks", { body: { status: "wip" } })).status).toBe(400);

    const rules = service.collections.all().map(({ definition }) => definition.permissions);
    expect(rules).toEqual([
      { read: 'task.status != "doing" && task.notes(task)[task.tags = "doing"]', create: "public" },
      {
        read: "public",
        update: 'status = "doing" || status in ("doing", "done") || "doing" = status || tags = "doing" || text = "wip"',
      },
    ]);
    // The log tells what was written then.
    expect((await eventsSince(service)).slice(0, events.length)).toEqual(events);
  });

  test("a refused rename of a value changes nothing", async () => {
    const { request, admin } = await openApi({ collections: [{ name: "tasks", fields: [status(["todo", "wip"])] }] });
    const token = await admin();
    await request("POST", "/api/tasks", { body: { status: "wip" } });
    const to = async (...values: unknown[]): Promise<unknown> => {
      const body = { fields: [status(values)] };
      return (await request("PUT", "/api/admin/collections/tasks", { token, body })).body["error"]?.["message"];
    };
    expect(await to({ name: "todo", renamedFrom: "wip" })).toBe(
      'field "status": "values": "todo" is a value already, so "wip" cannot become it',
    );
    expect(await to({ name: "a", renamedFrom: "wip" }, { name: "b", renamedFrom: "wip" })).toBe(
      'field "status": "values": two values have "renamedFrom": "wip"',
    );
    expect(await to({ name: "a", from: "wip" })).toContain(
      'must be an array of texts, or of { "name", "renamedFrom" }',
    );
    // A mistake in the old name loses nothing: the records still have the value.
    const advice = '); if "doing" is the new name of "wip", write { "name": "doing", "renamedFrom": "wip" }';
    for (const doing of ["doing", { name: "doing", renamedFrom: "wipp" }]) {
      const message = await to("todo", doing);
      expect(message).toContain('1 record has another value: "wip"');
      expect(message).toEndWith(advice);
    }
    expect(await to("todo")).not.toContain("renamedFrom");
    expect((await request("GET", "/api/tasks")).body["items"]).toMatchObject([{ status: "wip" }]);
  });

  test("a file that keeps the rename does not rename a later value of the old name", async () => {
    const definition = (...values: unknown[]) => ({ name: "tasks", fields: [status(values)] });
    const p = await project(definition("todo", "wip"));
    await p.add("tasks", { status: "wip" });
    await p.restart(definition("todo", wip));
    await p.restart(definition("todo", wip, "wip"));
    await p.add("tasks", { status: "wip" });
    await p.restart(definition("wip", "todo", wip));
    expect(await p.all("tasks")).toEqual([{ status: "wip" }, { status: "doing" }]);
    // A new database starts from the same files.
    const { service } = await openApi({ collections: [definition("wip", "todo", wip)] });
    expect(service.collections.named("tasks").definition.fields[0]?.values).toEqual(["wip", "todo", "doing"]);
  });
});

test("a new field has no name that filters take for a value; a field of an earlier version keeps the name", async () => {
  const old = { name: "old", fields: [{ name: "nil", type: "integer" }] };
  const first = await openApi({ collections: [old, { name: "new", fields: [{ name: "a", type: "integer" }] }] });
  const token = await first.admin();
  const put = (name: string, fields: object[], api = first) =>
    api.request("PUT", `/api/admin/collections/${name}`, { token, body: { fields } });
  for (const name of ["null", "true", "false"]) {
    const field = { name, type: "integer" };
    const refused = [
      await first.request("POST", "/api/admin/collections", { token, body: { name: "other", fields: [field] } }),
      await put("new", [{ name: "a", type: "integer" }, field]),
      await put("new", [{ ...field, renamedFrom: "a" }]),
    ];
    for (const { status, body } of refused)
      expect([status, String(body["error"]?.["message"])]).toEqual([400, expect.stringContaining(`"${name}"`)]);
  }
  expect((await put("new", [{ name: "Null", type: "integer" }])).status).toBe(200);
  expect((await first.request("POST", "/api/old", { body: { nil: 5 } })).status).toBe(201);
  await first.service.database.transact((tx) => {
    tx.run('ALTER TABLE old RENAME COLUMN nil TO "null"');
    tx.run("UPDATE _collections SET definition = replace(definition, 'nil', 'null')");
  });
  await first.close();
  const { folder } = first.config;
  const file = {
    name: "old",
    fields: [
      { name: "null", type: "integer" },
      { name: "more", type: "text" },
    ],
  };
  await Bun.write(`${folder}/collections/00.json`, JSON.stringify(file));
  const second = await openApi({ folder });
  expect((await second.request("GET", "/api/old")).body["items"]).toMatchObject([{ null: 5, more: null }]);
});
