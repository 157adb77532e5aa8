/** `db.as`: reads and writes of the user's code under the rules of a user, or of nobody. */
import { describe, expect, test } from "bun:test";
import { makeKey } from "../../../test/keys.ts";
import { setRole } from "../../../test/kit.ts";
import { openScripts } from "../../../test/scripts.ts";
import { listen, until } from "../../../test/sockets.ts";

const collections = [
  {
    name: "folders",
    fields: [{ name: "name", type: "string" }],
    permissions: { read: 'name = "open"', create: "admin", update: "admin", delete: "admin" },
  },
  {
    name: "posts",
    fields: [
      { name: "title", type: "string", required: true },
      { name: "slug", type: "string", unique: true },
      { name: "secret", type: "string", permissions: { read: "admin" } },
      { name: "author", type: "relation", collection: "users", owner: true },
      { name: "folder", type: "relation", collection: "folders" },
    ],
    permissions: { read: "owner", create: "authenticated", update: "owner", delete: "owner" },
  },
  {
    name: "open",
    fields: [{ name: "n", type: "integer" }],
    permissions: { read: "public", create: "public", update: "public", delete: "public" },
  },
  {
    name: "entries",
    fields: [{ name: "folder", type: "relation", collection: "folders" }],
    permissions: { read: 'folder.name = "open"', create: "admin" },
  },
  {
    name: "visits",
    fields: [
      { name: "folder", type: "relation", collection: "folders" },
      { name: "kind", type: "string" },
    ],
    permissions: { read: "public", create: "admin" },
  },
  {
    name: "guarded",
    fields: [{ name: "n", type: "integer" }],
    permissions: { read: "public", create: "public" },
  },
];

/** Runs the code of a request, and answers the value, or the code, message and details of the error. */
const endpoint = `export const access = "public";
const Work = Object.getPrototypeOf(async () => undefined).constructor;
export const POST = async (request, context) => {
  const { code, ...values } = await request.json();
  const { db, user, jobs } = context;
  try {
    return Response.json({ value: (await new Work("db", "user", "jobs", "v", code)(db, user, jobs, values)) ?? null });
  } catch (error) {
    return Response.json({ code: error.code ?? error.name, message: error.message, details: error.details });
  }
};`;
const opened = await openScripts({
  collections,
  files: {
    "endpoints/run.ts": endpoint,
    "endpoints/told.ts": `export const access = "public"; export const GET = async (request, { db, user }) =>
      Response.json(await db.as(user).posts.get(new URL(request.url).searchParams.get("id")));`,
    "queries/mine.ts": `export default query({ access: "public" }, async ({ db, user }) => (await db.as(user).posts.list()).length);`,
    "queries/of.ts": `export default query({ access: "public", args: { "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }) } } },
      async ({ db, args }) => await db.as(args.user).folders.count());`,
    "queries/writes.ts": `export default query({ access: "public" }, ({ db, user }) => db.as(user).open.create({ n: 1 }));`,
    "functions/posts/tell.ts": `export const onCreate = async ({ record, auth, db, cause }) => {
      if (record.title === "chain") await db.as(auth.user).posts.create({ title: "chain" });
      if (record.title === "tell") console.log("told " + auth.user?.email + " " + cause.chain.length);
    };`,
    "functions/guarded/count.ts": `export const beforeCreate = async ({ record, auth, db }) => {
      const own = await db.as(auth.user).posts.where({ title: "ticket" }).count().catch(({ code }) => code);
      if (own === "unauthorized") throw new Refusal("Nobody has a ticket", { status: 403 });
      if (own === 0) throw new Refusal("You need a ticket", { field: "n" });
    };`,
    "functions/visits/turn.ts": `export const beforeCreate = async ({ record, auth, db }) => {
      const seen = await db.as(null).entries.count();
      const values = { name: seen === 0 ? "open" : "closed" };
      if (record.kind === "one") await db.folders.update(record.folder, values);
      else if (record.kind === "batch")
        await db.batch([{ method: "update", collection: "folders", id: record.folder, body: values }]);
      else await db.transaction(async (tx) => tx.folders.update(record.folder, values));
    };`,
    "jobs/later.ts": "export const queue = {}; export default () => undefined;",
  },
});
const { request, log, service } = opened;
const admin = await opened.admin();
const [ann, bob] = [await opened.register("ann@example.com"), await opened.register("bob@example.com")];
const must = async (path: string, body: object, token: string = admin): Promise<string> =>
  String((await request("POST", `/api/${path}`, { token, body })).body["id"]);
const hidden = await must("folders", { name: "closed" });
const shown = await must("folders", { name: "open" });
const ofAnn = await must("posts", { title: "ann's" }, ann.accessToken);
await request("PUT", `/api/posts/${ofAnn}`, { token: admin, body: { secret: "s3cret" } });
const ofBob = await must("posts", { title: "bob's" }, bob.accessToken);

interface Told {
  readonly value?: unknown;
  readonly code?: string;
  readonly message?: string;
  readonly details?: unknown;
}

/** The outcome of code in an endpoint; `token` is the caller of the endpoint. */
async function run(code: string, values: object = {}, token?: string): Promise<Told> {
  const body = { code, ann: ann.user.id, bob: bob.user.id, ofAnn, ofBob, hidden, shown, ...values };
  const options = { body, ...(token !== undefined && { token }) };
  return (await (await opened.answer("POST", "/api/function/run", options)).json()) as Told;
}
const answered = async (...given: Parameters<typeof run>): Promise<unknown> => {
  const told = await run(...given);
  if (!("value" in told)) throw new Error(JSON.stringify(told));
  return told.value;
};

describe("db.as of a user", () => {
  test("reads what the user may read, without the values that the user may not read", async () => {
    const titles = "(await db.as(v.ann).posts.list()).map(({ title }) => title)";
    expect(await answered(`return ${titles}`)).toEqual(["ann's"]);
    expect(await answered("return (await db.posts.list()).length")).toBeGreaterThan(1);
    expect(await answered('return await db.as(v.ann).posts.where({ title: "bob\'s" }).first()')).toBeNull();
    const record = await answered("return await db.as(v.ann).posts.get(v.ofAnn)");
    expect(record).toMatchObject({ id: ofAnn, title: "ann's" });
    expect(record).not.toHaveProperty("secret");
    expect(await answered("return (await db.posts.get(v.ofAnn)).secret")).toBe("s3cret");
    expect(await answered("return await db.as({ id: v.ann }).posts.count()")).toBe(1);
  });

  test.each([
    ["posts.get(v.ofBob)", "forbidden"],
    ["folders.get(v.hidden)", "not_found"],
    ['folders.get("rec_none")', "not_found"],
    ['posts.where({ secret: "s3cret" }).first()', "bad_request"],
    ['posts.list({ sort: "secret" })', "bad_request"],
    ["posts.update(v.ofBob, { title: 'x' })", "forbidden"],
    ["posts.delete(v.ofBob)", "forbidden"],
    ["posts.update(v.ofAnn, { secret: 'x' })", "forbidden"],
    ["posts.create({ title: 'x', folder: v.hidden })", "validation_error"],
    ["posts.create({ title: 'x', author: v.bob })", "validation_error"],
    ["folders.create({ name: 'x' })", "forbidden"],
    ["nothing.list()", "not_found"],
    ["batch([{ method: 'delete', collection: 'posts', id: v.ofBob }])", "forbidden"],
    ["transaction((tx) => tx.posts.update(v.ofBob, { title: 'x' }))", "forbidden"],
    ["transaction((tx) => tx.posts.create({ title: 'x', folder: v.hidden }))", "validation_error"],
    ["transaction((tx) => tx.posts.get(v.ofBob))", "forbidden"],
  ])("refuses %s with %s, as HTTP does", async (call, code) => {
    const before = service.events.flushedSeq;
    expect((await run(`return await db.as(v.ann).${call}`)).code).toBe(code);
    expect((await run(`return await db.transaction((tx) => tx.as(v.ann).${call})`)).code).toBe(
      call.startsWith("batch") || call.startsWith("transaction") ? "TypeError" : code,
    );
    expect(service.events.flushedSeq).toBe(before);
  });

  test("makes records of the user, whom events, functions and hooks are told", async () => {
    const made = await answered("return await db.as(v.ann).posts.create({ title: 'tell', folder: v.shown })");
    expect(made).toMatchObject({ author: ann.user.id });
    const end = performance.now() + 20_000;
    while (!log.some((line) => line.includes("told ann@example.com"))) {
      if (performance.now() > end) throw new Error("The function was not called");
      await Bun.sleep(5);
    }
    expect(log.find((line) => line.includes("told "))).toContain("told ann@example.com 1");
    expect(await answered("return await db.as(v.ann).posts.delete(v.id)", made as object)).toBe(true);
  });

  test("has the present role of the user, and the rights of a user token, whatever key the request had", async () => {
    expect((await run("return await db.as(v.bob).folders.create({ name: 'x' })")).code).toBe("forbidden");
    await setRole(service, bob.user.id, "admin");
    expect(await answered("return await db.as(v.bob).folders.get(v.hidden)")).toMatchObject({ name: "closed" });
    await setRole(service, bob.user.id, "authenticated");
    expect((await run("return await db.as(v.bob).folders.get(v.hidden)")).code).toBe("not_found");
    const { key } = await makeKey(opened, { token: ann.accessToken, scopes: ["function:/run"] });
    expect((await request("GET", "/api/posts", { token: key })).status).toBe(403);
    expect(await answered("return await db.as(user).posts.count()", {}, key)).toBe(1);
  });

  test("upserts as HTTP does", async () => {
    const upsert = (token: string, slug: string) =>
      request("PUT", "/api/posts?by=slug", { token, body: { title: "x", slug } });
    const byCode = (caller: string, slug: string) =>
      run("return await db.as(v.caller).posts.upsert({ title: 'x', slug: v.slug }, { by: 'slug' })", { caller, slug });
    expect((await upsert(bob.accessToken, "of-bob")).status).toBe(201);
    for (const values of ["{ title: 'x' }", "'no object'"]) {
      const byNobody = `return await db.as(null).posts.upsert(${values}, { by: 'nope' })`;
      expect((await run(byNobody)).code).toBe("unauthorized");
    }
    const refused = await upsert(ann.accessToken, "of-bob");
    const { code, details } = await byCode(ann.user.id, "of-bob");
    const { error } = refused.body as { error?: { code: string; details?: unknown } };
    expect({ code, details }).toEqual({ code: error?.code, details: error?.details });
    const { value } = (await byCode(ann.user.id, "of-ann")) as { value: { id: string; author: string } };
    expect(value.author).toBe(ann.user.id);
    expect((await byCode(ann.user.id, "of-ann")).value).toMatchObject({ id: value.id });
    await answered("for (const { id } of (await db.posts.where({ title: 'x' })).items) await db.posts.delete(id)");
  });

  test("cursors are those of the user over HTTP", async () => {
    const [first, second] = await Promise.all([1, 2].map((n) => must("open", { n })));
    const page = (await answered("return await db.as(v.ann).open.limit(1)")) as { nextCursor: string };
    const path = `/api/open?limit=1&cursor=${page.nextCursor}`;
    expect((await request("GET", path, { token: ann.accessToken })).status).toBe(200);
    expect((await request("GET", path, { token: bob.accessToken })).status).toBe(400);
    for (const id of [first, second]) await request("DELETE", `/api/open/${id}`, { token: admin });
  });

  test("has no SQL, and needs a user, an id or null", async () => {
    expect((await run("return await db.as(v.ann).query('SELECT 1')")).message).toContain("SQL knows no rules");
    expect((await run("return await db.as(undefined).posts.list()")).message).toBe(
      "db.as needs a user, the id of a user, or null for nobody, not undefined",
    );
    for (const given of ["", "5", "{}", "{ id: null }", "''"])
      expect((await run(`return await db.as(${given}).posts.list()`)).code).toBe("TypeError");
  });

  test("of a deleted user is refused in every call with a clear error", async () => {
    const { user } = await opened.register("gone@example.com");
    await request("DELETE", `/api/admin/users/${user.id}`, { token: admin });
    const message = `db.as: there is no user "${user.id}"; the account may have been deleted.`;
    const calls = [
      "open.list()",
      "open.get(v.shown)",
      "open.where({ n: 1 }).first()",
      "open.create({ n: 1 })",
      "open.update(v.shown, { n: 1 })",
      "open.delete(v.shown)",
      "batch([{ method: 'create', collection: 'open', body: { n: 1 } }])",
      "transaction((tx) => tx.open.create({ n: 1 }))",
      "transaction((tx) => tx.open.list())",
    ];
    for (const call of calls)
      expect(await run(`return await db.as(v.gone).${call}`, { gone: user.id })).toEqual({
        code: "unauthorized",
        message,
      });
    expect(await answered("return await db.open.count()")).toBe(0);
  });
});

describe("db.as(null)", () => {
  test("reads and writes as a request without a token", async () => {
    expect((await run("return await db.as(null).posts.list()")).code).toBe("unauthorized");
    expect((await run("return await db.as(null).posts.create({ title: 'x' })")).code).toBe("unauthorized");
    const { id } = (await answered("return await db.as(null).open.create({ n: 1 })")) as { id: string };
    expect(await answered("return (await db.as(user).open.list()).length")).toBe(1);
    expect(await answered("return await db.as(null).open.delete(v.id)", { id })).toBe(true);
  });
});

describe("in a transaction", () => {
  test("the code and several users write in one commit", async () => {
    const code = `return await db.transaction(async (tx) => {
      const { id } = await tx.folders.create({ name: "open" });
      await tx.as(v.ann).posts.create({ title: "first", folder: id });
      await tx.as(v.bob).posts.create({ title: "second", folder: id });
      await tx.as(null).open.create({ n: 7 });
      return [await tx.as(v.ann).posts.where({ folder: id }).count(), await tx.posts.where({ folder: id }).count(), id];
    })`;
    const [seen, all, folder] = (await answered(code)) as [number, number, string];
    expect([seen, all]).toEqual([1, 2]);
    const stored = await answered("return (await db.posts.where({ folder: v.folder }).orderBy('title')).items", {
      folder,
    });
    expect(stored).toMatchObject([{ author: ann.user.id }, { author: bob.user.id }]);
    await answered(
      `for (const { id } of (await db.posts.where({ folder: v.folder })).items) await db.posts.delete(id);
      for (const { id } of await db.open.list()) await db.open.delete(id); await db.folders.delete(v.folder)`,
      { folder },
    );
  });

  test("a refusal under rules takes back the writes of the code, too", async () => {
    const code = `return await db.transaction(async (tx) => {
      await tx.open.create({ n: 1 });
      await tx.as(v.ann).posts.update(v.ofBob, { title: "stolen" });
    })`;
    expect((await run(code)).code).toBe("forbidden");
    expect(await answered("return await db.open.count()")).toBe(0);
  });

  test("a right that ends before the commit lets the function run again", async () => {
    const { user } = await opened.register("short@example.com");
    await setRole(service, user.id, "admin");
    const code = `let times = 0;
      const seen = await db.transaction(async (tx) => {
        times += 1;
        const count = await tx.as(v.short).folders.where({ name: "closed" }).count();
        if (times === 1) await fetch(v.url, { method: "POST" });
        await tx.open.create({ n: count });
        return count;
      });
      return [times, seen]`;
    const server = Bun.serve({
      port: 0,
      fetch: async () => {
        await setRole(service, user.id, "authenticated");
        return new Response();
      },
    });
    try {
      expect(await answered(code, { short: user.id, url: server.url.href })).toEqual([2, 0]);
    } finally {
      await server.stop(true);
    }
    await answered("for (const { id } of await db.open.list()) await db.open.delete(id)");
  });
});

test("a refused read counts: a right that begins before the commit lets the function run again", async () => {
  const { user } = await opened.register("later@example.com");
  const code = `let times = 0;
    const seen = await db.transaction(async (tx) => {
      times += 1;
      const code = await tx.as(v.later).posts.get(v.ofBob).then(() => "read", (error) => error.code);
      if (times === 1) await fetch(v.url);
      await tx.open.create({ n: times });
      return code;
    });
    return [times, seen]`;
  const server = Bun.serve({
    port: 0,
    fetch: async () => {
      await setRole(service, user.id, "admin");
      return new Response();
    },
  });
  try {
    expect(await answered(code, { later: user.id, url: server.url.href })).toEqual([2, "read"]);
  } finally {
    await server.stop(true);
  }
  await answered("for (const { id } of await db.open.list()) await db.open.delete(id)");
});

test("a live server query follows the rights of the user of db.as, who is not its caller", async () => {
  const { user } = await opened.register("watched@example.com");
  const socket = await listen(opened).connect(ann.accessToken);
  const values = (): unknown[] => socket.frames.flatMap((frame) => (frame.type === "result" ? [frame.value] : []));
  socket.send({ action: "subscribe", id: "q", query: { name: "of", args: { user: user.id } } });
  await until(() => values().length === 1);
  await setRole(service, user.id, "admin");
  await until(() => values().length === 2);
  const [before, after] = values();
  expect(Number(after)).toBe(Number(before) + 1);
  socket.socket.close();
});

test("an endpoint answers the error of db.as to its client", async () => {
  const ask = (id: string, token?: string) =>
    opened.answer("GET", `/api/function/told?id=${id}`, token === undefined ? {} : { token });
  expect([(await ask(ofAnn)).status, (await ask(ofBob, ann.accessToken)).status]).toEqual([401, 403]);
  expect(await (await ask("rec_none", ann.accessToken)).json()).toMatchObject({ error: { code: "not_found" } });
  expect(await (await ask(ofAnn, ann.accessToken)).json()).toMatchObject({ id: ofAnn });
});

test("a hook reads as the user of the write, and is asked again when the answer has changed", async () => {
  const write = (token?: string) =>
    request("POST", "/api/guarded", { body: { n: 1 }, ...(token !== undefined && { token }) });
  expect([(await write()).status, (await write(ann.accessToken)).status]).toEqual([403, 400]);
  const ticket = await must("posts", { title: "ticket" }, ann.accessToken);
  expect([(await write(bob.accessToken)).status, (await write(ann.accessToken)).status]).toEqual([400, 201]);
  await request("DELETE", `/api/posts/${ticket}`, { token: ann.accessToken });
});

test.each(["one", "batch", "transaction"])(
  "a hook may change a collection on which the rules of its own reads depend: %s",
  async (kind) => {
    const folder = await must("folders", { name: "closed" });
    const entry = await must("entries", { folder });
    expect((await request("POST", "/api/visits", { token: admin, body: { folder, kind } })).status).toBe(201);
    expect(await answered("return (await db.folders.get(v.folder)).name", { folder })).toBe("open");
    await answered("await db.entries.delete(v.entry); await db.folders.delete(v.folder)", { entry, folder });
  },
);

test("a server query reads as its caller, and only reads", async () => {
  const ask = async (name: string, token: string) =>
    (await opened.answer("GET", `/api/query/${name}`, { token })).text();
  expect([await ask("mine", ann.accessToken), await ask("mine", bob.accessToken)]).toEqual(["1", "1"]);
  expect(await ask("writes", ann.accessToken)).toContain("internal_error");
  expect(await answered("return await db.open.count()")).toBe(0);
});

test("functions that start each other through db.as end after sixteen", async () => {
  await must("posts", { title: "chain" }, ann.accessToken);
  const end = performance.now() + 30_000;
  while (!log.some((line) => line.includes("sixteen") || line.includes("chain of"))) {
    if (performance.now() > end) throw new Error(log.slice(-5).join("\n"));
    await Bun.sleep(10);
  }
  const count = (await answered("return await db.posts.where({ title: 'chain' }).count()")) as number;
  expect(count).toBeGreaterThan(10);
  expect(count).toBeLessThanOrEqual(17);
});

test("an anonymous user has the rules of anonymous users", async () => {
  const api = await openScripts({
    settings: { SERVICE_AUTH_ANONYMOUS: "true" },
    collections: [
      {
        name: "notes",
        fields: [{ name: "text", type: "string" }],
        permissions: { read: "@user.anonymous = true", create: "@user.anonymous = false" },
      },
    ],
    files: {
      "endpoints/run.ts": endpoint,
    },
  });
  const guest = (await api.request<{ user: { id: string }; accessToken: string }>("POST", "/api/auth/anonymous")).body;
  const full = await api.register("full@example.com");
  const codes = async (user: { id: string }): Promise<unknown> => {
    const code = `const code = async (call) => call.then(() => "done", (error) => error.code);
      const notes = db.as(v.id).notes;
      return [(await notes.list()).length, await code(notes.create({ text: "x" }))]`;
    const answer = await api.answer("POST", "/api/function/run", { body: { code, id: user.id } });
    return ((await answer.json()) as Told).value;
  };
  const overHttp = async (token: string): Promise<unknown> => {
    const { items } = (await api.request<{ items: unknown[] }>("GET", "/api/notes", { token })).body;
    return [items.length, (await api.request("POST", "/api/notes", { token, body: { text: "x" } })).status];
  };
  expect([await overHttp(full.accessToken), await codes(full.user)]).toEqual([
    [0, 201],
    [0, "done"],
  ]);
  expect([await overHttp(guest.accessToken), await codes(guest.user)]).toEqual([
    [2, 403],
    [2, "forbidden"],
  ]);
});
