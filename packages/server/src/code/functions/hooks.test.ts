/** Hooks before a write, over HTTP: the input, the changes and the refusals of hooks, for every kind of write. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { eventsSince, lastSeq, temporaryFolder } from "../../../test/kit.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";

const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string", required: true, max: 20 },
    { name: "slug", type: "string" },
    { name: "at", type: "datetime" },
    { name: "author", type: "relation", collection: "users", owner: true },
  ],
};
const notes = { name: "notes", fields: [{ name: "text", type: "string" }] };

const shared = await openScripts({ collections: [posts, notes] });

/** The service of most tests, with these files alone, and without records and lines of the log of earlier tests. */
async function open(files: { readonly [path: string]: string }): Promise<TestScripts> {
  await rm(join(shared.folder, "functions"), { recursive: true, force: true });
  await shared.service.database.transact((tx) => {
    for (const { name } of [posts, notes]) tx.run(`DELETE FROM ${name}`);
  });
  await shared.save(files);
  shared.log.length = 0;
  return shared;
}

/** A service of its own for a test. */
async function openOwn(files: { readonly [path: string]: string }, more: object = {}): Promise<TestScripts> {
  return openScripts({ collections: [posts, notes], files, ...more });
}

function create(api: TestScripts, title: string, more: { token?: string; [name: string]: unknown } = {}) {
  const { token, ...fields } = more;
  const body = JSON.stringify({ title, ...fields });
  // Without this header, a body counts with the largest allowed size.
  const headers = { "Content-Length": String(Buffer.byteLength(body)) };
  return api.request("POST", "/api/posts", { body, headers, ...(token !== undefined && { token }) });
}

describe("a hook sees", () => {
  test("the record after the change, the record before, and the caller", async () => {
    const see = (name: string) =>
      `export const ${name} = ({ record, previous, auth, db }) => { console.log("${name}", JSON.stringify({ record, previous, user: auth.user?.email ?? null, db: typeof db.query })); };`;
    const api = await open({
      "functions/posts/see.ts": ["beforeCreate", "beforeUpdate", "beforeDelete"].map(see).join("\n"),
    });
    const { accessToken: token, user } = await api.register("a@example.com");
    const seen = (name: string) =>
      JSON.parse(api.log.findLast((line) => line.includes(`${name} `))?.split(`${name} `)[1] ?? "null");
    const made = (await create(api, "one", { at: "2026-01-01", token })).body;
    expect(made).toMatchObject({ title: "one", slug: null, author: user.id });
    const fields = { title: "one", slug: null, at: "2026-01-01T00:00:00.000Z", author: user.id };
    const base = { user: "a@example.com", db: "function" };
    expect(seen("beforeCreate")).toEqual({ record: { id: made["id"], ...fields }, previous: null, ...base });
    const path = `/api/posts/${made["id"]}`;
    await api.request("PUT", path, { body: { slug: "s" }, token });
    expect(seen("beforeUpdate")).toEqual({ record: { ...made, slug: "s" }, previous: made, ...base });
    const before = (await api.request("GET", path)).body;
    expect((await api.request("DELETE", path)).status).toBe(204);
    expect(seen("beforeDelete")).toEqual({ record: before, previous: before, ...base, user: null });
  });

  test("no write that is refused anyway, or that changes nothing", async () => {
    const api = await open({
      "functions/posts/see.ts": `
        export const beforeCreate = () => { console.log("asked"); };
        export const beforeUpdate = () => { console.log("asked"); };`,
    });
    expect((await create(api, "a title that is far too long for it")).status).toBe(400);
    expect((await create(api, "one", { author: "usr_other" })).status).toBe(400);
    expect(api.log.some((line) => line.includes("asked"))).toBeFalse();
    const { id } = (await create(api, "one")).body;
    api.log.length = 0;
    expect((await api.request("PUT", `/api/posts/${id}`, { body: {} })).status).toBe(200);
    expect(
      (await api.request("PUT", "/api/posts/rec_00000000-0000-7000-8000-000000000000", { body: { title: "x" } }))
        .status,
    ).toBe(404);
    expect(api.log.some((line) => line.includes("asked"))).toBeFalse();
  });
});

describe("a hook changes", () => {
  test("the values that the hook returns; each hook sees the values of the hook before, in the order of the files", async () => {
    const api = await open({
      "functions/posts/b.ts": "export const beforeCreate = ({ record }) => ({ slug: record.slug + '-b' });",
      "functions/posts/a.ts": "export const beforeCreate = ({ record }) => ({ ...record, slug: record.title + '-a' });",
      "functions/posts/c.ts": "export const beforeCreate = ({ record }) => { record.title = 'mutated'; };",
    });
    const { status, body } = await create(api, "one");
    expect(status).toBe(201);
    expect(body).toMatchObject({ title: "one", slug: "one-a-b" });
    expect((await api.request("GET", `/api/posts/${body["id"]}`)).body).toEqual(body);
  });

  test("an update, also of fields that the caller did not name, and the event has the values", async () => {
    const api = await open({
      "functions/posts/a.ts":
        "export const beforeUpdate = ({ record, previous }) => ({ slug: previous.title + '>' + record.title });",
    });
    const since = await lastSeq(api.service);
    const { id } = (await create(api, "one")).body;
    const { body } = await api.request("PUT", `/api/posts/${id}`, { body: { title: "two" } });
    expect(body).toMatchObject({ title: "two", slug: "one>two" });
    const events = await eventsSince(api.service, since);
    expect(events.filter(({ type }) => type === "posts.updated").map(({ payload }) => payload)).toEqual([body]);
  });

  test("nothing with values that are not valid, or that the caller may not set: 400 with the field", async () => {
    const api = await open({
      "functions/posts/a.ts": `
        const values = { long: { title: "x".repeat(30) }, unknown: { nope: 1 }, type: { at: 5 }, id: { id: "rec_1" }, owner: { author: "usr_00000000-0000-7000-8000-000000000000" } };
        export const beforeCreate = ({ record }) => values[record.title];`,
    });
    const rules = { long: "max", unknown: "unknown", type: "type", id: "readonly", owner: "readonly" };
    for (const [title, rule] of Object.entries(rules)) {
      const { status, body } = await create(api, title);
      expect([title, status, body["error"]?.["code"], body["error"]?.["details"]?.[0 as never]?.["rule"]]).toEqual([
        title,
        400,
        "validation_error",
        rule,
      ] as never);
    }
    expect((await api.request("GET", "/api/posts")).body["items"]).toEqual([] as never);
  });
});

test("a hook may return unchanged fields that the caller may not write, and not other values for the fields", async () => {
  const closed = { name: "closed", type: "string", permissions: { read: "admin" } };
  const api = await openOwn(
    {
      "functions/posts/a.ts": `
        const all = ({ record }) => ({ ...record, slug: record.title, ...(record.title === "set" && { closed: "by the hook" }) });
        export const beforeCreate = all;
        export const beforeUpdate = all;`,
    },
    { collections: [{ ...posts, fields: [...posts.fields, closed] }] },
  );
  const { accessToken: token } = await api.register("a@example.com");
  const made = await create(api, "one", { token });
  expect([made.status, made.body]).toEqual([201, expect.objectContaining({ slug: "one" })]);
  expect(made.body).not.toContainKey("closed");
  const path = `/api/posts/${made.body["id"]}`;
  expect((await api.request("PUT", path, { body: { closed: "s" }, token: await api.admin() })).status).toBe(200);
  const changed = await api.request("PUT", path, { body: { title: "two" }, token });
  expect([changed.status, changed.body]).toEqual([200, expect.objectContaining({ slug: "two" })]);
  expect((await create(api, "set", { token })).status).toBe(403);
});

test("a Refusal is the response, with its status and field, and nothing is written", async () => {
  const api = await open({
    "functions/posts/a.ts": `
      export const beforeCreate = ({ record }) => {
        if (record.title === "plain") throw new Refusal("no posts today");
        if (record.title === "field") throw new Refusal("such a title is taken", { field: "title" });
        if (record.title === "forbidden") throw new Refusal("not you", { status: 403 });
      };
      export const beforeDelete = ({ record }) => { throw new Refusal(record.title + " stays"); };`,
  });
  const refused = async (title: string) => {
    const { status, body } = await create(api, title);
    return [status, body["error"]] as unknown;
  };
  expect(await refused("plain")).toEqual([400, { code: "bad_request", message: "no posts today" }]);
  expect(await refused("field")).toEqual([
    400,
    {
      code: "validation_error",
      message: "such a title is taken",
      details: [{ field: "title", rule: "refused", message: "such a title is taken" }],
    },
  ]);
  expect(await refused("forbidden")).toEqual([403, { code: "forbidden", message: "not you" }]);
  const { id } = (await create(api, "fine")).body;
  const deleted = await api.request("DELETE", `/api/posts/${id}`);
  expect([deleted.status, deleted.body["error"]?.["message"]]).toEqual([400, "fine stays"] as never);
  const { items } = (await api.request<{ items: { title: string }[] }>("GET", "/api/posts")).body;
  expect(items.map(({ title }) => title)).toEqual(["fine"]);
});

describe("a hook that does not decide refuses with 503, and the log has the reason:", async () => {
  const bodies: { readonly [name: string]: [body: string, reason: string] } = {
    throws: ['throw new Error("broken")', "broken (functions/posts/a.ts:1:"],
    "rejects later": ["await Bun.sleep(1); throw new TypeError('t')", "TypeError: t"],
    "answers with a text": ['return "yes"', 'it returned "yes", which is no object'],
    "answers with a list": ["return [1]", "it returned [1], which is no object"],
    "answers with a circle": ["const a = {}; a.a = a; return a", "cyclic"],
    "answers with a getter that throws": ["return { get slug() { throw new Error('got') } }", "got"],
    "answers with too much": ["return { slug: 'x'.repeat(2_000_000) }", "limits.body allows"],
    "never answers": ["await new Promise(() => {})", "it took longer than 0.3 s"],
    loops: ["for (;;);", "it took longer than 0.3 s"],
    "ends its process": [
      "process.constructor.prototype; require('node:child_process').execSync('kill -9 ' + process.pid)",
      "",
    ],
    "takes memory": ["const all = []; for (;;) { all.push(new Uint8Array(1e7).fill(1)); await 1; }", ""],
  };
  const handlers = Object.values(bodies).map(([body]) => `async () => { ${body} }`);
  const api = await openOwn(
    {
      "functions/posts/a.ts": `const bad = [${handlers.join(", ")}];
        export const beforeCreate = ({ record }) => bad[record.title]?.();`,
    },
    { settings: { SERVICE_SCRIPTS_HOOK_TIMEOUT: "300ms", SERVICE_SCRIPTS_MEMORY: "200MiB" } },
  );
  test.each(Object.entries(bodies))("%s", async (name, [, reason]) => {
    api.log.length = 0;
    const { status, body: answer } = await create(api, String(Object.keys(bodies).indexOf(name)));
    expect([status, answer["error"]?.["code"]]).toEqual([503, "unavailable"] as never);
    expect(JSON.stringify(answer)).not.toContain("functions/posts");
    const line = api.log.find((each) =>
      each.includes("beforeCreate of functions/posts/a.ts failed, the write is refused"),
    );
    expect(line).toContain(reason);
    expect((await api.request("POST", "/api/notes", { body: { text: "beside" } })).status).toBe(201);
    // If the process was lost, the next process answers, or the answer comes late.
    while ((await create(api, "fine")).status !== 201) await Bun.sleep(20);
    const { items } = (await api.request<{ items: { title: string }[] }>("GET", "/api/posts")).body;
    expect(items.every(({ title }) => title === "fine")).toBeTrue();
  });

  test("a file that does not load, until the file loads", async () => {
    const api = await openOwn({
      "functions/posts/a.ts": 'import "./missing.ts"; export const beforeCreate = () => {};',
    });
    expect(api.log).toContain(
      "ERROR Until functions/posts/a.ts loads, the changes of its beforeCreate in posts are refused",
    );
    expect((await create(api, "one")).status).toBe(503);
    expect(api.log.some((line) => line.includes("the write is refused: its file does not load"))).toBeTrue();
    await api.save({ "functions/posts/a.ts": "export const beforeCreate = () => ({ slug: 'loaded' });" });
    const { status, body } = await create(api, "two");
    expect([status, body["slug"]]).toEqual([201, "loaded"] as never);
    // The last version keeps running.
    await api.save({ "functions/posts/a.ts": "export const beforeCreate = (" });
    expect((await create(api, "three")).body["slug"]).toBe("loaded" as never);
    await api.save({ "functions/posts/a.ts": "export const onDelete = () => {};" });
    expect((await create(api, "four")).body["slug"]).toBeNull();
  });

  test("a file that does not load closes the operations that its text names, and no other collection", async () => {
    const api = await openOwn({ "functions/posts/a.ts": "export const beforeDelete = (;" });
    const { status, body } = await create(api, "one");
    expect(status).toBe(201);
    expect((await api.request("DELETE", `/api/posts/${body["id"]}`)).status).toBe(503);
    expect((await api.request("POST", "/api/notes", { body: {} })).status).toBe(201);
  });
});

test("a default of now is the time of the creation, whatever the hook has seen", async () => {
  const stamped = { name: "stamped", fields: [{ name: "at", type: "datetime", default: "@now" }] };
  const api = await openScripts({
    collections: [stamped],
    files: {
      "functions/stamped/a.ts":
        "export const beforeCreate = async ({ record }) => { console.log('seen', record.at); await Bun.sleep(20); };",
    },
  });
  const { status, body } = await api.request("POST", "/api/stamped", { body: {} });
  expect([status, body["at"], api.log.filter((line) => line.includes("INFO seen 20")).length]).toEqual([
    201,
    body["createdAt"],
    1,
  ] as never);
});

describe("the record changes while a hook decides:", () => {
  const slow = (ms: number) => `
    let times = 0;
    export const beforeUpdate = async ({ record, previous }) => {
      times += 1;
      console.log("asked", times);
      await Bun.sleep(${ms});
      return { slug: previous.title + ">" + record.title };
    };`;

  test("the hook is called again with the present record", async () => {
    const api = await open({ "functions/posts/a.ts": slow(100) });
    const { id } = (await create(api, "one")).body;
    const path = `/api/posts/${id}`;
    const [first, second] = [
      api.request("PUT", path, { body: { title: "two" } }),
      api.request("PUT", path, { body: { title: "three" } }),
    ];
    const titles = (await Promise.all([first, second])).map(({ status, body }) => [status, body["slug"]] as unknown);
    // The order of the two writes is open; the hook of the later write has seen the result of the first.
    expect(
      [
        ["two", "three"],
        ["three", "two"],
      ].map(([a, b]) =>
        [
          [200, `one>${a}`],
          [200, `${a}>${b}`],
        ].sort(),
      ),
    ).toContainEqual(titles.sort() as never);
    expect(api.log.filter((line) => line.includes("asked"))).toHaveLength(3);
  });

  test("20 times, then the write is 409", async () => {
    const api = await open({
      "functions/posts/a.ts": `
        export const beforeUpdate = async ({ record, previous, db }) => {
          if (record.title === "inner") return;
          await db.collection("posts").update(record.id, { title: "inner", at: new Date(Date.now() + Math.random() * 1e6) });
        };`,
    });
    const { id } = (await create(api, "one")).body;
    const { status, body } = await api.request("PUT", `/api/posts/${id}`, { body: { title: "two" } });
    expect([status, body["error"]?.["code"]]).toEqual([409, "conflict"] as never);
    expect((await api.request("GET", `/api/posts/${id}`)).body["title"]).toBe("inner" as never);
  });

  test("the record is deleted: 404", async () => {
    const api = await open({
      "functions/posts/a.ts":
        'export const beforeUpdate = async ({ record, db }) => { await db.collection("posts").delete(record.id); };',
    });
    const { id } = (await create(api, "one")).body;
    expect((await api.request("PUT", `/api/posts/${id}`, { body: { title: "two" } })).status).toBe(404);
  });

  test("a right ends meanwhile: the right is checked again", async () => {
    const folder = temporaryFolder();
    const [begun, ended] = [join(folder, "begun"), join(folder, "ended")];
    const api = await open({
      "functions/posts/a.ts": `export const beforeCreate = async () => {
        await Bun.write(${JSON.stringify(begun)}, "");
        while (!(await Bun.file(${JSON.stringify(ended)}).exists())) await Bun.sleep(5);
      };`,
    });
    const { accessToken: token } = await api.register("b@example.com");
    const creating = create(api, "one", { token });
    await until(() => existsSync(begun));
    await api.request("POST", "/api/auth/logout", { token });
    await Bun.write(ended, "");
    expect((await creating).status).toBe(401);
  });
});

describe("users", () => {
  const credentials = { email: "a@example.com", password: "long enough" };
  const sign = (api: TestScripts, step: string, body: object = credentials) =>
    api.request("POST", `/api/auth/${step}`, { body });

  test("a registration and a login are refused by a Refusal; the hook sees the user, and no password", async () => {
    const api = await openOwn({
      "functions/users/a.ts": `
        export const beforeRegister = ({ record, previous, auth }) => {
          console.log("seen", JSON.stringify({ record, previous, user: auth.user }));
          if (!record.email.endsWith("@example.com")) throw new Refusal("not from here", { field: "email" });
        };
        export const beforeLogin = ({ record }) => {
          console.log("seen", JSON.stringify(record));
          if (record.email.startsWith("b")) throw new Refusal("banned", { status: 403 });
        };`,
    });
    const other = await sign(api, "register", { ...credentials, email: "a@elsewhere.org" });
    expect([other.status, other.body["error"]?.["details"]]).toEqual([
      400,
      [{ field: "email", rule: "refused", message: "not from here" }],
    ] as never);
    const { user } = (await sign(api, "register")).body;
    expect((await sign(api, "login")).status).toBe(200);
    expect((await sign(api, "login", { ...credentials, password: "wrong password" })).status).toBe(401);
    const b = { ...credentials, email: "b@example.com" };
    expect((await sign(api, "register", b)).status).toBe(201);
    expect((await sign(api, "login", b)).status).toBe(403);
    const seen = api.log.flatMap((line) => line.split("seen ")[1] ?? []).map((text) => JSON.parse(text) as unknown);
    const asked = (email: string) => ({ record: { email, role: "authenticated" }, previous: null, user: null });
    expect(seen.slice(0, 3)).toEqual([
      asked("a@elsewhere.org"),
      asked("a@example.com"),
      { ...user, verified: false, anonymous: false },
    ]);
    // The wrong password asked no hook.
    expect(seen).toHaveLength(5);
    const types = (await eventsSince(api.service)).map(({ type }) => type).filter((type) => type === "auth.login");
    expect(types).toHaveLength(1);
  });

  test("a hook cannot change a user, and a hook that does not load refuses both", async () => {
    const api = await openOwn({
      "functions/users/a.ts": 'export const beforeRegister = ({ record }) => ({ ...record, role: "admin" });',
    });
    expect((await sign(api, "register")).status).toBe(503);
    expect(api.log.join()).toContain("the registration is refused: it returned role, but cannot change a user");
    expect((await sign(api, "login")).status).toBe(401);
    await api.save({ "functions/users/a.ts": "export const beforeRegister = ({ record }) => record;" });
    expect((await sign(api, "register")).status).toBe(201);
    const broken = await openOwn({ "functions/users/b.ts": 'export * from "./missing.ts";' });
    expect((await sign(broken, "register")).status).toBe(503);
  });
});

test("a function that loops delays no hook, and a hook that loops no function", async () => {
  const begun = join(temporaryFolder(), "begun");
  const api = await openOwn(
    {
      "functions/posts/a.ts": `
        export const beforeCreate = ({ record }) => { if (record.title === "loop") for (;;); return { slug: "hooked" }; };
        export const onCreate = ({ record }) => { console.log("ran", record.title); };`,
      "functions/notes/b.ts": `import { writeFileSync } from "node:fs";
        export const onCreate = () => { writeFileSync(${JSON.stringify(begun)}, ""); for (;;); };`,
      "functions/calm/c.ts": 'export const onCreate = () => { console.log("ran beside a hook"); };',
    },
    {
      collections: [posts, notes, { ...notes, name: "calm" }],
      settings: { SERVICE_SCRIPTS_TIMEOUT: "10m", SERVICE_SCRIPTS_HOOK_TIMEOUT: "1s" },
    },
  );
  await api.request("POST", "/api/notes", { body: { text: "loops" } });
  await until(() => existsSync(begun));
  expect((await create(api, "first")).body["slug"]).toBe("hooked" as never);
  await until(() => api.log.some((line) => line.includes("ran first")));
  const looping = create(api, "loop");
  await api.request("POST", "/api/calm", { body: { text: "beside" } });
  await until(() => api.log.some((line) => line.includes("ran beside a hook")));
  expect((await looping).status).toBe(503);
  expect(api.log.some((line) => line.includes("onCreate of functions/notes/b.ts failed"))).toBeFalse();
  await api.stop();
});

test("many writes at once each get a response", async () => {
  const api = await open({
    "functions/posts/a.ts": "export const beforeCreate = ({ record }) => ({ slug: record.title });",
  });
  const answers = await Promise.all(Array.from({ length: 300 }, (_, n) => create(api, `t${n}`)));
  expect(
    answers.filter(({ status, body }) => status !== 201 || body["slug"] !== body["title"]).map((a) => a.body),
  ).toEqual([]);
});
