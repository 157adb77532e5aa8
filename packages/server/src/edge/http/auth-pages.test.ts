/** Tests of the pages for accounts: headers, forms, errors, texts of the project, and tokens that a page must not use up. */
import { describe, expect, test } from "bun:test";
import { openAuthPages } from "../../../src/app/http-parts.ts";
import { openApi, temporaryFolder } from "../../../test/kit.ts";
import { Mailbox } from "../../../test/mailbox.ts";
import { loadConfig } from "../../base/config/index.ts";

const folder = temporaryFolder();
await Bun.write(`${folder}/pages/auth.de.json`, JSON.stringify({ "forgot.title": "Passwort vergessen? <b>" }));
await Bun.write(`${folder}/config.json`, "{}");
const environment = {
  SERVICE_MAIL_FROM: "shop@example.com",
  SERVICE_PUBLIC_URL: "https://shop.example.com",
  SERVICE_LIMITS_RATE_MAIL: "off",
  SERVICE_LIMITS_RATE_LOGIN: "off",
  SERVICE_AUTH_PAGES_TITLE: "Ann & Bob",
};

async function pagesOf(given: Record<string, string> = {}) {
  const { config } = await loadConfig({
    file: `${folder}/config.json`,
    environment: { ...environment, ...given },
  });
  return openAuthPages(config);
}

const pages = await pagesOf();
if (pages === null) throw new Error("The pages are on by default");
const api = await openApi({ folder, settings: environment, pages });
const mailbox = new Mailbox(api.service);

interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Page> {
  const response = await api.answer("GET", path, { headers });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

async function send(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Page> {
  const body = new URLSearchParams(fields).toString();
  const all = { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin", ...headers };
  const response = await api.answer("POST", path, { headers: all, body });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** A registered person, and the token of a mail to the person. */
async function person(kind: "verify" | "reset"): Promise<{ email: string; id: string; token: string }> {
  const email = `${crypto.randomUUID()}@example.com`;
  const { user } = await api.register(email);
  const path = kind === "verify" ? "verify/request" : "password/forgot";
  await api.request("POST", `/api/auth/${path}`, { body: { email } });
  return { email, id: user.id, token: await mailbox.secret(email, kind) };
}

const paths = ["/_/auth/verify", "/_/auth/reset", "/_/auth/email", "/_/auth/invitation", "/_/auth/forgot"];

test.each(paths)("%s shows a form, has no script, and leaks the address to no third party", async (path) => {
  const token = `"><script>alert(1)</script>`;
  const { status, text, headers } = await get(`${path}?token=${encodeURIComponent(token)}`);
  expect(status).toBe(200);
  expect(text).toContain('<form method="post"');
  expect(text).not.toContain("<script");
  expect(text).toContain("Ann &amp; Bob");
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain("script-src");
  expect(policy).not.toContain("unsafe");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("cache-control")).toBe("no-store");
});

describe("a form", () => {
  test("opening the link changes nothing; the form proves the address once", async () => {
    const { id, token } = await person("verify");
    await get(`/_/auth/verify?token=${token}`);
    expect(api.service.auth.users.get(id).verified).toBe(false);
    const sent = await send("/_/auth/verify", { token, password: "" });
    expect(sent.status).toBe(200);
    expect(sent.text).toContain('role="status"');
    expect(api.service.auth.users.get(id).verified).toBe(true);
    const again = await send("/_/auth/verify", { token, password: "" });
    expect(again.status).toBe(400);
    expect(again.text).toContain("This link does not work any more.");
  });

  test("a wrong password beside a token proves nothing, and leaves the token", async () => {
    const { email, id, token } = await person("verify");
    const wrong = await send("/_/auth/verify", { token, password: "not this one" });
    expect(wrong.status).toBe(403);
    expect(wrong.text).toContain("The password is wrong.");
    expect(wrong.text).toContain(`value="${token}"`);
    expect(wrong.text).not.toContain("not this one");
    expect(api.service.auth.users.get(id).verified).toBe(false);
    expect((await send("/_/auth/verify", { token, password: "correct horse" })).status).toBe(200);
    const login = await api.request("POST", "/api/auth/login", { body: { email, password: "correct horse" } });
    expect(login.status).toBe(200);
  });

  test("a new password is checked before the token is used", async () => {
    const { email, token } = await person("reset");
    const short = await send("/_/auth/reset", { token, password: "short" });
    expect(short.status).toBe(400);
    expect(short.text).toContain("at least 8 characters");
    expect((await send("/_/auth/reset", { token, password: "battery staple" })).status).toBe(200);
    const login = await api.request("POST", "/api/auth/login", { body: { email, password: "battery staple" } });
    expect(login.status).toBe(200);
  });

  test("the page for a forgotten password says the same for known and unknown addresses", async () => {
    const { email } = await person("reset");
    const known = await send("/_/auth/forgot", { email });
    const unknown = await send("/_/auth/forgot", { email: "nobody@example.com" });
    expect(known.status).toBe(200);
    expect(unknown.text).toBe(known.text);
    expect(await mailbox.kinds("nobody@example.com")).toEqual([]);
  });

  test("an invitation makes the account, and leaves no session", async () => {
    const email = "invited@example.com";
    const token = await api.admin();
    const asked = await api.request("POST", "/api/admin/invitations", { token, body: { email } });
    expect(asked.status).toBe(201);
    const secret = await mailbox.secret(email, "invitation");
    expect((await send("/_/auth/invitation", { token: secret, password: "short" })).status).toBe(400);
    const sent = await send("/_/auth/invitation", { token: secret, password: "battery staple" });
    expect(sent.text).toContain("Your account is ready.");
    const user = api.service.auth.users.findByEmail(email);
    expect(user?.verified).toBe(true);
    expect(api.service.auth.users.sessions(user?.id ?? "")).toEqual([]);
    expect((await send("/_/auth/invitation", { token: secret, password: "battery staple" })).status).toBe(400);
  });

  test("from another site is refused, and so is another kind of body", async () => {
    const { id, token } = await person("verify");
    expect((await send("/_/auth/verify", { token }, { "Sec-Fetch-Site": "cross-site" })).status).toBe(403);
    expect((await send("/_/auth/verify", { token }, { "Content-Type": "text/plain" })).status).toBe(400);
    expect((await send("/_/auth/verify", { token: "x".repeat(20_000) })).status).toBe(413);
    expect(api.service.auth.users.get(id).verified).toBe(false);
  });
});

describe("texts", () => {
  test("follow the language of the browser, escaped; other languages get English", async () => {
    const german = await get("/_/auth/forgot", { "Accept-Language": "fr;q=0.3, de-AT, en;q=0.5" });
    expect(german.text).toContain("<h1>Passwort vergessen? &lt;b&gt;</h1>");
    expect(german.text).toContain('<html lang="de">');
    const english = await get("/_/auth/forgot", { "Accept-Language": "en, de;q=0.9" });
    expect(english.text).toContain("Forgot your password?");
    expect((await get("/_/auth/forgot", { "Accept-Language": "de;q=0" })).text).toContain("Forgot your password?");
  });

  test("a file with an unknown name or no text ends the start", async () => {
    const bad = temporaryFolder();
    await Bun.write(`${bad}/config.json`, "{}");
    const open = async () => openAuthPages((await loadConfig({ file: `${bad}/config.json`, environment: {} })).config);
    await Bun.write(`${bad}/pages/auth.json`, JSON.stringify({ "forgot.titel": "x" }));
    expect(open()).rejects.toThrow('there is no text "forgot.titel". Did you mean forgot.title?');
    await Bun.write(`${bad}/pages/auth.json`, JSON.stringify({ "forgot.title": 1 }));
    expect(open()).rejects.toThrow("forgot.title must be a string");
    await Bun.write(`${bad}/pages/auth.json`, "[]");
    expect(open()).rejects.toThrow("must be a JSON object");
  });
});

test("a logo stands in the page; a logo that is no picture, or too large, ends the start", async () => {
  await Bun.write(`${folder}/logo.svg`, "<svg/>");
  await Bun.write(`${folder}/large.png`, new Uint8Array(70_000));
  const withLogo = await pagesOf({ SERVICE_AUTH_PAGES_LOGO: "./logo.svg" });
  expect(withLogo).not.toBeNull();
  expect(pagesOf({ SERVICE_AUTH_PAGES_LOGO: "./logo.txt" })).rejects.toThrow("must end in .svg");
  expect(pagesOf({ SERVICE_AUTH_PAGES_LOGO: "./large.png" })).rejects.toThrow("at most 65536 are allowed");
  expect(pagesOf({ SERVICE_AUTH_PAGES_LOGO: "./none.svg" })).rejects.toThrow("cannot be read");
});

test("pages that are switched off are no pages", async () => {
  expect(await pagesOf({ SERVICE_AUTH_PAGES_ENABLED: "false" })).toBeNull();
});
