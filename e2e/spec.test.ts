/** Records, validation and permissions, sentence by sentence of the specification, as a stranger reads it: with the passwords, names and habits that people have. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { project, serve } from "./kit.ts";
import { collections, iso, openSpecWorld, recordId } from "./spec-world.ts";

const { ann, bob, get, make, post, put, refused, remove, request, root, server, upload } = await openSpecWorld();

describe("What the service does", () => {
  test("the database file is made, definition files are loaded, and the log names the port", async () => {
    expect(server.output()).toContain(new URL(server.url).port);
    const { body } = await get("/api/admin/collections", root);
    const names = (body["items"] as unknown as { name: string }[]).map(({ name }) => name);
    for (const { name } of collections) expect(names).toContain(name);
  });

  test("GET /health and GET / are health checks", async () => {
    for (const path of ["/health", "/"]) expect((await get(path)).status).toBe(200);
  });

  test("SERVICE_STORAGE and SERVICE_DASHBOARD_ENABLED override the configuration", async () => {
    const cwd = await project({ config: { dashboard: { enabled: true } } });
    const env = { SERVICE_STORAGE: join(cwd, "elsewhere"), SERVICE_DASHBOARD_ENABLED: "false" };
    const other = await serve(cwd, { env });
    expect((await fetch(`${other.url}/_/`)).status).toBe(404);
    expect((await fetch(`${other.url}/health`)).status).toBe(200);
    const registered = await fetch(`${other.url}/api/auth/register`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ email: "user@test", password: "password123" }),
    });
    expect(registered.status).toBe(201);
    await other.stop();
  });
});

describe("Records", () => {
  test("a created record has the system fields and its fields", async () => {
    const record = await make("posts", { title: "First", published: true }, ann.token);
    expect(record).toEqual({
      id: recordId,
      createdAt: iso,
      updatedAt: iso,
      title: "First",
      body: null,
      published: true,
    } as never);
    expect((await get(`/api/posts/${record["id"]}`)).body).toEqual(record);
  });

  test("a list is { items }, ordered by createdAt descending", async () => {
    for (const title of ["1", "2", "3"]) await make("open", { title });
    const { status, body } = await get("/api/open");
    expect(status).toBe(200);
    const items = body["items"] as unknown as { title: string; createdAt: string }[];
    expect(items.slice(0, 3).map(({ title }) => title)).toEqual(["3", "2", "1"]);
    const times = items.map(({ createdAt }) => createdAt);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  test("PUT changes the sent fields, DELETE is 204, and the record is gone", async () => {
    const record = await make("open", { title: "a", n: 1 });
    const path = `/api/open/${record["id"]}`;
    const changed = await put(path, { n: 2 });
    expect([changed.status, changed.body]).toEqual([200, { ...record, n: 2, updatedAt: iso }] as never);
    expect((await put(path, { title: null })).body).toMatchObject({ title: null, n: 2 } as never);
    const removed = await remove(path);
    expect([removed.status, removed.text]).toEqual([204, ""]);
    for (const method of ["GET", "PUT", "DELETE"])
      refused(await request(method, path, method === "PUT" ? { body: {} } : {}), 404, "not_found");
  });

  test("the body is a JSON object of known fields, without system fields", async () => {
    for (const body of ["{", "", "[]", "null", '"x"', "1"]) refused(await post("/api/open", body), 400, "bad_request");
    refused(
      await request("POST", "/api/open", { body: "{}", headers: { "Content-Type": "text/plain" } }),
      400,
      "bad_request",
    );
    const { id } = await make("open", {});
    refused(
      await request("PUT", `/api/open/${id}`, { body: "{}", headers: { "Content-Type": "text/plain" } }),
      400,
      "bad_request",
    );
    for (const body of [{ nothing: 1 }, { id: "rec_1" }, { createdAt: "2026-01-01" }, { updatedAt: "2026-01-01" }]) {
      const answer = await post("/api/open", body);
      refused(answer, 400, "validation_error");
      expect(answer.body["error"]?.["details"]).toMatchObject([
        { field: Object.keys(body)[0], rule: expect.any(String), message: expect.any(String) },
      ] as never);
    }
  });

  test("an unknown collection or record is 404, and another method 405", async () => {
    refused(await get("/api/nothing"), 404, "not_found");
    refused(await post("/api/nothing", {}), 404, "not_found");
    refused(await get("/api/open/rec_nothing"), 404, "not_found");
    for (const [method, path] of [
      ["PATCH", "/api/open"],
      ["DELETE", "/api/open"],
      ["PUT", "/api/open"],
      ["POST", "/api/open/rec_1"],
    ] as const)
      refused(await request(method, path, { body: {} }), 405, "method_not_allowed");
  });

  test("the users collection is not served", async () => {
    for (const path of ["/api/users", `/api/users/${ann.id}`]) refused(await get(path, root), 404, "not_found");
    refused(await post("/api/users", { email: "x@example.com" }, root), 404, "not_found");
  });
});

describe("Validation", () => {
  const good = { s: "abc", t: "x\ny", i: 5, f: 1, b: true, d: "2026-03-01T10:30:00Z", j: { a: [1] } };

  test("a value of each type is stored as sent", async () => {
    const { id: post_ } = await make("posts", { title: "target" }, ann.token);
    const record = await make("kinds", { ...good, r: post_, author: ann.id });
    expect(record).toMatchObject({
      ...good,
      d: "2026-03-01T10:30:00.000Z",
      r: post_,
      author: ann.id,
      file: null,
    } as never);
  });

  test("a datetime is taken as forms and programs write datetimes", async () => {
    for (const [given, stored] of [
      ["2026-03-01T10:30", "2026-03-01T10:30:00.000Z"],
      ["2026-03-01T10:30:15.123Z", "2026-03-01T10:30:15.123Z"],
      ["2026-03-01T10:30:00+02:00", "2026-03-01T08:30:00.000Z"],
      ["2026-03-01", "2026-03-01T00:00:00.000Z"],
    ])
      expect((await make("kinds", { d: given }))["d"]).toBe(stored as never);
  });

  const bad: readonly [object, field: string, rule: string][] = [
    [{ s: 5 }, "s", "type"],
    [{ s: "a" }, "s", "min"],
    [{ s: "abcdef" }, "s", "max"],
    [{ s: "ABC" }, "s", "regex"],
    [{ i: "5" }, "i", "type"],
    [{ i: 1.5 }, "i", "type"],
    [{ i: 0 }, "i", "min"],
    [{ i: 11 }, "i", "max"],
    [{ f: "1" }, "f", "type"],
    [{ f: 0.4 }, "f", "min"],
    [{ f: 1.6 }, "f", "max"],
    [{ b: "true" }, "b", "type"],
    [{ d: "soon" }, "d", "type"],
    [{ r: "rec_nothing" }, "r", "relation"],
    [{ author: "usr_nothing" }, "author", "relation"],
    [{ file: "nothing" }, "file", "file"],
  ];
  test.each(bad)("%j is a validation_error of %s, in create and update", async (body, field, rule) => {
    const { id } = await make("kinds", {});
    for (const answer of [await post("/api/kinds", body), await put(`/api/kinds/${id}`, body)]) {
      refused(answer, 400, "validation_error");
      expect(answer.body["error"]?.["details"]).toEqual([
        { field, rule, message: expect.stringMatching(/./) },
      ] as never);
    }
  });

  test("required and unique", async () => {
    for (const body of [{}, { title: null }, { title: "" }]) {
      const answer = await post("/api/posts", body, ann.token);
      refused(answer, 400, "validation_error");
      expect(answer.body["error"]?.["details"]).toMatchObject([{ field: "title", rule: "required" }] as never);
    }
    await make("kinds", { s: "twin" });
    const twin = await post("/api/kinds", { s: "twin" });
    refused(twin, 400, "validation_error");
    expect(twin.body["error"]?.["details"]).toMatchObject([{ field: "s", rule: "unique" }] as never);
    for (let i = 0; i < 2; i++) await make("kinds", { s: null });
  });

  test("a file field takes the id of any stored file, and opens the file to no caller", async () => {
    const file = await upload("protected", ann.token);
    expect((await make("kinds", { file }, bob.token))["file"]).toBe(file as never);
    expect((await make("kinds", { file }))["file"]).toBe(file as never);
    refused(await get(`/api/storage/${file}`, bob.token), 403, "forbidden");
    refused(await get(`/api/storage/${file}`), 401, "unauthorized");
  });
});

describe("Permissions", () => {
  const statuses = async (method: string, path: string, body?: object): Promise<number[]> => {
    const all: number[] = [];
    for (const token of [undefined, bob.token, ann.token, root])
      all.push((await request(method, path, { ...(token !== undefined && { token }), ...(body && { body }) })).status);
    return all;
  };

  test("a collection without permissions is open without a token", async () => {
    const { id } = await make("open", { title: "a" });
    expect((await put(`/api/open/${id}`, { title: "b" })).status).toBe(200);
    expect((await remove(`/api/open/${id}`)).status).toBe(204);
  });

  test("public, authenticated, owner and admin", async () => {
    expect(await statuses("POST", "/api/posts", { title: "x" })).toEqual([401, 201, 201, 201]);
    expect(await statuses("GET", "/api/posts")).toEqual([200, 200, 200, 200]);
    expect(await statuses("GET", "/api/members")).toEqual([401, 200, 200, 200]);
    expect(await statuses("GET", "/api/secrets")).toEqual([401, 403, 403, 200]);
    expect(await statuses("POST", "/api/secrets", { text: "x" })).toEqual([401, 403, 403, 201]);
    refused(await get("/api/members", "no token"), 401, "unauthorized");
  });

  test.each(["notes", "letters"])(
    "read owner: a list of %s has the caller's records, and records of others are closed",
    async (name) => {
      const { id } = await make(name, { text: "mine" }, ann.token);
      await make(name, { text: "his" }, bob.token);
      const texts = async (token: string): Promise<string[]> =>
        ((await get(`/api/${name}`, token)).body["items"] as unknown as { text: string }[]).map((item) => item.text);
      expect(await texts(ann.token)).toEqual(["mine"]);
      expect(await texts(bob.token)).toEqual(["his"]);
      expect((await texts(root)).toSorted()).toEqual(["his", "mine"]);
      refused(await get(`/api/${name}`), 401, "unauthorized");
      const path = `/api/${name}/${id}`;
      expect(await statuses("GET", path)).toEqual([401, 403, 200, 200]);
      // No rule that is not listed lets a user change a record that is closed to the user.
      expect(await statuses("PUT", path, { text: "changed" })).toEqual([401, 403, 200, 200]);
      expect((await request("DELETE", path)).status).toBe(401);
      refused(await remove(path, bob.token), 403, "forbidden");
      expect((await remove(path, ann.token)).status).toBe(204);
    },
  );

  test("the creator changes and deletes a record whose change has no rule", async () => {
    const { id } = await make("posts", { title: "mine" }, ann.token);
    const path = `/api/posts/${id}`;
    expect(await statuses("PUT", path, { title: "x" })).toEqual([401, 403, 200, 200]);
    expect((await remove(path, ann.token)).status).toBe(204);
  });
});
