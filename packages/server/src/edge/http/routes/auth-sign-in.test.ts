/** Tests of the sign-in pages: the app, the password, the code for the app, and forms that come from elsewhere. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import type { SessionEntry, TokenResponse } from "@socle/protocol";
import { codeOf } from "../../../../test/authenticator.ts";
import { eventsSince } from "../../../../test/kit.ts";
import { Mailbox } from "../../../../test/mailbox.ts";
import { PageBrowser } from "../../../../test/page-browser.ts";
import {
  addressOf,
  exchanged,
  openPage,
  openWithPages,
  password,
  refused,
  withFactor,
} from "../../../../test/page-world.ts";
import { fragmentOf, home, TestApp } from "../../../../test/sign-in-world.ts";
import { AppError } from "../../../base/kernel/index.ts";

const rightForm = { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" };
const providers = JSON.stringify({ "my-oidc": { issuer: "https://id.example.com", clientId: "x", clientSecret: "x" } });
const api = await openWithPages({ SERVICE_AUTH_PROVIDERS: providers });
const mailbox = new Mailbox(api.service);
afterEach(() => void setSystemTime());

function sessionsOf({ user }: TokenResponse): SessionEntry[] {
  return api.service.auth.sessions.list(user.id);
}

describe("the app", () => {
  test.each([
    ["no address", ""],
    [
      "an address elsewhere",
      `?redirect=${encodeURIComponent("https://evil.example.com/")}&challenge=${"x".repeat(43)}`,
    ],
    ["no challenge", `?redirect=${encodeURIComponent(home)}`],
    ["a challenge of another form", `?redirect=${encodeURIComponent(home)}&challenge=short`],
  ])("with %s gets a page without a form, and a program gets JSON", async (_, query) => {
    for (const path of ["sign-in", "send-code", "provider", "provider/my-oidc"]) {
      const browser = new PageBrowser(api);
      const { status, text, location } = await browser.open(`/_/auth/${path}${query}`);
      expect([status, location]).toEqual([400, ""]);
      expect(text).toContain('<p role="alert">');
      expect(text).toContain("Go back to the app");
      expect(text).not.toContain("<form");
      expect(text).not.toContain("evil.example.com");
      expect(browser.cookie).toBe("");
    }
    const answer = await api.request("GET", `/_/auth/sign-in${query}`);
    expect([answer.status, answer.body["error"]?.["code"] as unknown]).toEqual([400, "validation_error"]);
  });

  test("is checked again with each form", async () => {
    const { browser } = await openPage(api);
    const values = { email: "a@example.com", password, redirect: "https://evil.example.com/" };
    expect((await browser.send("sign-in", values)).status).toBe(400);
    expect(browser.page.text).not.toContain("<form");
  });

  test.each([
    [home, "form-action 'self' https://shop.example.com;"],
    ["my-app://signed-in", "form-action 'self' my-app:;"],
    ["http://[::1]:4711/cli", "form-action 'self' http:;"],
  ])("at %s may be reached from the forms of the page", async (address, directive) => {
    const { browser } = await openPage(api, { address });
    const policy = browser.page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain(directive);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(policy).toMatch(/script-src 'sha256-[\w+/=]{44}'; connect-src 'self'/);
    expect(browser.page.headers.get("cache-control")).toBe("no-store");
    expect(browser.page.text).toContain(`${address}#error=access_denied`);
  });
});

describe("a password", () => {
  test("leads to the app with a code, which the app exchanges once, with the verifier", async () => {
    const user = await api.register("ann@example.com");
    const { app, browser } = await openPage(api);
    await browser.send("sign-in", { email: "Ann@example.com ", password });
    const code = fragmentOf(browser.page.location)["code"] ?? "";
    expect((await new TestApp().exchange(api, code)).status).toBe(400);
    const tokens = await exchanged(api, browser, app);
    expect(tokens.user.id).toBe(user.user.id);
    const me = await api.request("GET", "/api/auth/me", { token: tokens.accessToken });
    expect(me.status).toBe(200);
    expect((await app.exchange(api, code)).status).toBe(400);
    // The session of the registration, and a single session of the sign-in, which lasts as long as other sessions.
    const sessions = sessionsOf(user);
    expect(sessions).toHaveLength(2);
    const [ofPage = "", ofRegistration = ""] = sessions.map(({ expiresAt }) => expiresAt);
    expect(ofPage >= ofRegistration).toBe(true);
    const events = (await eventsSince(api.service)).map(({ type }) => type);
    expect(events.filter((type) => type === "auth.login")).toHaveLength(1);
  });

  test("with a mistake shows the page again, with the email and without the password", async () => {
    await api.register("bob@example.com");
    const { browser } = await openPage(api);
    const values = { email: `bob@example.com"><script>`, password: "not this <one>" };
    await refused({ api, browser }, "The email or the password is wrong.", () => browser.send("sign-in", values));
    expect(browser.page.status).toBe(401);
    expect(browser.page.text).toContain('value="bob@example.com&quot;&gt;&lt;script&gt;"');
    expect(browser.page.text).not.toContain("not this");
    await browser.send("sign-in", { email: "bob@example.com", password });
    expect(browser.page.status).toBe(303);
  });

  test("counts for the throttle of logins, which the page names", async () => {
    const email = "cid@example.com";
    await api.register(email);
    const { browser } = await openPage(api, { headers: { "x-test-address": "throttled" } });
    for (let i = 0; i < 10; i++) expect((await browser.send("sign-in", { email, password: "wrong" })).status).toBe(401);
    await refused({ api, browser }, "Too many tries. Wait some minutes, then try again.", () =>
      browser.send("sign-in", { email, password }),
    );
    expect(browser.page.status).toBe(429);
    expect(browser.page.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    const headers = { "x-test-address": "throttled" };
    const login = await api.request("POST", "/api/auth/login", { headers, body: { email, password } });
    expect(login.status).toBe(429);
  });

  test("with a refusal of a hook shows the reason", async () => {
    await api.register("dan@example.com");
    const { browser } = await openPage(api);
    api.service.auth.signIns.hookWith({
      before: async (step, user) => {
        if (step === "login" && user["email"] === "dan@example.com") throw new AppError("forbidden", "Not <today>.");
        return null;
      },
    });
    const values = { email: "dan@example.com", password };
    await refused({ api, browser }, "Not &lt;today&gt;.", () => browser.send("sign-in", values));
    api.service.auth.signIns.hookWith({ before: async () => null });
    expect(browser.page.status).toBe(403);
  });

  test("with an unproven address signs no user in if the service needs proven addresses", async () => {
    const strict = await openWithPages({ SERVICE_AUTH_REQUIRE_VERIFIED: "true" });
    await strict.request("POST", "/api/auth/register", { body: { email: "eve@example.com", password } });
    const { browser } = await openPage(strict);
    const { status, text, location } = await browser.send("sign-in", { email: "eve@example.com", password });
    expect([status, location]).toEqual([403, ""]);
    expect(text).toContain("The address of this account is not proven");
  });

  test("beyond the rate is a page for a person", async () => {
    const slow = await openWithPages({ SERVICE_LIMITS_RATE_LOGIN: "1/h" });
    const { browser } = await openPage(slow);
    await browser.send("sign-in", { email: "a@example.com", password });
    const first = browser.page;
    expect(first.status).toBe(401);
    const second = await browser.send("sign-in", { email: "a@example.com", password });
    expect([second.status, second.headers.get("content-type")]).toEqual([429, "text/html; charset=utf-8"]);
    expect(second.text).toContain("Too many tries.");
  });
});

describe("a code for the app", () => {
  async function signedIn(email: string) {
    const user = await api.register(email);
    const { app, browser } = await openPage(api);
    await browser.send("sign-in", { email, password });
    return { user, app, code: fragmentOf(browser.page.location)["code"] ?? "" };
  }

  test("leaves no session without an exchange", async () => {
    const { user, app, code } = await signedIn("left@example.com");
    expect(sessionsOf(user)).toHaveLength(2);
    setSystemTime(Date.now() + 61_000);
    expect(sessionsOf(user)).toHaveLength(1);
    expect((await app.exchange(api, code)).status).toBe(400);
    await api.service.auth.sweep();
    expect(sessionsOf(user)).toHaveLength(1);
  });

  test("ends with a new password, and with the user", async () => {
    const { user, app, code } = await signedIn("moved@example.com");
    const body = { current: password, password: "battery staple" };
    const changed = await api.request("PUT", "/api/auth/password", { token: user.accessToken, body });
    expect(changed.status).toBe(204);
    expect((await app.exchange(api, code)).status).toBe(400);
    const gone = await signedIn("gone@example.com");
    const token = gone.user.accessToken;
    expect((await api.request("DELETE", "/api/auth/me", { token, body: { password } })).status).toBe(204);
    expect((await gone.app.exchange(api, gone.code)).status).toBe(400);
  });

  test("works once, also for two exchanges at the same moment", async () => {
    const { user, app, code } = await signedIn("twice@example.com");
    const answers = await Promise.all([app.exchange(api, code), app.exchange(api, code)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(sessionsOf(user)).toHaveLength(2);
  });
});

describe("a form", () => {
  const values = { email: "form@example.com", password };
  const stale = "The page was open for too long, or the browser keeps no cookies. Try again.";

  test("from another site is refused, also with the cookie", async () => {
    await api.register(values.email);
    const { browser } = await openPage(api);
    for (const site of ["cross-site", "same-site"]) {
      const sent = await browser.send("sign-in", values, { "Sec-Fetch-Site": site });
      expect([sent.status, sent.location]).toEqual([403, ""]);
      await browser.open(addressOf(new TestApp()));
    }
  });

  test("without the cookie, or with the cookie of another browser, signs no user in", async () => {
    const { browser } = await openPage(api);
    const victim = await openPage(api);
    const own = browser.cookie;
    // A browser without Sec-Fetch-Site: the attacker's form with the attacker's password.
    for (const cookie of ["", victim.browser.cookie]) {
      browser.cookie = cookie;
      await refused({ api, browser }, stale, () => browser.send("sign-in", values, { "Sec-Fetch-Site": "none" }));
      expect(browser.page.status).toBe(400);
      browser.cookie = own;
      await browser.open(addressOf(new TestApp()));
    }
    // The page that tells so has a form that works.
    browser.cookie = "";
    await browser.send("sign-in", values);
    expect((await browser.send("sign-in", values)).status).toBe(303);
  });

  test("in each further step needs the browser, too", async () => {
    const email = "stolen@example.com";
    const { secret } = await withFactor(api, email);
    const { browser } = await openPage(api);
    await browser.send("sign-in", { email, password });
    browser.cookie = "";
    await refused({ api, browser }, stale, () => browser.send("factor", { code: codeOf(secret) }));
    await browser.open(addressOf(new TestApp(), "send-code"));
    browser.cookie = "";
    await refused({ api, browser }, stale, () => browser.send("send-code", { email }));
    expect(await mailbox.kinds(email)).not.toContain("code");
  });

  test.each(["factor", "code"])("alone leads to %s", async (path) => {
    const { status, text } = await new PageBrowser(api).open(`/_/auth/${path}`);
    expect(status).toBe(400);
    expect(text).toContain("Go back to the app");
  });
});

test("pages that are switched off are no pages, and forms to the pages have no effect", async () => {
  const off = await openWithPages({ SERVICE_AUTH_PAGES_ENABLED: "false" });
  await off.register("off@example.com");
  const body = new URLSearchParams({ email: "off@example.com", password, redirect: home }).toString();
  expect((await off.request("GET", addressOf(new TestApp()))).status).toBe(404);
  expect((await off.request("POST", "/_/auth/sign-in", { headers: rightForm, body })).status).toBe(404);
});
