/** Fields with `values`: records, order, filters, cursors and migrations. */
import { describe, expect, test } from "bun:test";
import type { RecordPage } from "@socle/protocol";
import { indexesIn, indexTexts } from "../../../test/indexes.ts";
import { type Answer, openApi } from "../../../test/kit.ts";
import { messageOf, openSchemaWorld } from "../../../test/schema-world.ts";

const status = { name: "status", type: "string", values: ["todo", "doing", "done"] };
const n = { name: "n", type: "integer" };
const api = await openApi({
  collections: [
    {
      name: "tasks",
      fields: [status, { ...status, name: "before" }, { ...status, name: "kind", values: ["todo", "a'b"] }, n],
      indexes: [["status", "n"]],
    },
    { name: "slots", fields: [{ ...status, unique: true, required: true }, n] },
    { name: "pairs", fields: [status, n], indexes: [{ fields: ["status", "n"], unique: true }] },
    { name: "notes", fields: [{ name: "task", type: "relation", collection: "tasks" }] },
    { name: "ruled", fields: [status, n], permissions: { read: 'status >= "doing"' } },
  ],
});
const { request } = api;

const post = (collection: string, body: object): Promise<Answer> => request("POST", `/api/${collection}`, { body });
const put = (collection: string, id: string, body: object): Promise<Answer> =>
  request("PUT", `/api/${collection}/${id}`, { body });
const idOf = ({ body }: Answer): string => String(body["id"]);
const ruleOf = ({ body }: Answer): unknown => body["error"]?.["details"]?.["0"]?.["rule"];

async function list(parameters: Record<string, string>, collection = "tasks"): Promise<RecordPage> {
  const answer = await request<RecordPage>("GET", `/api/${collection}?${new URLSearchParams(parameters)}`);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}
const refusal = async (parameters: Record<string, string>): Promise<string> => {
  const answer = await request("GET", `/api/tasks?${new URLSearchParams(parameters)}`);
  expect(answer.status).toBe(400);
  return messageOf(answer);
};
const ns = ({ items }: RecordPage): unknown[] => items.map((item) => item["n"]);

const given = ["done", null, "todo", "doing", "todo", "done", null, "doing"];
const tasks: string[] = [];
for (const [i, value] of given.entries())
  tasks.push(idOf(await post("tasks", { status: value, before: given.at(-1 - i), n: i, kind: "a'b" })));

describe("records", () => {
  test("a value of the list is stored, null too; another value is refused with the list", async () => {
    const refused: [unknown, string][] = [
      ["open", 'status must be "todo", "doing" or "done"'],
      ["Done", 'status must be "todo", "doing" or "done"; did you mean "done"?'],
      ["", 'status must be "todo", "doing" or "done"'],
      ["done ", 'status must be "todo", "doing" or "done"; did you mean "done"?'],
      [1, "status must be a string of Unicode text without NUL"],
      [["todo"], "status must be a string of Unicode text without NUL"],
      [true, "status must be a string of Unicode text without NUL"],
      [{}, "status must be a string of Unicode text without NUL"],
    ];
    for (const [value, message] of refused)
      for (const answer of [
        await post("tasks", { status: value }),
        await put("tasks", tasks[0] ?? "", { status: value }),
      ])
        expect([answer.status, ruleOf(answer), answer.body["error"]?.["details"]?.["0"]?.["message"]]).toEqual([
          400,
          "type",
          message,
        ] as never);
    const made = await post("tasks", { status: null, kind: "a'b", n: 99 });
    expect(made.body).toMatchObject({ status: null, kind: "a'b" });
    await request("DELETE", `/api/tasks/${idOf(made)}`);
    expect(ns(await list({ filter: "n = 99" }))).toEqual([]);
  });

  test("unique: alone and with another field, and the message names the fields", async () => {
    expect((await post("slots", { status: "todo" })).status).toBe(201);
    expect(ruleOf(await post("slots", { status: "todo" }))).toBe("unique");
    expect(ruleOf(await post("slots", {}))).toBe("required");
    const other = idOf(await post("slots", { status: "doing" }));
    expect(ruleOf(await put("slots", other, { status: "todo" }))).toBe("unique");
    expect((await put("slots", other, { status: "done" })).status).toBe(200);
    expect((await post("pairs", { status: "todo", n: 1 })).status).toBe(201);
    expect((await post("pairs", { status: "doing", n: 1 })).status).toBe(201);
    const twin = await post("pairs", { status: "todo", n: 1 });
    expect([twin.status, messageOf(twin)]).toEqual([400, expect.stringContaining("valid")]);
    expect(ruleOf(twin)).toBe("unique");
    const moved = idOf(await post("pairs", { status: null, n: 1 }));
    expect(ruleOf(await put("pairs", moved, { status: "doing" }))).toBe("unique");
  });
});

describe("lists", () => {
  test("sort follows the order of the values; null comes first, and -sort is the reverse", async () => {
    expect(ns(await list({ sort: "status,n" }))).toEqual([1, 6, 2, 4, 3, 7, 0, 5]);
    expect(ns(await list({ sort: "-status,-n" }))).toEqual([5, 0, 7, 3, 4, 2, 6, 1]);
    expect(ns(await list({ sort: "-status,n" }))).toEqual([0, 5, 3, 7, 2, 4, 1, 6]);
  });

  test("every page size gives the same list", async () => {
    for (const sort of ["status", "-status", "status,-n", "-before,status"]) {
      const whole = ns(await list({ sort }));
      for (const limit of ["1", "2", "3"]) {
        const found: unknown[] = [];
        let cursor = "";
        do {
          const page = await list({ sort, limit, ...(cursor !== "" && { cursor }) });
          found.push(...ns(page));
          cursor = page.nextCursor ?? "";
        } while (cursor !== "");
        expect([sort, limit, ...found]).toEqual([sort, limit, ...whole]);
      }
    }
  });

  const filters: [string, number[]][] = [
    ['status = "todo"', [2, 4]],
    ['"todo" = status', [2, 4]],
    ['status != "todo"', [0, 1, 3, 5, 6, 7]],
    ["status = null", [1, 6]],
    ["null != status", [0, 2, 3, 4, 5, 7]],
    ['status > "todo"', [0, 3, 5, 7]],
    ['status >= "doing"', [0, 3, 5, 7]],
    ['status < "done"', [2, 3, 4, 7]],
    ['"doing" <= status', [0, 3, 5, 7]],
    ['!(status <= "doing")', [0, 1, 5, 6]],
    ['status in ("todo", "done")', [0, 2, 4, 5]],
    ['status in (null, "done")', [0, 1, 5, 6]],
    ["status = before", [0, 1, 2, 3, 4, 5, 6, 7].filter((i) => given[i] === given.at(-1 - i))],
    ["status < before", [2, 4, 7]],
    ['status ~ "DO"', [0, 2, 3, 4, 5, 7]],
    ['lower(status) = "doing"', [3, 7]],
    ["length(status) = 4", [0, 2, 4, 5]],
    ["status = kind", []],
    ["status = @user.role", []],
    ['status in ("todo", @user.role)', [2, 4]],
    ['kind = "a\'b" && n < 2', [0, 1]],
  ];
  for (const [filter, expected] of filters)
    test(filter, async () => {
      expect(ns(await list({ filter, sort: "n" }))).toEqual(expected);
    });

  test("through a relation: filter and sort", async () => {
    for (const i of [0, 2, 3]) await post("notes", { task: tasks[i] });
    const found = async (parameters: Record<string, string>): Promise<unknown[]> =>
      (await list(parameters, "notes")).items.map((item) => tasks.indexOf(String(item["task"])));
    expect(await found({ sort: "task.status" })).toEqual([2, 3, 0]);
    expect(await found({ filter: 'task.status >= "doing"', sort: "-task.status" })).toEqual([0, 3]);
    expect(await found({ filter: 'task.status = "todo"' })).toEqual([2]);
    expect(await found({ filter: 'task.status in ("todo", "done")', sort: "task.n" })).toEqual([0, 2]);
    expect(ns(await list({ filter: 'notes(task).task.status = "done"' }))).toEqual([0]);
  });

  test("a rule is a comparison in this order, too", async () => {
    for (const [i, value] of ["todo", "doing", null, "done"].entries()) await post("ruled", { status: value, n: i });
    expect(ns(await list({ sort: "n" }, "ruled"))).toEqual([1, 3]);
  });

  test("a value outside the list is an error that names the list", async () => {
    expect(await refusal({ filter: 'status = "open"' })).toBe(
      '"filter": at position 10: "open" is none of the values of the field; allowed: "todo", "doing", "done".',
    );
    expect(await refusal({ filter: 'status in ("todo", "dones")' })).toContain('did you mean "done"?');
    expect(await refusal({ filter: "status > 5" })).toContain("cannot be compared");
    expect(await refusal({ filter: "status > null" })).toContain("needs two values");
    expect(await refusal({ filter: "status > kind" })).toContain("follows the order of the values");
    expect(await refusal({ filter: "status > @user.role" })).toContain("follows the order of the values");
    expect(await refusal({ filter: "status = n" })).toContain("cannot be compared");
  });
});

describe("migrations", async () => {
  const { api: admin, send, create } = await openSchemaWorld();
  const text = (more: object = {}) => ({ name: "s", type: "string", ...more });
  const add = async (collection: string, ...values: unknown[]): Promise<void> => {
    for (const s of values)
      expect((await admin.request("POST", `/api/${collection}`, { body: { s } })).status).toBe(201);
  };
  const change = (name: string, field: object, more: object = {}): Promise<Answer> =>
    send("PUT", `/collections/${name}`, { fields: [field], ...more });
  const sorted = async (name: string, parameters: object = {}): Promise<unknown> => {
    const search = new URLSearchParams({ sort: "s", ...parameters });
    return (await admin.request<RecordPage>("GET", `/api/${name}?${search}`)).body.items.map((item) => item["s"]);
  };

  test("to values and back; texts outside the list are refused with a count and the texts", async () => {
    const name = await create({ fields: [text()], indexes: [["s"]] });
    await add(name, "b", "a", null, "c", "c");
    for (const path of [`/collections/${name}?dryRun=true`, `/collections/${name}`]) {
      const refused = await send("PUT", path, { fields: [text({ values: ["a", "b"] })] });
      expect(refused.status).toBe(400);
      expect(messageOf(refused)).toMatch(/cannot have "values" \["a","b"\]: 2 records have another value: "c" \(rec_/);
    }
    expect(await sorted(name)).toEqual([null, "a", "b", "c", "c"]);
    const plan = await send("PUT", `/collections/${name}?dryRun=true`, { fields: [text({ values: ["c", "b", "a"] })] });
    expect(plan.body).toMatchObject({ steps: [{ step: "values", field: "s", records: 5 }] });
    expect((await change(name, text({ values: ["c", "b", "a"] }))).status).toBe(200);
    expect(await sorted(name)).toEqual([null, "c", "c", "b", "a"]);
    expect(await indexTexts(admin.service, name)).toEqual(["_order_s"]);
    expect((await change(name, text())).status).toBe(200);
    expect(await sorted(name)).toEqual([null, "a", "b", "c", "c"]);
    expect(await indexTexts(admin.service, name)).toEqual(["s"]);
  });

  test("another order is in force at once, in sort, filter, index and cursor", async () => {
    const name = await create({ fields: [text({ values: ["a", "b", "c"], unique: true })] });
    await add(name, "b", "c", "a");
    const first = (await admin.request<RecordPage>("GET", `/api/${name}?sort=s&limit=1`)).body;
    expect((await change(name, text({ values: ["c", "x", "a", "b"], unique: true }))).status).toBe(200);
    expect(await sorted(name)).toEqual(["c", "a", "b"]);
    expect(await sorted(name, { filter: 's > "c"' })).toEqual(["a", "b"]);
    expect(await sorted(name, { filter: 's = "a"' })).toEqual(["a"]);
    const later = await admin.request("GET", `/api/${name}?sort=s&limit=1&cursor=${first.nextCursor}`);
    expect([later.status, messageOf(later)]).toEqual([400, expect.stringContaining('"cursor"')]);
    expect((await admin.request("POST", `/api/${name}`, { body: { s: "a" } })).status).toBe(400);
    await add(name, "x");
    expect(await sorted(name)).toEqual(["c", "x", "a", "b"]);
    const check = await admin.service.database.reader.get<{ integrity_check: string }>("PRAGMA integrity_check");
    expect(check?.integrity_check).toBe("ok");
  });

  test("a value in use cannot be dropped, an unused value can; a value that a rule names stays", async () => {
    const name = await create({ fields: [text({ values: ["a", "b", "c"] })], permissions: { update: 's = "c"' } });
    await add(name, "a", "b", "b");
    expect(messageOf(await change(name, text({ values: ["a", "c"] })))).toMatch(/2 records have another value: "b" \(/);
    expect(messageOf(await change(name, text({ values: ["a", "b"] })))).toMatch(/"c" is none of the values/);
    expect((await change(name, text({ values: ["a", "b"] }), { permissions: null })).status).toBe(200);
    expect(await sorted(name)).toEqual(["a", "b", "b"]);
  });

  test("renamed, also with another order, and swapped with another; an index stays unchanged", async () => {
    const t = text({ name: "t", values: ["x", "y"] });
    const name = await create({ fields: [text({ values: ["b", "a"] }), t], indexes: [["s", "t"]] });
    await admin.request("POST", `/api/${name}`, { body: { s: "a", t: "y" } });
    const [before] = await indexesIn(admin.service, name);
    const fields = [
      { ...text({ values: ["b", "a"] }), name: "rowid", renamedFrom: "s" },
      { ...t, name: "s", renamedFrom: "t" },
    ];
    expect((await send("PUT", `/collections/${name}`, { fields })).status).toBe(200);
    const [after] = await indexesIn(admin.service, name);
    expect(after).toMatchObject({ text: "_order__field_rowid, _order_s", place: before?.place ?? 0 });
    expect((await admin.request<RecordPage>("GET", `/api/${name}?sort=rowid,-s`)).body.items[0]).toMatchObject({
      rowid: "a",
      s: "y",
    });
    const next = [
      { name: "q", type: "string", values: ["y", "x"], renamedFrom: "s" },
      { name: "s", type: "string", values: ["a", "b"], renamedFrom: "rowid" },
    ];
    expect((await send("PUT", `/collections/${name}`, { fields: next })).status).toBe(200);
    expect((await admin.request<RecordPage>("GET", `/api/${name}?filter=s < "b"`)).body.items[0]).toMatchObject({
      s: "a",
      q: "y",
    });
    const last = [{ name: "s", type: "string", values: ["a", "b"], renamedFrom: null }];
    const dropped = await send("PUT", `/collections/${name}`, { fields: last, indexes: null });
    expect(dropped.status).toBe(200);
  });
});
