/** Tests of the rate limiter: the buckets, the answer beyond a bucket, and the limited routes. */
import { describe, expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import type { Exchange } from "./exchange.ts";
import { type Methods, RateLimiter } from "./router.ts";

const route: Methods = { GET: () => new Response("fine") };

/** Asks a route that is limited by a rate. Answers null for yes, otherwise the seconds to wait. */
function limited(rate: { count: number; perMs: number }) {
  let now = 0;
  const methods = new RateLimiter({ "limits.rate.login": rate }, () => now).limit("login", route);
  return {
    pass: (ms: number) => {
      now += ms;
    },
    ask: (address = "a"): number | null => {
      try {
        // Only the address is looked at.
        void methods.GET?.({ address } as Exchange);
        return null;
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "rate_limited", limit: "rate" });
        return Number(Reflect.get(Object(thrown), "retryAfter"));
      }
    },
  };
}

describe("buckets", () => {
  test("of a rate per second hold ten seconds' worth, and fill again", () => {
    const { pass, ask } = limited({ count: 2, perMs: 1_000 });
    for (let i = 0; i < 20; i++) expect(ask()).toBeNull();
    expect(ask()).toBe(1);
    expect(ask("b")).toBeNull();
    pass(499);
    expect(ask()).toBe(1);
    pass(2);
    expect(ask()).toBeNull();
    expect(ask()).toBe(1);
    pass(3_600_000);
    for (let i = 0; i < 20; i++) expect(ask()).toBeNull();
    expect(ask()).toBe(1);
  });

  test.each([60_000, 3_600_000])("of a rate per %d ms hold its count", (perMs) => {
    const { pass, ask } = limited({ count: 4, perMs });
    for (let i = 0; i < 4; i++) expect(ask()).toBeNull();
    expect(ask()).toBe(perMs / 4_000);
    pass(perMs / 4);
    expect(ask()).toBeNull();
    expect(ask()).toBe(perMs / 4_000);
  });

  test("of addresses are bounded in number", () => {
    const { ask } = limited({ count: 1, perMs: 3_600_000 });
    expect(ask("first")).toBeNull();
    expect(ask("first")).toBe(3_600);
    for (let i = 0; i < 10_001; i++) ask(`address ${i}`);
    expect(ask("first")).toBeNull();
  });

  test("give a request one token, however often its handler runs", () => {
    const methods = new RateLimiter({ "limits.rate.login": { count: 1, perMs: 3_600_000 } }, () => 0).limit(
      "login",
      route,
    );
    const again = { address: "a" } as Exchange;
    for (let i = 0; i < 3; i++) void methods.GET?.(again);
    expect(() => methods.GET?.({ address: "a" } as Exchange)).toThrow("Too many requests");
    expect(() => methods.GET?.({ address: "b" } as Exchange)).not.toThrow();
  });

  test("that are off cost nothing", () => {
    expect(new RateLimiter({ "limits.rate.login": null }).limit("login", route)).toBe(route);
  });
});

describe("over HTTP", () => {
  const notes = { name: "notes", fields: [] };

  test("register, login, refresh and the set-up each have their own, before the body is read", async () => {
    const rate = "1/h";
    const { request, service } = await openApi({
      settings: Object.fromEntries(
        ["REGISTER", "LOGIN", "REFRESH", "SETUP"].map((group) => [`SERVICE_LIMITS_RATE_${group}`, rate]),
      ),
    });
    for (const route of ["register", "login", "refresh", "setup"]) {
      const path = `/api/auth/${route}`;
      expect((await request("POST", path, { body: "{" })).status).toBe(400);
      const refused = await request("POST", path, { body: "{" });
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3_500);
      expect<unknown>(refused.body["error"]?.["code"]).toBe("rate_limited");
      expect((await request("POST", path, { body: "{", headers: { "x-test-address": "other" } })).status).toBe(400);
      expect((await request("PUT", path)).status).toBe(405);
    }
    for (let i = 0; i < 5; i++) expect((await request("POST", "/api/auth/logout")).status).toBe(401);
    expect(new Map(service.limits.totals()).get("rate")).toBe(4);
  });

  test("records and uploads have one when it is on", async () => {
    const settings = { SERVICE_LIMITS_RATE_RECORDS: "2/m", SERVICE_LIMITS_RATE_UPLOAD: "1/m" };
    const { request } = await openApi({ collections: [notes], settings });
    const asked = [
      await request("GET", "/api/notes"),
      await request("POST", "/api/notes", { body: {} }),
      await request("GET", "/api/notes"),
      await request("PUT", "/api/notes/rec_x", { body: {} }),
      await request("DELETE", "/api/notes/rec_x"),
      await request("POST", "/api/storage/upload"),
      await request("POST", "/api/storage/upload"),
      await request("GET", "/api/storage/fil_x"),
    ];
    expect(asked.map(({ status }) => status)).toEqual([200, 201, 429, 429, 429, 401, 429, 404]);
  });

  test("records and uploads have none by default", async () => {
    const { request } = await openApi({ collections: [notes] });
    for (let i = 0; i < 300; i++) {
      expect((await request("GET", "/api/notes")).status).toBe(200);
      expect((await request("POST", "/api/storage/upload")).status).toBe(401);
    }
  });
});
