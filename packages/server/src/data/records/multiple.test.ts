/** Multiple fields: arrays of texts, ids of records and ids of files, as values, in filters, beside records, and when a target goes. */
import { describe, expect, test } from "bun:test";
import { fileForm, formType } from "../../../test/forms.ts";
import { type Answer, eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const several = (name: string, type: string, more: object = {}) => ({ name, type, multiple: true, ...more });
const title = { name: "title", type: "string" };
const api = await openApi({
  collections: [
    { name: "labels", fields: [{ name: "name", type: "string" }, several("words", "string")] },
    {
      name: "tasks",
      fields: [
        title,
        several("labels", "relation", { collection: "labels", onDelete: "clear" }),
        several("tags", "string", { max: 3, min: 2, regex: "^[a-z]+$" }),
        several("kinds", "string", { values: ["bug", "idea"], default: ["idea"] }),
        several("blockers", "relation", { collection: "tasks" }),
        several("files", "file"),
        several("watchers", "relation", { collection: "users", default: ["@user.id"] }),
      ],
    },
    { name: "needs", fields: [title, several("tasks", "relation", { collection: "tasks", onDelete: "restrict" })] },
    { name: "parts", fields: [title, several("tasks", "relation", { collection: "tasks", onDelete: "cascade" })] },
    { name: "strict", fields: [several("tags", "string", { required: true })] },
    { name: "many", fields: [several("tags", "string"), several("more", "string", { max: 1000 })] },
    {
      name: "rooms",
      fields: [
        title,
        several("members", "relation", { collection: "users" }),
        several("notes", "string", { permissions: { read: "members = @user.id", update: "members = @user.id" } }),
      ],
      permissions: { read: "members = @user.id", create: "members = @user.id", update: "members = @user.id" },
    },
    { name: "inside", fields: [title, several("rooms", "relation", { collection: "rooms" })] },
  ],
});
const { request, service } = api;
const admin = await api.admin();
const ann = await api.register("ann@example.com");
const bob = await api.register("bob@example.com");

type Fields = Record<string, unknown>;
const create = (collection: string, body: object, token = admin): Promise<Answer> =>
  request("POST", `/api/${collection}`, { body, token });
async function make(collection: string, body: object, token = admin): Promise<string> {
  const answer = await create(collection, body, token);
  expect([answer.status, answer.body["error"]]).toEqual([201, undefined as never]);
  return String(answer.body["id"]);
}
const read = async (collection: string, id: string): Promise<Fields> =>
  (await request<Fields>("GET", `/api/${collection}/${id}`, { token: admin })).body;
async function found(collection: string, query: Record<string, string>, token = admin): Promise<Fields[]> {
  const answer = await request<{ items: Fields[] }>("GET", `/api/${collection}?${new URLSearchParams(query)}`, {
    token,
  });
  expect(answer.status).toBe(200);
  return answer.body.items;
}
const titles = async (filter: string, token = admin, collection = "tasks"): Promise<string> =>
  (await found(collection, { filter, sort: "title" }, token)).map((each) => each["title"]).join();
async function upload(): Promise<string> {
  const options = {
    body: fileForm("content", { filename: "a.txt" }),
    token: admin,
    headers: { "Content-Type": formType },
  };
  return String((await request("POST", "/api/storage/upload", options)).body["id"]);
}
const detailsOf = async (collection: string, body: object): Promise<unknown> =>
  (await create(collection, body)).body["error"]?.["details"];

describe("values", () => {
  test("the order is kept, an absent array and null are empty, and PUT replaces", async () => {
    const id = await make("tasks", { tags: ["b", "a"], labels: null });
    const { tags, labels, kinds, blockers } = await read("tasks", id);
    expect({ tags, labels, kinds, blockers }).toEqual({ tags: ["b", "a"], labels: [], kinds: ["idea"], blockers: [] });
    const put = (body: object) => request<Fields>("PUT", `/api/tasks/${id}`, { body, token: admin });
    expect((await put({ tags: ["c", "a"] })).body["tags"]).toEqual(["c", "a"]);
    expect((await put({ title: "t" })).body["tags"]).toEqual(["c", "a"]);
    expect((await put({ tags: [] })).body["tags"]).toEqual([]);
    expect((await put({ kinds: null })).body["kinds"]).toEqual([]);
  });

  const item = (field: string, place: number, rule: string, message: RegExp) => [
    { field, item: place, rule, message: expect.stringMatching(message) },
  ];
  const whole = (field: string, rule: string, message: RegExp) => [
    { field, rule, message: expect.stringMatching(message) },
  ];
  const long = "x".repeat(1001);
  test.each<[string, string, unknown, unknown]>([
    ["a text", "tasks", { tags: "a" }, whole("tags", "type", /^tags must be an array, each item of it a string/)],
    ["an object", "tasks", { tags: { 0: "a" } }, whole("tags", "type", /must be an array/)],
    ["a number", "tasks", { labels: 5 }, whole("labels", "type", /each item of it the id of a record/)],
    ["false", "tasks", { files: false }, whole("files", "type", /each item of it the id of a stored file/)],
    ["too few", "tasks", { tags: ["a"] }, whole("tags", "min", /^tags must have at least 2 items$/)],
    ["too many", "tasks", { tags: ["a", "b", "c", "d"] }, whole("tags", "max", /^tags must have at most 3 items$/)],
    ["a number in it", "tasks", { tags: ["a", 5] }, item("tags", 1, "type", /^tags\[1\] must be a string/)],
    ["null in it", "tasks", { tags: ["a", null] }, item("tags", 1, "type", /^tags\[1\] must be a string/)],
    ["an array in it", "tasks", { tags: [["a"], "b"] }, item("tags", 0, "type", /^tags\[0\] must be a string/)],
    ["an empty text", "tasks", { labels: [""] }, item("labels", 0, "type", /^labels\[0\] must not be empty$/)],
    ["NUL", "many", { tags: ["a", "\0"] }, item("tags", 1, "type", /without NUL/)],
    ["a lone surrogate", "many", { tags: ["\ud800"] }, item("tags", 0, "type", /a string of Unicode text/)],
    ["an item twice", "many", { tags: ["a", "b", "a"] }, item("tags", 2, "unique", /^tags\[2\] is "a", as item 0 is/)],
    ["no match", "tasks", { tags: ["a", "B"] }, item("tags", 1, "regex", /^tags\[1\] must match/)],
    [
      "a long text",
      "many",
      { tags: ["a", long] },
      item("tags", 1, "max", /^tags\[1\] must be at most 1000 characters long$/),
    ],
    ["another value", "tasks", { kinds: ["idea", "bugg"] }, item("kinds", 1, "type", /did you mean "bug"\?$/)],
    ["none", "strict", { tags: [] }, whole("tags", "required", /^tags is required$/)],
    ["null", "strict", { tags: null }, whole("tags", "required", /^tags is required$/)],
    ["nothing", "strict", {}, whole("tags", "required", /^tags is required$/)],
    ["101 items", "many", { tags: Array.from({ length: 101 }, String) }, whole("tags", "max", /at most 100 items/)],
    ["1001 items", "many", { more: Array.from({ length: 1001 }, String) }, whole("more", "max", /at most 1000 items/)],
    ["an array of a single field", "tasks", { title: ["a"] }, whole("title", "type", /^title must be a string/)],
  ])("%s is refused", async (_name, collection, body, details) => {
    expect(await detailsOf(collection, body as object)).toEqual(details);
  });

  test("the bounds themselves are allowed", async () => {
    const tags = Array.from({ length: 100 }, (_, i) => String(i));
    const more = Array.from({ length: 1000 }, (_, i) => `${"\u{1f600}".repeat(95)}${i}`);
    const id = await make("many", { tags, more });
    expect(await read("many", id)).toMatchObject({ tags, more });
    await make("strict", { tags: ["x".repeat(1000)] });
  });

  test("each id must exist; ids that the record already has may be gone", async () => {
    const label = await make("labels", { name: "a" });
    const file = await upload();
    const gone = await make("tasks", {});
    expect(
      await detailsOf("tasks", { labels: [label, "rec_x", "rec_y"], files: ["fil_x", file], watchers: ["usr_x"] }),
    ).toEqual([
      {
        field: "labels",
        item: 1,
        rule: "relation",
        message: 'labels[1] points to "rec_x", but there is no such record of "labels"',
      },
      {
        field: "labels",
        item: 2,
        rule: "relation",
        message: 'labels[2] points to "rec_y", but there is no such record of "labels"',
      },
      {
        field: "files",
        item: 0,
        rule: "file",
        message: 'files[0] points to "fil_x", but there is no such stored file',
      },
      {
        field: "watchers",
        item: 0,
        rule: "relation",
        message: 'watchers[0] points to "usr_x", but there is no such record of "users"',
      },
    ] as never);
    const id = await make("tasks", { labels: [label], files: [file], blockers: [gone] });
    await request("DELETE", `/api/tasks/${gone}`, { token: admin });
    const put = (blockers: string[]) => request("PUT", `/api/tasks/${id}`, { body: { blockers }, token: admin });
    expect((await put([gone])).status).toBe(200);
    expect((await put([gone, id])).status).toBe(200);
    expect((await put([gone, "rec_other"])).body["error"]?.["details"]).toMatchObject([{ field: "blockers", item: 1 }]);
    expect((await put([])).status).toBe(200);
    // The id leads nowhere, and was not in the record before.
    expect((await put([gone])).status).toBe(400);
  });

  test("the caller is the default of a relation to users; an anonymous caller is null", async () => {
    const mine = await request<Fields>("POST", "/api/tasks", { body: {}, token: ann.accessToken });
    expect(mine.body["watchers"]).toEqual([ann.user.id]);
    expect((await request<Fields>("POST", "/api/tasks", { body: {} })).body["watchers"]).toEqual([]);
    const body = { watchers: [] };
    expect((await request<Fields>("POST", "/api/tasks", { body, token: ann.accessToken })).body["watchers"]).toEqual(
      [],
    );
  });

  test("a batch refers to its own records inside an array, and an import keeps the array", async () => {
    const operations = [
      { method: "create", collection: "labels", body: { name: "one" } },
      { method: "create", collection: "labels", body: { name: "two" } },
      { method: "create", collection: "tasks", body: { labels: [{ $ref: 1 }, { $ref: 0 }] } },
    ];
    const { body } = await request("POST", "/api/batch", { body: { operations }, token: admin });
    const ids = [0, 1, 2].map((i) => String(body["results"]?.[i]?.["body"]?.["id"]));
    expect((await read("tasks", ids[2] ?? ""))["labels"]).toEqual([ids[1], ids[0]]);
    const twice = [
      operations[0],
      { method: "create", collection: "tasks", body: { labels: [{ $ref: 0 }, { $ref: 0 }] } },
    ];
    const refused = await request("POST", "/api/batch", { body: { operations: twice }, token: admin });
    expect(refused.body["error"]?.["details"]).toMatchObject([
      { operation: 1, field: "labels", item: 1, rule: "unique" },
    ]);
  });
});

describe("filters", () => {
  test("a comparison means some item, its opposite no item, null an empty array", async () => {
    const [bug, ui] = [await make("labels", { name: "bug", words: ["x"] }), await make("labels", { name: "ui" })];
    const a = await make("tasks", { title: "fa", labels: [bug, ui], tags: ["red", "blue"] });
    await make("tasks", { title: "fb", labels: [ui], kinds: [], blockers: [a] });
    await make("tasks", { title: "fc", kinds: ["bug", "idea"] });
    const rows: [string, string][] = [
      [`labels = "${bug}"`, "fa"],
      [`labels != "${bug}"`, "fb,fc"],
      [`labels in ("${bug}", "${ui}")`, "fa,fb"],
      [`labels in ("${bug}", null)`, "fa,fc"],
      ["labels = null", "fc"],
      ["labels != null", "fa,fb"],
      ['labels.name = "ui"', "fa,fb"],
      ['labels.name != "bug"', "fb,fc"],
      ['labels.name ~ "B"', "fa"],
      ['labels.name !~ "B"', "fb,fc"],
      ['labels.words = "x"', "fa"],
      ['tags ~ "LU"', "fa"],
      ['tags > "p"', "fa"],
      ['lower(tags) = "red"', "fa"],
      ["length(labels) > 1", "fa"],
      ["length(labels) = 0", "fc"],
      ['kinds = "bug"', "fc"],
      ["kinds = null", "fb"],
      ['blockers.title = "fa"', "fb"],
      ['blockers.labels.name = "bug"', "fb"],
      ['tasks(blockers).title = "fb"', "fa"],
      ['tasks(blockers)[title = "fb" && labels = null]', ""],
      ['tasks(blockers)[labels.name = "ui"]', "fa"],
      ['labels.tasks(labels).title = "fb"', "fa,fb"],
      ['!(labels.name = "ui")', "fc"],
    ];
    for (const [filter, expected] of rows)
      expect([filter, await titles(`(${filter}) && title ~ "f"`)]).toEqual([filter, expected]);
    expect(
      (await found("labels", { filter: 'tasks(labels).title = "fa"', sort: "name" })).map(({ name }) => name),
    ).toEqual(["bug", "ui"]);
  });

  test("the table of the items follows each change", async () => {
    const id = await make("tasks", { title: "follow", tags: ["one", "two"] });
    const has = async (tag: string): Promise<string> => titles(`tags = "${tag}" && title = "follow"`);
    expect([await has("one"), await has("two"), await has("three")]).toEqual(["follow", "follow", ""]);
    await request("PUT", `/api/tasks/${id}`, { body: { tags: ["two", "three"] }, token: admin });
    expect([await has("one"), await has("two"), await has("three")]).toEqual(["", "follow", "follow"]);
    await request("PUT", `/api/tasks/${id}`, { body: { tags: ["three", "two"] }, token: admin });
    expect([await has("two"), await has("three")]).toEqual(["follow", "follow"]);
    await request("DELETE", `/api/tasks/${id}`, { token: admin });
    const left = await service.database.reader.all(
      `SELECT value FROM "_items_tasks.tags" WHERE value IN ('one', 'two', 'three')`,
    );
    expect(left).toEqual([]);
  });

  test.each([
    ["sort=labels", '"sort": "labels" has several items'],
    ["sort=labels.name", '"sort": "labels" has several items'],
    ["group=labels.gone", '"group": "labels" has no field "gone"'],
    ["group=tags.length", '"group": "tags" is a text'],
    ["aggregate=max(tags)", '"max(tags)": "tags" has several items'],
    ["filter=title = tags", 'at position 9: "tags" has several items'],
    ["filter=labels = 5", '"labels", a text, cannot be compared with 5'],
  ])("%s is refused", async (query, message) => {
    const answer = await request("GET", `/api/tasks?${query.replace("=", "=").replaceAll(" ", "%20")}`, {
      token: admin,
    });
    expect(answer.status).toBe(400);
    expect(String(answer.body["error"]?.["message"])).toContain(message);
  });
});

describe("records beside a record", () => {
  test("expand gives arrays in the order of the items, and the records that point here", async () => {
    const [x, y] = [await make("labels", { name: "x" }), await make("labels", { name: "y" })];
    const one = await make("tasks", { title: "e1", labels: [y, x] });
    const two = await make("tasks", { title: "e2", labels: [x], blockers: [one] });
    const none = await make("tasks", { title: "e3" });
    const query = { filter: 'title ~ "e"', sort: "title", fields: "title,labels.name,blockers.labels.name" };
    const of = (id: string) => (item: Fields) => item["title"] === id;
    const items = await found("tasks", query);
    expect(items.find(of("e1"))).toEqual({
      title: "e1",
      expand: { labels: [{ name: "y" }, { name: "x" }], blockers: [] },
    });
    expect(items.find(of("e2"))).toEqual({
      title: "e2",
      expand: { labels: [{ name: "x" }], blockers: [{ expand: { labels: [{ name: "y" }, { name: "x" }] } }] },
    });
    expect(items.find(of("e3"))).toEqual({ title: "e3", expand: { labels: [], blockers: [] } });
    const back = await found("labels", {
      filter: `id in ("${x}", "${y}")`,
      sort: "name",
      fields: "name,tasks(labels).title",
    });
    expect(back).toEqual([
      { name: "x", expand: { "tasks(labels)": [{ title: "e2" }, { title: "e1" }] } },
      { name: "y", expand: { "tasks(labels)": [{ title: "e1" }] } },
    ]);
    const single = await request<Fields>("GET", `/api/tasks/${two}?expand=labels,tasks(blockers)&fields=labels.name`, {
      token: admin,
    });
    expect(single.body["expand"]).toMatchObject({ labels: [{ name: "x" }], "tasks(blockers)": [] });
    expect(none).not.toBe(one);
  });

  test("with too many records that point here, each record gets its newest", async () => {
    const [x, y] = [await make("labels", { name: "many" }), await make("labels", { name: "few" })];
    const operations = Array.from({ length: 1000 }, (_, i) => ({
      method: "create",
      collection: "tasks",
      body: { title: `m${i}`, labels: i % 10 === 0 ? [x, y] : [x] },
    }));
    expect((await request("POST", "/api/batch", { body: { operations }, token: admin })).status).toBe(200);
    await make("tasks", { title: "last", labels: [x] });
    const items = await found("labels", {
      filter: `id in ("${x}", "${y}")`,
      sort: "name",
      fields: "tasks(labels).title",
    });
    const [few, many] = items.map(({ expand }) => Reflect.get(Object(expand), "tasks(labels)"));
    expect(few).toHaveLength(100);
    expect(many.length).toBeGreaterThan(800);
    expect(many[0]).toEqual({ title: "last" });
  });

  test("a record that the caller may not read is not in the array", async () => {
    const open = await make("rooms", { title: "open", members: [ann.user.id, bob.user.id] });
    const closed = await make("rooms", { title: "closed", members: [bob.user.id] });
    const inside = await make("inside", { rooms: [closed, open] });
    const seen = async (token: string): Promise<unknown> =>
      (await request<Fields>("GET", `/api/inside/${inside}?fields=rooms,rooms.title`, { token })).body;
    expect(await seen(ann.accessToken)).toEqual({ rooms: [closed, open], expand: { rooms: [{ title: "open" }] } });
    expect(await seen(bob.accessToken)).toEqual({
      rooms: [closed, open],
      expand: { rooms: [{ title: "closed" }, { title: "open" }] },
    });
    expect(await found("inside", { filter: 'rooms.title = "closed"' }, ann.accessToken)).toEqual([]);
    expect(await found("inside", { filter: 'rooms.title = "closed"' }, bob.accessToken)).toHaveLength(1);
  });
});

describe("rules", () => {
  test("membership in an array opens a record, its fields and its changes", async () => {
    const id = await make("rooms", { title: "r", members: [ann.user.id], notes: ["secret"] });
    const get = (token: string) => request<Fields>("GET", `/api/rooms/${id}`, { token });
    expect((await get(ann.accessToken)).body["notes"]).toEqual(["secret"]);
    expect((await get(bob.accessToken)).status).toBe(404);
    const put = (body: object, token: string) => request("PUT", `/api/rooms/${id}`, { body, token });
    expect((await put({ title: "x" }, bob.accessToken)).status).toBe(404);
    // The rule holds for the changed record, too: a caller cannot remove the caller's own access.
    expect((await put({ members: [bob.user.id] }, ann.accessToken)).status).toBe(403);
    expect((await put({ members: [bob.user.id, ann.user.id], notes: [] }, ann.accessToken)).status).toBe(200);
    expect((await get(bob.accessToken)).status).toBe(200);
    expect((await create("rooms", { members: [bob.user.id] }, ann.accessToken)).status).toBe(403);
    expect((await create("rooms", { members: [ann.user.id] }, ann.accessToken)).status).toBe(201);
    expect(await titles('title = "x"', ann.accessToken, "rooms")).toBe("");
  });
});

describe("a target goes", () => {
  const remove = (collection: string, id: string): Promise<Answer> =>
    request("DELETE", `/api/${collection}/${id}`, { token: admin });

  test("without onDelete the id stays; clear removes the item, with a single event", async () => {
    const [a, b] = [await make("labels", { name: "a" }), await make("labels", { name: "b" })];
    const blocker = await make("tasks", { title: "blocker" });
    const id = await make("tasks", { title: "t", labels: [a, b], blockers: [blocker] });
    expect((await remove("tasks", blocker)).status).toBe(204);
    expect((await read("tasks", id))["blockers"]).toEqual([blocker]);
    const seq = await lastSeq(service);
    expect((await remove("labels", a)).status).toBe(204);
    expect((await read("tasks", id))["labels"]).toEqual([b]);
    expect((await eventsSince(service, seq)).map(({ type }) => type)).toEqual(["tasks.updated", "labels.deleted"]);
    expect(await titles(`labels = "${a}"`)).toBe("");
    expect(await titles(`labels = "${b}"`)).toBe("t");
  });

  test("restrict refuses the deletion while an item points to the record; cascade deletes the record with the item", async () => {
    const [one, two] = [await make("tasks", { title: "1" }), await make("tasks", { title: "2" })];
    const need = await make("needs", { title: "n", tasks: [two, one] });
    const part = await make("parts", { title: "p", tasks: [two, one] });
    const refused = await remove("tasks", one);
    expect(refused.status).toBe(400);
    expect(refused.body["error"]?.["message"]).toBe(
      "It cannot be deleted: 1 record points here by needs.tasks." as never,
    );
    await request("PUT", `/api/needs/${need}`, { body: { tasks: [two] }, token: admin });
    expect((await remove("tasks", one)).status).toBe(204);
    expect((await request("GET", `/api/parts/${part}`, { token: admin })).status).toBe(404);
    expect((await request("GET", `/api/tasks/${two}`, { token: admin })).status).toBe(200);
  });
});
