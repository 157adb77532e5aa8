/**
 * The OpenAPI document against the service: each operation is called with a valid request and with invalid requests, and each answer
 * fulfils the schema for its status.
 */
import { expect, test } from "bun:test";
import type { BackupEntry, CreatedApiKey, EventEntry, FailurePage, Page, User } from "@socle/protocol";
import { fileForm, formType } from "../../../test/forms.ts";
import { password, registered, testAccounts } from "../../../test/openapi-accounts.ts";
import { notCalled, notRefused, openDescribedService } from "../../../test/openapi-world.ts";
import { home, TestApp } from "../../../test/sign-in-world.ts";

const described = await openDescribedService();
const { api, check, admin } = described;

testAccounts(described);

test("records, batches and files", async () => {
  const { accessToken } = await registered(described, "gil@example.com");
  const token = { token: accessToken };
  const stored = await upload(accessToken);
  const body = {
    title: "First",
    status: "done",
    stock: 3,
    price: 1.5,
    isNew: true,
    at: "2026-03-01",
    extra: { a: [1] },
    tags: ["a", "b"],
    picture: stored,
  };
  const { id } = await check.call<{ id: string }>("POST /api/posts", 201, { ...token, body });
  await check.call("POST /api/posts", 201, {
    ...admin,
    body: { title: "Second", parent: id, secret: "s", body: null },
  });
  await check.call("GET /api/posts", 200, {});
  const query = {
    filter: "stock > 1",
    sort: "-title",
    limit: "1",
    count: "exact",
    expand: "parent",
    search: "first",
    snippet: "title",
  };
  await check.call("GET /api/posts", 200, { ...token, query });
  await check.call("GET /api/posts/{id}", 200, { ...token, path: { id }, query: { expand: "parent" } });
  const change = { stock: { $increment: 2 }, tags: { $add: ["c"], $remove: ["a"] }, title: "Changed" };
  await check.call("PUT /api/posts/{id}", 200, { ...token, path: { id }, body: change });
  const back = await check.call("GET /api/posts/{id}", 200, { ...token, path: { id } });
  await check.call("PUT /api/posts/{id}", 200, { ...token, path: { id }, body: back });
  const upsert = { query: { by: "slug" }, body: { slug: "up", title: "Up", stock: { $increment: 2 } } };
  for (const status of [201, 200]) await check.call("PUT /api/posts", status, { ...token, ...upsert });
  await check.refuse("PUT /api/posts", 412, { ...token, ...upsert, headers: { "If-Match": '"x"' } });
  await check.refuse("PUT /api/posts", 405, { ...token, body: {} });
  await check.refuse("POST /api/posts", 400, { body: { title: "lower", stock: -1, other: 1 } });
  await check.refuse("PUT /api/posts/{id}", 412, { path: { id }, body: { stock: 1 }, headers: { "If-Match": '"x"' } });
  for (const name of ["posts", "users"]) await check.refuse(`GET /api/${name}`, 401, { token: "wrong" });
  await check.refuse("GET /api/posts", 400, { query: { filter: "title =" } });
  await check.refuse("GET /api/posts/{id}", 404, {});
  const operations = [
    { method: "create", collection: "posts", body: { title: "Parent" } },
    { method: "update", collection: "posts", id: { $ref: 0 }, body: { parent: { $ref: 0 } } },
    { method: "delete", collection: "posts", id: { $ref: 0 } },
  ];
  await check.call("POST /api/batch", 200, { ...token, body: { operations } });
  await check.refuse("POST /api/batch", 400, { body: { operations: [{ method: "none" }] } });
  await check.call("GET /api/posts/export", 200, admin);
  const ndjson = { "Content-Type": "application/x-ndjson" };
  await check.call("POST /api/posts/import", 200, {
    ...admin,
    body: '{"title":"Imported"}\n{"title":1}\n',
    headers: ndjson,
  });
  await check.refuse("DELETE /api/posts/{id}", 412, { ...token, path: { id }, headers: { "If-Match": '"x"' } });
  await check.call("DELETE /api/posts/{id}", 204, { ...token, path: { id } });
  for (const [path, of] of [
    ["/api/posts/{id}/history", id],
    ["/api/users/{id}/history", (await me(accessToken)).id],
  ] as const) {
    await check.call(`GET ${path}`, 200, { ...admin, path: { id: of }, query: { limit: "2" } });
    await check.call(`DELETE ${path}`, 204, { ...admin, path: { id: of } });
    await check.call(`GET ${path}`, 200, { ...admin, path: { id: of } });
  }
  const users = await check.call<{ items: { id: string }[] }>("GET /api/users", 200, token);
  expect(users.items.length).toBeGreaterThan(0);
  const self = { ...token, path: { id: (await me(accessToken)).id } };
  await check.call("GET /api/users/{id}", 200, self);
  await check.call("PUT /api/users/{id}", 200, { ...self, body: { nick: "Gil" } });
  await check.call("GET /api/users/export", 200, admin);
});

async function me(token: string): Promise<User> {
  return (await check.call<{ user: User }>("GET /api/auth/me", 200, { token })).user;
}

/** Uploads a file, and checks the routes of files. Answers the id of another file. */
async function upload(token: string): Promise<string> {
  const form = {
    headers: { "Content-Type": formType },
    body: fileForm("hello", { filename: "a.txt", visibility: "public" }),
  };
  const { id } = await check.call<{ id: string }>("POST /api/storage/upload", 201, { token, ...form });
  const file = { path: { id } };
  await check.call("GET /api/storage/{id}", 200, file);
  await check.call("GET /api/storage/{id}", 206, { ...file, headers: { Range: "bytes=0-1" } });
  await check.call("GET /api/storage/{id}", 304, { ...file, headers: { "If-None-Match": `"${id}"` } });
  await check.refuse("GET /api/storage/{id}", 416, { ...file, headers: { Range: "bytes=9-" } });
  await check.refuse("GET /api/storage/{id}", 412, { ...file, headers: { "If-Match": '"x"' } });
  await check.call("POST /api/storage/{id}/link", 200, { token, ...file });
  await check.call("GET /api/admin/storage", 200, { ...admin, query: { search: "a", limit: "1" } });
  await check.call("GET /api/admin/storage/{id}", 200, { ...admin, ...file });
  await check.call("PATCH /api/admin/storage/{id}", 200, { ...admin, ...file, body: { visibility: "record" } });
  await check.call("GET /api/admin/storage/{id}/records", 200, { ...admin, ...file });
  await check.call("DELETE /api/storage/{id}", 204, { token, ...file });
  const second = await check.call<{ id: string }>("POST /api/storage/upload", 201, { token, ...form });
  return second.id;
}

test("endpoints", async () => {
  const path = { id: "1" };
  await check.call("POST /api/function/orders/{id}", 200, { path, query: { size: "big" }, body: { amount: 2 } });
  await check.refuse("POST /api/function/orders/{id}", 400, { path, body: {} });
  await check.call("GET /api/function/orders/{id}", 200, { ...admin, path });
});

test("server queries", async () => {
  const path = { name: "x" };
  await check.call("GET /api/query/{name}", 200, { path, query: { args: "{}" } });
  await check.refuse("GET /api/query/{name}", 404, { path: { name: "none" } });
});

test("collections and users for admins", async () => {
  const name = { ...admin, path: { name: "made" } };
  const definition = { name: "made", fields: [{ name: "a", type: "string", values: ["x"] }] };
  await check.call("POST /api/admin/collections", 200, { ...admin, query: { dryRun: "true" }, body: definition });
  await check.call("POST /api/admin/collections", 201, { ...admin, body: definition });
  await check.call("GET /api/admin/collections", 200, admin);
  await check.call("GET /api/admin/collections/{name}", 200, name);
  const changed = {
    fields: [{ name: "b", type: "string", renamedFrom: "a", values: [{ name: "y", renamedFrom: "x" }] }],
  };
  await check.call("PUT /api/admin/collections/{name}", 200, { ...name, query: { dryRun: "true" }, body: changed });
  await check.call("PUT /api/admin/collections/{name}", 200, { ...name, body: changed });
  await check.refuse("PUT /api/admin/collections/{name}", 400, {
    ...name,
    body: { fields: [{ name: "b", type: "x" }] },
  });
  const trial = { as: null, operation: "create", body: { b: "z" } };
  await check.call("POST /api/admin/collections/{name}/try", 200, { ...name, body: trial });
  const tried = { definition: { fields: [], permissions: { read: "owner" } }, sample: 5 };
  const effects = await check.call<object>("POST /api/admin/collections/{name}/try", 200, { ...name, body: tried });
  expect(effects).toMatchObject({ isExact: true, notes: ['the field "b" is dropped with its values'] });
  const { collections } = await check.call("GET /api/admin/schema.json", 200, admin);
  await check.call("PUT /api/admin/schema.json", 200, { ...admin, body: { collections } });
  const stale = { ...admin, body: { collections }, headers: { "If-Match": '"x"' } };
  await check.refuse("PUT /api/admin/schema.json", 409, stale);
  expect((await api.request("POST", "/api/made", { body: { b: "y" } })).status).toBe(201);
  await check.call("PUT /api/admin/collections/{name}", 200, { ...name, body: { fields: [] } });
  const { items } = await check.call<{ items: { id: string }[] }>("GET /api/admin/dropped", 200, admin);
  const dropped = { ...admin, path: { id: items[0]?.id ?? "" } };
  await check.refuse("POST /api/admin/dropped/{id}/restore", 400, dropped);
  const again = { fields: [{ name: "b", type: "string" }] };
  expect(await check.call("PUT /api/admin/collections/{name}", 200, { ...name, body: again })).toHaveProperty(
    "restorable",
  );
  await check.call("POST /api/admin/dropped/{id}/restore", 200, dropped);
  await check.refuse("POST /api/admin/dropped/{id}/restore", 404, dropped);
  const guessed = { fields: [{ name: "c", type: "string" }] };
  expect(await check.call("PUT /api/admin/collections/{name}", 200, { ...name, body: guessed })).toHaveProperty(
    "renamed",
  );
  await check.call("DELETE /api/admin/collections/{name}", 204, name);
  const body = { email: "new@example.com", password, role: "authenticated" };
  const { id } = await check.call<User>("POST /api/admin/users", 201, { ...admin, body });
  await check.refuse("POST /api/admin/users", 409, { ...admin, body });
  const user = { ...admin, path: { id } };
  await api.login(body.email).catch(() => undefined);
  await check.call("GET /api/admin/users", 200, { ...admin, query: { search: "new", role: "authenticated" } });
  const { sessions } = await check.call<{ sessions: { id: string }[] }>("GET /api/admin/users/{id}", 200, user);
  const session = { ...admin, path: { id, sid: sessions[0]?.id ?? "" } };
  await check.call("DELETE /api/admin/users/{id}/sessions/{sid}", 204, session);
  await check.call("PATCH /api/admin/users/{id}", 200, { ...user, body: { role: "public" } });
  await check.call("POST /api/admin/users/{id}/password", 200, { ...user, body: { password: "battery staple" } });
  for (const link of ["reset", "verification"]) await check.call(`POST /api/admin/users/{id}/${link}`, 202, user);
  await check.call("GET /api/admin/users/{id}/factors", 200, user);
  await check.call("DELETE /api/admin/users/{id}/factors", 204, user);
  await check.call("DELETE /api/admin/users/{id}", 204, user);
  const key = { name: "deployment", scopes: ["posts:read"] };
  const made = await check.call<CreatedApiKey>("POST /api/admin/keys", 201, { ...admin, body: key });
  await check.call("GET /api/admin/keys", 200, admin);
  await check.call("DELETE /api/admin/keys/{id}", 204, { ...admin, path: { id: made.id } });
});

test("code for admins", async () => {
  await check.call("POST /api/posts", 201, { body: { title: "Fail" } });
  await api.scripts.settled();
  for (const part of ["scripts", "functions", "endpoints", "jobs"])
    await check.call(`GET /api/admin/${part}`, 200, admin);
  const failed = { ...admin, query: { status: "failed" } };
  const { items } = await check.call<{ items: { runId: string }[] }>("GET /api/admin/functions/runs", 200, failed);
  const run = { ...admin, path: { runId: items[0]?.runId ?? "" } };
  await check.call("GET /api/admin/runs/{runId}/source", 200, run);
  await check.call("POST /api/admin/runs/{runId}/preview", 200, run);
  await check.call("POST /api/admin/functions/runs/{runId}/retry", 202, run);
  const tick = { ...admin, path: { name: "tick" } };
  await check.call("POST /api/admin/jobs/{name}/run", 202, tick);
  await api.scripts.settled();
  await check.call("GET /api/admin/jobs/{name}/runs", 200, tick);
  await check.call("GET /api/admin/jobs", 200, admin);
  const mails = { ...admin, path: { name: "mails" } };
  const enqueue = "POST /api/admin/jobs/{name}/enqueue";
  const { runId } = await check.call(enqueue, 202, { ...mails, body: { payload: "fail", key: "a" } });
  await check.refuse(enqueue, 400, { ...mails, body: { at: "soon" } });
  await api.scripts.settled();
  await check.call("GET /api/admin/jobs/{name}/queue", 200, mails);
  const queued = { ...admin, path: { name: "mails", runId: String(runId) } };
  await check.call("GET /api/admin/jobs/{name}/queue/{runId}", 200, queued);
  await check.call("POST /api/admin/jobs/{name}/queue/{runId}/retry", 202, queued);
  await api.scripts.settled();
  await check.call("DELETE /api/admin/jobs/{name}/queue/{runId}", 204, queued);
});

test("failures for admins", async () => {
  await check.call("POST /api/posts", 201, { body: { title: "Fail" } });
  await api.scripts.settled();
  const all = { ...admin, query: { kind: "function", limit: "3" } };
  await check.call("GET /api/admin/status", 200, admin);
  await check.call("GET /api/admin/audit/export", 200, admin);
  await check.call("PUT /api/admin/read-only", 200, { ...admin, body: { on: true } });
  await check.call("GET /api/admin/read-only", 200, admin);
  await check.call("GET /api/admin/logs/level", 200, admin);
  await check.call("PUT /api/admin/logs/level", 200, { ...admin, body: { level: "DEBUG" } });
  await check.call("PUT /api/admin/read-only", 200, { ...admin, body: { on: false } });
  const { items } = await check.call<FailurePage>("GET /api/admin/failures", 200, all);
  await check.refuse("GET /api/admin/failures", 400, { ...admin, query: { status: "closed" } });
  const group = { ...admin, path: { group: items[0]?.id ?? "" } };
  await check.call("POST /api/admin/failures/{group}/retry", 202, group);
  await check.call("GET /api/admin/failures/{group}", 200, group);
  for (const deed of ["mute", "resolve", "reopen"])
    await check.call(`POST /api/admin/failures/{group}/${deed}`, 200, group);
  await check.call("POST /api/admin/failures/retry", 202, { ...admin, body: { kind: "queue" } });
  await api.scripts.settled();
});

test("lists by a body", async () => {
  const body = { filter: 'title != ""', limit: 2, count: "exact" };
  await check.call("POST /api/posts/query", 200, { body });
  await check.call("POST /api/users/query", 200, { ...admin, body: { limit: 1 } });
  await check.call("POST /api/query", 200, { body: { search: "some", in: ["posts"], limit: 2 } });
  await check.refuse("POST /api/query", 404, { body: { search: "some", in: ["none"] } });
});

test("the trash", async () => {
  const { id } = await check.call<{ id: string }>("POST /api/posts", 201, { body: { title: "Gone" } });
  const record = { path: { id } };
  await check.call("DELETE /api/posts/{id}", 204, record);
  await check.call("GET /api/posts", 200, { query: { trash: "only", limit: "3" } });
  await check.refuse("GET /api/posts", 400, { query: { trash: "all" } });
  await check.call("POST /api/posts/{id}/restore", 200, record);
  await check.call("DELETE /api/posts/{id}", 204, record);
  await check.call("DELETE /api/posts/{id}", 204, { ...record, query: { trash: "only" } });
  await check.call("DELETE /api/admin/collections/{name}/trash", 200, { ...admin, path: { name: "posts" } });
});

test("undos for admins", async () => {
  const { id } = await check.call<{ id: string }>("POST /api/posts", 201, { body: { title: "Wrong" } });
  const { items } = await check.call<Page<EventEntry>>("GET /api/admin/events", 200, {
    ...admin,
    query: { type: "posts.created", limit: "1" },
  });
  const body = { events: [items[0]?.seq ?? 0] };
  await check.call("POST /api/admin/undo", 200, { ...admin, body, query: { dryRun: "true" } });
  await check.refuse("POST /api/admin/undo", 400, { ...admin, body: { event: id } });
  const undo = await check.call<{ id: string }>("POST /api/admin/undo", 202, { ...admin, body });
  await check.call("GET /api/admin/undo/{id}", 200, { ...admin, path: { id: undo.id } });
  await check.refuse("GET /api/admin/undo/{id}", 404, { ...admin, path: { id: "und_1" } });
  await check.call("GET /api/admin/trace/{id}", 200, { ...admin, path: { id: String(items[0]?.seq) } });
  await check.refuse("GET /api/admin/trace/{id}", 404, { ...admin, path: { id: "evt_1" } });
});

test("the operation of the service", async () => {
  for (const path of ["/", "/health", "/health/ready"]) await check.call(`GET ${path}`, 200);
  for (const path of [
    "/metrics",
    "/api/openapi.json",
    "/api/admin/overview",
    "/api/admin/sockets",
    "/api/admin/config",
    "/api/admin/providers",
  ])
    await check.call(`GET ${path}`, 200, admin);
  await check.call("POST /api/admin/scripts/reload", 204, admin);
  await check.call("PUT /api/admin/config/{key}", 200, { ...admin, path: { key: "mail.keep" }, body: { value: "7d" } });
  await check.refuse("PUT /api/admin/config/{key}", 404, { ...admin, path: { key: "port" }, body: { value: 1 } });
  await check.call("GET /api/admin/logs", 200, { ...admin, query: { level: "INFO,WARN" } });
  await check.refuse("GET /api/admin/logs", 400, { ...admin, query: { level: "LOUD" } });
  await check.call("GET /api/admin/events", 200, { ...admin, query: { type: "posts.*", limit: "3" } });
  for (const kind of ["logs", "events"]) await check.call(`GET /api/admin/${kind}/stream`, 200, admin);
  await check.refuse("GET /api/realtime", 426);
  const { items } = await check.call<{ items: { id: string }[] }>("GET /api/admin/mails", 200, admin);
  const mail = { ...admin, path: { id: items[0]?.id ?? "" } };
  await check.call("GET /api/admin/mails/{id}", 200, mail);
  await check.call("GET /api/admin/mails/settings", 200, admin);
  await check.refuse("POST /api/admin/mails/{id}/retry", 400, mail);
  const { name } = await check.call<{ name: string }>("POST /api/admin/backups", 202, admin);
  const backups = () => check.call<Page<BackupEntry>>("GET /api/admin/backups", 200, admin);
  while ((await backups()).items.some(({ state }) => state === "running")) await Bun.sleep(5);
  await check.call("GET /api/admin/backups/{name}", 200, { ...admin, path: { name } });
  await check.call("POST /api/admin/backups/{name}/verify", 202, { ...admin, path: { name } });
  await check.refuse("GET /api/admin/backups/continuous", 404, admin);
  while ((await backups()).items.some(({ check }) => check?.state === "running")) await Bun.sleep(5);
  await check.call("DELETE /api/admin/backups/{name}", 204, { ...admin, path: { name } });
});

test("looks of admins: saved views, plans, statements, and the list of another user", async () => {
  const { id } = await check.call<{ id: string }>("POST /api/posts", 201, { body: { title: "Seen" } });
  const view = { ...admin, path: { name: "posts", view: "Mine" } };
  const body = {
    filter: 'title != ""',
    sort: "-title",
    columns: { order: ["title"], hidden: [], widths: { title: 90 } },
  };
  await check.call("PUT /api/admin/collections/{name}/saved-views/{view}", 200, { ...view, body });
  await check.call("GET /api/admin/collections/{name}/saved-views", 200, { ...admin, path: { name: "posts" } });
  await check.call("DELETE /api/admin/collections/{name}/saved-views/{view}", 204, view);
  const query = { filter: 'title = "Seen"', sort: "title" };
  await check.call("GET /api/admin/collections/{name}/explain", 200, { ...admin, path: { name: "posts" }, query });
  await check.refuse("GET /api/admin/collections/{name}/explain", 400, {
    ...{ ...admin, path: { name: "posts" }, query: { filter: "title =" } },
  });
  await check.call("POST /api/admin/collections/{name}/view-as", 200, {
    ...{ ...admin, path: { name: "posts" }, body: { as: null } },
  });
  await check.call("GET /api/admin/records/{id}", 200, { ...admin, path: { id } });
  await check.call("POST /api/admin/sql", 200, { ...admin, body: { sql: "SELECT title, 1.5 AS n FROM posts" } });
  await check.refuse("POST /api/admin/sql", 400, { ...admin, body: { sql: "DELETE FROM posts" } });
});

test("every operation refuses a request without a token, without the object that the path names, and with a broken body", async () => {
  const { accessToken: token } = await registered(described, "stranger@example.com");
  for (const name of check.operations) {
    const { security, parameters = [], requestBody } = check.operation(name);
    const isOpen = security.some((each) => Object.keys(each).length === 0);
    const hasJson = requestBody?.content?.["application/json"] !== undefined;
    const isForAdmins = /^\w+ \/(api\/admin\/|metrics|api\/openapi)|\/(import|export|history)$/.test(name);
    const body = hasJson ? { body: "{" } : {};
    if (!isOpen || isForAdmins) await check.refuse(name, 401, body);
    if (isForAdmins) await check.refuse(name, 403, { token, ...body });
    const asMember = isForAdmins ? admin : isOpen ? {} : { token };
    const isThing = parameters.some((each) => each.in === "path") && !/\/(function|oauth\/callback|source)/.test(name);
    if (isThing)
      await check.refuse(name, 404, {
        ...asMember,
        ...(hasJson && { body: {} }),
        query: { redirect: home, challenge: new TestApp().challenge },
      });
    else if (hasJson) await check.refuse(name, 400, { ...asMember, query: { by: "slug" }, body: "{" });
  }
});

test("no operation is left out", () => {
  const missing = check.operations.filter((name) => !check.succeeded.has(name));
  expect(missing.sort()).toEqual(Object.keys(notCalled).sort());
  expect(check.operations.filter((name) => !check.refused.has(name)).sort()).toEqual([...notRefused].sort());
});
