import { describe, expect, setSystemTime, test } from "bun:test";
import { type Answer, openApi } from "../../../test/kit.ts";
import { openServer, until } from "../../../test/sockets.ts";

const server = await openServer({
  collections: [{ name: "secrets", fields: [], permissions: { read: "admin" } }],
  settings: { SERVICE_MAIL_FROM: "shop@example.com", SERVICE_PUBLIC_URL: "https://shop.example.com" },
});
const { request, service, register } = server;
const token = await server.admin();
const admin = await service.auth.users.findByEmail("admin@example.com");
const adminId = admin?.id ?? "";

const as = (given: string) => ({
  send: (method: string, path: string, body?: object): Promise<Answer> =>
    request(method, `/api/admin/users${path}`, { token: given, ...(body !== undefined && { body }) }),
});
const { send } = as(token);

describe("the list", () => {
  test("newest first, by a part of the email, by role, in pages", async () => {
    for (const name of ["anna", "bert", "Carla_1", "carla%2"]) await register(`${name}@list.example`);
    const emails = async (query: string): Promise<unknown> => {
      const { items, total } = (await send("GET", query)).body;
      if (!Array.isArray(items)) throw new Error("no list");
      return [items.map(({ email }) => email), total];
    };
    expect(await emails("?search=list.EXAMPLE&limit=2")).toEqual([["carla%2@list.example", "carla_1@list.example"], 4]);
    expect(await emails("?search=list.example&limit=2&offset=2")).toEqual([
      ["bert@list.example", "anna@list.example"],
      4,
    ]);
    // Wildcards of SQL are plain text here.
    expect(await emails("?search=%25")).toEqual([["carla%2@list.example"], 1]);
    expect(await emails("?search=_")).toEqual([["carla_1@list.example"], 1]);
    expect(await emails("?search='%20OR%201=1")).toEqual([[], 0]);
    expect(await emails("?role=admin")).toEqual([["admin@example.com"], 1]);
    expect(await emails("?limit=0")).toEqual([[], 5]);
    expect(await emails("?offset=99999999999999999999")).toEqual([[], 5]);
    const page = (await send("GET", "?limit=99999")).body;
    expect<unknown>([page["limit"], page["offset"]]).toEqual([1_000, 0]);
  });

  test.each(["limit=-1", "limit=1.5", "limit=abc", "limit=", "offset=-1", "limit=1e3", "role=king"])(
    "%s is refused",
    async (query) => {
      const { status, body } = await send("GET", `?${query}`);
      expect<unknown>([status, body["error"]?.["code"]]).toEqual([400, "bad_request"]);
      expect(String(body["error"]?.["message"])).toMatch(/must be/);
    },
  );
});

describe("a refused change changes nothing", () => {
  test.each([
    ["PATCH", "", { role: "king" }, 400],
    ["PATCH", "", {}, 400],
    ["PATCH", "", { role: "public", email: "x@example.com" }, 400],
    ["PATCH", "", { role: null }, 400],
    ["POST", "/password", { password: "short" }, 400],
    ["POST", "/password", {}, 400],
    ["POST", "/password", { password: 12_345_678 }, 400],
    ["DELETE", "/sessions/ses_unknown", undefined, 404],
  ] as const)("%s %s %p", async (method, path, body, status) => {
    const { user, accessToken } = await register(`${crypto.randomUUID()}@example.com`);
    expect((await send(method, `/${user.id}${path}`, body)).status).toBe(status);
    expect<unknown>((await request("GET", "/api/auth/me", { token: accessToken })).body).toEqual({ user });
    expect((await send(method, `/usr_unknown${path}`, body)).status).toBe(404);
  });

  test("making a user: a bad email, a short password, an unknown role, a taken email", async () => {
    const good = { email: "made@example.com", password: "correct horse" };
    for (const [body, status] of [
      [{ ...good, email: "x" }, 400],
      [{ ...good, password: "x" }, 400],
      [{ ...good, role: "king" }, 400],
      [{ ...good, id: "usr_1" }, 400],
      [{ email: good.email }, 400],
      [{ ...good, role: "public" }, 201],
      [{ ...good, email: "MADE@example.com" }, 409],
    ] as const)
      expect([body, (await send("POST", "", body)).status]).toEqual([body, status]);
    const login = await request("POST", "/api/auth/login", { body: good });
    expect(login.body["user"]?.["role"] as unknown).toBe("public");
  });

  test("a session of another user is not ended under a wrong name", async () => {
    const [ann, bob] = [await register("ann@sessions.example"), await register("bob@sessions.example")];
    const [session] = await service.auth.users.sessions(ann.user.id);
    expect((await send("DELETE", `/${bob.user.id}/sessions/${session?.id}`)).status).toBe(404);
    expect((await request("GET", "/api/auth/me", { token: ann.accessToken })).status).toBe(200);
    expect((await send("DELETE", `/${ann.user.id}/sessions/${session?.id}`)).status).toBe(204);
    expect((await request("GET", "/api/auth/me", { token: ann.accessToken })).status).toBe(401);
    expect((await request("POST", "/api/auth/refresh", { body: { refreshToken: ann.refreshToken } })).status).toBe(401);
  });
});

describe("changes that count at once", () => {
  test("a role, for the token and the open socket", async () => {
    const { user, accessToken } = await register("rising@example.com");
    const socket = await server.connect(accessToken);
    await socket.subscribe("secrets.created");
    const write = () => request("POST", "/api/secrets", { token, body: {} });
    await write();
    expect(await socket.types()).toEqual([]);
    expect<unknown>((await send("PATCH", `/${user.id}`, { role: "admin" })).body).toEqual({ ...user, role: "admin" });
    await write();
    expect(await socket.types()).toEqual(["secrets.created"]);
    expect((await as(accessToken).send("GET", "")).status).toBe(200);
    await send("PATCH", `/${user.id}`, { role: "public" });
    await write();
    expect(await socket.types()).toEqual(["secrets.created"]);
    expect((await as(accessToken).send("GET", "")).status).toBe(403);
  });

  test("a deletion: tokens, refresh, sockets; records and files stay", async () => {
    const { user, accessToken, refreshToken } = await register("leaving@example.com");
    const socket = await server.connect(accessToken);
    await socket.subscribe("auth.login");
    const form = new FormData();
    form.set("file", new File(["kept"], "kept.txt"));
    form.set("visibility", "public");
    const upload = await fetch(`${server.url}/api/storage/upload`, {
      method: "POST",
      headers: { Authorization: `Bearer ${accessToken}` },
      body: form,
    });
    const file = (await upload.json()) as { id: string };
    expect((await send("DELETE", `/${user.id}`)).status).toBe(204);
    await until(() => socket.closed !== null);
    expect(socket.closed?.code).toBe(4401);
    expect((await request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
    expect((await request("POST", "/api/auth/refresh", { body: { refreshToken } })).status).toBe(401);
    const login = { email: "leaving@example.com", password: "correct horse" };
    expect((await request("POST", "/api/auth/login", { body: login })).status).toBe(401);
    expect((await request("GET", `/api/storage/${file.id}`)).status).toBe(200);
    expect((await send("GET", `/${user.id}`)).status).toBe(404);
    expect((await send("DELETE", `/${user.id}`)).status).toBe(404);
    const stored = (await request("GET", "/api/admin/storage", { token })).body;
    expect<unknown>([stored["total"], stored["items"]?.["0"]?.["userId"]]).toEqual([1, user.id]);
  });

  test("a password: every session ends, but the admin's own", async () => {
    const { user, accessToken } = await register("forgetful@example.com");
    const socket = await server.connect(accessToken);
    const password = "battery staple";
    expect((await send("POST", `/${user.id}/password`, { password })).status).toBe(200);
    await until(() => socket.closed !== null);
    expect((await request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
    const old = { email: user.email, password: "correct horse" };
    expect((await request("POST", "/api/auth/login", { body: old })).status).toBe(401);
    expect((await request("POST", "/api/auth/login", { body: { ...old, password } })).status).toBe(200);
    const mails = service.database.reader.all<{ text: string }>(
      "SELECT text FROM _mails WHERE recipient = ? AND kind = 'notice'",
      user.email,
    );
    expect(mails).toHaveLength(1);
    expect(mails[0]?.text).toMatch(/The password was changed\.\n\nThe change came from: an administrator\n/);

    const login = { email: "admin@example.com", password: "correct horse" };
    const other = String((await request("POST", "/api/auth/login", { body: login })).body["accessToken"]);
    expect((await send("POST", `/${adminId}/password`, { password: "correct horse" })).status).toBe(200);
    expect((await send("GET", "")).status).toBe(200);
    expect((await as(other).send("GET", "")).status).toBe(401);
  });
});

test("the last admin stays, also when two demote or delete each other at once", async () => {
  expect((await send("PATCH", `/${adminId}`, { role: "public" })).status).toBe(400);
  expect((await send("DELETE", `/${adminId}`)).status).toBe(400);
  expect((await request("GET", "/api/auth/me", { token })).body["user"]?.["role"] as unknown).toBe("admin");
  const api = await openApi({});
  const first = await api.admin();
  const own = await api.service.auth.users.findByEmail("admin@example.com");
  for (const [method, body] of [
    ["PATCH", { role: "public" }],
    ["DELETE", undefined],
  ] as const) {
    const second = await api.register(`${method}@example.com`);
    await api.request("PATCH", `/api/admin/users/${second.user.id}`, { token: first, body: { role: "admin" } });
    const attack = (by: string, id: string | undefined) =>
      api.request(method, `/api/admin/users/${id}`, { token: by, ...(body && { body }) });
    const answers = await Promise.all([attack(first, second.user.id), attack(second.accessToken, own?.id)]);
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses[0]).toBeLessThan(300);
    expect(statuses[1]).toBeGreaterThanOrEqual(400);
    const { total } = await api.service.auth.users.search({ role: "admin", limit: 0, offset: 0 });
    expect(total).toBe(1);
    if (answers[0]?.status !== statuses[0]) break;
  }
});

test("an old sign-in of an admin changes no credentials, and makes no admin", async () => {
  const { user } = await register("old@example.com");
  const change = as(token);
  setSystemTime(Date.now() + 11 * 60_000);
  const answers = await Promise.all([
    change.send("POST", `/${user.id}/password`, { password: "a new password" }),
    change.send("POST", `/${adminId}/password`, { password: "a new password" }),
    change.send("DELETE", `/${adminId}/factors`),
    change.send("PATCH", `/${user.id}`, { role: "admin" }),
    change.send("POST", "", { email: "second@example.com", password: "a new password", role: "admin" }),
    request("POST", "/api/admin/invitations", { token, body: { email: "third@example.com", role: "admin" } }),
  ]);
  const recent = { error: { code: "forbidden", details: [{ rule: "recent_login" }] } };
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403]);
  for (const { body } of answers) expect(body).toMatchObject(recent);
  // Changes of others that give nobody a right stay possible.
  expect((await change.send("PATCH", `/${user.id}`, { role: "public" })).status).toBe(200);
  setSystemTime();
  expect(service.auth.users.findByEmail("second@example.com")).toBeNull();
});
