/** Authentication, files and the admin API, sentence by sentence of the specification, as a stranger reads it. */
import { describe, expect, test } from "bun:test";
import { type Answer, iso, type Json, openSpecWorld, text } from "./spec-world.ts";

const { ann, bob, get, make, post, put, refused, register, remove, request, root, upload } = await openSpecWorld();

describe("Authentication", () => {
  test("register, login, me and logout with a password that people have", async () => {
    const registered = await post("/api/auth/register", { email: "cay@example.com", password: "password123" });
    const token = String(registered.body["accessToken"]);
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    const me = await get("/api/auth/me", token);
    expect([me.status, me.body]).toEqual([
      200,
      { user: { id: expect.stringMatching(/^usr_/), email: "cay@example.com", role: "authenticated", createdAt: iso } },
    ] as never);
    const login = await post("/api/auth/login", { email: "cay@example.com", password: "password123" });
    expect(login.status).toBe(200);
    expect((await get("/api/auth/me", String(login.body["accessToken"]))).status).toBe(200);
    expect((await request("POST", "/api/auth/logout", { token })).status).toBeLessThan(300);
    refused(await get("/api/auth/me", token), 401, "unauthorized");
    expect(JSON.stringify([registered.body, me.body, login.body])).not.toContain("password123");
  });

  test("a refresh gives a token that works", async () => {
    const { body } = await post("/api/auth/login", { email: ann.email, password: "password123" });
    const answer = await post("/api/auth/refresh", { refreshToken: body["refreshToken"] });
    expect(answer.status).toBe(200);
    expect((await get("/api/auth/me", String(answer.body["accessToken"]))).status).toBe(200);
  });

  test("missing and bad credentials are 401, bad bodies 400", async () => {
    refused(await get("/api/auth/me"), 401, "unauthorized");
    refused(await get("/api/auth/me", "abc"), 401, "unauthorized");
    refused(await get("/api/auth/me", `${ann.token}x`), 401, "unauthorized");
    refused(await post("/api/auth/login", { email: ann.email, password: "wrong" }), 401, "unauthorized");
    refused(
      await post("/api/auth/login", { email: "nobody@example.com", password: "password123" }),
      401,
      "unauthorized",
    );
    for (const body of [{}, { email: "x" }, { email: 5, password: "password123" }, { email: "x@example.com" }])
      expect((await post("/api/auth/register", body)).status).toBe(400);
    expect(
      (await post("/api/auth/register", { email: ann.email, password: "password123" })).status,
    ).toBeGreaterThanOrEqual(400);
  });

  test("a registration chooses no role", async () => {
    const body = { email: "dan@example.com", password: "password123", role: "admin" };
    const { accessToken } = (await post("/api/auth/register", body)).body;
    expect((await get("/api/auth/me", String(accessToken))).body["user"]?.["role"]).toBe("authenticated" as never);
  });

  test("a suite registers many users", async () => {
    for (let i = 0; i < 40; i++) await register(`user${i}@example.com`);
  });
});

describe("Storage", () => {
  test("a public file is for anyone, a protected file for the owner and admins", async () => {
    const [open, closed] = [await upload("public", ann.token), await upload("protected", ann.token)];
    for (const token of [undefined, bob.token, ann.token, root]) {
      const answer = await get(`/api/storage/${open}`, token);
      expect([answer.status, answer.text]).toEqual([200, "hello"]);
    }
    refused(await get(`/api/storage/${closed}`), 401, "unauthorized");
    refused(await get(`/api/storage/${closed}`, bob.token), 403, "forbidden");
    for (const token of [ann.token, root]) expect((await get(`/api/storage/${closed}`, token)).text).toBe("hello");
  });

  test("the owner and admins delete", async () => {
    for (const token of [ann.token, root]) {
      const id = await upload("public", ann.token);
      refused(await remove(`/api/storage/${id}`), 401, "unauthorized");
      refused(await remove(`/api/storage/${id}`, bob.token), 403, "forbidden");
      expect((await remove(`/api/storage/${id}`, token)).status).toBeLessThan(300);
      refused(await get(`/api/storage/${id}`, token), 404, "not_found");
    }
    refused(await remove("/api/storage/nothing", ann.token), 404, "not_found");
  });

  test("an upload needs a token, a file, a visibility of the two, and at most 10 MB", async () => {
    const form = (visibility: string, content: string | Uint8Array<ArrayBuffer>): FormData => {
      const body = new FormData();
      body.set("file", new File([content], "a.bin"));
      body.set("visibility", visibility);
      return body;
    };
    refused(await request("POST", "/api/storage/upload", { body: form("public", "x") }), 401, "unauthorized");
    expect((await request("POST", "/api/storage/upload", { body: form("secret", "x"), token: ann.token })).status).toBe(
      400,
    );
    expect((await request("POST", "/api/storage/upload", { body: new FormData(), token: ann.token })).status).toBe(400);
    const bytes = (size: number) => new Uint8Array(new ArrayBuffer(size));
    const most = await request("POST", "/api/storage/upload", {
      body: form("public", bytes(10 * 1_000_000)),
      token: ann.token,
    });
    expect([200, 201]).toContain(most.status);
    const more = await request("POST", "/api/storage/upload", {
      body: form("public", bytes(11 * 1_024 ** 2)),
      token: ann.token,
    });
    expect(more.status).toBeGreaterThanOrEqual(400);
    expect(more.status).toBeLessThan(500);
  });
});

describe("Admin", () => {
  const define = (name: string, fields: object[], more: object = {}): Promise<Answer> =>
    post("/api/admin/collections", { name, fields, ...more }, root);

  test("every route is 401 without a token, and 403 for a user", async () => {
    for (const path of [
      "collections",
      "collections/posts",
      "users",
      "storage",
      "functions",
      "jobs",
      "jobs/tick/runs",
      "logs",
    ]) {
      refused(await get(`/api/admin/${path}`), 401, "unauthorized");
      refused(await get(`/api/admin/${path}`, "bad"), 401, "unauthorized");
      refused(await get(`/api/admin/${path}`, ann.token), 403, "forbidden");
      expect([path, (await get(`/api/admin/${path}`, root)).status]).toEqual([path, 200]);
    }
  });

  test("a collection is made, read, changed and dropped", async () => {
    expect((await define("tasks", [text("title"), text("old")])).status).toBeLessThan(300);
    const { id } = await make("tasks", { title: "a", old: "kept" });
    expect((await get("/api/admin/collections/tasks", root)).body).toMatchObject({ name: "tasks" } as never);
    // Added, then removed, then renamed.
    const path = "/api/admin/collections/tasks";
    expect(
      (await put(path, { name: "tasks", fields: [text("title"), text("old"), { name: "n", type: "integer" }] }, root))
        .status,
    ).toBe(200);
    expect((await get(`/api/tasks/${id}`)).body).toMatchObject({ title: "a", old: "kept", n: null } as never);
    expect((await put(path, { name: "tasks", fields: [text("title"), text("old")] }, root)).status).toBe(200);
    expect((await get(`/api/tasks/${id}`)).body).not.toHaveProperty("n");
    expect((await put(path, { name: "tasks", fields: [text("title"), text("fresh")] }, root)).status).toBe(200);
    expect((await get(`/api/tasks/${id}`)).body).toMatchObject({ title: "a", fresh: "kept" } as never);
    expect(
      (await put(path, { name: "tasks", fields: [text("title"), text("fresh")], permissions: { read: "admin" } }, root))
        .status,
    ).toBe(200);
    expect((await get(`/api/tasks/${id}`)).status).toBe(401);
    expect((await remove(path, root)).status).toBeLessThan(300);
    refused(await get(path, root), 404, "not_found");
    refused(await get("/api/tasks"), 404, "not_found");
  });

  test.each([
    ["string", "integer"],
    ["integer", "float"],
    ["float", "integer"],
    ["text", "string"],
    ["boolean", "string"],
  ])("the type of a field does not change: %s to %s", async (from, to) => {
    const name = `typed_${from}_${to}`;
    expect((await define(name, [{ name: "x", type: from }])).status).toBeLessThan(300);
    refused(
      await put(`/api/admin/collections/${name}`, { name, fields: [{ name: "x", type: to }] }, root),
      400,
      "bad_request",
    );
    expect((await get(`/api/admin/collections/${name}`, root)).body["fields"]).toMatchObject([{ type: from }] as never);
  });

  test("bad definitions are refused, odd ones are taken", async () => {
    refused(await define("users", [text("nick")]), 400, "bad_request");
    refused(await define("posts", [text("twice")]), 400, "bad_request");
    for (const body of [
      {},
      { name: "x" },
      { fields: [] },
      { name: "x", fields: [{ name: "a", type: "blob" }] },
      { name: "x", fields: [{ name: "a", type: "relation" }] },
      { name: "x", fields: [{ name: "a", type: "relation", collection: "nothing" }] },
      { name: "x", fields: [], permissions: { read: "everybody" } },
    ])
      refused(await post("/api/admin/collections", body, root), 400, "bad_request");
    expect(
      (
        await define("odd", [{ name: "n", type: "integer", regex: "^1", unique: null, label: "A number" }], {
          description: "Odd",
          permissions: {},
        })
      ).status,
    ).toBeLessThan(300);
    await make("odd", { n: 2 });
    refused(await get("/api/admin/collections/nothing", root), 404, "not_found");
    refused(await put("/api/admin/collections/nothing", { fields: [] }, root), 404, "not_found");
    refused(await remove("/api/admin/collections/nothing", root), 404, "not_found");
  });

  test("a collection that another collection points to is not dropped", async () => {
    await define("targets", [text("a")]);
    await define("pointers", [{ name: "to", type: "relation", collection: "targets" }]);
    refused(await remove("/api/admin/collections/targets", root), 400, "bad_request");
    expect((await remove("/api/admin/collections/pointers", root)).status).toBeLessThan(300);
    expect((await remove("/api/admin/collections/targets", root)).status).toBeLessThan(300);
  });

  test("users are listed by limit and offset, get a role, and are deleted", async () => {
    const eve = await register("eve@example.com");
    const page = (await get("/api/admin/users?limit=2&offset=1", root)).body["items"] as unknown as Json[];
    expect(page).toHaveLength(2);
    expect(page[0]).toMatchObject({
      id: expect.stringMatching(/^usr_/),
      email: expect.any(String),
      role: expect.any(String),
      createdAt: iso,
    } as never);
    expect(
      (await request("PATCH", `/api/admin/users/${eve.id}`, { body: { role: "admin" }, token: root })).status,
    ).toBe(200);
    expect((await get("/api/admin/users", eve.token)).status).toBe(200);
    expect(
      (await request("PATCH", `/api/admin/users/${eve.id}`, { body: { role: "public" }, token: root })).status,
    ).toBe(200);
    refused(await get("/api/admin/users", eve.token), 403, "forbidden");
    refused(
      await request("PATCH", `/api/admin/users/${eve.id}`, { body: { role: "king" }, token: root }),
      400,
      "bad_request",
    );
    refused(
      await request("PATCH", "/api/admin/users/usr_nothing", { body: { role: "public" }, token: root }),
      404,
      "not_found",
    );
    expect((await remove(`/api/admin/users/${eve.id}`, root)).status).toBeLessThan(300);
    refused(await get("/api/auth/me", eve.token), 401, "unauthorized");
  });

  test("files, functions and jobs are listed", async () => {
    const file = await upload("protected", ann.token);
    const stored = (await get("/api/admin/storage?limit=1&offset=0", root)).body["items"];
    expect(stored).toMatchObject([{ id: file, visibility: "protected" }] as never);
    const functions = (await get("/api/admin/functions", root)).body["items"] as unknown as Json[];
    expect(functions).toContainEqual(
      expect.objectContaining({
        collection: "posts",
        type: "create",
        eventType: "posts.created",
        filePath: expect.stringContaining("created.ts"),
      }) as never,
    );
    expect(functions).toContainEqual(
      expect.objectContaining({ type: "update", filePath: expect.stringContaining("onUpdate.ts") }) as never,
    );
    expect(functions).toContainEqual(expect.objectContaining({ collection: "users", type: "login" }) as never);
    expect(JSON.stringify(functions)).not.toContain("somebody has");
    const jobs = (await get("/api/admin/jobs", root)).body["items"];
    expect(jobs).toContainEqual(
      expect.objectContaining({
        name: "tick",
        schedule: "* * * * *",
        filePath: expect.stringContaining("tick.ts"),
      }) as never,
    );
    refused(await get("/api/admin/jobs/nothing/runs", root), 404, "not_found");
  });

  test("the log is read by limit and level", async () => {
    const entries = (await get("/api/admin/logs?limit=5&level=INFO", root)).body["items"] as unknown as Json[];
    expect(entries.length).toBeLessThanOrEqual(5);
    for (const entry of entries)
      expect(entry).toMatchObject({ timestamp: iso, level: "INFO", message: expect.any(String) } as never);
    refused(await get("/api/admin/logs?level=LOUD", root), 400, "bad_request");
  });
});
