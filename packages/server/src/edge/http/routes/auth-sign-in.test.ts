/** Tests of the sign-in pages: every way to sign in ends with a code for the app alone, and keeps the rules of the API. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import type { PasskeyCreation, PasskeyRequest, SessionEntry, TokenResponse, TotpSetup } from "@socle/protocol";
import { codeOf, wrongCodeOf } from "../../../../test/authenticator.ts";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { eventsSince, openApi, type TestApi, temporaryFolder } from "../../../../test/kit.ts";
import { Mailbox } from "../../../../test/mailbox.ts";
import { PageBrowser } from "../../../../test/page-browser.ts";
import { fragmentOf, home, publicUrl, TestApp } from "../../../../test/sign-in-world.ts";
import { SoftPasskey } from "../../../../test/soft-authenticator.ts";
import { openAuthPages } from "../../../app/http-parts.ts";
import { loadConfig } from "../../../base/config/index.ts";
import { AppError } from "../../../base/kernel/index.ts";

const fake = new FakeProvider();
const password = "correct horse";
const rightForm = { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" };

async function openWithPages(given: Record<string, string> = {}): Promise<TestApi> {
  const folder = temporaryFolder();
  await Bun.write(`${folder}/config.json`, "{}");
  const environment = {
    SERVICE_PUBLIC_URL: publicUrl,
    SERVICE_MAIL_FROM: "shop@example.com",
    SERVICE_AUTH_CODES: "true",
    SERVICE_AUTH_REDIRECTS: "my-app://signed-in,http://[::1]/cli",
    SERVICE_AUTH_PROVIDERS: JSON.stringify({ "my-oidc": { ...fake.settings, title: "My <OIDC>" } }),
    SERVICE_LIMITS_RATE_LOGIN: "off",
    SERVICE_LIMITS_RATE_MAIL: "off",
    SERVICE_LIMITS_RATE_REGISTER: "off",
    ...given,
  };
  const { config } = await loadConfig({ file: `${folder}/config.json`, environment });
  const pages = await openAuthPages(config);
  return openApi({ folder, settings: environment, ...(pages !== null && { pages }) });
}

const api = await openWithPages();
const mailbox = new Mailbox(api.service);
afterEach(() => void setSystemTime());

function begin(app: TestApp, redirect = home): string {
  return `/_/auth/sign-in?${new URLSearchParams({ redirect, challenge: app.challenge })}`;
}

/** A browser on the first page, for an app. */
async function openPage(options: { api?: TestApi; address?: string; headers?: Record<string, string> } = {}) {
  const app = new TestApp();
  const browser = new PageBrowser(options.api ?? api, options.headers);
  const shown = await browser.open(begin(app, options.address));
  expect(shown.status).toBe(200);
  return { app, browser };
}

async function sessionsOf({ user }: TokenResponse): Promise<SessionEntry[]> {
  return api.service.auth.sessions.list(user.id);
}

/** A user with an authenticator app, without a session. */
async function withFactor(email: string) {
  const registered = await api.register(email);
  const { accessToken: token } = registered;
  const { body } = await api.request<TotpSetup>("POST", "/api/auth/totp", { token });
  const confirmed = await api.request<{ recoveryCodes: string[] }>("POST", "/api/auth/totp/confirm", {
    token,
    body: { code: codeOf(body.secret, -1) },
  });
  const passkey = new SoftPasskey();
  const options = await api.request<PasskeyCreation>("POST", "/api/auth/passkeys/options", { token });
  const made = passkey.register(options.body, { origin: publicUrl });
  expect((await api.request("POST", "/api/auth/passkeys", { token, body: { passkey: made } })).status).toBe(201);
  await api.request("POST", "/api/auth/logout", { token });
  return { ...registered, secret: body.secret, recoveryCodes: confirmed.body.recoveryCodes, passkey };
}

async function optionsOf(attempt?: string): Promise<PasskeyRequest> {
  const body = attempt === undefined ? {} : { attempt };
  return (await api.request<PasskeyRequest>("POST", "/api/auth/passkeys/login/options", { body })).body;
}

/** The value of a hidden field of the page. */
function hidden({ page }: PageBrowser, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(page.text)?.[1] ?? "";
}

/** Asserts that the browser came back to the app with a code, and exchanges the code. */
async function exchanged(browser: PageBrowser, app: TestApp): Promise<TokenResponse> {
  expect(browser.page.status).toBe(303);
  expect(browser.page.location).toMatch(/^https:\/\/shop\.example\.com\/signed-in#code=[\w-]{43}$/);
  const { status, body } = await app.exchange<TokenResponse>(api, fragmentOf(browser.page.location)["code"] ?? "");
  expect(status).toBe(200);
  return body;
}

/** Asserts that the browser shows the first page with a problem, and that nobody was signed in meanwhile. */
async function refused(work: () => Promise<unknown>, browser: PageBrowser, problem: string): Promise<void> {
  const before = await eventsSince(api.service);
  await work();
  expect(browser.page.text).toContain(`<p role="alert">${problem}</p>`);
  expect(browser.page.location).toBe("");
  const types = (await eventsSince(api.service)).slice(before.length).map(({ type }) => type);
  expect(types.filter((type) => type === "auth.login" || type === "auth.register")).toEqual([]);
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
    const { browser } = await openPage();
    const values = { email: "a@example.com", password, redirect: "https://evil.example.com/" };
    expect((await browser.send("sign-in", values)).status).toBe(400);
    expect(browser.page.text).not.toContain("<form");
  });

  test.each([
    [home, "form-action 'self' https://shop.example.com;"],
    ["my-app://signed-in", "form-action 'self' my-app:;"],
    ["http://[::1]:4711/cli", "form-action 'self' http:;"],
  ])("at %s may be reached from the forms of the page", async (address, directive) => {
    const { browser } = await openPage({ address });
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
    const { app, browser } = await openPage();
    await browser.send("sign-in", { email: "Ann@example.com ", password });
    const code = fragmentOf(browser.page.location)["code"] ?? "";
    expect((await new TestApp().exchange(api, code)).status).toBe(400);
    const tokens = await exchanged(browser, app);
    expect(tokens.user.id).toBe(user.user.id);
    const me = await api.request("GET", "/api/auth/me", { token: tokens.accessToken });
    expect(me.status).toBe(200);
    expect((await app.exchange(api, code)).status).toBe(400);
    // The session of the registration, and a single session of the sign-in, which lasts as long as other sessions.
    const sessions = await sessionsOf(user);
    expect(sessions).toHaveLength(2);
    const [ofPage = "", ofRegistration = ""] = sessions.map(({ expiresAt }) => expiresAt);
    expect(ofPage >= ofRegistration).toBe(true);
    const events = (await eventsSince(api.service)).map(({ type }) => type);
    expect(events.filter((type) => type === "auth.login")).toHaveLength(1);
  });

  test("that is wrong shows the page again, with the email and without the password", async () => {
    await api.register("bob@example.com");
    const { browser } = await openPage();
    const values = { email: `bob@example.com"><script>`, password: "not this <one>" };
    await refused(() => browser.send("sign-in", values), browser, "The email or the password is wrong.");
    expect(browser.page.status).toBe(401);
    expect(browser.page.text).toContain('value="bob@example.com&quot;&gt;&lt;script&gt;"');
    expect(browser.page.text).not.toContain("not this");
    await browser.send("sign-in", { email: "bob@example.com", password });
    expect(browser.page.status).toBe(303);
  });

  test("counts for the throttle of logins, which the page tells", async () => {
    const email = "cid@example.com";
    await api.register(email);
    const { browser } = await openPage({ headers: { "x-test-address": "throttled" } });
    for (let i = 0; i < 10; i++) expect((await browser.send("sign-in", { email, password: "wrong" })).status).toBe(401);
    await refused(
      () => browser.send("sign-in", { email, password }),
      browser,
      "Too many tries. Wait some minutes, then try again.",
    );
    expect(browser.page.status).toBe(429);
    expect(browser.page.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    const headers = { "x-test-address": "throttled" };
    const login = await api.request("POST", "/api/auth/login", { headers, body: { email, password } });
    expect(login.status).toBe(429);
  });

  test("of a user whom a hook refuses shows the reason", async () => {
    await api.register("dan@example.com");
    const { browser } = await openPage();
    api.service.auth.signIns.hookWith({
      before: async (step, user) => {
        if (step === "login" && user["email"] === "dan@example.com") throw new AppError("forbidden", "Not <today>.");
        return null;
      },
    });
    const values = { email: "dan@example.com", password };
    await refused(() => browser.send("sign-in", values), browser, "Not &lt;today&gt;.");
    api.service.auth.signIns.hookWith({ before: async () => null });
    expect(browser.page.status).toBe(403);
  });

  test("of an unproven address signs nobody in if the service needs proven addresses", async () => {
    const strict = await openWithPages({ SERVICE_AUTH_REQUIRE_VERIFIED: "true" });
    await strict.request("POST", "/api/auth/register", { body: { email: "eve@example.com", password } });
    const { browser } = await openPage({ api: strict });
    const { status, text, location } = await browser.send("sign-in", { email: "eve@example.com", password });
    expect([status, location]).toEqual([403, ""]);
    expect(text).toContain("The address of this account is not proven");
  });

  test("beyond the rate is a page for a person", async () => {
    const slow = await openWithPages({ SERVICE_LIMITS_RATE_LOGIN: "1/h" });
    const { browser } = await openPage({ api: slow });
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
    const { app, browser } = await openPage();
    await browser.send("sign-in", { email, password });
    return { user, app, code: fragmentOf(browser.page.location)["code"] ?? "" };
  }

  test("that no app exchanges leaves no session", async () => {
    const { user, app, code } = await signedIn("left@example.com");
    expect(await sessionsOf(user)).toHaveLength(2);
    setSystemTime(Date.now() + 61_000);
    expect(await sessionsOf(user)).toHaveLength(1);
    expect((await app.exchange(api, code)).status).toBe(400);
    await api.service.auth.sweep();
    expect(await sessionsOf(user)).toHaveLength(1);
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
    expect(await sessionsOf(user)).toHaveLength(2);
  });
});

describe("a form", () => {
  const values = { email: "form@example.com", password };
  const stale = "The page was open for too long, or the browser keeps no cookies. Try again.";

  test("of another site is refused, also with the cookie", async () => {
    await api.register(values.email);
    const { browser } = await openPage();
    for (const site of ["cross-site", "same-site"]) {
      const sent = await browser.send("sign-in", values, { "Sec-Fetch-Site": site });
      expect([sent.status, sent.location]).toEqual([403, ""]);
      await browser.open(begin(new TestApp()));
    }
  });

  test("without the cookie, or with the cookie of another browser, signs nobody in", async () => {
    const { browser } = await openPage();
    const victim = await openPage();
    const own = browser.cookie;
    // A browser without Sec-Fetch-Site: the attacker's form with the attacker's password.
    for (const cookie of ["", victim.browser.cookie]) {
      browser.cookie = cookie;
      await refused(() => browser.send("sign-in", values, { "Sec-Fetch-Site": "none" }), browser, stale);
      expect(browser.page.status).toBe(400);
      browser.cookie = own;
      await browser.open(begin(new TestApp()));
    }
    // The page that tells so has a form that works.
    browser.cookie = "";
    await browser.send("sign-in", values);
    expect((await browser.send("sign-in", values)).status).toBe(303);
  });

  test("of each further step needs the browser, too", async () => {
    const email = "stolen@example.com";
    const { secret } = await withFactor(email);
    const { browser } = await openPage();
    await browser.send("sign-in", { email, password });
    browser.cookie = "";
    await refused(() => browser.send("factor", { code: codeOf(secret) }), browser, stale);
    await browser.open(begin(new TestApp()).replace("sign-in", "send-code"));
    browser.cookie = "";
    await refused(() => browser.send("send-code", { email }), browser, stale);
    expect(await mailbox.kinds(email)).not.toContain("code");
  });

  test.each(["factor", "code"])("alone leads to %s", async (path) => {
    const { status, text } = await new PageBrowser(api).open(`/_/auth/${path}`);
    expect(status).toBe(400);
    expect(text).toContain("Go back to the app");
  });
});

describe("a second factor", () => {
  test("is asked for before a session opens; a code of the app ends the sign-in", async () => {
    const person = await withFactor("totp@example.com");
    const { app, browser } = await openPage();
    const { status, text } = await browser.send("sign-in", { email: person.user.email, password });
    expect(status).toBe(200);
    expect(text).toContain("Second step");
    expect(await sessionsOf(person)).toEqual([]);
    const wrong = (): Promise<unknown> => browser.send("factor", { code: wrongCodeOf(person.secret) });
    await refused(wrong, browser, "The code is wrong, or was used before.");
    expect(browser.page.status).toBe(401);
    const code = codeOf(person.secret);
    await browser.send("factor", { code: ` ${code.slice(0, 3)} ${code.slice(3)}` });
    expect((await exchanged(browser, app)).user.id).toBe(person.user.id);
    expect(await sessionsOf(person)).toHaveLength(1);
  });

  test("may be a recovery code, once", async () => {
    const person = await withFactor("recovery@example.com");
    const [recovery = ""] = person.recoveryCodes;
    const { app, browser } = await openPage();
    await browser.send("sign-in", { email: person.user.email, password });
    await browser.send("factor", { code: recovery.toUpperCase() });
    expect((await exchanged(browser, app)).user.id).toBe(person.user.id);
    await browser.open(begin(app));
    await browser.send("sign-in", { email: person.user.email, password });
    await refused(() => browser.send("factor", { code: recovery }), browser, "The code is wrong, or was used before.");
  });

  test("may be a passkey of the user, and is offered to a user with a passkey alone", async () => {
    const person = await withFactor("key@example.com");
    const { app, browser } = await openPage();
    await browser.send("sign-in", { email: person.user.email, password });
    const [, form = ""] = /(<form[^>]*id="passkey"[\s\S]*?<\/form>)/.exec(browser.page.text) ?? [];
    expect(form).toContain('action="factor"');
    const attempt = hidden(browser, "attempt");
    const other = await withFactor("other-key@example.com");
    const theirs = JSON.stringify(other.passkey.sign(await optionsOf(attempt), { origin: publicUrl }));
    await refused(
      () => browser.send("factor", { passkey: theirs }),
      browser,
      "The passkey did not work. Try again, or sign in in another way.",
    );
    const own = JSON.stringify(person.passkey.sign(await optionsOf(attempt), { origin: publicUrl }));
    await browser.send("factor", { passkey: own });
    expect((await exchanged(browser, app)).user.id).toBe(person.user.id);

    const { accessToken: token } = await api.register("app-only@example.com");
    const { body } = await api.request<TotpSetup>("POST", "/api/auth/totp", { token });
    await api.request("POST", "/api/auth/totp/confirm", { token, body: { code: codeOf(body.secret) } });
    await browser.open(begin(app));
    await browser.send("sign-in", { email: "app-only@example.com", password });
    expect(browser.page.text).toContain("Second step");
    expect(browser.page.text).not.toContain('id="passkey"');
  });

  test("of an attempt that is over, or that nobody has begun, leads back to the first page", async () => {
    const { user, secret } = await withFactor("slow@example.com");
    const { browser } = await openPage();
    const over = "This step does not work any more. Sign in again.";
    await browser.send("sign-in", { email: user.email, password });
    await refused(() => browser.send("factor", { attempt: "x", code: codeOf(secret) }), browser, over);
    await browser.send("sign-in", { email: user.email, password });
    setSystemTime(Date.now() + 11 * 60_000);
    await refused(() => browser.send("factor", { code: codeOf(secret) }), browser, over);
    expect(browser.page.text).toContain('name="password"');
  });
});

describe("a passkey", () => {
  test("signs in without a password; an answer that is none of the authenticator's is refused", async () => {
    const { user, passkey } = await withFactor("passkey@example.com");
    const { app, browser } = await openPage();
    const options = await optionsOf();
    const failed = "The passkey did not work. Try again, or sign in in another way.";
    const forged = passkey.sign(options, { origin: "https://evil.example.com" });
    await refused(() => browser.send("sign-in", { passkey: JSON.stringify(forged) }), browser, failed);
    await browser.send("sign-in", { passkey: "no JSON" });
    expect(browser.page.status).toBe(400);
    await browser.send("sign-in", { passkey: JSON.stringify(passkey.sign(options, { origin: publicUrl })) });
    expect((await exchanged(browser, app)).user.id).toBe(user.id);
  });

  test("is not offered at an address without a name", async () => {
    const numbers = await openWithPages({ SERVICE_PUBLIC_URL: "http://127.0.0.1:8080" });
    const { browser } = await openPage({ api: numbers, address: "http://127.0.0.1:8080/" });
    expect(browser.page.text).not.toContain("<script");
    expect(browser.page.headers.get("content-security-policy")).not.toContain("script-src");
    expect(browser.page.headers.get("referrer-policy")).toBe("no-referrer");
  });
});

describe("a code by mail", () => {
  test("is mailed and signs in; a wrong code does not", async () => {
    const { user } = await api.register("mail@example.com");
    const { app, browser } = await openPage();
    await browser.open(begin(app).replace("sign-in", "send-code"));
    const sent = await browser.send("send-code", { email: user.email });
    expect(sent.text).toContain('<p role="status">');
    const code = await mailbox.secret(user.email, "code");
    const wrong = code === "000000" ? "000001" : "000000";
    await refused(() => browser.send("code", { code: wrong }), browser, "The code is wrong or does not work any more.");
    await refused(() => browser.send("code", { code: "12" }), browser, "The code has six digits.");
    await browser.send("code", { code });
    const tokens = await exchanged(browser, app);
    expect(tokens.user).toMatchObject({ id: user.id, verified: true });
  });

  test("is answered alike for known and unknown addresses", async () => {
    await api.register("known@example.com");
    const { app, browser } = await openPage();
    const pages: string[] = [];
    for (const email of ["known@example.com", "unknown@example.com"]) {
      await browser.open(begin(app).replace("sign-in", "send-code"));
      const { text } = await browser.send("send-code", { email });
      pages.push(text.replace(/name="attempt" value="[\w.-]+"/, ""));
    }
    expect(pages[1]).toBe(pages[0] ?? "");
    expect(await mailbox.kinds("unknown@example.com")).toEqual([]);
  });

  test("is not offered, and refused, when codes are off", async () => {
    expect((await openPage()).browser.page.text).toContain("Sign in with a code by mail");
    const off = await openWithPages({ SERVICE_AUTH_CODES: "false" });
    const { app, browser } = await openPage({ api: off });
    expect(browser.page.text).not.toContain("Sign in with a code by mail");
    await browser.open(begin(app).replace("sign-in", "send-code"));
    const { status, text } = await browser.send("send-code", { email: "a@example.com" });
    expect(status).toBe(403);
    expect(text).toContain("Signing in with a code is switched off.");
  });
});

describe("a provider", () => {
  /** Follows the link of the first page to the provider, and the person back to the pages. */
  async function pass(browser: PageBrowser, person: Parameters<FakeProvider["approve"]>[1]): Promise<void> {
    await leave(browser);
    await browser.open(fake.approve(browser.page.location, person).slice(publicUrl.length));
    expect(browser.page.location).toStartWith(`${publicUrl}/_/auth/provider?`);
    await browser.open(browser.page.location.slice(publicUrl.length));
  }
  async function leave(browser: PageBrowser): Promise<void> {
    const [, link = ""] = /href="(provider\/[^"]*)"/.exec(browser.page.text) ?? [];
    expect(browser.page.text).toContain("Sign in with My &lt;OIDC&gt;");
    await browser.open(`/_/auth/${link.replaceAll("&amp;", "&")}`);
    expect(browser.page.location).toStartWith(fake.issuer);
  }
  /** As `exchanged`, after a GET. */
  function code({ page }: PageBrowser): string {
    expect([page.status, page.location.split("#")[0]]).toEqual([302, home]);
    return fragmentOf(page.location)["code"] ?? "";
  }

  test("makes the account of a new person, who comes back to the app", async () => {
    const { app, browser } = await openPage();
    await pass(browser, { sub: "new", email: "new@example.com", email_verified: true });
    const { body } = await app.exchange<TokenResponse>(api, code(browser));
    expect(body.user).toMatchObject({ email: "new@example.com", verified: true });
    const again = await openPage();
    await pass(again.browser, { sub: "new" });
    expect((await again.app.exchange<TokenResponse>(api, code(again.browser))).body.user.id).toBe(body.user.id);
  });

  test("is followed by the second factor", async () => {
    const { browser, app } = await openPage();
    await pass(browser, { sub: "two", email: "two@example.com", email_verified: true });
    const { accessToken: token } = (await app.exchange<TokenResponse>(api, code(browser))).body;
    const { body } = await api.request<TotpSetup>("POST", "/api/auth/totp", { token });
    await api.request("POST", "/api/auth/totp/confirm", { token, body: { code: codeOf(body.secret, -1) } });
    await browser.open(begin(app));
    await pass(browser, { sub: "two" });
    expect(browser.page.text).toContain("Second step");
    await browser.send("factor", { code: codeOf(body.secret) });
    expect((await exchanged(browser, app)).user.email).toBe("two@example.com");
  });

  test("with the email of somebody else shows the reason, on a page that goes on", async () => {
    const { user } = await api.register("taken@example.com");
    const conflict =
      "There is an account with this email address already. Sign in there first, and link My &lt;OIDC&gt; then.";
    const { browser } = await openPage();
    await refused(
      () => pass(browser, { sub: "taken", email: "taken@example.com", email_verified: true }),
      browser,
      conflict,
    );
    expect(browser.page.status).toBe(409);
    expect((await browser.send("sign-in", { email: user.email, password })).status).toBe(303);
  });

  test("tells of a person who cancels, and shows no text of the address", async () => {
    const { browser } = await openPage();
    await leave(browser);
    const state = new URL(browser.page.location).searchParams.get("state") ?? "";
    await browser.open(`/api/auth/oauth/callback?${new URLSearchParams({ error: "access_denied", state })}`);
    const back = browser.page.location.slice(publicUrl.length);
    await refused(() => browser.open(back), browser, "The sign-in was cancelled.");
    const planted = back.replace(/error=.*/, "error=Call&error_description=555");
    const failed = "The sign-in at the provider did not work. Try again, or sign in in another way.";
    await refused(() => browser.open(planted), browser, failed);
    expect(browser.page.text).not.toContain("555");
  });

  test("signs in the browser alone that has begun", async () => {
    const { browser } = await openPage();
    await leave(browser);
    await browser.open(fake.approve(browser.page.location, { sub: "new" }).slice(publicUrl.length));
    const back = browser.page.location.slice(publicUrl.length);
    const victim = await openPage();
    const over = "This step does not work any more. Sign in again.";
    await refused(() => victim.browser.open(back), victim.browser, over);
    const own = browser.cookie;
    browser.cookie = "";
    await refused(() => browser.open(back), browser, over);
    browser.cookie = own;
    await browser.open(back);
    expect(code(browser)).not.toBe("");
    await refused(() => browser.open(back), browser, over);
  });

  test("that is unknown, or does not answer, leads to a page", async () => {
    const { app, browser } = await openPage();
    await browser.open(begin(app).replace("sign-in", "provider/nobody"));
    expect(browser.page.status).toBe(404);
    const down = new FakeProvider();
    down.faults.answers = { "/.well-known/openid-configuration": () => new Response("down", { status: 500 }) };
    const providers = JSON.stringify({ "my-oidc": down.settings });
    const broken = await openPage({ api: await openWithPages({ SERVICE_AUTH_PROVIDERS: providers }) });
    await broken.browser.open(begin(broken.app).replace("sign-in", "provider/my-oidc"));
    await broken.browser.open(broken.browser.page.location.slice(publicUrl.length));
    expect(broken.browser.page.text).toContain("The sign-in at the provider did not work.");
    expect(broken.browser.page.text).toContain('name="password"');
  });
});

test("pages that are switched off are no pages, and forms to the pages have no effect", async () => {
  const off = await openWithPages({ SERVICE_AUTH_PAGES_ENABLED: "false" });
  await off.register("off@example.com");
  const body = new URLSearchParams({ email: "off@example.com", password, redirect: home }).toString();
  expect((await off.request("GET", begin(new TestApp()))).status).toBe(404);
  expect((await off.request("POST", "/_/auth/sign-in", { headers: rightForm, body })).status).toBe(404);
});
