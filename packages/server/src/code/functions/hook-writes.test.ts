/** Every way to a write, with hooks before the write: only the ways that the documentation names avoid the hooks. */
import { describe, expect, test } from "bun:test";
import { eventsSince } from "../../../test/kit.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";

const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string", required: true, max: 20 },
    { name: "slug", type: "string" },
    { name: "parent", type: "relation", collection: "notes", onDelete: "cascade" },
  ],
};
const notes = { name: "notes", fields: [{ name: "text", type: "string" }] };

function open(files: { readonly [path: string]: string }): Promise<TestScripts> {
  return openScripts({ collections: [posts, notes], files });
}

function create(api: TestScripts, title: string, { token }: { token?: string } = {}) {
  return api.request("POST", "/api/posts", { body: { title }, ...(token !== undefined && { token }) });
}

/** Refuses every record called "evil", before and after a change, and the deletion of a record called "kept". */
const guard = `
  export const beforeCreate = ({ record }) => { if (record.title === "evil") throw new Refusal("no evil"); };
  export const beforeUpdate = beforeCreate;
  export const beforeDelete = ({ record }) => { if (record.title === "kept") throw new Refusal("it is kept"); };`;

/** Tries with \`db\` to create "evil", to rename a record to "evil", and to delete the record. Answers the result of each attempt. */
const attempts = `
  export async function attempts(place, db, id) {
    const posts = db.collection("posts");
    const batch = (...operations) => db.batch(operations.map((each) => ({ collection: "posts", ...each })));
    const tried = [
      () => posts.create({ title: "evil" }),
      () => posts.update(id, { title: "evil" }),
      () => posts.delete(id),
      () => batch({ method: "create", body: { title: "fine" } }, { method: "create", body: { title: "evil" } }),
      () => batch({ method: "update", id, body: { title: "evil" } }),
      () => batch({ method: "delete", id }),
      // After a first change in the same batch.
      () => batch({ method: "create", body: { title: "fine" } }, { method: "update", id: { $ref: 0 }, body: { title: "evil" } }),
      () => db.query("INSERT INTO posts (id, title) VALUES ('rec_x', 'evil')"),
      () => db.query("UPDATE posts SET title = 'evil'"),
      () => db.query("DELETE FROM posts"),
      () => db.query("WITH x AS (SELECT 1) DELETE FROM posts"),
      () => db.query("SELECT 1; DELETE FROM posts"),
      () => db.query("REPLACE INTO posts (id, title) VALUES (?, 'evil')", [id]),
      () => db.query("PRAGMA writable_schema = 1"),
      () => db.query("DROP TABLE posts"),
      () => db.query("ATTACH 'socle.db' AS other"),
    ];
    const codes = [];
    for (const attempt of tried) codes.push(await attempt().then(() => "done", (error) => error.code ?? String(error)));
    console.log("attempts of", place, JSON.stringify(codes));
    return codes;
  }`;

const shared = 'import { attempts } from "../../functions/_shared/attempts.ts";';
const firstPost = '(await db.collection("posts").list())[0].id';
/** Code of every kind that has `db`; each kind makes the attempts. */
const code = {
  "functions/_shared/attempts.ts": attempts,
  "functions/calls/function.ts": `${shared} export const onCreate = ({ db, record }) => record.text === "function" && attempts("function", db, record.post);`,
  "functions/calls/hook.ts": `${shared} export const beforeCreate = async ({ db, record }) => { if (record.text === "hook") await attempts("hook", db, record.post); };`,
  "functions/users/hook.ts": `${shared} export const beforeRegister = async ({ db }) => void (await attempts("hook of users", db, ${firstPost}));`,
  "jobs/job.ts": `${shared.replace("../../", "../")} export const schedule = "0 0 1 1 *";
    export default async ({ db }) => attempts("job", db, ${firstPost});`,
  "jobs/queue.ts": `${shared.replace("../../", "../")} export const queue = {};
    export default ({ db, payload }) => attempts("queue", db, payload);`,
  "endpoints/run.ts": `${shared.replace("../../", "../")} export const access = "public";
    export const POST = async (request, { db }) => Response.json(await attempts("endpoint", db, await request.text()));`,
};
const calls = {
  name: "calls",
  fields: [
    { name: "text", type: "string" },
    { name: "post", type: "string" },
  ],
};

/** The titles of all posts. */
async function titles(api: TestScripts): Promise<string[]> {
  return (await api.request<{ items: { title: string }[] }>("GET", "/api/posts")).body.items.map(({ title }) => title);
}

async function guarded(files: Record<string, string> = {}): Promise<{ api: TestScripts; id: string }> {
  const api = await openScripts({
    collections: [posts, notes, calls],
    files: { "functions/posts/guard.ts": guard, ...files },
  });
  const { id } = (await api.request<{ id: string }>("POST", "/api/posts", { body: { title: "kept" } })).body;
  return { api, id };
}

describe("no code bypasses a hook, and db.query only reads:", async () => {
  const { api, id } = await guarded(code);
  const called = (text: string) => api.request("POST", "/api/calls", { body: { text, post: id } });
  const places: { readonly [name: string]: () => unknown } = {
    function: () => called("function"),
    hook: () => called("hook"),
    "hook of users": () => api.register("a@example.com"),
    job: () => api.scripts.run({ kind: "job", name: "job" }, () => undefined),
    queue: () => api.scripts.jobs.queues.enqueue("queue", { payload: JSON.stringify(id), options: {} }, null),
    endpoint: () => api.request("POST", "/api/function/run", { body: id }),
  };
  test.each(Object.keys(places))("a %s", async (name) => {
    await places[name]?.();
    const found = () => api.log.flatMap((line) => line.split(`attempts of ${name} [`)[1] ?? []);
    while (found().length === 0) await Bun.sleep(3);
    const codes: unknown = JSON.parse(`[${found()[0]}`);
    expect(codes).toEqual(Array.from({ length: 16 }, () => "bad_request"));
    expect(await titles(api)).toEqual(["kept"]);
  });
});

describe("no request bypasses a hook:", async () => {
  const { api, id } = await guarded();
  const tokens = [undefined, (await api.register("a@example.com")).accessToken, await api.admin()];
  const record = (id: string): string => `/api/posts/${id}`;
  const batch = (id: string, more: object) => ({ operations: [{ collection: "posts", id, ...more }] });
  const requests: { readonly [name: string]: (id: string) => [method: string, path: string, body?: object] } = {
    create: () => ["POST", "/api/posts", { title: "evil" }],
    "create with an expansion": () => ["POST", "/api/posts?expand=parent&fields=id", { title: "evil" }],
    "create that hides its title": () => ["POST", "/api/posts", { title: "evil", slug: null }],
    update: (id) => ["PUT", record(id), { title: "evil" }],
    "update with a version": (id) => ["PUT", `${record(id)}?expand=parent`, { id, title: "evil" }],
    delete: (id) => ["DELETE", record(id)],
    "a create in a batch": () => [
      "POST",
      "/api/batch",
      { operations: [{ method: "create", collection: "posts", body: { title: "evil" } }] },
    ],
    "an update in a batch": (id) => ["POST", "/api/batch", batch(id, { method: "update", body: { title: "evil" } })],
    "a delete in a batch": (id) => ["POST", "/api/batch", batch(id, { method: "delete" })],
  };
  test.each(Object.entries(requests))("%s, anonymous, of a user and of an admin", async (_name, requestOf) => {
    for (const token of tokens) {
      const [method, path, body] = requestOf(id);
      const answer = await api.request(method, path, { ...(body && { body }), ...(token !== undefined && { token }) });
      expect([answer.status, answer.body["error"]?.["code"]]).toEqual([400, "bad_request"] as never);
      expect(JSON.stringify(answer.body)).toMatch(/no evil|it is kept/);
    }
    expect(await titles(api)).toEqual(["kept"]);
  });

  test("a record inside of another record creates no record", async () => {
    const answer = await api.request("POST", "/api/posts", { body: { title: "fine", parent: { text: "evil" } } });
    expect(answer.status).toBe(400);
    expect(await titles(api)).toEqual(["kept"]);
  });

  test("a deletion that takes a record along", async () => {
    const { body: note } = await api.request<{ id: string }>("POST", "/api/notes", { body: {} });
    expect((await api.request("PUT", record(id), { body: { parent: note.id } })).status).toBe(200);
    for (const token of tokens) {
      const options = token === undefined ? {} : { token };
      expect((await api.request("DELETE", `/api/notes/${note.id}`, options)).status).toBe(400);
    }
    expect(await titles(api)).toEqual(["kept"]);
  });
});

describe("the documented exceptions:", async () => {
  const { api, id } = await guarded();
  const token = await api.admin();
  test("a trial of the rules calls no hook, and writes nothing", async () => {
    const before = (await eventsSince(api.service)).length;
    for (const trial of [
      { operation: "create", body: { title: "evil" } },
      { operation: "update", id, body: { title: "evil" } },
      { operation: "delete", id },
    ]) {
      const { status, body } = await api.request("POST", "/api/admin/collections/posts/try", {
        body: { as: null, ...trial },
        token,
      });
      expect([status, JSON.stringify(body).includes("no evil")]).toEqual([200, false]);
    }
    expect(await titles(api)).toEqual(["kept"]);
    expect((await eventsSince(api.service)).length).toBe(before);
  });

  test("a relation that a deletion clears, and a migration", async () => {
    const fields = [
      ...posts.fields.slice(0, 2),
      { name: "parent", type: "relation", collection: "notes", onDelete: "clear" },
    ];
    const api = await openScripts({
      collections: [{ ...posts, fields }, notes],
      files: { "functions/posts/a.ts": 'export const beforeUpdate = () => { throw new Refusal("no change"); };' },
    });
    const { body: note } = await api.request<{ id: string }>("POST", "/api/notes", { body: {} });
    const { body: post } = await api.request<{ id: string }>("POST", "/api/posts", {
      body: { title: "a", parent: note.id },
    });
    expect((await api.request("DELETE", `/api/notes/${note.id}`)).status).toBe(204);
    expect((await api.request("GET", `/api/posts/${post.id}`)).body).toMatchObject({ parent: null });
    const body = { fields: [...fields, { name: "state", type: "string", required: true, default: "new" }] };
    expect((await api.request("PUT", "/api/admin/collections/posts", { body, token: await api.admin() })).status).toBe(
      200,
    );
    expect((await api.request("GET", `/api/posts/${post.id}`)).body).toMatchObject({ state: "new" });
  });
});

describe("hooks decide about the changes of", () => {
  test("an import, for admins only", async () => {
    const { api } = await guarded();
    const body = '{"title":"evil"}\n{"title":"fine"}\n';
    const headers = { "Content-Type": "application/x-ndjson" };
    const { accessToken } = await api.register("a@example.com");
    const send = (token?: string) =>
      api.request("POST", "/api/posts/import", { body, headers, ...(token !== undefined && { token }) });
    expect([(await send()).status, (await send(accessToken)).status]).toEqual([401, 403]);
    expect(await titles(api)).toEqual(["kept"]);
    expect((await send(await api.admin())).body).toMatchObject({ imported: 1, rejected: 1, problems: [{ line: 1 }] });
    expect(await titles(api)).toEqual(["fine", "kept"]);
  });

  test("functions and jobs", async () => {
    const api = await open({
      "functions/posts/a.ts": "export const beforeCreate = ({ record }) => ({ slug: 'hook-' + record.title });",
      "functions/notes/b.ts":
        'export const onCreate = async ({ db, record }) => { await db.collection("posts").create({ title: record.text }); };',
    });
    await api.request("POST", "/api/notes", { body: { text: "from notes" } });
    await api.scripts.functions.settled();
    const { items } = (await api.request<{ items: { slug: string }[] }>("GET", "/api/posts")).body;
    expect(items.map(({ slug }) => slug)).toEqual(["hook-from notes"]);
  });

  test("a batch: each operation sees the records after the operations before, with the values of their hooks", async () => {
    const api = await open({
      "functions/posts/a.ts": `
        export const beforeCreate = ({ record }) => ({ slug: "c-" + record.title });
        export const beforeUpdate = ({ record, previous }) => ({ slug: previous.slug + ">" + record.title });
        export const beforeDelete = ({ record }) => { if (record.title === "stays") throw new Refusal("stays"); };`,
      "functions/notes/a.ts": 'export const beforeCreate = ({ record }) => { console.log("note of", record.text); };',
    });
    const post = { collection: "posts" };
    const update = (title: string) => ({ method: "update", ...post, id: { $ref: 0 }, body: { title } });
    const operations = [
      { method: "create", ...post, body: { title: "one" } },
      update("two"),
      { method: "create", collection: "notes", body: { text: { $ref: 0 } } },
      update("three"),
      update("stays"),
    ];
    const { status, body } = await api.request<{ results: { body: { id: string; slug: string } }[] }>(
      "POST",
      "/api/batch",
      { body: { operations } },
    );
    expect([status, body.results[0]?.body.slug, body.results[4]?.body.slug]).toEqual([
      200,
      "c-one",
      "c-one>two>three>stays",
    ]);
    const id = body.results[0]?.body.id ?? "";
    expect(api.log.some((line) => line.includes(`note of ${id}`))).toBeTrue();
    const events = (await eventsSince(api.service))
      .map(({ type }) => type)
      .filter((type) => /^(posts|notes)\./.test(type));
    expect(events).toEqual(["posts.created", "posts.updated", "notes.created", "posts.updated", "posts.updated"]);
    const refused = await api.request("POST", "/api/batch", {
      body: { operations: [update("x"), { method: "delete", ...post, id }].map((each) => ({ ...each, id })) },
    });
    // Before the second operation, the first has given the record another title.
    expect(refused.status).toBe(200);
  });

  test("a batch with refused operations writes nothing, and names all operations that are refused for a value", async () => {
    const api = await open({
      "functions/posts/a.ts": `
        export const beforeCreate = ({ record }) => {
          if (record.title === "field") throw new Refusal("no", { field: "title" });
          if (record.title === "forbidden") throw new Refusal("never", { status: 403 });
          if (record.title === "throws") throw new Error("broken");
        };`,
    });
    const batch = async (...titles: string[]) => {
      const operations = titles.map((title) => ({ method: "create", collection: "posts", body: { title } }));
      const { status, body } = await api.request<{ error: { code: string; details?: object[] } }>(
        "POST",
        "/api/batch",
        { body: { operations } },
      );
      return [status, body.error.code, body.error.details];
    };
    const detail = (operation: number, field: string, message: string) => ({
      operation,
      field,
      rule: "refused",
      message,
    });
    expect(await batch("fine", "field", "fine", "field")).toEqual([
      400,
      "validation_error",
      [detail(1, "title", "no"), detail(3, "title", "no")],
    ]);
    expect(await batch("fine", "forbidden")).toEqual([403, "forbidden", [detail(1, "collection", "never")]]);
    expect(await batch("fine", "throws")).toEqual([503, "unavailable", undefined]);
    expect((await api.request("GET", "/api/posts")).body["items"]).toEqual([] as never);
  });

  test("the cascades of a deletion", async () => {
    const parents = { name: "parents", fields: [{ name: "title", type: "string" }] };
    const children = {
      name: "children",
      fields: [
        { name: "parent", type: "relation", collection: "parents", onDelete: "cascade" },
        { name: "isKept", type: "boolean" },
      ],
    };
    const api = await openScripts({
      collections: [parents, children],
      files: {
        "functions/children/a.ts":
          'export const beforeDelete = ({ record }) => { if (record.isKept) throw new Refusal("a child stays"); };',
      },
    });
    const make = async (name: string, body: object) =>
      (await api.request<{ id: string }>("POST", `/api/${name}`, { body })).body.id;
    const [kept, gone] = [await make("parents", {}), await make("parents", {})];
    await make("children", { parent: kept, isKept: true });
    await make("children", { parent: gone, isKept: false });
    const refused = await api.request("DELETE", `/api/parents/${kept}`);
    expect([refused.status, refused.body["error"]?.["message"]]).toEqual([400, "a child stays"] as never);
    expect((await api.request("GET", `/api/parents/${kept}`)).status).toBe(200);
    expect((await api.request("DELETE", `/api/parents/${gone}`)).status).toBe(204);
    expect((await api.request<{ items: object[] }>("GET", "/api/children")).body.items).toHaveLength(1);
  });

  test("a batch of a function or a job", async () => {
    const api = await open({
      "functions/posts/a.ts": "export const beforeCreate = ({ record }) => ({ slug: 'hook-' + record.title });",
      "functions/notes/b.ts": `export const onCreate = async ({ db, record }) => {
        await db.batch([{ method: "create", collection: "posts", body: { title: record.text } }]);
      };`,
    });
    await api.request("POST", "/api/notes", { body: { text: "batched" } });
    await api.scripts.functions.settled();
    const { items } = (await api.request<{ items: { slug: string }[] }>("GET", "/api/posts")).body;
    expect(items.map(({ slug }) => slug)).toEqual(["hook-batched"]);
  });

  test("a hook's own changes: a chain without end is refused after sixteen", async () => {
    const api = await open({
      "functions/posts/a.ts":
        'export const beforeCreate = async ({ db }) => { await db.collection("posts").create({ title: "again" }); };',
    });
    expect((await create(api, "one")).status).toBe(503);
    expect(api.log.some((line) => line.includes("A chain of 16 functions and hooks"))).toBeTrue();
    expect((await api.request("GET", "/api/posts")).body["items"]).toEqual([] as never);
  });

  test("admins", async () => {
    const api = await open({
      "functions/posts/a.ts": 'export const beforeCreate = () => { throw new Refusal("no"); };',
    });
    expect((await create(api, "one", { token: await api.admin() })).status).toBe(400);
  });
});
