/** The pages for accounts in a browser without script: mails by SMTP, the links of the mails, the forms behind the links, and the switch. */
import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { bodyOf, SmtpSink } from "../packages/server/test/smtp-sink.ts";
import { openWindow } from "./browser.ts";
import { admin, looks, overflowOf, violationsOf } from "./dashboard.ts";
import { freePort, isLong, post, project, serve, until } from "./kit.ts";

const sink = await SmtpSink.start();
afterAll(() => sink[Symbol.asyncDispose]());
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const folder = await project({
  config: {
    port,
    publicUrl: url,
    mail: { from: "The Shop <shop@example.com>", smtp: sink.address },
    auth: { pages: { title: "The Shop" }, commonPasswords: "refuse" },
    limits: { rate: { mail: "off", login: "off", register: "off" } },
  },
});
await serve(folder, { env: { SERVICE_ADMIN_EMAIL: admin.email, SERVICE_ADMIN_PASSWORD: admin.password } });
const password = "correct horse battery";

/** The link of the newest mail to an address with a page of this name. */
async function linkTo(email: string, page: string): Promise<string> {
  const pattern = new RegExp(`${url}/_/auth/${page}\\?token=[\\w-]+`);
  const links = (): string[] =>
    sink.taken.filter(({ to }) => to.includes(email)).flatMap((mail) => pattern.exec(bodyOf(mail))?.[0] ?? []);
  await until(() => links().length > 0);
  return links().at(-1) ?? "";
}

async function register(email: string): Promise<string> {
  const response = await post(`${url}/api/auth/register`, { email, password });
  expect(response.status).toBe(201);
  return ((await response.json()) as { accessToken: string }).accessToken;
}

async function login(email: string, given: string): Promise<number> {
  return (await post(`${url}/api/auth/login`, { email, password: given })).status;
}

/** Invites an address, and answers the link of the mail. */
async function invite(email: string): Promise<string> {
  const { accessToken } = (await (await post(`${url}/api/auth/login`, admin)).json()) as { accessToken: string };
  const headers = { Authorization: `Bearer ${accessToken}` };
  expect((await post(`${url}/api/admin/invitations`, { email }, headers)).status).toBe(201);
  return linkTo(email, "invitation");
}

async function open(address: string, options: { theme?: "light" | "dark"; width?: number } = {}): Promise<Page> {
  const { theme = "light", width = 1_280 } = options;
  const context = await openWindow({
    colorScheme: theme,
    viewport: { width, height: 800 },
    javaScriptEnabled: false,
  });
  const page = await context.newPage();
  await page.goto(address);
  return page;
}

test("a person registers, proves the address, forgets the password and chooses another", async () => {
  const email = "ann@example.com";
  const token = await register(email);
  const page = await open(await linkTo(email, "verify"));
  await page.getByLabel("Your password").fill("wrong wrong wrong");
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("The password is wrong.").waitFor();
  await page.getByLabel("Your password").fill(password);
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Your email address is confirmed.").waitFor();
  const me = await fetch(`${url}/api/auth/me`, { headers: { Authorization: `Bearer ${token}` } });
  // The session was not shown beside the token, so the session ended.
  expect(me.status).toBe(401);
  expect(await login(email, password)).toBe(200);

  await page.goto(`${url}/_/auth/forgot`);
  await page.getByLabel("Email").fill(email);
  await page.getByRole("button", { name: "Send the link" }).click();
  await page.getByText("If an account has this address").waitFor();
  const link = await linkTo(email, "reset");
  await page.goto(link);
  await page.getByLabel("New password").fill("battery staple horse");
  await page.getByRole("button", { name: "Save the password" }).click();
  await page.getByText("The password is saved.").waitFor();
  expect(await login(email, password)).toBe(401);
  expect(await login(email, "battery staple horse")).toBe(200);
  await page.goto(link);
  await page.getByLabel("New password").fill("another battery staple");
  await page.getByRole("button", { name: "Save the password" }).click();
  await page.getByText("This link does not work any more.").waitFor();
  expect(await login(email, "another battery staple")).toBe(401);
});

test("an account moves to another address, which the link of the new address proves", async () => {
  const email = "bob@example.com";
  const token = await register(email);
  const asked = await fetch(`${url}/api/auth/email`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ email: "bob@example.org", password }),
  });
  expect(asked.status).toBe(202);
  const page = await open(await linkTo("bob@example.org", "email"));
  expect(await login("bob@example.org", password)).toBe(401);
  await page.getByLabel("Your password").fill(password);
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Your account has the new email address.").waitFor();
  expect(await login("bob@example.org", password)).toBe(200);
  expect(await login(email, password)).toBe(401);
});

test("an invited person chooses a password, and the link works once", async () => {
  const email = "cid@example.com";
  const link = await invite(email);
  const page = await open(link);
  expect(await login(email, password)).toBe(401);
  await page.getByLabel("New password").fill("password123");
  await page.getByRole("button", { name: "Create the account" }).click();
  await page.getByRole("alert").getByText("most common passwords").waitFor();
  await page.getByLabel("New password").fill(password);
  await page.getByRole("button", { name: "Create the account" }).click();
  await page.getByRole("status").getByText("Your account is ready.").waitFor();
  const answer = await post(`${url}/api/auth/login`, { email, password });
  expect(((await answer.json()) as { user: object }).user).toMatchObject({ email, verified: true });
  await page.goto(link);
  await page.getByLabel("New password").fill("battery staple horse");
  await page.getByRole("button", { name: "Create the account" }).click();
  await page.getByRole("alert").getByText("This link does not work any more.").waitFor();
  expect(await login(email, "battery staple horse")).toBe(401);
});

/** Both themes and both widths in the short form, too: no other test has axe on these pages. */
const looksHere = isLong ? looks : [{ theme: "light", width: 1_280 } as const, ...looks];

test.each([...looksHere])(
  "in $theme at $width px: axe finds nothing, nothing scrolls sideways",
  async ({ theme, width }) => {
    // Axe runs in the page, so this window has script.
    const context = await openWindow({ colorScheme: theme, viewport: { width, height: 800 } });
    const page = await context.newPage();
    const look = async (name: string): Promise<void> => {
      const pictures = process.env["SOCLE_PICTURES"];
      if (pictures !== undefined)
        await page.screenshot({ path: `${pictures}/auth-${name}-${theme}-${width}.png`, fullPage: true });
      expect(await violationsOf(page)).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
    };
    for (const name of ["verify", "reset", "email", "invitation"]) {
      await page.goto(`${url}/_/auth/${name}?token=x`);
      await look(name);
      await page.getByRole("textbox").fill("battery staple horse");
      await page.getByRole("button").click();
      await page.getByRole("alert").waitFor();
      await look(`${name}-refused`);
    }
    await page.goto(`${url}/_/auth/forgot`);
    await look("forgot");
    await page.getByLabel("Email").fill(`looks-${theme}-${width}@example.com`);
    await page.getByRole("button").click();
    await page.getByRole("status").waitFor();
    await look("forgot-done");
    await page.goto(await invite(`invited-${theme}-${width}@example.com`));
    await page.getByRole("textbox").fill(password);
    await page.getByRole("button").click();
    await page.getByRole("status").waitFor();
    await look("invitation-done");
    const { headers } = await fetch(`${url}/_/auth/forgot`);
    expect(headers.get("content-security-policy")).not.toContain("script-src");
  },
);

test("without the dashboard the pages stay; switched off, no page is left and no form has an effect", async () => {
  const paths = [
    "verify",
    "reset",
    "email",
    "invitation",
    "forgot",
    "sign-in",
    "factor",
    "send-code",
    "code",
    "provider",
  ];
  const answersOf = async (service: string): Promise<[number, boolean][]> =>
    Promise.all(
      paths.map(async (path): Promise<[number, boolean]> => {
        const answer = await fetch(`${service}/_/auth/${path}`, { headers: { Accept: "text/html" } });
        return [answer.status, (await answer.text()).includes("<main>")];
      }),
    );
  const bare = await serve(await project({ config: { dashboard: { enabled: false } } }));
  expect((await fetch(`${bare.url}/_/`)).status).toBe(404);
  const withoutApp = new Set(["sign-in", "factor", "send-code", "code", "provider"]);
  expect(await answersOf(bare.url)).toEqual(paths.map((path) => [withoutApp.has(path) ? 400 : 200, true]));

  const config = { auth: { pages: { enabled: false } } };
  const off = await serve(await project({ config: { ...config, dashboard: { enabled: false } } }));
  expect(await answersOf(off.url)).toEqual(paths.map(() => [404, false]));
  // With the dashboard, the paths are paths of the dashboard, which takes no forms.
  const beside = await serve(await project({ config }));
  const index = await (await fetch(`${beside.url}/_/`)).text();
  expect(await (await fetch(`${beside.url}/_/auth/sign-in`)).text()).toBe(index);
  for (const { url } of [off, beside]) {
    const sent = await fetch(`${url}/_/auth/forgot`, { method: "POST", body: new URLSearchParams({ email: "a@b.c" }) });
    expect([404, 405]).toContain(sent.status);
  }
});
