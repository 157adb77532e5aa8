/** Sign-ins at providers over HTTP: the way there and back, with each token, cookie and address that an attacker could try. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { TokenResponse } from "@socle/protocol";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { eventsSince, openApi, temporaryFolder } from "../../../../test/kit.ts";
import {
  fragmentOf,
  home,
  openWithProviders,
  passProvider,
  publicUrl,
  TestApp,
  TestBrowser,
} from "../../../../test/sign-in-world.ts";
import { openAuthPages } from "../../../app/http-parts.ts";
import { loadConfig } from "../../../base/config/index.ts";

const ann = { sub: "ann-1", email: "ann@example.com", email_verified: true };
const used = { error: { code: "bad_request", message: "The token or code is unknown, used or expired. Begin again." } };

const fake = new FakeProvider();
const other = new FakeProvider();
const api = await openWithProviders({ "my-oidc": { ...fake.settings, title: "My OIDC" }, other });

describe("a sign-in at the provider and the return", () => {
  test("the list has names and titles only", async () => {
    const { status, body } = await api.request<unknown>("GET", "/api/auth/providers");
    expect([status, body]).toEqual([
      200,
      {
        items: [
          { name: "my-oidc", title: "My OIDC" },
          { name: "other", title: "other" },
        ],
      },
    ]);
  });

  test("a new person gets a user, and returns as the same user", async () => {
    const app = new TestApp();
    const back = await passProvider({ api, fake }, app.begin("my-oidc"), ann);
    expect(back).toMatch(/^https:\/\/shop\.example\.com\/signed-in#code=[\w-]{43}$/);
    expect(api.service.auth.users.findByEmail(ann.email)).toBeNull();
    const { status, body } = await app.exchange<TokenResponse>(api, fragmentOf(back)["code"] ?? null);
    expect([status, body.user]).toMatchObject([200, { email: ann.email, verified: true, role: "authenticated" }]);
    const me = await api.request("GET", "/api/auth/me", { token: body.accessToken });
    expect(me.body["user"]).toMatchObject({ id: body.user.id });
    const again = new TestApp();
    const code = fragmentOf(await passProvider({ api, fake }, again.begin("my-oidc"), ann))["code"] ?? null;
    expect((await again.exchange<TokenResponse>(api, code)).body.user).toEqual(body.user);
    const events = (await eventsSince(api.service)).map(({ type }) => type);
    expect(events.filter((type) => type.startsWith("auth."))).toEqual(["auth.register", "auth.login"]);
  });

  test("the browser gets a cookie that no other host and no script sees, and no copy of addresses is stored", async () => {
    const answer = await new TestBrowser(api).open(new TestApp().begin("my-oidc"));
    expect(answer.headers.get("set-cookie")).toMatch(
      /^__Host-socle_sign_in=[\w-]{43}; Path=\/; Max-Age=3600; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    expect(new URL(answer.headers.get("location") ?? "").searchParams.get("redirect_uri")).toBe(
      `${publicUrl}/api/auth/oauth/callback`,
    );
  });

  test("two tabs of a browser sign in at the same time", async () => {
    const browser = new TestBrowser(api);
    const addresses = [
      await browser.follow(new TestApp().begin("my-oidc")),
      await browser.follow(new TestApp().begin("other")),
    ];
    expect(fragmentOf(await browser.follow(other.approve(addresses[1] ?? "", ann)))).toHaveProperty("code");
    expect(fragmentOf(await browser.follow(fake.approve(addresses[0] ?? "", ann)))).toHaveProperty("code");
  });

  test("a form of the provider is taken like a redirect, without a cookie", async () => {
    const browser = new TestBrowser(api);
    const back = new URL(fake.approve(await browser.follow(new TestApp().begin("my-oidc")), ann));
    const form = `${back.search.slice(1)}&user=%7B%7D&evil="><script>`;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const page = await api.answer("POST", back.pathname, { body: form, headers });
    expect(page.headers.get("content-security-policy")).toBe("default-src 'none'");
    const text = await page.text();
    expect(text).not.toMatch(/evil|script|user/);
    const [, target = ""] = /content="0;url=([^"]*)"/.exec(text) ?? [];
    const next = new URL(target.replaceAll("&amp;", "&"), back);
    expect(fragmentOf(await browser.follow(next.pathname + next.search))).toHaveProperty("code");
  });

  test("a person who cancels returns with an error", async () => {
    const browser = new TestBrowser(api);
    const state = new URL(await browser.follow(new TestApp().begin("my-oidc"))).searchParams.get("state") ?? "";
    const answer = new URLSearchParams({ error: "access_denied", state, error_description: "<b>" });
    const back = await browser.follow(`/api/auth/oauth/callback?${answer}`);
    expect(back).toStartWith(`${home}#`);
    expect(fragmentOf(back)).toEqual({
      error: "access_denied",
      error_description: "The sign-in at My OIDC was cancelled.",
    });
  });
});

describe("tokens", () => {
  async function withoutEffect(work: () => Promise<{ status: number; body: unknown }>): Promise<void> {
    const before = await eventsSince(api.service);
    const { status, body } = await work();
    expect([status, body]).toEqual([400, used]);
    expect(await eventsSince(api.service)).toEqual(before);
  }
  const callback = async (browser: TestBrowser, address: string) => {
    const answer = await browser.open(address);
    return { status: answer.status, body: await answer.json() };
  };

  test("the state of another browser, and a browser without the cookie", async () => {
    const eve = new TestBrowser(api);
    const victim = new TestBrowser(api);
    fake.requests.length = 0;
    const back = fake.approve(await eve.follow(new TestApp().begin("my-oidc")), ann);
    await withoutEffect(() => callback(victim, back));
    await victim.follow(new TestApp().begin("my-oidc"));
    await withoutEffect(() => callback(victim, back));
    expect(fake.requests).toEqual([]);
    // The refused callbacks have not used the state up.
    expect(fragmentOf(await eve.follow(back))).toHaveProperty("code");
  });

  test("a state works once, also for two callbacks at the same moment", async () => {
    const browser = new TestBrowser(api);
    const back = fake.approve(await browser.follow(new TestApp().begin("my-oidc")), ann);
    const answers = await Promise.all([browser.open(back), browser.open(back)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([302, 400]);
    await withoutEffect(() => callback(browser, back));
  });

  test("a state that is unknown, cut, doubled or missing", async () => {
    const browser = new TestBrowser(api);
    const back = new URL(fake.approve(await browser.follow(new TestApp().begin("my-oidc")), ann));
    const state = back.searchParams.get("state") ?? "";
    for (const wrong of ["", "x".repeat(43), state.slice(0, -1), `${state}x`, "\0"]) {
      const changed = new URL(back);
      changed.searchParams.set("state", wrong);
      await withoutEffect(() => callback(browser, changed.href));
    }
    back.searchParams.append("state", "x".repeat(43));
    expect(fragmentOf(await browser.follow(back.href))).toMatchObject({ error: "unauthorized" });
  });

  test("a code with another verifier, a code as a state, a state as a code, and a code at the end of its minute", async () => {
    const browser = new TestBrowser(api);
    const app = new TestApp();
    const atProvider = await browser.follow(app.begin("my-oidc"));
    const state = new URL(atProvider).searchParams.get("state") ?? "";
    await withoutEffect(() => app.exchange(api, state));
    const { code = "" } = fragmentOf(await browser.follow(fake.approve(atProvider, ann)));
    await withoutEffect(() => new TestApp().exchange(api, code));
    await withoutEffect(() =>
      api.request("POST", "/api/auth/oauth/token", { body: { code, verifier: app.challenge } }),
    );
    await withoutEffect(() => callback(browser, `/api/auth/oauth/callback?code=x&state=${code}`));
    await withoutEffect(() => callback(browser, `/api/auth/oauth/my-oidc?ticket=${code}`));
    await api.service.database.transact((tx) => tx.run("UPDATE _provider_steps SET expiresAt = expiresAt - 60001"));
    await withoutEffect(() => app.exchange(api, code));
    await api.service.auth.sweep();
    expect(api.service.database.reader.all("SELECT purpose FROM _provider_steps")).not.toContainEqual({
      purpose: "code",
    });
  });

  test("a code works once, also for two exchanges at the same moment", async () => {
    const app = new TestApp();
    const { code = "" } = fragmentOf(await passProvider({ api, fake }, app.begin("my-oidc"), ann));
    const answers = await Promise.all([1, 2, 3].map(() => app.exchange(api, code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    await withoutEffect(() => app.exchange(api, code));
  });

  test.each([
    [{}, "code"],
    [{ code: "x" }, "verifier"],
    [{ code: 5, verifier: "x" }, "code"],
    [{ code: "x", verifier: "" }, "verifier"],
  ])("the body %j is refused", async (body, field) => {
    const answer = await api.request("POST", "/api/auth/oauth/token", { body });
    expect([answer.status, answer.body["error"]?.["details"]?.[0]]).toMatchObject([400, { field }]);
  });

  test("the database has no token in clear, and a purpose for each step", async () => {
    const app = new TestApp();
    const { code = "-" } = fragmentOf(await passProvider({ api, fake }, app.begin("my-oidc"), ann));
    const rows = JSON.stringify(api.service.database.reader.all("SELECT * FROM _provider_steps"));
    expect(rows).toContain('"purpose":"code"');
    for (const secret of [code, app.verifier]) expect(rows).not.toContain(secret);
  });
});

test("an invalid response of a provider is an error at the app, and a WARN with the reason", async () => {
  fake.faults = { claims: { aud: "another-client" } };
  const back = await passProvider({ api, fake }, new TestApp().begin("my-oidc"), ann);
  fake.faults = {};
  expect(fragmentOf(back)).toEqual({
    error: "unauthorized",
    error_description: "The answer of the provider was not accepted.",
  });
  expect(api.log.findLast((line) => line.startsWith("WARN A sign-in at my-oidc failed: "))).toMatch(/"aud"/);
});

test("mix-up: a response of a provider to a sign-in at another provider does not reach the other", async () => {
  const browser = new TestBrowser(api);
  const atEvil = await browser.follow(new TestApp().begin("other"));
  other.requests.length = 0;
  expect(fragmentOf(await browser.follow(fake.approve(atEvil, ann)))).toMatchObject({ error: "unauthorized" });
  expect(other.requests).toEqual([]);
});

test("a provider with a callback of its own accepts no response at the common callback, and the reverse", async () => {
  const own = new FakeProvider();
  own.faults = { iss: null };
  const service = await openWithProviders({ own: { ...own.settings, ownCallback: true }, other });
  const browser = new TestBrowser(service);
  const atOwn = await browser.follow(new TestApp().begin("own"));
  expect(new URL(atOwn).searchParams.get("redirect_uri")).toBe(`${publicUrl}/api/auth/oauth/callback/own`);
  expect(fragmentOf(await browser.follow(own.approve(atOwn, ann)))).toHaveProperty("code");
  const back = own.approve(await browser.follow(new TestApp().begin("own")), ann);
  expect(fragmentOf(await browser.follow(back.replace("/callback/own", "/callback")))).toMatchObject({
    error: "unauthorized",
  });
  const atOther = await browser.follow(new TestApp().begin("other"));
  const misled = other.approve(atOther, ann).replace("/callback", "/callback/own");
  expect(fragmentOf(await browser.follow(misled))).toMatchObject({ error: "unauthorized" });
});

test("a provider that cannot be reached is an error at the app", async () => {
  const broken = new FakeProvider();
  broken.faults = { answers: { "/.well-known/openid-configuration": () => new Response("<html>") } };
  const service = await openWithProviders({ broken });
  const back = await new TestBrowser(service).follow(new TestApp().begin("broken"));
  expect(fragmentOf(back)).toEqual({
    error: "unavailable",
    error_description: "broken does not answer as a provider of sign-ins; try again later.",
  });
});

test("a refusal is a page for a person in a browser, without script, and JSON for a program", async () => {
  const folder = temporaryFolder();
  await Bun.write(join(folder, "config.json"), "{}");
  const pages = await openAuthPages((await loadConfig({ file: join(folder, "config.json"), environment: {} })).config);
  if (pages === null) throw new Error("The pages are on by default");
  const settings = { SERVICE_PUBLIC_URL: publicUrl, SERVICE_AUTH_PROVIDERS: JSON.stringify({ other: other.settings }) };
  const service = await openApi({ settings, pages });
  const address = "/api/auth/oauth/callback?code=a&state=%3Cscript%3E";
  const page = await service.answer("GET", address, { headers: { accept: "text/html,*/*;q=0.8" } });
  expect([page.status, page.headers.get("content-type")]).toEqual([400, "text/html; charset=utf-8"]);
  expect(page.headers.get("content-security-policy")).toStartWith("default-src 'none'");
  const text = await page.text();
  expect(text).toContain("The token or code is unknown, used or expired. Begin again.");
  expect(text).not.toContain("<script");
  const outside = new TestApp().begin("other", "https://evil.example");
  const refused = await service.answer("GET", outside, { headers: { accept: "text/html" } });
  expect([refused.status, refused.headers.get("location")]).toEqual([400, null]);
  expect(await refused.text()).toContain("redirect must be below publicUrl");
  expect((await service.request<object>("GET", address)).body).toEqual(used);
});

test("without publicUrl sign-ins are refused, and the start warns; unknown providers are 404", async () => {
  const service = await openApi({ settings: { SERVICE_AUTH_PROVIDERS: JSON.stringify({ other: other.settings }) } });
  expect(service.log).toContain(
    "WARN Nobody can sign in with auth.providers: set publicUrl to the address of this service",
  );
  const answer = await service.request("GET", new TestApp().begin("other"));
  expect([answer.status, answer.body["error"]?.["code"]]).toEqual([503, "unavailable" as never]);
  expect((await api.request("GET", new TestApp().begin("nobody"))).status).toBe(404);
  expect((await openApi({})).log.filter((line) => line.includes("publicUrl"))).toEqual([]);
});

test("an address that begins many sign-ins ends no begun sign-in of another address", async () => {
  const settings = { SERVICE_LIMITS_PROVIDER_SIGN_INS: "16" };
  const service = await openWithProviders({ other }, settings);
  const begin = (address: string) =>
    service.answer("GET", new TestApp().begin("other"), { headers: { "x-test-address": address } });
  await begin("203.0.113.1");
  for (let n = 0; n < 24; n++) expect((await begin("203.0.113.2")).status).toBe(302);
  const sql = "SELECT caller, count(*) AS n FROM _provider_steps GROUP BY caller ORDER BY caller";
  expect(service.service.database.reader.all(sql)).toEqual([
    { caller: "203.0.113.1", n: 1 },
    { caller: "203.0.113.2", n: 2 },
  ]);
  for (let n = 3; n < 20; n++) await begin(`203.0.113.${n}`);
  expect(service.service.database.reader.get("SELECT count(*) AS n FROM _provider_steps")).toEqual({ n: 16 });
});

test("sign-ins of an address that have begun are bounded: the oldest is dropped", async () => {
  const service = await openWithProviders({ other }, { SERVICE_LIMITS_PROVIDER_SIGN_INS: "24" });
  const browsers = Array.from({ length: 4 }, () => new TestBrowser(service));
  const backs: string[] = [];
  for (const browser of browsers) backs.push(other.approve(await browser.follow(new TestApp().begin("other")), ann));
  expect(service.service.database.reader.get("SELECT count(*) AS n FROM _provider_steps")).toEqual({ n: 3 });
  expect((await browsers[0]?.open(backs[0] ?? ""))?.status).toBe(400);
  expect((await browsers[1]?.open(backs[1] ?? ""))?.status).toBe(302);
});
