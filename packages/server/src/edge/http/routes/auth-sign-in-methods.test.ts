/** Tests of the sign-in pages: the second factor, passkeys, codes by mail and providers. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import type { PasskeyRequest, SessionEntry, TokenResponse, TotpSetup } from "@socle/protocol";
import { codeOf, wrongCodeOf } from "../../../../test/authenticator.ts";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { Mailbox } from "../../../../test/mailbox.ts";
import type { PageBrowser } from "../../../../test/page-browser.ts";
import {
  addressOf,
  exchanged,
  openPage,
  openWithPages,
  password,
  refused,
  withFactor,
} from "../../../../test/page-world.ts";
import { home, publicUrl } from "../../../../test/sign-in-world.ts";

const fake = new FakeProvider();
const providers = JSON.stringify({ "my-oidc": { ...fake.settings, title: "My <OIDC>" } });
const api = await openWithPages({ SERVICE_AUTH_PROVIDERS: providers });
const mailbox = new Mailbox(api.service);
afterEach(() => void setSystemTime());

function sessionsOf({ user }: TokenResponse): SessionEntry[] {
  return api.service.auth.sessions.list(user.id);
}

async function optionsOf(attempt?: string): Promise<PasskeyRequest> {
  const body = attempt === undefined ? {} : { attempt };
  return (await api.request<PasskeyRequest>("POST", "/api/auth/passkeys/login/options", { body })).body;
}

/** The value of a hidden field of the page. */
function hidden({ page }: PageBrowser, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(page.text)?.[1] ?? "";
}

describe("a second factor", () => {
  test("is needed before a session opens; a code of the app ends the sign-in", async () => {
    const person = await withFactor(api, "totp@example.com");
    const { app, browser } = await openPage(api);
    const { status, text } = await browser.send("sign-in", { email: String(person.user.email), password });
    expect(status).toBe(200);
    expect(text).toContain("Second step");
    expect(sessionsOf(person)).toEqual([]);
    const wrong = (): Promise<unknown> => browser.send("factor", { code: wrongCodeOf(person.secret) });
    await refused({ api, browser }, "The code is wrong, or was used before.", wrong);
    expect(browser.page.status).toBe(401);
    const code = codeOf(person.secret);
    await browser.send("factor", { code: ` ${code.slice(0, 3)} ${code.slice(3)}` });
    expect((await exchanged(api, browser, app)).user.id).toBe(person.user.id);
    expect(sessionsOf(person)).toHaveLength(1);
  });

  test("may be a recovery code, once", async () => {
    const person = await withFactor(api, "recovery@example.com");
    const [recovery = ""] = person.recoveryCodes;
    const { app, browser } = await openPage(api);
    await browser.send("sign-in", { email: String(person.user.email), password });
    await browser.send("factor", { code: recovery.toUpperCase() });
    expect((await exchanged(api, browser, app)).user.id).toBe(person.user.id);
    await browser.open(addressOf(app));
    await browser.send("sign-in", { email: String(person.user.email), password });
    await refused({ api, browser }, "The code is wrong, or was used before.", () =>
      browser.send("factor", { code: recovery }),
    );
  });

  test("may be a passkey of the user, and is offered only to a user with a passkey", async () => {
    const person = await withFactor(api, "key@example.com");
    const { app, browser } = await openPage(api);
    await browser.send("sign-in", { email: String(person.user.email), password });
    const [, form = ""] = /(<form[^>]*id="passkey"[\s\S]*?<\/form>)/.exec(browser.page.text) ?? [];
    expect(form).toContain('action="factor"');
    const attempt = hidden(browser, "attempt");
    const other = await withFactor(api, "other-key@example.com");
    const theirs = JSON.stringify(other.passkey.sign(await optionsOf(attempt), { origin: publicUrl }));
    await refused({ api, browser }, "The passkey did not work. Try again, or sign in in another way.", () =>
      browser.send("factor", { passkey: theirs }),
    );
    const own = JSON.stringify(person.passkey.sign(await optionsOf(attempt), { origin: publicUrl }));
    await browser.send("factor", { passkey: own });
    expect((await exchanged(api, browser, app)).user.id).toBe(person.user.id);

    const { accessToken: token } = await api.register("app-only@example.com");
    const { body } = await api.request<TotpSetup>("POST", "/api/auth/totp", { token });
    await api.request("POST", "/api/auth/totp/confirm", { token, body: { code: codeOf(body.secret) } });
    await browser.open(addressOf(app));
    await browser.send("sign-in", { email: "app-only@example.com", password });
    expect(browser.page.text).toContain("Second step");
    expect(browser.page.text).not.toContain('id="passkey"');
  });

  test("for an ended or unknown attempt leads back to the first page", async () => {
    const { user, secret } = await withFactor(api, "slow@example.com");
    const { browser } = await openPage(api);
    const over = "This step does not work any more. Sign in again.";
    await browser.send("sign-in", { email: String(user.email), password });
    await refused({ api, browser }, over, () => browser.send("factor", { attempt: "x", code: codeOf(secret) }));
    await browser.send("sign-in", { email: String(user.email), password });
    setSystemTime(Date.now() + 11 * 60_000);
    await refused({ api, browser }, over, () => browser.send("factor", { code: codeOf(secret) }));
    expect(browser.page.text).toContain('name="password"');
  });
});

describe("a passkey", () => {
  test("signs in without a password; a response outside the authenticator is refused", async () => {
    const { user, passkey } = await withFactor(api, "passkey@example.com");
    const { app, browser } = await openPage(api);
    const options = await optionsOf();
    const failed = "The passkey did not work. Try again, or sign in in another way.";
    const forged = passkey.sign(options, { origin: "https://evil.example.com" });
    await refused({ api, browser }, failed, () => browser.send("sign-in", { passkey: JSON.stringify(forged) }));
    await browser.send("sign-in", { passkey: "no JSON" });
    expect(browser.page.status).toBe(400);
    await browser.send("sign-in", { passkey: JSON.stringify(passkey.sign(options, { origin: publicUrl })) });
    expect((await exchanged(api, browser, app)).user.id).toBe(user.id);
  });

  test("is not offered at an address without a name", async () => {
    const numbers = await openWithPages({ SERVICE_PUBLIC_URL: "http://127.0.0.1:8080" });
    const { browser } = await openPage(numbers, { address: "http://127.0.0.1:8080/" });
    expect(browser.page.text).not.toContain("<script");
    expect(browser.page.headers.get("content-security-policy")).not.toContain("script-src");
    expect(browser.page.headers.get("referrer-policy")).toBe("no-referrer");
  });
});

describe("a code by mail", () => {
  test("is mailed and signs in; a wrong code does not", async () => {
    const { user } = await api.register("mail@example.com");
    const { app, browser } = await openPage(api);
    await browser.open(addressOf(app, "send-code"));
    const sent = await browser.send("send-code", { email: String(user.email) });
    expect(sent.text).toContain('<p role="status">');
    const code = await mailbox.secret(String(user.email), "code");
    const wrong = code === "000000" ? "000001" : "000000";
    await refused({ api, browser }, "The code is wrong or does not work any more.", () =>
      browser.send("code", { code: wrong }),
    );
    await refused({ api, browser }, "The code has six digits.", () => browser.send("code", { code: "12" }));
    await browser.send("code", { code });
    const tokens = await exchanged(api, browser, app);
    expect(tokens.user).toMatchObject({ id: user.id, verified: true });
  });

  test("gets the same page for known and unknown addresses", async () => {
    await api.register("known@example.com");
    const { app, browser } = await openPage(api);
    const pages: string[] = [];
    for (const email of ["known@example.com", "unknown@example.com"]) {
      await browser.open(addressOf(app, "send-code"));
      const { text } = await browser.send("send-code", { email });
      pages.push(text.replace(/name="attempt" value="[\w.-]+"/, ""));
    }
    expect(pages[1]).toBe(pages[0] ?? "");
    expect(await mailbox.kinds("unknown@example.com")).toEqual([]);
  });

  test("is not offered, and refused, when codes are off", async () => {
    expect((await openPage(api)).browser.page.text).toContain("Sign in with a code by mail");
    const off = await openWithPages({ SERVICE_AUTH_CODES: "false" });
    const { app, browser } = await openPage(off);
    expect(browser.page.text).not.toContain("Sign in with a code by mail");
    await browser.open(addressOf(app, "send-code"));
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
  test("makes the account of a new person, who returns to the app", async () => {
    const { app, browser } = await openPage(api);
    await pass(browser, { sub: "new", email: "new@example.com", email_verified: true });
    const { user } = await exchanged(api, browser, app);
    expect(user).toMatchObject({ email: "new@example.com", verified: true });
    const again = await openPage(api);
    await pass(again.browser, { sub: "new" });
    expect((await exchanged(api, again.browser, again.app)).user.id).toBe(user.id);
  });

  test("is not offered without publicUrl, which the provider redirects to", async () => {
    expect((await openPage(api)).browser.page.text).toContain('href="provider/my-oidc');
    const settings = { SERVICE_AUTH_PROVIDERS: providers, SERVICE_PUBLIC_URL: "", SERVICE_AUTH_REDIRECTS: home };
    const { browser } = await openPage(await openWithPages(settings));
    expect(browser.page.text).not.toContain('href="provider/');
    expect(browser.page.text).not.toContain('href="forgot"');
  });

  test("is followed by the second factor", async () => {
    const { browser, app } = await openPage(api);
    await pass(browser, { sub: "two", email: "two@example.com", email_verified: true });
    const { accessToken: token } = await exchanged(api, browser, app);
    const { body } = await api.request<TotpSetup>("POST", "/api/auth/totp", { token });
    await api.request("POST", "/api/auth/totp/confirm", { token, body: { code: codeOf(body.secret, -1) } });
    await browser.open(addressOf(app));
    await pass(browser, { sub: "two" });
    expect(browser.page.text).toContain("Second step");
    await browser.send("factor", { code: codeOf(body.secret) });
    expect((await exchanged(api, browser, app)).user.email).toBe("two@example.com");
  });

  test("with the email of another user shows the reason, on a page that goes on", async () => {
    const { user } = await api.register("taken@example.com");
    const conflict =
      "An account has this email address already. Sign in to the account first, and link My &lt;OIDC&gt; then.";
    const { browser } = await openPage(api);
    await refused({ api, browser }, conflict, () =>
      pass(browser, { sub: "taken", email: "taken@example.com", email_verified: true }),
    );
    expect(browser.page.status).toBe(409);
    expect((await browser.send("sign-in", { email: String(user.email), password })).status).toBe(303);
  });

  test("reports a person who cancels, and shows no text of the address", async () => {
    const { browser } = await openPage(api);
    await leave(browser);
    const state = new URL(browser.page.location).searchParams.get("state") ?? "";
    await browser.open(`/api/auth/oauth/callback?${new URLSearchParams({ error: "access_denied", state })}`);
    const back = browser.page.location.slice(publicUrl.length);
    await refused({ api, browser }, "The sign-in was cancelled.", () => browser.open(back));
    const planted = back.replace(/error=.*/, "error=Call&error_description=555");
    const failed = "The sign-in at the provider did not work. Try again, or sign in in another way.";
    await refused({ api, browser }, failed, () => browser.open(planted));
    expect(browser.page.text).not.toContain("555");
  });

  test("signs in only the browser that began", async () => {
    const { browser } = await openPage(api);
    await leave(browser);
    await browser.open(fake.approve(browser.page.location, { sub: "new" }).slice(publicUrl.length));
    const back = browser.page.location.slice(publicUrl.length);
    const victim = await openPage(api);
    const over = "This step does not work any more. Sign in again.";
    await refused({ api, browser: victim.browser }, over, () => victim.browser.open(back));
    const own = browser.cookie;
    browser.cookie = "";
    await refused({ api, browser }, over, () => browser.open(back));
    browser.cookie = own;
    await browser.open(back);
    expect(browser.page.location).toStartWith(`${home}#code=`);
    await refused({ api, browser }, over, () => browser.open(back));
  });

  test("that is unknown, or does not respond, leads to a page", async () => {
    const { app, browser } = await openPage(api);
    await browser.open(addressOf(app, "provider/nobody"));
    expect(browser.page.status).toBe(404);
    const down = new FakeProvider();
    down.faults.answers = { "/.well-known/openid-configuration": () => new Response("down", { status: 500 }) };
    const providers = JSON.stringify({ "my-oidc": down.settings });
    const broken = await openPage(await openWithPages({ SERVICE_AUTH_PROVIDERS: providers }));
    await broken.browser.open(addressOf(broken.app, "provider/my-oidc"));
    await broken.browser.open(broken.browser.page.location.slice(publicUrl.length));
    expect(broken.browser.page.text).toContain("The sign-in at the provider did not work.");
    expect(broken.browser.page.text).toContain('name="password"');
  });
});
