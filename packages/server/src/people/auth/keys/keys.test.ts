/** API keys: the body that makes a key, lists, bounds, the end of keys, and the role with which a key acts. */
import { describe, expect, setSystemTime, test } from "bun:test";
import type { ApiKey } from "@socle/protocol";
import { makeKey } from "../../../../test/keys.ts";
import { openApi, setRole } from "../../../../test/kit.ts";
import { system } from "../../../base/kernel/index.ts";

const notes = {
  name: "notes",
  fields: [{ name: "text", type: "string" }],
  permissions: { read: "public", create: "authenticated", update: "owner", delete: "owner" },
};
const api = await openApi({
  collections: [notes],
  settings: { SERVICE_LIMITS_KEYS_PER_USER: "3", SERVICE_LIMITS_RATE_REGISTER: "off" },
});
const { request, service } = api;
const { auth, database } = service;
const admin = await api.admin();

const statusOf = async (token: string, path = "/api/auth/me"): Promise<number> =>
  (await request("GET", path, { token })).status;
const listOf = async (token: string): Promise<ApiKey[]> =>
  (await request<{ items: ApiKey[] }>("GET", "/api/auth/keys", { token })).body.items;

describe("a body", () => {
  test.each<[string, object, string[]]>([
    ["empty", {}, ["name required", "scopes required"]],
    ["of wrong types", { name: 1, scopes: "posts:read", expiresAt: 5 }, ["name type", "scopes type", "expiresAt type"]],
    ["with a long name", { name: "a".repeat(101), scopes: ["a:read"] }, ["name max"]],
    ["with a line break", { name: "a\r\nb", scopes: ["a:read"] }, ["name type"]],
    ["without a scope", { name: "a", scopes: [] }, ["scopes max"]],
    ["with many scopes", { name: "a", scopes: Array(51).fill("a:read") }, ["scopes max"]],
    ["with a past end", { name: "a", scopes: ["a:read"], expiresAt: "2020-01-01" }, ["expiresAt min"]],
    ["with an owner", { name: "a", scopes: ["a:read"], userId: "usr_x" }, ["userId unknown"]],
  ])("%s is refused with all problems", async (_name, body, problems) => {
    const { accessToken: token } = await api.register(`${crypto.randomUUID()}@example.com`);
    const answer = await request<{ error: { details: { field: string; rule: string }[] } }>("POST", "/api/auth/keys", {
      token,
      body,
    });
    expect(answer.status).toBe(400);
    expect(answer.body.error.details.map(({ field, rule }) => `${field} ${rule}`)).toEqual(problems);
    expect(await listOf(token)).toEqual([]);
  });

  test("has scopes of the known forms only", async () => {
    const { accessToken: token } = await api.register("forms@example.com");
    const good = [
      "posts:read",
      "*:write",
      "storage:read",
      "function:/",
      "function:/a/b",
      "function:/a/*",
      "function:/*",
    ];
    expect((await makeKey(api, { token, scopes: [...good, "posts:read"] })).scopes).toEqual([...good].sort());
    const bad = ["", "posts", "posts:", "posts:delete", "*", "*:*", "1a:read", "a b:read", "posts:read ", "function:a"];
    for (const scope of [
      ...bad,
      "function:/a/",
      "function:/*/a",
      "function:/a*",
      "function:/a?b",
      "function:",
      7,
      null,
    ])
      expect([scope, (await request("POST", "/api/auth/keys", { token, body: { name: "a", scopes: [scope] } })).status]) //
        .toEqual([scope, 400]);
    // The scope of admins is for admins.
    for (const scopes of [["admin"], ["posts:read", "admin"]])
      expect((await request("POST", "/api/auth/keys", { token, body: { name: "a", scopes } })).status).toBe(403);
    const body = { name: "a", scopes: ["admin"] };
    expect((await request("POST", "/api/admin/keys", { token: admin, body })).status).toBe(403);
    expect(await listOf(token)).toHaveLength(1);
  });
});

describe("a key", () => {
  test("is shown once, is stored as a hash, and belongs only to the user", async () => {
    const { accessToken: token, user } = await api.register("once@example.com");
    const other = (await api.register("other@example.com")).accessToken;
    const { key, ...made } = await makeKey(api, { token, scopes: ["notes:read"] });
    expect(key).toMatch(/^sk_[\w-]{43}$/);
    expect(made).toMatchObject({ name: "test", scopes: ["notes:read"], expiresAt: null, lastUsedAt: null });
    expect(await listOf(token)).toEqual([made]);
    expect(await listOf(other)).toEqual([]);
    const stored = JSON.stringify(database.reader.all("SELECT * FROM _keys WHERE userId = ?", user.id));
    expect(stored).not.toContain(key.slice(3));
    // The plain hash of the text is no hash of the purpose.
    expect(stored).not.toContain(Bun.SHA256.hash(key, "hex"));
    expect((await request("DELETE", `/api/auth/keys/${made.id}`, { token: other })).status).toBe(404);
    expect(await statusOf(key)).toBe(200);
    expect((await request("DELETE", `/api/auth/keys/${made.id}`, { token })).status).toBe(204);
    expect(await statusOf(key)).toBe(401);
    expect((await request("DELETE", `/api/auth/keys/${made.id}`, { token })).status).toBe(404);
    expect(JSON.stringify(api.log)).not.toContain(key);
  });

  test("in a cut, changed or foreign form is 401", async () => {
    const { accessToken: token } = await api.register("cut@example.com");
    const { key } = await makeKey(api, { token, scopes: ["notes:read"] });
    const [, refreshToken] = [0, (await api.register("token@example.com")).refreshToken];
    const last = key.endsWith("A") ? "B" : "A";
    const wrong = [
      key.slice(0, -1),
      `${key.slice(0, -1)}${last}`,
      `${key}A`,
      key.slice(3),
      `sk_${refreshToken}`,
      "sk_",
    ];
    for (const each of wrong) expect([each, await statusOf(each, "/api/notes")]).toEqual([each, 401]);
    expect(await statusOf(key, "/api/notes")).toBe(200);
  });

  test("beyond limits.keysPerUser is refused, and a deletion frees a place", async () => {
    const { accessToken: token } = await api.register("many@example.com");
    const [first] = [
      await makeKey(api, { token, scopes: ["a:read"] }),
      await makeKey(api, { token, scopes: ["a:read"] }),
    ];
    await makeKey(api, { token, scopes: ["a:read"] });
    const body = { name: "a", scopes: ["a:read"] };
    const refused = await request("POST", "/api/auth/keys", { token, body });
    expect([refused.status, String(refused.body["error"]?.["message"])]).toEqual([
      409,
      expect.stringContaining("keysPerUser"),
    ]);
    expect((await request("DELETE", `/api/auth/keys/${first?.id}`, { token })).status).toBe(204);
    expect((await request("POST", "/api/auth/keys", { token, body })).status).toBe(201);
    expect(new Map(service.limits.totals()).get("keysPerUser")).toBe(1);
  });

  test("ends at its time, without a sweep, and the sweep deletes the key", async () => {
    const { accessToken: token } = await api.register("end@example.com");
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const { key, id } = await makeKey(api, { token, scopes: ["notes:read"], expiresAt });
    expect(await statusOf(key)).toBe(200);
    setSystemTime(Date.parse(expiresAt) + 1);
    expect(await statusOf(key)).toBe(401);
    // A replica whose clock is ahead of the leader's clock.
    service.clock.aheadMs = 3_600_000;
    expect(await statusOf(key)).toBe(200);
    service.clock.aheadMs = 0;
    expect(await listOf(token)).toEqual([]);
    const count = () => database.reader.get<{ n: number }>("SELECT count(*) AS n FROM _keys WHERE id = ?", id)?.n;
    expect(count()).toBe(1);
    await auth.sweep();
    expect(count()).toBe(0);
    setSystemTime();
  });

  test("shows the time of its last use, which a sweep stores", async () => {
    const { accessToken: token } = await api.register("used@example.com");
    const { key, id } = await makeKey(api, { token, scopes: ["notes:read"] });
    const stored = () =>
      database.reader.get<{ at: number | null }>("SELECT lastUsedAt AS at FROM _keys WHERE id = ?", id)?.at;
    const before = Date.now();
    await statusOf(key);
    await statusOf(key);
    expect(stored()).toBeNull();
    const [entry] = await listOf(token);
    expect(Date.parse(entry?.lastUsedAt ?? "")).toBeWithin(before, Date.now() + 1);
    await auth.sweep();
    expect(stored()).toBe(Date.parse(entry?.lastUsedAt ?? ""));
  });
});

describe("the owner", () => {
  const role = async (key: string): Promise<unknown> =>
    (await request<{ user: { role: string } }>("GET", "/api/auth/me", { token: key })).body.user?.role;
  const overview = (key: string): Promise<number> => statusOf(key, "/api/admin/overview");

  test("gives the key no more than the scopes: an admin's key is an admin's only by the scope", async () => {
    const { accessToken: token, user } = await api.register("boss@example.com");
    await setRole(service, user.id, "admin");
    const plain = (await makeKey(api, { token, scopes: ["*:read", "*:write", "function:/*"] })).key;
    const full = (await makeKey(api, { token, scopes: ["admin"] })).key;
    expect([await role(plain), await overview(plain)]).toEqual(["authenticated", 403]);
    expect([await role(full), await overview(full), await statusOf(full, "/api/notes")]).toEqual(["admin", 200, 200]);
    // A demotion counts at once, and the scope `admin` alone is nothing then.
    await setRole(service, user.id, "authenticated");
    expect([await role(full), await overview(full), await statusOf(full, "/api/notes")]).toEqual([
      "authenticated",
      403,
      403,
    ]);
    expect(await statusOf(plain, "/api/notes")).toBe(200);
    await setRole(service, user.id, "public");
    expect(await role(plain)).toBe("public");
  });

  test("ends the keys by a deletion, and so does `socle admin create` for the email", async () => {
    for (const end of ["delete", "makeAdmin"] as const) {
      const { accessToken: token, user } = await api.register(`${end}@example.com`.toLowerCase());
      const { key } = await makeKey(api, { token, scopes: ["notes:read"] });
      const unused = await makeKey(api, { token, scopes: ["notes:read"] });
      expect(await statusOf(key)).toBe(200);
      await database.transact((tx) => {
        if (end === "delete") auth.users.delete(tx, user.id, system);
        else auth.users.makeAdmin(tx, { email: String(user.email), passwordHash: "x" });
      });
      expect([await statusOf(key), await statusOf(unused.key)]).toEqual([401, 401]);
      expect(database.reader.all("SELECT id FROM _keys WHERE userId = ?", user.id)).toEqual([]);
    }
  });

  test("without a row is no service key", async () => {
    const { accessToken: token, user } = await api.register("orphan@example.com");
    const { key } = await makeKey(api, { token, scopes: ["notes:read"] });
    await database.transact((tx) => tx.run("DELETE FROM _users WHERE id = ?", user.id));
    expect(await statusOf(key, "/api/notes")).toBe(401);
  });
});

describe("a service key", () => {
  test("has no user, counts as signed in, and its records have no owner", async () => {
    const made = await makeKey(api, { token: admin, scopes: ["notes:read", "notes:write"], isOfService: true });
    const { key: token, id } = made;
    expect(await statusOf(token)).toBe(403);
    const created = await request("POST", "/api/notes", { token, body: { text: "a" } });
    expect(created.status).toBe(201);
    const path = `/api/notes/${String(created.body["id"])}`;
    expect((await request("PUT", path, { token, body: { text: "b" } })).status).toBe(403);
    expect((await request("DELETE", path, { token })).status).toBe(403);
    const [event] = (
      await request<{ items: { actor: string }[] }>("GET", "/api/admin/events?type=notes.created&limit=1", {
        token: admin,
      })
    ).body.items;
    expect(event?.actor).toBe(id);
    // A user's list has no service keys, and no user ends a service key.
    const { accessToken: other } = await api.register("outsider@example.com");
    expect(await listOf(other)).toEqual([]);
    expect((await request("DELETE", `/api/auth/keys/${id}`, { token: other })).status).toBe(404);
    expect((await request("DELETE", `/api/admin/keys/${id}`, { token: admin })).status).toBe(204);
    expect(await statusOf(token, "/api/notes")).toBe(401);
  });
});
