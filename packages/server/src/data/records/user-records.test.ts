/** Users as a collection, over HTTP: registration with fields, reads, updates, account fields, and the closed operations. */
import { describe, expect, test } from "bun:test";
import type { StoredRecord } from "@socle/protocol";
import { eventsSince, openApi, setRole, type TestApi } from "../../../test/kit.ts";

const users = {
  name: "users",
  fields: [
    { name: "name", type: "string", required: true, max: 20 },
    { name: "handle", type: "string", unique: true },
    { name: "plan", type: "string", default: "free", permissions: { update: "admin" } },
    { name: "manager", type: "relation", collection: "users", onDelete: "clear" },
    { name: "tags", type: "string", multiple: true },
    { name: "member", type: "integer", sequence: true },
  ],
};
const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string" },
    { name: "author", type: "relation", collection: "users", owner: true },
  ],
  permissions: { read: "public", create: "authenticated", update: "owner" },
};
const password = "correct horse";

interface Session {
  readonly id: string;
  readonly token: string;
}

async function join(api: TestApi, email: string, fields: object): Promise<Session> {
  const body = { email, password, ...fields };
  const answer = await api.request<{ user: { id: string }; accessToken: string }>("POST", "/api/auth/register", {
    body,
  });
  expect(answer.status).toBe(201);
  return { id: answer.body.user.id, token: answer.body.accessToken };
}

const emails = ({ items }: { items?: StoredRecord[] }): unknown[] => (items ?? []).map(({ email }) => email);
type Problems = { error: { code: string; details?: { field: string; rule: string }[] } };
const rules = ({ error }: Problems): string[] => (error.details ?? []).map(({ field, rule }) => `${field} ${rule}`);

describe("registration", () => {
  test("takes the fields, fills defaults and numbers in, and makes the record of the user", async () => {
    const api = await openApi({ collections: [users, posts] });
    const { id, token } = await join(api, "ann@example.com", { name: "Ann", handle: "ann", tags: ["a"] });
    const { body } = await api.request<StoredRecord>("GET", `/api/users/${id}`, { token });
    expect(body).toEqual({
      id,
      createdAt: expect.any(String),
      updatedAt: body.createdAt,
      email: "ann@example.com",
      role: "authenticated",
      verified: false,
      name: "Ann",
      handle: "ann",
      plan: "free",
      manager: null,
      tags: ["a"],
      member: 1,
    });
    const types = (await eventsSince(api.service)).map(({ type }) => type).filter((type) => !type.startsWith("system"));
    expect(types).toEqual(["users.created", "auth.register"]);
  });

  test("reports the problems of fields, email and password together, and makes nothing", async () => {
    const api = await openApi({ collections: [users] });
    await join(api, "ann@example.com", { name: "Ann", handle: "ann" });
    const before = await eventsSince(api.service);
    const body = { email: "no", password: "x", handle: "ann", nam: "B", verified: true, member: 7, id: "usr_x" };
    const refused = await api.request<Problems>("POST", "/api/auth/register", { body });
    expect(refused.status).toBe(400);
    expect(rules(refused.body).sort()).toEqual(
      [
        "email type",
        "handle unique",
        "id readonly",
        "member readonly",
        "nam unknown",
        "name required",
        "password min",
        "verified readonly",
      ].sort(),
    );
    const missing = await api.request<Problems>("POST", "/api/auth/register", { body: { password, tags: "a" } });
    expect(rules(missing.body).sort()).toEqual(["email required", "name required", "tags type"]);
    const taken = { email: "ben@example.com", password, name: "Ben", handle: "ann" };
    expect(rules((await api.request<Problems>("POST", "/api/auth/register", { body: taken })).body)).toEqual([
      "handle unique",
    ]);
    expect(await eventsSince(api.service)).toEqual(before);
    expect(api.service.auth.users.findByEmail("ben@example.com")).toBeNull();
  });

  test.each(["admin", "public", "king", 5, null])("ignores the role %j of a registration", async (role) => {
    for (const collections of [[users], []]) {
      const api = await openApi({ collections });
      const body = { email: "ann@example.com", password, name: "Ann", role };
      const made = await api.request("POST", "/api/auth/register", { body });
      expect<unknown>([made.status, made.body["user"]?.["role"]]).toEqual([201, "authenticated"]);
      expect(api.service.auth.users.findByEmail(body.email)?.role).toBe("authenticated");
      if (collections.length === 0) continue;
      const token = String(made.body["accessToken"]);
      const id = String(made.body["user"]?.["id"]);
      const { body: record } = await api.request<StoredRecord>("GET", `/api/users/${id}`, { token });
      expect(record["role"]).toBe("authenticated");
    }
  });

  test("refuses a field that only admins may write; an admin may", async () => {
    const api = await openApi({ collections: [users] });
    const body = { email: "ann@example.com", password, name: "Ann", plan: "pro" };
    const refused = await api.request<Problems>("POST", "/api/auth/register", { body });
    expect([refused.status, rules(refused.body)]).toEqual([403, ["plan readonly"]]);
    const token = await api.admin();
    const made = await api.request<{ id: string }>("POST", "/api/admin/users", { body, token });
    expect(made.status).toBe(201);
    const { body: record } = await api.request<StoredRecord>("GET", `/api/users/${made.body.id}`, { token });
    expect([record["name"], record["plan"]]).toEqual(["Ann", "pro"]);
    const bad = { email: "ben@example.com", password: "x", name: 5 };
    const problems = await api.request<Problems>("POST", "/api/admin/users", { body: bad, token });
    expect(rules(problems.body).sort()).toEqual(["name type", "password min"]);
  });

  test("a user without a form has empty fields and the defaults", async () => {
    const api = await openApi({ collections: [users] });
    const token = await api.admin();
    const list = await api.request<StoredRecord[]>("GET", "/api/users", { token });
    expect(list.body).toMatchObject({
      items: [{ email: "admin@example.com", role: "admin", name: null, plan: "free", tags: [] }],
    });
  });
});

describe("reads and updates", () => {
  test("by default a user reads and changes only the own record", async () => {
    const api = await openApi({ collections: [users] });
    const ann = await join(api, "ann@example.com", { name: "Ann" });
    const ben = await join(api, "ben@example.com", { name: "Ben" });
    expect((await api.request("GET", "/api/users")).status).toBe(401);
    const own = await api.request<{ items: StoredRecord[] }>("GET", "/api/users", { token: ann.token });
    expect(emails(own.body)).toEqual(["ann@example.com"]);
    expect((await api.request("GET", `/api/users/${ben.id}`, { token: ann.token })).status).toBe(403);
    const put = (id: string, body: object) => api.request("PUT", `/api/users/${id}`, { token: ann.token, body });
    expect((await put(ben.id, { name: "No" })).status).toBe(403);
    expect((await put(ann.id, { name: "Anna" })).body).toMatchObject({ name: "Anna" });
    expect((await put(ann.id, { name: null })).status).toBe(400);
    expect((await put(ann.id, { plan: "pro" })).status).toBe(403);
    const token = await api.admin();
    const all = await api.request<{ items: StoredRecord[] }>("GET", "/api/users?sort=createdAt", { token });
    expect(emails(all.body)).toEqual(["ann@example.com", "ben@example.com", "admin@example.com"]);
  });

  test("an update ignores the account fields, as the system fields, so that a GET can be sent back", async () => {
    const entry = { name: "verified", permissions: { read: "admin" } };
    const api = await openApi({ collections: [{ ...users, fields: [...users.fields, entry] }] });
    const ann = await join(api, "ann@example.com", { name: "Ann" });
    const { body } = await api.request<StoredRecord>("GET", `/api/users/${ann.id}`, { token: ann.token });
    expect(Object.keys(body)).not.toContain("verified");
    const sent = { ...body, email: "x@example.com", role: "admin", verified: true, id: "usr_1", name: "Anna" };
    const put = await api.request("PUT", `/api/users/${ann.id}`, { token: ann.token, body: sent });
    expect(put.status).toBe(200);
    expect(put.body).toMatchObject({ ...body, name: "Anna", updatedAt: expect.any(String) });
    expect(api.service.auth.users.find(ann.id)).toMatchObject({ email: "ann@example.com", role: "authenticated" });
    const tag = put.headers.get("etag") ?? "";
    const stale = { "If-Match": '"0"' };
    const change = { token: ann.token, body: { name: "A" } };
    expect((await api.request("PUT", `/api/users/${ann.id}`, { ...change, headers: stale })).status).toBe(412);
    expect((await api.request("PUT", `/api/users/${ann.id}`, { ...change, headers: { "If-Match": tag } })).status).toBe(
      200,
    );
  });

  test("account fields follow the account, with an event, and a cached list is read anew", async () => {
    const api = await openApi({ collections: [users] });
    const ann = await join(api, "ann@example.com", { name: "Ann" });
    const token = await api.admin();
    const list = () => api.request<{ items: StoredRecord[] }>("GET", "/api/users?filter=role='admin'", { token });
    expect(emails((await list()).body)).toEqual(["admin@example.com"]);
    await setRole(api.service, ann.id, "admin");
    expect(emails((await list()).body).sort()).toEqual(["admin@example.com", "ann@example.com"]);
    const events = await eventsSince(api.service);
    expect(events.at(-1)).toMatchObject({ type: "users.updated", payload: { id: ann.id, role: "admin", name: "Ann" } });
    await setRole(api.service, ann.id, "admin");
    expect((await eventsSince(api.service)).length).toBe(events.length);
  });

  test("the email of others is no oracle: no filter, sort, group or search by a field that the caller may not read", async () => {
    const open = { ...users, permissions: { read: "authenticated" }, search: ["email", "name"] };
    const api = await openApi({ collections: [open, posts] });
    const ann = await join(api, "ann@example.com", { name: "Ann" });
    const ben = await join(api, "ben@example.com", { name: "Ben" });
    const { token } = ann;
    await api.request("POST", "/api/posts", { token: ben.token, body: { title: "x" } });
    const found = await api.request<{ items: StoredRecord[] }>("GET", "/api/users?sort=name", { token });
    expect(
      found.body.items.map(({ name, email = null, role = null, verified = null }) => [name, email, role, verified]),
    ).toEqual([
      ["Ann", "ann@example.com", "authenticated", false],
      ["Ben", null, null, null],
    ]);
    for (const query of [
      "users?filter=email~'b'",
      "users?filter=verified=true",
      "users?sort=role",
      "users?group=role",
      "users?aggregate=max(email)",
      "posts?filter=author.email~'b'",
      "posts?sort=author.email",
    ]) {
      const answer = await api.request("GET", `/api/${query}`, { token });
      expect([query, answer.status]).toEqual([query, 400]);
    }
    const search = (caller: string) =>
      api.request<{ items: StoredRecord[] }>("GET", "/api/users?search=example", { token: caller });
    expect<unknown>([(await search(token)).status, (await search(token)).body.items]).toEqual([200, []]);
    expect((await search(await api.admin())).body.items.length).toBe(3);
    for (const secret of ["passwordHash", "users.passwordHash", "_owner"])
      for (const query of [`filter=${secret}!=null`, `sort=${secret}`, `group=${secret}`, `fields=${secret}`]) {
        const answer = await api.request("GET", `/api/users?${query}`, { token: await api.admin().catch(() => token) });
        expect([query, answer.status]).toEqual([query, 400]);
      }
  });

  test("a rule of an account field may admit readers", async () => {
    const entry = { name: "email", permissions: { read: "authenticated" } };
    const open = { ...users, fields: [...users.fields, entry], permissions: { read: "public" } };
    const api = await openApi({ collections: [open] });
    const ann = await join(api, "ann@example.com", { name: "Ann" });
    await join(api, "ben@example.com", { name: "Ben" });
    const nobody = await api.request<{ items: StoredRecord[] }>("GET", "/api/users");
    expect(nobody.body.items.map((record) => Object.hasOwn(record, "email"))).toEqual([false, false]);
    const found = await api.request<{ items: StoredRecord[] }>("GET", "/api/users?filter=email~'ben'", ann);
    expect(emails(found.body)).toEqual(["ben@example.com"]);
  });
});

describe("relations to users", () => {
  test("filters, rules and expand reach the fields", async () => {
    const open = { ...users, permissions: { read: "authenticated" } };
    const drafts = { ...posts, name: "drafts", permissions: { ...posts.permissions, read: 'author.plan = "free"' } };
    const api = await openApi({ collections: [open, posts, drafts] });
    const ann = await join(api, "ann@example.com", { name: "Ann" });
    const ben = await join(api, "ben@example.com", { name: "Ben", manager: ann.id });
    for (const { token } of [ann, ben])
      for (const name of ["posts", "drafts"])
        await api.request("POST", `/api/${name}`, { token, body: { title: "x" } });
    const query = "filter=author.manager.name='Ann'&expand=author.manager";
    const found = await api.request<{ items: StoredRecord[] }>("GET", `/api/posts?${query}`, { token: ann.token });
    expect(found.body.items).toMatchObject([
      {
        expand: { author: { id: ben.id, name: "Ben", expand: { manager: { name: "Ann", email: "ann@example.com" } } } },
      },
    ]);
    expect(JSON.stringify(found.body)).not.toContain("ben@example.com");
    const back = await api.request<{ items: StoredRecord[] }>("GET", "/api/users?expand=posts(author)", {
      token: ben.token,
    });
    expect(back.body.items.length).toBe(2);
    const count = async () => (await api.request<{ items: StoredRecord[] }>("GET", "/api/drafts")).body.items.length;
    expect(await count()).toBe(2);
    const body = { plan: "pro" };
    await api.request("PUT", `/api/users/${ben.id}`, { token: await api.admin(), body });
    expect(await count()).toBe(1);
  });

  test("a caller who may read no user learns no name of a field", async () => {
    const api = await openApi({ collections: [users, posts] });
    const ann = await join(api, "ann@example.com", { name: "Ann" });
    await api.request("POST", "/api/posts", { token: ann.token, body: { title: "x" } });
    for (const fields of ["title,author.name", "title,author.nothing"]) {
      const { status, body } = await api.request<{ items: StoredRecord[] }>("GET", `/api/posts?fields=${fields}`);
      expect<unknown>([status, body.items]).toEqual([200, [{ title: "x", expand: { author: null } }]]);
    }
    expect((await api.request("GET", "/api/posts?filter=author.name='Ann'")).status).toBe(401);
  });

  test("the deletion of an account deletes the record, and onDelete holds in the records of other users", async () => {
    const api = await openApi({ collections: [users] });
    const ann = await join(api, "ann@example.com", { name: "Ann" });
    const ben = await join(api, "ben@example.com", { name: "Ben", manager: ann.id });
    const token = await api.admin();
    expect((await api.request("DELETE", `/api/admin/users/${ann.id}`, { token })).status).toBe(204);
    expect((await api.request("GET", `/api/users/${ann.id}`, { token })).status).toBe(404);
    const { body } = await api.request<StoredRecord>("GET", `/api/users/${ben.id}`, { token });
    expect(body["manager"]).toBeNull();
    const types = (await eventsSince(api.service)).map(({ type, payload }) => [type, Reflect.get(payload, "id")]);
    expect(types.slice(-3, -1)).toEqual([
      ["users.updated", ben.id],
      ["users.deleted", ann.id],
    ]);
  });
});

test("users are not created, deleted or imported as records", async () => {
  const api = await openApi({ collections: [users] });
  const ann = await join(api, "ann@example.com", { name: "Ann" });
  const token = await api.admin();
  for (const caller of [{}, { token: ann.token }, { token }]) {
    const made = await api.request<Problems>("POST", "/api/users", { ...caller, body: { name: "x" } });
    expect([made.status, made.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    const gone = await api.request<Problems>("DELETE", `/api/users/${ann.id}`, caller);
    expect([gone.status, gone.headers.get("allow")]).toEqual([405, "GET, HEAD, PUT, OPTIONS"]);
  }
  const operations = [{ method: "create", collection: "users", body: { name: "x" } }];
  const batch = await api.request("POST", "/api/batch", { token, body: { operations } });
  expect(batch.status).toBeGreaterThanOrEqual(400);
  expect(batch.headers.get("allow")).toBeNull();
  const file = `${JSON.stringify({ name: "x", email: "x@example.com" })}\n`;
  const headers = { "Content-Type": "application/x-ndjson" };
  const imported = await api.request("POST", "/api/users/import", { token, body: file, headers });
  expect(imported.status).toBe(405);
  expect((await api.request<{ total: number }>("GET", "/api/users?limit=1&count=exact", { token })).body.total).toBe(2);
});

test("without a definition no route exists, and a registration ignores other keys", async () => {
  const api = await openApi({ collections: [posts] });
  const ann = await join(api, "ann@example.com", { name: "Ann", role: "admin" });
  for (const [method, path] of [
    ["GET", "/api/users"],
    ["POST", "/api/users"],
    ["GET", `/api/users/${ann.id}`],
    ["DELETE", `/api/users/${ann.id}`],
  ] as const) {
    const answer = await api.request(method, path, { token: ann.token, ...(method === "POST" && { body: {} }) });
    expect([path, answer.status]).toEqual([path, 404]);
  }
  expect((await eventsSince(api.service)).filter(({ type }) => type.startsWith("users."))).toEqual([]);
});
