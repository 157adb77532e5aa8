/** Tests of the read-only mode: every change is refused, sessions and deletions by admins go on, and no run is lost. */
import { beforeEach, expect, test } from "bun:test";
import { quietLogger } from "../../test/kit.ts";
import { openScripts } from "../../test/scripts.ts";
import { freeBytes, messageOf } from "../base/kernel/index.ts";
import { guardDisks } from "./read-only.ts";
import { openService } from "./service.ts";

const api = await openScripts({
  collections: [
    {
      name: "posts",
      fields: [
        { name: "title", type: "string", unique: true },
        { name: "file", type: "file" },
      ],
      permissions: { read: "public", create: "public", update: "authenticated", delete: "authenticated" },
    },
    { name: "copies", fields: [{ name: "of", type: "string" }] },
    { name: "hooked", fields: [{ name: "title", type: "string" }] },
    { name: "gates", fields: [{ name: "isOpen", type: "boolean" }] },
  ],
  files: {
    "functions/posts/copy.ts": `
      export const onCreate = async ({ record, db }) => {
        while (record.title === "slow" && (await db.collection("gates").list()).items.length > 0) await Bun.sleep(5);
        await db.collection("copies").create({ of: record.title });
      };`,
    "functions/hooked/check.ts": `export const beforeCreate = ({ record }) => ({ title: record.title + "!" });`,
    "functions/users/hello.ts": `
      export const onLogin = ({ db }) => db.collection("copies").create({ of: "login" });`,
    "jobs/queued.ts": `
      export const queue = { concurrency: 1 };
      export default ({ payload, db }) => db.collection("copies").create({ of: payload.of });`,
    "endpoints/write.ts": `
      export const access = "public";
      export const POST = async ({}, { db }) => Response.json(await db.collection("copies").create({ of: "endpoint" }));`,
    "endpoints/remove.ts": `
      export const access = "public";
      export const POST = async ({}, { db }) => {
        for (const { id } of (await db.collection("posts").list()).items) await db.collection("posts").delete(id);
        return Response.json({});
      };`,
  },
});
const { service, request, scripts } = api;
const { readOnly } = service.database;
const admin = await api.admin();
const member = await api.register("member@example.com");
const token = member.accessToken;
const set = async (on: boolean) => (await request("PUT", "/api/admin/read-only", { token: admin, body: { on } })).body;
const copies = async (): Promise<string[]> => {
  const { body } = await request<{ items: { of: string }[] }>("GET", "/api/copies");
  return body.items.map(({ of }) => of).sort();
};
const audit = async (): Promise<string[]> => {
  const { body } = await request<{ items: { type: string }[] }>("GET", "/api/admin/events?type=admin.readOnly.*", {
    token: admin,
  });
  return body.items.map(({ type }) => type);
};

const refusal = {
  code: "unavailable",
  message: "The service is read-only at the moment, and takes no changes.",
};

beforeEach(async () => {
  await set(false);
  await scripts.settled();
  for (const name of ["posts", "copies", "gates"]) {
    const { items } = (await request<{ items: { id: string }[] }>("GET", `/api/${name}`)).body;
    for (const { id } of items) await request("DELETE", `/api/${name}/${id}`, { token: admin });
  }
});

/** A file of a multipart body. */
function upload(): { body: string; headers: Record<string, string> } {
  const body = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nabc\r\n--x--\r\n';
  return { body, headers: { "Content-Type": "multipart/form-data; boundary=x" } };
}

/** Each change of another kind, as an admin sends the change unless a token says otherwise. */
const changes: readonly (readonly [method: string, path: string, options?: object])[] = [
  ["POST", "/api/posts", { body: { title: "new" } }],
  ["PUT", "/api/posts/{id}", { body: { title: "changed" } }],
  ["PUT", "/api/posts?by=title", { body: { title: "upsert" } }],
  ["DELETE", "/api/posts/{id}", { token }],
  ["POST", "/api/batch", { body: { operations: [{ method: "create", collection: "posts", body: { title: "b" } }] } }],
  ["POST", "/api/posts/import", { body: '{"title":"i"}\n', headers: { "Content-Type": "application/x-ndjson" } }],
  ["POST", "/api/storage/upload", upload()],
  ["POST", "/api/auth/register", { body: { email: "new@example.com", password: "correct horse" }, token: "" }],
  ["PUT", "/api/auth/password", { body: { current: "correct horse", password: "battery staple" }, token }],
  ["DELETE", "/api/auth/me", { body: { password: "correct horse" }, token }],
  ["POST", "/api/auth/keys", { body: { name: "k", scopes: ["posts:read"] } }],
  ["POST", "/api/admin/collections", { body: { name: "made", fields: [] } }],
  ["PUT", "/api/admin/collections/posts", { body: { permissions: { read: "admin" } } }],
  ["DELETE", "/api/admin/collections/copies"],
  ["POST", "/api/admin/users", { body: { email: "new@example.com", password: "correct horse" } }],
  ["PATCH", `/api/admin/users/${member.user.id}`, { body: { role: "admin" } }],
  ["POST", "/api/admin/jobs/queued/enqueue", { body: { payload: { of: "job" } } }],
  ["POST", "/api/admin/undo", { body: { by: member.user.id, since: "2026-01-01T00:00:00Z" } }],
  ["POST", "/api/function/write", { token: "" }],
  ["POST", "/api/function/remove", { token: "" }],
];

for (const [method, path, options = {}] of changes)
  test(`a read-only service refuses ${method} ${path.replace(/usr_.*/, "{user}")}, and takes the request after the mode`, async () => {
    const { body: post } = await request<{ id: string }>("POST", "/api/posts", { token, body: { title: "first" } });
    await scripts.settled();
    const before = await copies();
    const sent = () => {
      const { token: given = admin, ...rest } = options as { token?: string };
      return request(method, path.replace("{id}", post.id), { ...rest, ...(given !== "" && { token: given }) });
    };
    await set(true);
    const seq = service.events.committedSeq;
    const refused = await sent();
    expect({ status: refused.status, error: refused.body["error"] as object }).toEqual({
      status: 503,
      error: { ...refusal, message: expect.stringContaining(refusal.message) },
    });
    expect(refused.headers.get("retry-after")).toBe("10");
    expect(await copies()).toEqual(before);
    expect((await request<{ items: object[] }>("GET", "/api/posts")).body.items).toHaveLength(1);
    expect(service.events.committedSeq).toBe(seq);
    // The mode alone refuses. Changes of users would be in the way of the next tests.
    if (/auth|users|collections|undo/.test(path)) return;
    await set(false);
    expect((await sent()).status).toBeLessThan(300);
    await scripts.settled();
  });

test("sessions begin, go on and end in a read-only service, and an admin deletes", async () => {
  const { body: post } = await request<{ id: string }>("POST", "/api/posts", { body: { title: "gone" } });
  const { body: other } = await request<{ id: string }>("POST", "/api/posts", { body: { title: "gone, too" } });
  const { body: stored } = await request<{ id: string }>("POST", "/api/storage/upload", { token: admin, ...upload() });
  const guest = await api.register("guest@example.com");
  await scripts.settled();
  await set(true);
  const { status, body } = await request<{ refreshToken: string }>("POST", "/api/auth/login", {
    body: { email: "member@example.com", password: "correct horse" },
  });
  expect(status).toBe(200);
  const refreshed = await request<{ accessToken: string; refreshToken: string }>("POST", "/api/auth/refresh", {
    body: { refreshToken: body.refreshToken },
  });
  expect(refreshed.status).toBe(200);
  const out = { token: refreshed.body.accessToken, body: { refreshToken: refreshed.body.refreshToken } };
  expect((await request("POST", "/api/auth/logout", out)).status).toBe(204);
  expect((await request("GET", "/api/auth/me", { token: refreshed.body.accessToken })).status).toBe(401);
  expect((await request("DELETE", "/api/auth/sessions", { token })).status).toBe(204);
  expect((await request("DELETE", `/api/posts/${post.id}`, { token: admin })).status).toBe(204);
  const operations = [{ method: "delete", collection: "posts", id: other.id }];
  expect((await request("POST", "/api/batch", { token: admin, body: { operations } })).status).toBe(200);
  expect((await request("DELETE", `/api/storage/${stored.id}`, { token: admin })).status).toBe(204);
  expect((await request("DELETE", `/api/admin/users/${guest.user.id}`, { token: admin })).status).toBe(204);
  const dry = { by: member.user.id, since: "2026-01-01T00:00:00Z" };
  expect((await request("POST", "/api/admin/undo?dryRun=true", { token: admin, body: dry })).status).toBe(200);
  const rows = { token: admin, body: "title\nrow\n", headers: { "Content-Type": "text/csv" } };
  for (const name of ["posts", "hooked"]) {
    const rehearsed = await request<object>("POST", `/api/${name}/import?dryRun=true`, rows);
    expect([rehearsed.status, rehearsed.body]).toEqual([200, expect.objectContaining({ imported: 1, problems: [] })]);
    expect((await request("POST", `/api/${name}/import`, rows)).status).toBe(503);
  }
  // The function of the sign-in waits.
  await scripts.settled();
  expect(await copies()).toEqual(["gone", "gone, too"]);
  await set(false);
  await scripts.settled();
  expect(await copies()).toContain("login");
});

test("runs wait in a read-only service; an attempt that the mode has met is made again, and does not count", async () => {
  const { body: gate } = await request<{ id: string }>("POST", "/api/gates", { body: { isOpen: false } });
  await request("POST", "/api/posts", { body: { title: "slow" } });
  while (scripts.functions.queue().running === 0) await Bun.sleep(1);
  const at = Date.now() + 2_000;
  await scripts.jobs.queues.enqueue(
    "queued",
    { payload: '{"of":"q"}', options: { at: new Date(at).toISOString() } },
    {
      ...{ userId: null, role: "admin", actor: null, depth: 0, chain: [], isHook: false },
    },
  );
  await set(true);
  // The function goes on in the read-only service.
  expect((await request("DELETE", `/api/gates/${gate.id}`, { token: admin })).status).toBe(204);
  while (scripts.functions.queue().running > 0) await Bun.sleep(1);
  await Bun.sleep(at + 100 - Date.now());
  expect(scripts.functions.queue()).toEqual({ waiting: 1, running: 0, failed: 0 });
  expect(scripts.jobs.queues.counts("queued")).toEqual({ waiting: 1, running: 0, failed: 0 });
  expect(await copies()).toEqual([]);
  const { body: found } = await request<{ items: { id: string }[] }>("GET", "/api/admin/status", { token: admin });
  expect(found.items.map(({ id }) => id)).toContain("read_only");
  await set(false);
  while ((await copies()).length < 2) await Bun.sleep(5);
  await scripts.settled();
  expect(await copies()).toEqual(["q", "slow"]);
  const { body: failed } = await request<{ total: number }>("GET", "/api/admin/events?type=function.failed", {
    token: admin,
  });
  expect(failed.total).toBe(0);
  expect(await scripts.run({ kind: "job", name: "none" }, () => undefined).catch(messageOf)).not.toContain("read-only");
  await set(true);
  expect(await scripts.run({ kind: "job", name: "none" }, () => undefined).catch(messageOf)).toBe(refusal.message);
});

test("the mode is told to admins alone, in the audit once, in the readiness and in the metrics", async () => {
  const before = (await audit()).length;
  expect(await set(true)).toEqual(await set(true));
  const { body } = await request("GET", "/api/admin/read-only", { token: admin });
  expect(body).toMatchObject({ on: true, cause: "admin", text: "an admin has switched changes off" });
  expect(
    (await request("GET", "/api/admin/read-only", { token: (await api.login("member@example.com")).accessToken }))
      .status,
  ).toBe(403);
  expect((await request("PUT", "/api/admin/read-only", { token: admin, body: { on: "yes" } })).status).toBe(400);
  const ready = await request<{ notes: string[] }>("GET", "/health/ready");
  expect([ready.status, ready.body.notes]).toEqual([
    200,
    ["the service is read-only: an admin has switched changes off"],
  ]);
  const metrics = new TextDecoder().decode((await request("GET", "/metrics", { token: admin })).bytes);
  expect(metrics).toContain('socle_status{id="read_only",level="warning"} 1');
  expect(await set(false)).toEqual({ on: false, cause: null, since: null, text: null } as never);
  expect((await audit()).slice(0, (await audit()).length - before)).toEqual([
    "admin.readOnly.off",
    "admin.readOnly.on",
  ]);
  expect((await request<{ notes?: string[] }>("GET", "/health/ready")).body.notes).toBeUndefined();
});

test("a disk without room makes the service read-only until the disk has room; the mode of an admin stays", async () => {
  const free = await freeBytes(api.folder);
  const config = { "limits.diskFree": 0 };
  const stop = new AbortController();
  const guard = () =>
    guardDisks({ config, database: service.database, logger: quietLogger(), paths: [api.folder] }, stop.signal);
  await guard();
  expect(readOnly.state).toBeNull();
  config["limits.diskFree"] = 2 * free + 1_000_000_000;
  await guard();
  expect(readOnly.state).toMatchObject({
    cause: "disk",
    text: `the disk of ${api.folder} has less room than limits.diskFree`,
  });
  expect((await request("POST", "/api/posts", { body: { title: "no room" } })).status).toBe(503);
  expect(await set(false)).toMatchObject({ on: true, cause: "disk" });
  await set(true);
  config["limits.diskFree"] = 0;
  await guard();
  expect(readOnly.state).toMatchObject({ cause: "admin" });
  stop.abort();
  await set(false);
  expect((await request("POST", "/api/posts", { body: { title: "room" } })).status).toBe(201);
});

test("the mode stays over a restart, and a start applies no changed definition", async () => {
  const { config } = api;
  await set(true);
  await api.stop();
  const options = { config, logger: quietLogger(), onFatal: () => undefined };
  const again = await openService(options);
  expect(again.database.readOnly.state?.cause).toBe("admin");
  await expect(again.database.transact(() => undefined)).rejects.toThrow(refusal.message);
  await again.close();
  await Bun.write(`${api.folder}/collections/01.json`, JSON.stringify({ name: "copies", fields: [] }));
  const refused = await openService(options).catch(messageOf);
  expect(refused).toContain("read-only");
});
