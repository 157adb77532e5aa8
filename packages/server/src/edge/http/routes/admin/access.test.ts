import { afterAll, describe, expect, test } from "bun:test";
import { lastSeq, openApi, setRole } from "../../../../../test/kit.ts";
import { SmtpSink } from "../../../../../test/smtp-sink.ts";
import { system } from "../../../../base/kernel/index.ts";
import { LiveStreams } from "../../live-streams.ts";
import { adminRoutes } from "./index.ts";

const sink = await SmtpSink.start();
afterAll(() => sink[Symbol.asyncDispose]());
const api = await openApi({
  collections: [{ name: "posts", fields: [{ name: "title", type: "string" }] }],
  settings: {
    SERVICE_MAIL_FROM: "shop@example.com",
    SERVICE_MAIL_SMTP: sink.address,
    SERVICE_PUBLIC_URL: "https://shop.example.com",
  },
});
const { request, service } = api;
const admin = await api.admin();

const member = await api.register("member@example.com");
const publicUser = await api.register("public@example.com");
await setRole(service, publicUser.user.id, "public");
const revoked = await api.register("revoked@example.com");
await setRole(service, revoked.user.id, "admin");
await request("POST", "/api/auth/logout", { token: revoked.accessToken });
const deleted = await api.register("deleted@example.com");
await setRole(service, deleted.user.id, "admin");
await request("DELETE", `/api/admin/users/${deleted.user.id}`, { token: admin });
const demoted = await api.register("demoted@example.com");
await setRole(service, demoted.user.id, "admin");
await setRole(service, demoted.user.id, "authenticated");
const file = await service.storage.store(system, async (upload) => {
  await upload.write(new Uint8Array(1));
  return { filename: "a", visibility: "public" };
});

const callers: readonly (readonly [who: string, token: string | undefined, status: number])[] = [
  ["anonymous", undefined, 401],
  ["authenticated", member.accessToken, 403],
  ["public role", publicUser.accessToken, 403],
  ["revoked token of an admin", revoked.accessToken, 401],
  ["deleted admin", deleted.accessToken, 401],
  ["demoted admin", demoted.accessToken, 403],
  ["no token at all", "nonsense", 401],
];

/** Every route with a request that works for an admin, and the status of that. */
const requests: readonly (readonly [method: string, path: string, route: string, status: number, body?: object])[] = [
  ["GET", "/api/admin/overview", "/api/admin/overview", 200],
  ["GET", "/api/admin/status", "/api/admin/status", 200],
  ["GET", "/api/admin/logs/level", "/api/admin/logs/level", 200],
  ["GET", "/api/admin/read-only", "/api/admin/read-only", 200],
  ["PUT", "/api/admin/read-only", "/api/admin/read-only", 200, { on: false }],
  ["GET", "/api/admin/audit/export", "/api/admin/audit/export", 200],
  ["GET", "/api/admin/trace/nothing", "/api/admin/trace/:id", 404],
  ["GET", "/api/admin/sockets", "/api/admin/sockets", 200],
  ["GET", "/api/admin/config", "/api/admin/config", 200],
  ["GET", "/api/admin/scripts", "/api/admin/scripts", 200],
  ["GET", "/api/admin/collections", "/api/admin/collections", 200],
  ["POST", "/api/admin/collections", "/api/admin/collections", 201, { name: "made", fields: [] }],
  ["GET", "/api/admin/collections/made", "/api/admin/collections/:name", 200],
  ["PUT", "/api/admin/collections/made", "/api/admin/collections/:name", 200, { permissions: { read: "admin" } }],
  ["POST", "/api/admin/collections/made/view-as", "/api/admin/collections/:name/view-as", 200, { as: null }],
  ["POST", "/api/admin/collections/made/try", "/api/admin/collections/:name/try", 200, { as: null, operation: "read" }],
  ["GET", "/api/admin/collections/made/explain", "/api/admin/collections/:name/explain", 200],
  ["DELETE", "/api/admin/collections/made", "/api/admin/collections/:name", 204],
  ["GET", "/api/admin/dropped", "/api/admin/dropped", 200],
  ["POST", "/api/admin/dropped/1/restore", "/api/admin/dropped/:id/restore", 404],
  ["GET", "/api/admin/schema.json", "/api/admin/schema.json", 200],
  ["PUT", "/api/admin/schema.json", "/api/admin/schema.json", 200, whole()],
  ["GET", "/api/admin/users", "/api/admin/users", 200],
  ["POST", "/api/admin/users", "/api/admin/users", 201, { email: "made@example.com", password: "correct horse" }],
  ["POST", "/api/admin/invitations", "/api/admin/invitations", 201, { email: "invited@example.com" }],
  ["GET", `/api/admin/users/${member.user.id}`, "/api/admin/users/:id", 200],
  ["PATCH", `/api/admin/users/${member.user.id}`, "/api/admin/users/:id", 200, { role: "authenticated" }],
  [
    "POST",
    `/api/admin/users/${demoted.user.id}/password`,
    "/api/admin/users/:id/password",
    200,
    { password: "battery staple" },
  ],
  [
    "DELETE",
    `/api/admin/users/${member.user.id}/sessions/${await sessionOf(member.user.id)}`,
    "/api/admin/users/:id/sessions/:sid",
    204,
  ],
  ["POST", `/api/admin/users/${member.user.id}/reset`, "/api/admin/users/:id/reset", 202],
  ["POST", `/api/admin/users/${member.user.id}/verification`, "/api/admin/users/:id/verification", 202],
  ["GET", `/api/admin/users/${member.user.id}/factors`, "/api/admin/users/:id/factors", 200],
  ["DELETE", `/api/admin/users/${member.user.id}/factors`, "/api/admin/users/:id/factors", 204],
  ["DELETE", `/api/admin/users/${member.user.id}/factors/totp`, "/api/admin/users/:id/factors/:factor", 404],
  ["GET", `/api/admin/users/${member.user.id}/links`, "/api/admin/users/:id/links", 200],
  ["DELETE", `/api/admin/users/${member.user.id}/links/google`, "/api/admin/users/:id/links/:name", 404],
  ["GET", `/api/admin/users/${member.user.id}/keys`, "/api/admin/users/:id/keys", 200],
  ["DELETE", `/api/admin/users/${member.user.id}/keys/key_x`, "/api/admin/users/:id/keys/:key", 404],
  ["GET", "/api/admin/keys", "/api/admin/keys", 200],
  ["POST", "/api/admin/keys", "/api/admin/keys", 201, { name: "deployment", scopes: ["posts:read"] }],
  ["DELETE", "/api/admin/keys/key_x", "/api/admin/keys/:id", 404],
  ["DELETE", `/api/admin/users/${member.user.id}`, "/api/admin/users/:id", 204],
  ["GET", "/api/admin/storage", "/api/admin/storage", 200],
  ["GET", `/api/admin/storage/${file.id}`, "/api/admin/storage/:id", 200],
  ["PATCH", `/api/admin/storage/${file.id}`, "/api/admin/storage/:id", 200, { visibility: "protected" }],
  ["GET", `/api/admin/storage/${file.id}/records`, "/api/admin/storage/:id/records", 200],
  ["GET", "/api/admin/backups", "/api/admin/backups", 200],
  ["GET", "/api/admin/backups/none", "/api/admin/backups/:name", 404],
  ["GET", "/api/admin/backups/continuous", "/api/admin/backups/continuous", 404],
  ["POST", "/api/admin/backups/none/verify", "/api/admin/backups/:name/verify", 404],
  ["DELETE", "/api/admin/backups/none", "/api/admin/backups/:name", 404],
  ["POST", "/api/admin/backups", "/api/admin/backups", 202],
  ["GET", "/api/admin/functions", "/api/admin/functions", 200],
  ["GET", "/api/admin/functions/runs", "/api/admin/functions/runs", 200],
  ["POST", "/api/admin/functions/runs/run_1/retry", "/api/admin/functions/runs/:runId/retry", 404],
  ["GET", "/api/admin/failures", "/api/admin/failures", 200],
  ["POST", "/api/admin/failures/retry", "/api/admin/failures/retry", 202, { kind: "queue" }],
  ["GET", "/api/admin/failures/flr_x", "/api/admin/failures/:group", 404],
  ["POST", "/api/admin/failures/flr_x/retry", "/api/admin/failures/:group/retry", 404],
  ["POST", "/api/admin/failures/flr_x/mute", "/api/admin/failures/:group/mute", 404],
  ["POST", "/api/admin/failures/flr_x/resolve", "/api/admin/failures/:group/resolve", 404],
  ["POST", "/api/admin/failures/flr_x/reopen", "/api/admin/failures/:group/reopen", 404],
  ["POST", "/api/admin/sql", "/api/admin/sql", 200, { sql: "SELECT 1 AS n" }],
  ["POST", "/api/admin/undo", "/api/admin/undo", 404, { request: "req_x" }],
  ["GET", "/api/admin/undo/und_x", "/api/admin/undo/:id", 404],
  ["GET", "/api/admin/endpoints", "/api/admin/endpoints", 200],
  ["POST", "/api/admin/runs/run_x/preview", "/api/admin/runs/:runId/preview", 404],
  ["GET", "/api/admin/runs/run_x/source", "/api/admin/runs/:runId/source", 200],
  ["GET", "/api/admin/jobs", "/api/admin/jobs", 200],
  ["GET", "/api/admin/jobs/none/runs", "/api/admin/jobs/:name/runs", 404],
  ["POST", "/api/admin/jobs/none/run", "/api/admin/jobs/:name/run", 404],
  ["POST", "/api/admin/jobs/none/enqueue", "/api/admin/jobs/:name/enqueue", 404, {}],
  ["GET", "/api/admin/jobs/none/queue", "/api/admin/jobs/:name/queue", 404],
  ["GET", "/api/admin/jobs/none/queue/run_x", "/api/admin/jobs/:name/queue/:runId", 404],
  ["DELETE", "/api/admin/jobs/none/queue/run_x", "/api/admin/jobs/:name/queue/:runId", 404],
  ["POST", "/api/admin/jobs/none/queue/run_x/retry", "/api/admin/jobs/:name/queue/:runId/retry", 404],
  ["DELETE", "/api/admin/collections/none/trash", "/api/admin/collections/:name/trash", 404],
  ["GET", "/api/admin/mails", "/api/admin/mails", 200],
  ["GET", "/api/admin/mails/settings", "/api/admin/mails/settings", 200],
  ["POST", "/api/admin/mails/test", "/api/admin/mails/test", 200, { to: "admin@example.com" }],
  ["GET", "/api/admin/records/rec_0", "/api/admin/records/:id", 404],
  ["GET", "/api/admin/collections/posts/saved-views", "/api/admin/collections/:name/saved-views", 200],
  ["PUT", "/api/admin/collections/posts/saved-views/a", "/api/admin/collections/:name/saved-views/:view", 200, {}],
  ["DELETE", "/api/admin/collections/posts/saved-views/a", "/api/admin/collections/:name/saved-views/:view", 204],
  ["GET", "/api/admin/providers", "/api/admin/providers", 200],
  ["GET", "/api/admin/mails/mai_x", "/api/admin/mails/:id", 404],
  ["POST", "/api/admin/mails/mai_x/retry", "/api/admin/mails/:id/retry", 404],
  ["GET", "/api/admin/logs", "/api/admin/logs", 200],
  ["GET", "/api/admin/events", "/api/admin/events", 200],
  ["GET", "/metrics", "/metrics", 200],
  ["PUT", "/api/admin/logs/level", "/api/admin/logs/level", 200, { level: "DEBUG" }],
  ["POST", "/api/admin/scripts/reload", "/api/admin/scripts/reload", 204],
  ["PUT", "/api/admin/config/mail.keep", "/api/admin/config/:key", 200, { value: "7d" }],
];

const liveStreams = ["/api/admin/logs/stream", "/api/admin/events/stream"];

function whole(): object {
  return { collections: service.collections.all().map(({ definition }) => definition) };
}

async function sessionOf(userId: string): Promise<string> {
  const [session] = await service.auth.users.sessions(userId);
  return session?.id ?? "";
}

test("the table has every route and method", () => {
  const options = { admin: api.parts.admin, keepOpen: () => undefined, liveStreams: new LiveStreams(service.auth) };
  const all = Object.entries(adminRoutes(options)).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  const tested = requests.map(([method, , route]) => `${method} ${route}`);
  // Live streams are tested on a real socket.
  expect(all.filter((route) => !tested.includes(route))).toEqual(liveStreams.map((path) => `GET ${path}`));
});

describe("a caller that is no admin learns nothing and changes nothing", () => {
  test.each(callers)("%s", async (_who, token, status) => {
    const before = await lastSeq(service);
    for (const [method, path, , , body] of [
      ...requests,
      ...liveStreams.map((path) => ["GET", path, "", 200] as const),
    ]) {
      // A bad body and an unknown name are not looked at either.
      for (const sent of [body, body === undefined ? undefined : "{", body === undefined ? undefined : {}]) {
        const answer = await request(method, path, {
          ...(token !== undefined && { token }),
          ...(sent !== undefined && { body: sent }),
        });
        expect([method, path, answer.status]).toEqual([method, path, status]);
        expect(answer.body["error"]?.["code"] as unknown).toBe(status === 401 ? "unauthorized" : "forbidden");
      }
      const missing = await request(method, path.replace(/(made|usr_[^/]+|fil_[^/]+|run_1|none)/, "unknown"), {
        ...(token !== undefined && { token }),
      });
      expect(missing.status).toBe(status);
    }
    expect(await lastSeq(service)).toBe(before);
  });
});

describe("under /api/admin/ the caller is checked before everything else", () => {
  const paths = ["", "/", "/nothing", "/nothing/", "/collections", "/users/x/y/z", "/users/%2f", "/overview/", "/%zz"];
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
  test.each(callers)("%s", async (_who, token, status) => {
    const options = token === undefined ? {} : { token };
    for (const prefix of ["/api/admin", "/api/%61dmin"])
      for (const path of paths)
        for (const method of methods) {
          const answer = await request(method, prefix + path, options);
          expect([method, prefix + path, answer.status]).toEqual([method, prefix + path, status]);
          expect(answer.headers.get("allow")).toBeNull();
        }
    // Also for the paths of routes: only a preflight carries no token.
    for (const path of ["/none", "/collections", "/users/x/y/z", ""])
      expect([path, (await request("OPTIONS", `/api/admin${path}`, options)).status]).toEqual([path, status]);
  });

  test("an admin gets 405 with Allow, and 404", async () => {
    const wrong = await request("DELETE", "/api/admin/collections", { token: admin });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, POST, OPTIONS"]);
    for (const path of ["/api/admin", "/api/admin/nothing", "/api/admin/users/x/y/z", "/api/%61dmin/users"])
      expect([path, (await request("GET", path, { token: admin })).status]).toEqual([path, 404]);
  });

  test("a preflight has no token, and other paths are free of the check", async () => {
    const preflight = await request("OPTIONS", "/api/admin/collections", {
      headers: { Origin: "https://app.example", "Access-Control-Request-Method": "POST" },
    });
    expect([preflight.status, preflight.headers.get("allow")]).toEqual([204, "GET, HEAD, POST, OPTIONS"]);
    expect((await request("GET", "/api/posts?next=/api/admin/users")).status).toBe(200);
    expect((await request("GET", "/api/administrators")).status).toBe(404);
    expect((await request("GET", "/api/posts%2fadmin")).status).toBe(404);
  });
});

test("an admin may, and each change is in the log with the admin, the object, before and after", async () => {
  const before = await lastSeq(service);
  for (const [method, path, , status, body] of requests) {
    const answer = await request(method, path, { token: admin, ...(body !== undefined && { body }) });
    expect([method, path, answer.status, answer.status >= 400 ? answer.body : null]).toEqual([
      method,
      path,
      status,
      status >= 400 ? expect.anything() : null,
    ]);
    if (status >= 400) expect(answer.body["error"]?.["code"] as unknown).toBe("not_found");
  }
  const events = (await service.events.read(before, 1_000)).filter(({ type }) => type.startsWith("admin."));
  const { id } = (await service.auth.users.findByEmail("admin@example.com")) ?? { id: "" };
  expect(events.every(({ actor, payload }) => actor === id && payload["userId"] === id)).toBe(true);
  expect(events.map(({ type, payload }) => [type, payload["target"]])).toEqual([
    ["admin.collection.created", "made"],
    ["admin.collection.updated", "made"],
    ["admin.user.viewed", "anonymous"],
    ["admin.collection.deleted", "made"],
    ["admin.user.created", expect.stringMatching(/^usr_/)],
    ["admin.user.invited", "invited@example.com"],
    ["admin.user.password", demoted.user.id],
    ["admin.session.deleted", expect.stringMatching(/^ses_/)],
    ["admin.user.reset", member.user.id],
    ["admin.user.verification", member.user.id],
    ["admin.user.factors", member.user.id],
    ["admin.key.created", expect.stringMatching(/^key_/)],
    ["admin.user.deleted", member.user.id],
    ["admin.file.updated", file.id],
    ["admin.sql.run", "database"],
    ["admin.mail.tested", "admin@example.com"],
    ["admin.savedView.saved", "posts: a"],
    ["admin.savedView.deleted", "posts: a"],
    ["admin.log.level", "service"],
    ["admin.code.reloaded", "service"],
    ["admin.setting.changed", "mail.keep"],
  ]);
  expect(events[1]?.payload).toMatchObject({
    before: { name: "made", fields: [] },
    after: { name: "made", permissions: { read: "admin" } },
  });
  expect(JSON.stringify(events.map(({ payload }) => payload))).not.toMatch(/battery staple|correct horse|argon2/);
  // The audit is for admins: no channel carries the audit to any caller.
  const listed = await request("GET", "/api/admin/events?type=admin.*&limit=1000", { token: admin });
  // The deletion that made a caller is listed, too.
  expect(listed.body["total"] as unknown).toBe(events.length + 1);
});
