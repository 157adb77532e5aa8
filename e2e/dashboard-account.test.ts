/** The admin's own account: password, second factor with recovery codes, passkeys, and sessions. */
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { codeOf, wrongCodeOf } from "../packages/server/test/authenticator.ts";
import {
  complaintsOf,
  leave,
  looks,
  openAnonymously,
  openDashboard,
  overflowOf,
  settled,
  violationsOf,
  type WindowOptions,
} from "./dashboard.ts";
import { post } from "./kit.ts";

const { server, api } = await openDashboard();
const port = new URL(server.url).port;
// Passkeys work on pages of localhost.
const origin = `http://localhost:${port}`;
const password = "correct horse battery";
let admins = 0;

interface Account {
  readonly page: Page;
  readonly email: string;
}

/** A new admin, so that no test changes the account of another test. */
async function newAdmin(): Promise<string> {
  admins += 1;
  const email = `admin${admins}@example.com`;
  await api("POST", "/api/admin/users", { email, password, role: "admin" });
  return email;
}

/** The page of the account of a new admin, who has signed in with the form. */
async function openAccount(options: WindowOptions = {}): Promise<Account> {
  const email = await newAdmin();
  const page = await openAnonymously(`${origin}/_/account`, options);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Your account" }).waitFor();
  await settled(page);
  return { page, email };
}

/** The status of a sign-in by password; the tokens of a sign-in. */
async function login(
  email: string,
  withPassword = password,
): Promise<{ status: number; token: string; next?: string }> {
  const response = await post(`${server.url}/api/auth/login`, { email, password: withPassword });
  const { accessToken = "", next } = (await response.json()) as { accessToken?: string; next?: string };
  return { status: response.status, token: accessToken, ...(next !== undefined && { next }) };
}

async function statusOf(token: string): Promise<number> {
  return (await fetch(`${server.url}/api/auth/me`, { headers: { Authorization: `Bearer ${token}` } })).status;
}

const panel = (page: Page, name: string) => page.locator("section", { has: page.getByRole("heading", { name }) });

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["SOCLE_PICTURES"];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/account-${name}.png`, fullPage: true });
}

test("the menu of the user and the palette lead to the page", async () => {
  const { page } = await openAccount();
  await page.goto(`${origin}/_/`);
  await settled(page);
  await page.getByRole("button", { name: /Your account/ }).focus();
  await page.keyboard.press("Enter");
  const entry = page.getByRole("menuitem", { name: "Your account" });
  await entry.waitFor();
  await page.getByRole("menuitemradio", { name: "System", checked: true }).waitFor();
  expect(await page.getByRole("menuitemradio", { checked: true }).count()).toBe(1);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/_/account");
  await page.getByRole("heading", { level: 1, name: "Your account" }).waitFor();
  // The focus is where the menu was opened, as after a click on a page of the navigation.
  await page.locator("button:focus", { hasText: "@example.com" }).waitFor();
  await page.goto(`${origin}/_/users`);
  await settled(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByPlaceholder("A page, a record, an email, an id …").fill("your acc");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/_/account");
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a new password ends the other sessions, and this tab stays signed in", async () => {
  const { page, email } = await openAccount();
  const other = await login(email);
  const present = page.getByLabel("Present password");
  const next = page.getByLabel("New password");
  const submit = page.getByRole("button", { name: "Change the password" });
  await present.fill("wrong horse battery");
  await next.fill("a better password");
  await submit.click();
  await page.getByText("The present password is wrong.").waitFor();
  expect(await present.evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
  await present.fill(password);
  await next.fill("short");
  await submit.click();
  await page.getByText("The password must be at least 8 characters long").waitFor();
  expect([await statusOf(other.token), (await login(email)).status]).toEqual([200, 200]);
  expect(await violationsOf(page)).toEqual([]);
  await next.fill("a better password");
  await page.keyboard.press("Enter");
  await page.getByText("The password is changed. All other devices are signed out.").waitFor();
  expect([await present.inputValue(), await next.inputValue()]).toEqual(["", ""]);
  expect(await statusOf(other.token)).toBe(401);
  expect((await login(email)).status).toBe(401);
  expect((await login(email, "a better password")).status).toBe(200);
  // The session of the tab goes on, also after a reload.
  await page.reload();
  await settled(page);
  await page.getByText("Sessions (2)").waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the second factor: set-up, recovery codes, new recovery codes, off", async () => {
  const { page, email } = await openAccount();
  const factor = panel(page, "Second factor");
  await factor.getByText("Off", { exact: true }).waitFor();
  await factor.getByRole("button", { name: "Set up the app" }).click();
  await page.getByRole("img", { name: /QR code/ }).waitFor();
  const secret = ((await factor.locator(".mono").textContent()) ?? "").replaceAll(" ", "");
  await page.keyboard.type(wrongCodeOf(secret));
  await page.keyboard.press("Enter");
  await page.getByText("The code is wrong, or was used before.").waitFor();
  expect((await login(email)).next).toBeUndefined();
  await factor.getByLabel("Code of the app").fill(codeOf(secret));
  await page.keyboard.press("Enter");
  await page.getByText("Save the recovery codes now").waitFor();
  const codes = await factor.getByRole("listitem").allTextContents();
  expect(new Set(codes).size).toBe(10);
  expect((await login(email)).next).toBe("second_factor");
  // Nobody leaves the codes by accident.
  await page.getByRole("link", { name: "Users" }).click();
  await page.getByRole("dialog", { name: "Leave without the recovery codes?" }).waitFor();
  await page.getByRole("button", { name: "Stay" }).click();
  const download = page.waitForEvent("download");
  await factor.getByRole("button", { name: "Download" }).click();
  const file = await (await download).createReadStream();
  expect(String(await new Response(file as unknown as ReadableStream).text())).toBe(`${codes.join("\n")}\n`);
  await factor.getByRole("button", { name: "The codes are saved" }).click();
  await factor.getByText("10 recovery codes left.").waitFor();
  await factor.getByText("On", { exact: true }).waitFor();

  await factor.getByRole("button", { name: "New recovery codes" }).click();
  await page.getByRole("button", { name: "Make new codes" }).click();
  await page.getByText("Save the recovery codes now").waitFor();
  const fresh = await factor.getByRole("listitem").allTextContents();
  expect(fresh.filter((code) => codes.includes(code))).toEqual([]);
  await factor.getByRole("button", { name: "The codes are saved" }).click();

  await factor.getByRole("button", { name: "Turn off" }).click();
  await page.getByRole("button", { name: "Turn the second factor off" }).click();
  await factor.getByText("Off", { exact: true }).waitFor();
  expect((await login(email)).next).toBeUndefined();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("an old sign-in: the page asks for a sign-in, and the set-up goes on", async () => {
  const { page } = await openAccount();
  let refused = 0;
  await page.route("**/api/auth/totp", (route) => {
    refused += 1;
    if (refused > 1) return route.continue();
    const details = [{ field: "", rule: "recent_login", message: "sign in again" }];
    const json = { error: { code: "forbidden", message: "sign in again", details } };
    return route.fulfill({ status: 403, json });
  });
  await page.getByRole("button", { name: "Set up the app" }).click();
  const dialog = page.getByRole("dialog", { name: "Sign in again to go on" });
  await dialog.getByLabel("Password", { exact: true }).fill(password);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("img", { name: /QR code/ }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Set up the app" }).waitFor();
  expect(refused).toBe(2);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("passkeys: added, listed, refused for a second time on the device, deleted", async () => {
  const { page } = await openAccount();
  const passkeys = panel(page, "Passkeys");
  await passkeys.getByText("No passkey yet.").waitFor();
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
  await passkeys.getByLabel("Name of the passkey").fill("Office laptop");
  await page.keyboard.press("Enter");
  await page.getByText("The passkey Office laptop was added").waitFor();
  await passkeys.getByRole("listitem").filter({ hasText: "Office laptop" }).waitFor();
  expect(await passkeys.getByLabel("Name of the passkey").inputValue()).toBe("");
  await passkeys.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByText("This device has a passkey for this account already.").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await passkeys.getByRole("button", { name: "Delete the passkey Office laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the passkey" }).click();
  await passkeys.getByText("No passkey yet.").waitFor();
  // The person refuses.
  await page.evaluate(`navigator.credentials.create = () => Promise.reject(new DOMException("no", "NotAllowedError"))`);
  await passkeys.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByText("The browser has made no passkey").waitFor();
  await devtools.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId });
  await devtools.detach();
  expect(complaintsOf(page)).toEqual([]);
  await page.context().close();
});

test("sessions: a single session, all others, and all sessions end", async () => {
  const { page, email } = await openAccount();
  const [one, two, three] = [await login(email), await login(email), await login(email)];
  await page.reload();
  await settled(page);
  const sessions = panel(page, "Sessions");
  await sessions.getByText("Sessions (4)").waitFor();
  const own = sessions.getByRole("listitem").filter({ hasText: "This one" });
  expect(await own.count()).toBe(1);
  expect(await own.getByRole("button").count()).toBe(0);
  await sessions.getByRole("button", { name: "Sign out", exact: true }).first().click();
  await sessions.getByText("Sessions (3)").waitFor();
  const statuses = async (): Promise<number[]> =>
    (await Promise.all([one, two, three].map(({ token }) => statusOf(token)))).sort();
  expect(await statuses()).toEqual([200, 200, 401]);
  await sessions.getByRole("button", { name: "Sign out elsewhere" }).click();
  await page.getByRole("dialog", { name: "End 2 other sessions?" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out elsewhere" }).click();
  await sessions.getByText("Sessions (1)").waitFor();
  await page.getByText("You are signed in nowhere else.").waitFor();
  expect(await statuses()).toEqual([401, 401, 401]);

  const last = await login(email);
  await sessions.getByRole("button", { name: "Sign out everywhere" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
  await page.waitForURL("**/_/login");
  expect(await statusOf(last.token)).toBe(401);
  await page.goto(`${origin}/_/account`);
  await page.getByRole("heading", { level: 1, name: "Sign in to Socle" }).waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a part that cannot be read says so, and is read again on demand", async () => {
  const { page } = await openAccount();
  await page.route("**/api/auth/sessions", (route) =>
    route.fulfill({ status: 500, json: { error: { code: "internal_error", message: "The service has failed" } } }),
  );
  await page.reload();
  await page.getByText("The service has failed").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await picture(page, "failed");
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Sessions (1)").waitFor();
  await leave(page);
});

test.each([...looks])("the page is accessible and fits: $theme, $width px", async ({ theme, width }) => {
  const { page, email } = await openAccount({ theme, width, height: 860 });
  await login(email);
  await page.reload();
  await settled(page);
  const check = async (name: string): Promise<void> => {
    expect(await overflowOf(page)).toBe(0);
    expect(await violationsOf(page)).toEqual([]);
    await picture(page, `${name}-${theme}-${width}`);
  };
  await check("page");
  await page.getByRole("button", { name: "Set up the app" }).click();
  await page.getByRole("img", { name: /QR code/ }).waitFor();
  await check("setup");
  const secret = ((await panel(page, "Second factor").locator(".mono").textContent()) ?? "").replaceAll(" ", "");
  await page.getByLabel("Code of the app").fill(codeOf(secret));
  await page.keyboard.press("Enter");
  await page.getByText("Save the recovery codes now").waitFor();
  await check("codes");
  await page.getByRole("button", { name: "The codes are saved" }).click();
  await page.getByText("10 recovery codes left.").waitFor();
  await check("on");
  await leave(page);
});
