/** The pages for accounts in a browser without script: mails by SMTP, the links of the mails, and the forms behind the links. */
import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { bodyOf, SmtpSink } from "../packages/server/test/smtp-sink.ts";
import { openWindow } from "./browser.ts";
import { overflowOf, violationsOf } from "./dashboard.ts";
import { freePort, post, project, serve, until } from "./kit.ts";

const sink = await SmtpSink.start();
afterAll(() => sink[Symbol.asyncDispose]());
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const folder = await project({
  config: {
    port,
    publicUrl: url,
    mail: { from: "The Shop <shop@example.com>", smtp: sink.address },
    auth: { pages: { title: "The Shop" } },
    limits: { rate: { mail: "off", login: "off", register: "off" } },
  },
});
await serve(folder);
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
  await page.getByText("If there is an account").waitFor();
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

test.each([
  ["light", 1_280],
  ["dark", 1_280],
  ["light", 390],
  ["dark", 390],
] as const)("in %s at %d px: axe finds nothing, nothing scrolls sideways", async (theme, width) => {
  // Axe runs in the page, so this window has script.
  const context = await openWindow({ colorScheme: theme, viewport: { width, height: 800 } });
  const page = await context.newPage();
  for (const path of ["verify?token=x", "reset?token=x", "email?token=x", "forgot"]) {
    await page.goto(`${url}/_/auth/${path}`);
    expect(await violationsOf(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    const folder = process.env["SOCLE_PICTURES"];
    if (folder !== undefined)
      await page.screenshot({ path: `${folder}/auth-${path.replace(/\W.*/, "")}-${theme}-${width}.png` });
  }
  const { headers } = await fetch(`${url}/_/auth/forgot`);
  expect(headers.get("content-security-policy")).not.toContain("script-src");
});
