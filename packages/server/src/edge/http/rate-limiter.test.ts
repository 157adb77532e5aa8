/** Tests of the rate limiter: the buckets, the answer beyond a bucket, and the limited routes. */
import { describe, expect, test } from "bun:test";
import { makeKey } from "../../../test/keys.ts";
import { openApi } from "../../../test/kit.ts";
import type { Rate } from "../../base/kernel/index.ts";
import type { Exchange, Handler } from "./exchange.ts";
import { RateLimiter, RequestLimiter } from "./rate-limiter.ts";

const route: Handler = () => new Response("fine");

/** Asks a route that is limited by a rate. Answers null for yes, otherwise the seconds to wait. */
function limited(rate: { count: number; perMs: number }) {
  let now = 0;
  const handler = new RateLimiter({ "limits.rate.login": rate }, () => now).limit("login", route);
  return {
    pass: (ms: number) => {
      now += ms;
    },
    ask: (address = "a"): number | null => {
      try {
        // Only the address is looked at.
        void handler({ address } as Exchange);
        return null;
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "rate_limited", limit: "rate" });
        return Number(Reflect.get(Object(thrown), "retryAfter"));
      }
    },
  };
}

describe("buckets", () => {
  test("with a rate per second hold ten seconds' worth, and fill again", () => {
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

  test.each([60_000, 3_600_000])("with a rate per %d ms hold its count", (perMs) => {
    const { pass, ask } = limited({ count: 4, perMs });
    for (let i = 0; i < 4; i++) expect(ask()).toBeNull();
    expect(ask()).toBe(perMs / 4_000);
    pass(perMs / 4);
    expect(ask()).toBeNull();
    expect(ask()).toBe(perMs / 4_000);
  });

  test("for addresses are bounded in number", () => {
    const { ask } = limited({ count: 1, perMs: 3_600_000 });
    expect(ask("first")).toBeNull();
    expect(ask("first")).toBe(3_600);
    for (let i = 0; i < 10_001; i++) ask(`address ${i}`);
    expect(ask("first")).toBeNull();
  });

  test("follow a rate that changes: no bucket while the rate is off, and full buckets of the next rate", () => {
    const rates: { "limits.rate.login": Rate | null } = { "limits.rate.login": null };
    const handler = new RateLimiter(rates, () => 0).limit("login", route);
    const passed = (): number => {
      for (let n = 0; n < 100; n++)
        try {
          void handler({ address: "a" } as Exchange);
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "rate_limited" });
          return n;
        }
      return 100;
    };
    expect(passed()).toBe(100);
    rates["limits.rate.login"] = { count: 3, perMs: 60_000 };
    expect([passed(), passed()]).toEqual([3, 0]);
    rates["limits.rate.login"] = { count: 5, perMs: 60_000 };
    expect([passed(), passed()]).toEqual([5, 0]);
    rates["limits.rate.login"] = null;
    expect(passed()).toBe(100);
  });
});

describe("over HTTP", () => {
  const notes = { name: "notes", fields: [] };

  test("register, login, refresh and the set-up each have a bucket, before the body is read", async () => {
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

  test("records and uploads have a bucket when the key is set", async () => {
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

  test("records and uploads have no bucket by default", async () => {
    const { request } = await openApi({ collections: [notes] });
    for (let i = 0; i < 300; i++) {
      expect((await request("GET", "/api/notes")).status).toBe(200);
      expect((await request("POST", "/api/storage/upload")).status).toBe(401);
    }
  });
});

describe("limits.requests", () => {
  const notes = { name: "notes", fields: [], permissions: { read: "public", create: "public", update: "public" } };
  const open = (limits: readonly object[]) =>
    openApi({ collections: [notes], settings: { SERVICE_LIMITS_REQUESTS: JSON.stringify(limits) } });

  test("counts the requests of each address to a route, however the path is written", async () => {
    const { request, service } = await open([{ routes: "GET /api/notes", per: "address", max: 3, window: "1h" }]);
    const paths = ["/api/notes", "/api/notes/", "/api/%6eotes?limit=1", "/api/notes"];
    const answers = [];
    for (const path of paths) answers.push(await request("GET", path));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    const refused = await request("HEAD", "/api/notes");
    expect([refused.status, Number(refused.headers.get("retry-after")) > 1_000]).toEqual([429, true]);
    expect(answers[3]?.body["error"]).toMatchObject({ code: "rate_limited" });
    // Other routes, methods and addresses do not count.
    const statuses = await Promise.all([
      request("POST", "/api/notes", { body: {} }),
      request("OPTIONS", "/api/notes"),
      request("GET", "/api/notes/rec_x"),
      request("GET", "/api/notes", { headers: { "x-test-address": "other" } }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([201, 204, 404, 200]);
    expect(new Map(service.limits.totals()).get("rate")).toBe(2);
  });

  test("counts a user under all addresses, and a caller without a valid token by the address", async () => {
    const { request, register } = await open([{ routes: "/api/notes/*", per: "user", max: 2, window: "1h" }]);
    const { accessToken: eva } = await register("eva@example.com");
    const { accessToken: bob } = await register("bob@example.com");
    const ask = async (address: string, token?: string): Promise<number> => {
      const options = { headers: { "x-test-address": address }, ...(token !== undefined && { token }) };
      return (await request("GET", "/api/notes/rec_x", options)).status;
    };
    expect([await ask("a", eva), await ask("b", eva), await ask("c", eva)]).toEqual([404, 404, 429]);
    expect([await ask("a", bob), await ask("a"), await ask("a", "wrong"), await ask("a")]).toEqual([
      404, 404, 401, 429,
    ]);
    expect((await request("GET", "/api/notes", { token: eva })).status).toBe(200);
  });

  test("counts each API key alone, and no request without a key; a user together with the user's keys", async () => {
    const api = await open([
      { routes: "GET /api/notes", per: "key", max: 2, window: "1h" },
      { routes: "GET /api/notes/*", per: "user", max: 2, window: "1h" },
    ]);
    const { accessToken: token } = await api.register("eva@example.com");
    const scopes = ["notes:read"];
    const [one, two] = [(await makeKey(api, { token, scopes })).key, (await makeKey(api, { token, scopes })).key];
    const service = (await makeKey(api, { token: await api.admin(), scopes, isOfService: true })).key;
    const ask = async (path: string, ...tokens: (string | undefined)[]): Promise<number[]> => {
      const statuses: number[] = [];
      // Each request comes from another address.
      const headers = () => ({ "x-test-address": crypto.randomUUID() });
      for (const each of tokens)
        statuses.push(
          (await api.request("GET", path, { headers: headers(), ...(each !== undefined && { token: each }) })).status,
        );
      return statuses;
    };
    expect(await ask("/api/notes", one, one, one, two, two, two)).toEqual([200, 200, 429, 200, 200, 429]);
    expect(await ask("/api/notes", token, token, token, undefined, undefined, undefined)).toEqual(Array(6).fill(200));
    // A key that is not valid counts for nobody, and is refused.
    const wrong = `sk_${"a".repeat(43)}`;
    expect(await ask("/api/notes", wrong, wrong, wrong, service, service, service)).toEqual([
      401, 401, 401, 200, 200, 429,
    ]);
    expect(await ask("/api/notes/rec_x", one, token, two, service, service, service)).toEqual([
      404, 404, 429, 404, 404, 429,
    ]);
  });

  test("counts every request, also to paths without a route; several entries count alike", async () => {
    const { request } = await open([
      { routes: "*", per: "address", max: 4, window: "1h" },
      { routes: "DELETE *", per: "address", max: 1, window: "1h" },
    ]);
    const asked = [
      await request("DELETE", "/nothing"),
      await request("DELETE", "/nothing"),
      await request("GET", "/health"),
      await request("GET", "/api/admin/users"),
      await request("GET", "/health"),
      await request("GET", "/api/admin/users"),
    ];
    expect(asked.map(({ status }) => status)).toEqual([404, 429, 200, 401, 429, 429]);
  });

  test("fills a bucket evenly, and does not let bursts of a second through", async () => {
    let now = 0;
    const entry = { routes: "/x", per: "address", max: 2, windowMs: 1_000 } as const;
    const limiter = new RequestLimiter([entry], () => now);
    const ask = () =>
      limiter.take({ address: "a", request: new Request("http://a/x") } as unknown as Exchange).then(
        () => true,
        () => false,
      );
    expect([await ask(), await ask(), await ask()]).toEqual([true, true, false]);
    now += 500;
    expect([await ask(), await ask()]).toEqual([true, false]);
    now += 60_000;
    expect([await ask(), await ask(), await ask()]).toEqual([true, true, false]);
  });
});
