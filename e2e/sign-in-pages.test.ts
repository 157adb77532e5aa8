/**
 * The sign-in pages in a browser: each way to sign in to an app, without script except for passkeys, with mails by SMTP, a
 * provider at another site and a virtual authenticator.
 */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { CDPSession, Page } from "playwright-core";
import { SocleClient } from "../packages/client/src/index.ts";
import { codeOf, wrongCodeOf } from "../packages/server/test/authenticator.ts";
import { FakeProvider } from "../packages/server/test/fake-provider.ts";
import { bodyOf, SmtpSink } from "../packages/server/test/smtp-sink.ts";
import { openWindow } from "./browser.ts";
import { looks, overflowOf, violationsOf } from "./dashboard.ts";
import { freePort, project, root, serve, until } from "./kit.ts";

const sink = await SmtpSink.start();
afterAll(() => sink[Symbol.asyncDispose]());
const port = await freePort();
// Passkeys need a name.
const url = `http://localhost:${port}`;
const password = "correct horse battery";

/** An app at another origin, which the forms of the pages may reach. */
const app = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => new Response("<!doctype html><title>App</title>Signed in", { headers: { "Content-Type": "text/html" } }),
});
afterAll(() => app.stop(true));
const home = `http://127.0.0.1:${app.port}/signed-in`;

/** A provider at which the person agrees at once. */
const fake = new FakeProvider("127.0.0.1");
let person: Parameters<FakeProvider["approve"]>[1] | null = null;
fake.faults.answers = {
  "/authorize": (request) => {
    const back = new URL(request.url).searchParams;
    const cancelled = new URLSearchParams({ error: "access_denied", state: back.get("state") ?? "" });
    const refused = `${back.get("redirect_uri")}?${cancelled}`;
    return Response.redirect(person === null ? refused : fake.approve(request.url, person), 302);
  },
};

const client = await Bun.build({ entrypoints: [join(root, "packages/client/src/index.ts")], target: "browser" });

/** Starts a service with the page of an app. */
async function start(config: object): Promise<void> {
  const folder = await project({ config: { public: "public", ...config } });
  await Bun.write(join(folder, "public/client.js"), (await client.outputs[0]?.text()) ?? "");
  await Bun.write(
    join(folder, "public/index.html"),
    `<!doctype html><title>App</title><button>Sign in</button><pre></pre><script type="module">
      import { SocleClient } from "/client.js";
      const client = new SocleClient({ baseUrl: "" });
      document.querySelector("button").onclick = () => client.auth.signInWithPage();
      const outcome = await client.auth.finishSignIn().catch(({ name, code }) => ({ name, code }));
      document.querySelector("pre").textContent = JSON.stringify(outcome);
    </script>`,
  );
  await serve(folder);
}

await start({
  port,
  publicUrl: url,
  mail: { from: "The Shop <shop@example.com>", smtp: sink.address },
  auth: {
    codes: true,
    pages: { title: "The Shop" },
    redirects: [`http://127.0.0.1:${app.port}`],
    providers: { "shop-id": { ...fake.settings, title: "Shop ID" } },
  },
  limits: { rate: { mail: "off", login: "off", register: "off", recipient: "off" } },
});
async function register(email: string): Promise<SocleClient> {
  const socle = new SocleClient({ baseUrl: url });
  await socle.register({ email, password });
  return socle;
}

/** A user with an authenticator app. */
async function withFactor(email: string) {
  const socle = await register(email);
  const { secret } = await socle.auth.totp.create();
  const { recoveryCodes } = await socle.auth.totp.confirm(codeOf(secret, -1));
  return { secret, recoveryCodes };
}

interface WindowOptions {
  theme?: "light" | "dark";
  width?: number;
  script?: boolean;
}

/** Complaints of all pages, for example a part that the content security policy refuses. */
const complaints: string[] = [];

async function openPage({ theme = "light", width = 1_280, script = false }: WindowOptions = {}): Promise<Page> {
  const context = await openWindow({
    colorScheme: theme,
    viewport: { width, height: 800 },
    javaScriptEnabled: script,
  });
  const page = await context.newPage();
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A refusal that the page tells is a failed load for the console.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      complaints.push(message.text());
  });
  return page;
}

/** An app outside the browser begins a visit; the browser is on the first page. */
async function begin(options: WindowOptions = {}, service = url) {
  const socle = new SocleClient({ baseUrl: service });
  const visit = await socle.auth.signInWithPage({ redirect: home });
  const page = await openPage(options);
  await page.goto(visit.url);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  return { socle, visit, page };
}

type Begun = Awaited<ReturnType<typeof begin>>;

async function enterPassword(page: Page, email: string, given = password): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(given);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** The browser comes back to the app, which ends the visit. Answers the email of the user. */
async function finish({ page, visit, socle }: Begun): Promise<string> {
  await page.waitForURL(`${home}#code=*`);
  const { id, email } = await visit.finish(page.url());
  expect((await socle.me()).id).toBe(id);
  await expect(visit.finish(page.url())).rejects.toThrow("unknown, used or expired");
  return String(email);
}

async function newestCode(email: string): Promise<string> {
  const codes = (): string[] =>
    sink.taken.filter(({ to }) => to.includes(email)).flatMap((mail) => /^\d{6}$/m.exec(bodyOf(mail))?.[0] ?? []);
  await until(() => codes().length > 0);
  return codes().at(-1) ?? "";
}

test("a password: a wrong password shows the page again, the right password leads to the app", async () => {
  const email = "ann@example.com";
  await register(email);
  const begun = await begin();
  await enterPassword(begun.page, email, "wrong wrong wrong");
  await begun.page.getByRole("alert").getByText("The email or the password is wrong.").waitFor();
  expect(await begun.page.getByLabel("Email").inputValue()).toBe(email);
  expect(await begun.page.getByLabel("Password").inputValue()).toBe("");
  await enterPassword(begun.page, email);
  // Another app that gets the address has another verifier.
  await begun.page.waitForURL(`${home}#code=*`);
  const thief = await new SocleClient({ baseUrl: url }).auth.signInWithPage({ redirect: home });
  await expect(thief.finish(begun.page.url())).rejects.toThrow("unknown, used or expired");
  expect(await finish(begun)).toBe(email);
});

test("an app in the browser leaves for the page and returns signed in; the address keeps no code", async () => {
  const email = "bob@example.com";
  await register(email);
  const page = await openPage({ script: true });
  await page.goto(url);
  await page.getByRole("button", { name: "Sign in" }).click();
  await enterPassword(page, email);
  await page.locator("pre:not(:empty)").waitFor();
  expect(JSON.parse((await page.locator("pre").textContent()) ?? "")).toMatchObject({ email });
  expect(page.url()).toBe(`${url}/`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Back to the app" }).click();
  await page.locator("pre:not(:empty)").waitFor();
  expect(await page.locator("pre").textContent()).toBe('{"name":"ProviderError","code":"access_denied"}');
});

test("a provider: a new person returns to the app; a person who cancels returns to the page", async () => {
  person = null;
  const begun = await begin();
  await begun.page.getByRole("link", { name: "Sign in with Shop ID" }).click();
  await begun.page.getByRole("alert").getByText("The sign-in was cancelled.").waitFor();
  person = { sub: "cid", email: "cid@example.com", email_verified: true };
  await begun.page.getByRole("link", { name: "Sign in with Shop ID" }).click();
  expect(await finish(begun)).toBe("cid@example.com");
});

test("a code by mail: a wrong code does not sign in, the mailed code does", async () => {
  const email = "dan@example.com";
  await register(email);
  const begun = await begin();
  const { page } = begun;
  await page.getByRole("link", { name: "Sign in with a code by mail" }).click();
  await page.getByLabel("Email").fill(email);
  await page.getByRole("button", { name: "Send the code" }).click();
  await page.getByRole("status").waitFor();
  const code = await newestCode(email);
  await page.getByLabel("Code from the mail").fill(code === "000000" ? "000001" : "000000");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Code from the mail").fill(code);
  await page.getByRole("button", { name: "Sign in" }).click();
  expect(await finish(begun)).toBe(email);
});

test("a second factor after the password: a wrong code, a code of the app, and a recovery code", async () => {
  const email = "eve@example.com";
  const { secret, recoveryCodes } = await withFactor(email);
  const begun = await begin();
  await enterPassword(begun.page, email);
  await begun.page.getByLabel("Code").fill(wrongCodeOf(secret));
  await begun.page.getByRole("button", { name: "Continue" }).click();
  await begun.page.getByRole("alert").waitFor();
  await begun.page.getByLabel("Code").fill(codeOf(secret));
  await begun.page.getByRole("button", { name: "Continue" }).click();
  expect(await finish(begun)).toBe(email);
  const other = await begin();
  await enterPassword(other.page, email);
  await other.page.getByLabel("Code").fill(recoveryCodes[0] ?? "");
  await other.page.getByRole("button", { name: "Continue" }).click();
  expect(await finish(other)).toBe(email);
});

/** Looks at a page in a state: axe finds nothing, and nothing scrolls sideways. */
async function look(page: Page, name: string): Promise<void> {
  await page.locator("h1").waitFor();
  const pictures = process.env["SOCLE_PICTURES"];
  if (pictures !== undefined) await page.screenshot({ path: `${pictures}/sign-in-${name}.png`, fullPage: true });
  expect(await violationsOf(page)).toEqual([]);
  expect(await overflowOf(page)).toBe(0);
}

/** An authenticator of the window, which has a passkey of a new user. */
async function withPasskey(page: Page, email: string): Promise<{ devtools: CDPSession; authenticatorId: string }> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await page.goto(new URL("/", page.url()).href);
  await page.locator("pre:not(:empty)").waitFor();
  await page.evaluate(
    `import("/client.js").then(async ({ SocleClient }) => {
       const client = new SocleClient({ baseUrl: "" });
       await client.register({ email: "${email}", password: "${password}" });
       await client.auth.passkeys.register();
     })`,
  );
  return { devtools, authenticatorId };
}

test("a passkey: a person who refuses gets the reason, and a person who agrees is signed in", async () => {
  const begun = await begin({ script: true });
  const { page, visit } = begun;
  const { devtools, authenticatorId } = await withPasskey(page, "fay@example.com");
  await page.goto(visit.url);
  await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.getByRole("alert").getByText("The passkey did not work.").waitFor();
  await look(page, "passkey-refused");
  await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  expect(await finish(begun)).toBe("fay@example.com");
});

test("a passkey signs in on localhost without publicUrl, for development", async () => {
  const own = await freePort();
  await start({ port: own, auth: { redirects: [home] } });
  const begun = await begin({ script: true }, `http://localhost:${own}`);
  await withPasskey(begun.page, "ida@example.com");
  await begun.page.goto(begun.visit.url);
  await begun.page.getByRole("button", { name: "Sign in with a passkey" }).click();
  expect(await finish(begun)).toBe("ida@example.com");
});

test("a passkey is the second factor after the password", async () => {
  const email = "gil@example.com";
  const begun = await begin({ script: true });
  const { page, visit, socle } = begun;
  await withPasskey(page, email);
  await socle.login({ email, password });
  const { secret } = await socle.auth.totp.create();
  await socle.auth.totp.confirm(codeOf(secret));
  await page.goto(visit.url);
  await enterPassword(page, email);
  await page.getByRole("heading", { name: "Second step" }).waitFor();
  await look(page, "factor-passkey");
  await page.getByRole("button", { name: "Use a passkey" }).click();
  expect(await finish(begun)).toBe(email);
});

test("without script, no button offers a passkey; a form of another site signs no user in", async () => {
  const { page } = await begin();
  expect(await page.getByRole("button", { name: "Sign in with a passkey" }).count()).toBe(0);
  const email = "hal@example.com";
  await register(email);
  // The victim has opened the page; the attacker's page sends the attacker's password.
  const fields = { email, password, redirect: home, challenge: "x".repeat(43), form: "x".repeat(43) };
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
  const attack = `<form method="post" action="${url}/_/auth/sign-in">${inputs.join("")}<button>Win</button></form>`;
  await page.goto(`data:text/html,${encodeURIComponent(attack)}`);
  await page.getByRole("button", { name: "Win" }).click();
  await page.getByText("The form must be sent from the page of this service.").waitFor();
  expect(page.url()).toBe(`${url}/_/auth/sign-in`);
});

test.each([...looks])(
  "in $theme at $width px: axe finds nothing in any state, nothing scrolls sideways",
  async ({ theme, width }) => {
    const email = `looks-${theme}-${width}@example.com`;
    await withFactor(email);
    const { page, visit } = await begin({ theme, width, script: true });
    const see = (name: string): Promise<void> => look(page, `${name}-${theme}-${width}`);
    await page.getByRole("button", { name: "Sign in with a passkey" }).waitFor();
    await see("first");
    await enterPassword(page, email, "wrong wrong wrong");
    await page.getByRole("alert").waitFor();
    await see("wrong");
    await enterPassword(page, email);
    await page.getByLabel("Code").waitFor();
    await see("factor");
    await page.getByLabel("Code").fill("wrong");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("alert").waitFor();
    await see("factor-wrong");
    await page.goto(visit.url.replace("sign-in", "send-code"));
    await see("send-code");
    await page.getByLabel("Email").fill(email);
    await page.getByRole("button", { name: "Send the code" }).click();
    await page.getByRole("status").waitFor();
    await see("code");
    await page.getByLabel("Code from the mail").fill("12");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await see("code-wrong");
    await page.goto(`${url}/_/auth/sign-in`);
    await page.getByRole("alert").waitFor();
    await see("no-app");
  },
);

test("no page has complained", () => {
  expect(complaints).toEqual([]);
});
