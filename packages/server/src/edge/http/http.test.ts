import { describe, expect, spyOn, test } from "bun:test";
import { SERIES } from "@socle/protocol";
import { openApi } from "../../../test/kit.ts";
import { AppError } from "../../base/kernel/index.ts";

const notes = { name: "notes", fields: [{ name: "text", type: "text" }] };
const api = await openApi({ collections: [notes], settings: { SERVICE_LIMITS_BODY: "2048" } });
const { request, service } = api;

describe("every response that is no success has the spec's body", () => {
  const json = { "Content-Type": "application/json" };
  const cases: [string, string, Parameters<typeof request>[2], number, string][] = [
    ["GET", "/nothing", {}, 404, "not_found"],
    ["GET", "/api", {}, 404, "not_found"],
    ["GET", "/api/nothing", {}, 404, "not_found"],
    ["GET", "/api/users", {}, 404, "not_found"],
    ["GET", "/api/_users", {}, 404, "not_found"],
    ["GET", "/api/Notes", {}, 404, "not_found"],
    ["GET", "/api/__proto__", {}, 404, "not_found"],
    ["GET", "/api/constructor", {}, 404, "not_found"],
    ["GET", "/api/notes/rec_x", {}, 404, "not_found"],
    ["GET", "/api/notes/a%2Fb", {}, 404, "not_found"],
    ["GET", "/api/notes/%00", {}, 404, "not_found"],
    ["GET", "/api/notes/%zz", {}, 404, "not_found"],
    ["GET", "/api/notes/x/y", {}, 404, "not_found"],
    ["GET", "/api//notes", {}, 404, "not_found"],
    ["GET", "/api/notes/' OR 1=1 --", {}, 404, "not_found"],
    ["GET", `/api/${"n".repeat(300)}`, {}, 404, "not_found"],
    ["DELETE", "/api/notes/rec_x", {}, 404, "not_found"],
    ["PUT", "/api/notes/rec_x", { body: {} }, 404, "not_found"],
    ["PATCH", "/api/notes/rec_x", { body: {} }, 405, "method_not_allowed"],
    ["PUT", "/api/notes", { body: {} }, 405, "method_not_allowed"],
    ["DELETE", "/api/notes", {}, 405, "method_not_allowed"],
    ["POST", "/api/notes/rec_x", { body: {} }, 405, "method_not_allowed"],
    ["PATCH", "/api/nothing", { body: {} }, 405, "method_not_allowed"],
    ["GET", "/api/auth/login", {}, 405, "method_not_allowed"],
    ["POST", "/api/auth/me", { body: {} }, 405, "method_not_allowed"],
    ["POST", "/health", { body: {} }, 405, "method_not_allowed"],
    ["POST", "/api/notes", {}, 400, "bad_request"],
    ["POST", "/api/notes", { headers: json }, 400, "bad_request"],
    ["POST", "/api/notes", { body: "{}", headers: { "Content-Type": "" } }, 400, "bad_request"],
    ["POST", "/api/notes", { body: "{}", headers: { "Content-Type": "text/plain" } }, 400, "bad_request"],
    ["POST", "/api/notes", { body: "{}", headers: { "Content-Type": "application/jsonp" } }, 400, "bad_request"],
    ["POST", "/api/notes", { body: "{" }, 400, "bad_request"],
    ["POST", "/api/notes", { body: "{'text':1}" }, 400, "bad_request"],
    ["POST", "/api/notes", { body: "[]" }, 400, "bad_request"],
    ["POST", "/api/notes", { body: "null" }, 400, "bad_request"],
    ["POST", "/api/notes", { body: '"text"' }, 400, "bad_request"],
    ["POST", "/api/notes", { body: "1" }, 400, "bad_request"],
    ["POST", "/api/notes", { body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) }, 400, "bad_request"],
    ["POST", "/api/notes", { body: `${"[".repeat(1_000)}` }, 400, "bad_request"],
    ["POST", "/api/notes", { body: `${"[".repeat(1_000)}${"]".repeat(1_000)}` }, 400, "bad_request"],
    ["POST", "/api/notes", { body: { text: "x".repeat(3_000) } }, 413, "payload_too_large"],
    ["POST", "/api/notes", { body: '{"__proto__":{"text":"x"}}' }, 400, "validation_error"],
    ["POST", "/api/notes", { body: '{"constructor":{"text":"x"}}' }, 400, "validation_error"],
    ["POST", "/api/notes", { body: '{"text\\u0000":"x"}' }, 400, "validation_error"],
    ["POST", "/api/notes", { body: { ["x".repeat(300)]: 1 } }, 400, "validation_error"],
    ["POST", "/api/notes", { body: { 'text"; DROP TABLE notes': 1 } }, 400, "validation_error"],
  ];
  test.each(cases)("%s %s %j → %i", async (method, path, options, status, code) => {
    const answer = await request(method, path, options);
    expect([answer.status, answer.body["error"]?.["code"] as unknown]).toEqual([status, code]);
    expect(Object.keys(answer.body)).toEqual(["error"]);
    expect(typeof answer.body["error"]?.["message"]).toBe("string");
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("x-request-id")).not.toBeNull();
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("socle-version")).toBe(SERIES);
    expect(answer.headers.get("access-control-expose-headers")).toContain("Socle-Version");
    if (status === 405) expect(answer.headers.get("allow")).toContain("OPTIONS");
    expect((await request("GET", "/api/notes")).body["items"]).toEqual([] as never);
  });

  test("a body without a length in advance is cut off at the limit, too", async () => {
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1_000).fill(0x20)),
    });
    const headers = { "Content-Type": "application/json" };
    const answer = await request("POST", "/api/notes", { body: stream, headers });
    expect(answer.status).toBe(413);
  });
});

test("a doubled key: the last value counts, and no prototype changes", async () => {
  const answer = await request("POST", "/api/notes", { body: '{"text":"first","text":"last"}' });
  expect<unknown>(answer.body["text"]).toBe("last");
  expect(Object.hasOwn(Object.prototype, "text")).toBe(false);
  await request("DELETE", `/api/notes/${String(answer.body["id"])}`);
});

test.each(["/", "/health", "/health/", "/health?x=1"])("%s is a health check", async (path) => {
  const answer = await request("GET", path);
  expect(answer.status).toBe(200);
  expect<unknown>(answer.body).toEqual({ status: "ok", version: "test" });
});

test.each(["/api/notes", "/api/notes/", "/api/notes?unknown=2&page=3"])("%s is the list", async (path) => {
  expect<unknown>((await request("GET", path)).body).toEqual({ items: [] });
});

test.each(["application/json", "application/json; charset=utf-8", "Application/JSON"])("accepts %s", async (type) => {
  const answer = await request("POST", "/api/notes", { body: "{}", headers: { "Content-Type": type } });
  expect(answer.status).toBe(201);
  await request("DELETE", `/api/notes/${String(answer.body["id"])}`);
});

describe("CORS", () => {
  test("open by default, without credentials", async () => {
    const { headers } = await request("GET", "/api/notes", { headers: { Origin: "https://app.example" } });
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("access-control-allow-credentials")).toBeNull();
  });

  test("OPTIONS is 204 with the allowed methods", async () => {
    const { status, headers } = await request("OPTIONS", "/api/notes/rec_1", {
      headers: { Origin: "https://a.example" },
    });
    expect(status).toBe(204);
    expect(headers.get("allow")).toBe("GET, HEAD, PUT, DELETE, OPTIONS");
    expect(headers.get("access-control-allow-methods")).toBe("GET, HEAD, PUT, DELETE, OPTIONS");
    expect(headers.get("access-control-allow-headers")).toContain("Authorization");
    const asking = async (names: string): Promise<string | null> => {
      const more = { Origin: "https://app.example", "Access-Control-Request-Headers": names };
      return (await request("OPTIONS", "/api/notes", { headers: more })).headers.get("access-control-allow-headers");
    };
    expect(await asking("x-signature, x-b")).toEndWith(", x-signature, x-b");
    for (const names of ["", "a b", "x,,y", "x:y", "x".repeat(2_000)]) expect(await asking(names)).toEndWith(", Range");
    expect((await request("OPTIONS", "/nothing")).status).toBe(404);
  });

  test("named origins only", async () => {
    const closed = await openApi({ settings: { SERVICE_CORS_ORIGINS: "https://a.example, https://b.example/" } });
    const allowed = async (origin: string) =>
      (await closed.request("GET", "/", { headers: { Origin: origin } })).headers.get("access-control-allow-origin");
    expect(await allowed("https://a.example")).toBe("https://a.example");
    expect(await allowed("https://b.example")).toBe("https://b.example");
    expect(await allowed("https://c.example")).toBeNull();
    expect((await closed.request("GET", "/")).headers.get("vary")).toBe("Origin");
    await closed.request("OPTIONS", "/", { headers: { Origin: "https://d.example" } });
    expect(closed.log.filter((line) => line.includes("outside of cors.origins"))).toHaveLength(1);
  });

  test("a page of this service is no other origin, and leaves no entry in the log", async () => {
    const closed = await openApi({ settings: { SERVICE_CORS_ORIGINS: "https://a.example" } });
    const headers = { Origin: "http://localhost", Host: "localhost" };
    expect((await closed.request("GET", "/", { headers })).headers.get("access-control-allow-origin")).toBeNull();
    expect(closed.log.join()).not.toContain("cors.origins");
  });

  test("an origin with *. stands for the subdomains of the same scheme and port alone", async () => {
    const settings = { SERVICE_CORS_ORIGINS: "https://*.a.example,http://*.b.example:8080,app://c" };
    const closed = await openApi({ settings });
    const allowed = async (origin: string): Promise<boolean> =>
      (await closed.request("GET", "/", { headers: { Origin: origin } })).headers.has("access-control-allow-origin");
    for (const origin of ["https://x.a.example", "https://y.x.a.example", "http://x.b.example:8080", "app://c"])
      expect([origin, await allowed(origin)]).toEqual([origin, true]);
    for (const origin of [
      "https://a.example",
      "http://x.a.example",
      "https://x.a.example:8443",
      "https://xa.example",
      "https://a.example.evil.example",
      "https://evil.example/.a.example",
      "https://evil.example?.a.example",
      "https://x@evil.example#.a.example",
      "http://x.b.example",
      "app://x.c",
      "null",
    ])
      expect([origin, await allowed(origin)]).toEqual([origin, false]);
  });
});

test("a 503 has the time of a useful retry, also without a limit", async () => {
  const full = new AppError("unavailable", "There is no room on the disk.");
  const create = spyOn(service.records, "createWith").mockRejectedValue(full);
  const answer = await request("POST", "/api/notes", { body: { text: "x" } });
  create.mockRestore();
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
});

test("a 503 of a full disk has the time of a useful retry", async () => {
  const { service, request, log } = await openApi({ collections: [notes] });
  const limit = (pages: number) => service.database.transact((tx) => tx.get(`PRAGMA max_page_count = ${pages}`));
  await limit(1);
  const answer = await request("POST", "/api/notes", { body: { text: "x".repeat(100_000) } });
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(log.join()).toContain("A request was turned away");
  await limit(1_000_000);
  expect((await request("POST", "/api/notes", { body: { text: "x" } })).status).toBe(201);
});

test("a defect is sent without its details, which are in the log with the request's id", async () => {
  const broken = await openApi({ collections: [notes] });
  await broken.service.database.transact((tx) => tx.run("ALTER TABLE notes RENAME COLUMN text TO gone"));
  const answer = await broken.request("GET", "/api/notes");
  expect([answer.status, answer.body["error"]?.["code"] as unknown]).toEqual([500, "internal_error"]);
  expect(JSON.stringify(answer.body)).not.toContain("column");
  expect(broken.log.join("\n")).toContain("A request failed");
});

test("responses under /api/auth/ and /api/admin/ have Cache-Control: no-store; a list has no-cache", async () => {
  const caching = async (...given: Parameters<typeof request>): Promise<[number, string | null]> => {
    const { status, headers } = await request(...given);
    return [status, headers.get("cache-control")];
  };
  const admin = { token: await api.admin() };
  const kept = "no-store";
  const credentials = { email: "kept@example.com", password: "correct horse" };
  expect(await caching("POST", "/api/auth/register", { body: credentials })).toEqual([201, kept]);
  expect(await caching("POST", "/api/auth/login", { body: credentials })).toEqual([200, kept]);
  expect(await caching("GET", "/api/auth/me", admin)).toEqual([200, kept]);
  expect(await caching("GET", "/api/auth/me/", admin)).toEqual([200, kept]);
  expect(await caching("GET", "/api/auth/me")).toEqual([401, kept]);
  expect(await caching("GET", "/api/admin/config", admin)).toEqual([200, kept]);
  expect(await caching("GET", "/api/admin/config")).toEqual([401, kept]);
  expect(await caching("GET", "/api/auth/nothing")).toEqual([404, kept]);
  expect(await caching("GET", "/api/admin/nothing", admin)).toEqual([404, kept]);
  expect(await caching("GET", "/api/admin/nothing/at/all")).toEqual([401, kept]);
  expect(await caching("GET", "/api/notes")).toEqual([200, "no-cache"]);
  expect(await caching("GET", "/api/notes", admin)).toEqual([200, "private, no-cache"]);
});
