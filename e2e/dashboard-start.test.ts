/** The dashboard's first minutes: the set-up link, the sign-in, a session that ends, a second tab. */
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { openWindow } from "./browser.ts";
import {
  admin,
  complaintsOf,
  leave,
  openAnonymously,
  openDashboard,
  overflowOf,
  settled,
  violationsOf,
} from "./dashboard.ts";
import { project, serve } from "./kit.ts";

/** Signs the admin in on the sign-in page, up to the overview. */
async function signInAt(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/_/`);
  await page.getByLabel("Email").fill(admin.email);
  await page.getByLabel("Password", { exact: true }).fill(admin.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
}

/** A service whose state no test changes. */
const { server: unchanged } = await openDashboard();

test("the set-up link leads to a form, and the form to the overview; the link works once", async () => {
  const server = await serve(await project());
  const link = /http:\/\/\S+\/_\/setup\?token=\S+/.exec(server.output())?.[0] ?? "";
  expect(link).toStartWith(server.url);
  expect(server.output()).toContain(`The dashboard is at ${server.url}/_/\n`);
  const early = await openAnonymously(`${server.url}/_/login`);
  await early.getByText("No admin yet?").waitFor();
  await leave(early);
  const page = await openAnonymously(link);
  await page.locator("input:focus").waitFor();
  await page.getByLabel("Email").fill("me@example.com");
  await page.getByLabel("Password", { exact: true }).fill("short");
  await page.getByRole("button", { name: "Create the admin" }).click();
  // The service's error stands at the field, and the typed text stays.
  await page
    .getByText(/at least 8 characters/i)
    .last()
    .waitFor();
  expect(await page.getByLabel("Email").inputValue()).toBe("me@example.com");
  await page.locator("input[type=password]:focus").waitFor();
  await page.getByLabel("Password", { exact: true }).fill("long enough now");
  await page.getByRole("button", { name: "Create the admin" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/_/");
  const late = await openAnonymously(link);
  await late.getByRole("heading", { name: "This link does not work any more" }).waitFor();
  expect([...complaintsOf(page), ...complaintsOf(late)]).toEqual([]);
  await leave(page);
  await leave(late);
});

test("a page behind the sign-in is shown afterwards; users without the role admin are refused and signed out", async () => {
  const { server, api } = await openDashboard();
  await api("POST", "/api/admin/users", { email: "member@example.com", password: "a long password" });
  const page = await openAnonymously(`${server.url}/_/users?search=mem`);
  await page.getByRole("heading", { name: "Sign in to Socle" }).waitFor();
  const signIn = async (email: string, password: string): Promise<void> => {
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  await signIn(admin.email, "wrong password");
  await page.getByText("The email or the password is wrong.").waitFor();
  await page.locator("input[type=password]:focus").waitFor();
  expect(await page.getByText("No admin yet?").count()).toBe(0);
  await signIn("member@example.com", "a long password");
  await page.getByText("This account is not an admin.").waitFor();
  expect(await page.evaluate(() => sessionStorage.getItem("socle.tokens"))).toBeNull();
  await signIn(admin.email, admin.password);
  await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  expect(new URL(page.url()).search).toBe("?search=mem");
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test.each(["//evil.example", "/\\evil.example", "https://evil.example"])(
  "an address that leads elsewhere (%s) is not followed after the sign-in",
  async (from) => {
    const page = await openAnonymously(`${unchanged.url}/_/login?from=${encodeURIComponent(from)}`);
    await page.getByLabel("Email").fill(admin.email);
    await page.getByLabel("Password", { exact: true }).fill(admin.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(page.url()).toBe(`${unchanged.url}/_/`);
    await leave(page);
  },
);

test("a session that ends leaves the page unchanged; a sign-in over the page goes on", async () => {
  const { open, api } = await openDashboard();
  const page = await open("/collections/-/new");
  await page.getByLabel("Name", { exact: true }).first().fill("half_typed");
  const { items } = (await api("GET", "/api/admin/users")) as { items: { id: string }[] };
  const { sessions } = (await api("GET", `/api/admin/users/${items[0]?.id}`)) as { sessions: { id: string }[] };
  const own = await page.evaluate(() => {
    const { accessToken } = JSON.parse(sessionStorage.getItem("socle.tokens") ?? "{}") as { accessToken: string };
    return (JSON.parse(atob(accessToken.split(".")[1] ?? "")) as { sid: string }).sid;
  });
  expect(sessions.map(({ id }) => id)).toContain(own);
  await api("DELETE", `/api/admin/users/${items[0]?.id}/sessions/${own}`);
  // Any request finds out.
  await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor();
  expect(await page.getByLabel("Name", { exact: true }).first().inputValue()).toBe("half_typed");
  await dialog.getByLabel("Password", { exact: true }).fill(admin.password);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await page.getByLabel("Name", { exact: true }).first().inputValue()).toBe("half_typed");
  await leave(page);
});

test("a second tab of the browser is signed in by the first; a sign-out ends both", async () => {
  const { server } = await openDashboard();
  const context = await openWindow();
  const first = await context.newPage();
  await signInAt(first, server.url);
  const second = await context.newPage();
  await second.goto(`${server.url}/_/users`);
  await second.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  await second.getByRole("button", { name: /^Your account/ }).click();
  await second.getByRole("menuitem", { name: "Sign out" }).click();
  await second.getByRole("heading", { name: "Sign in to Socle" }).waitFor();
  await first.getByRole("dialog", { name: "Your session has ended" }).waitFor();
});

test("a late response of a tab signs in the other tab all the same, at the requested page", async () => {
  const { server } = await openDashboard();
  const context = await openWindow();
  const first = await context.newPage();
  // The messages come later than a new tab waits, as on a busy machine.
  await first.addInitScript(`{
    const add = BroadcastChannel.prototype.addEventListener;
    BroadcastChannel.prototype.addEventListener = function (type, listener) {
      add.call(this, type, (event) => setTimeout(() => listener(event), 1_000));
    };
  }`);
  await signInAt(first, server.url);
  const second = await context.newPage();
  await second.goto(`${server.url}/_/users?search=admin`);
  await second.getByRole("heading", { name: "Sign in to Socle" }).waitFor();
  await second.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  expect(second.url()).toBe(`${server.url}/_/users?search=admin`);
  expect(await second.getByRole("heading", { name: "Sign in to Socle" }).count()).toBe(0);
});

test.each(["light", "dark"] as const)(
  "the pages before the sign-in, %s: accessible, and narrow pages fit",
  async (theme) => {
    for (const path of ["/login", "/setup?token=nothing"]) {
      const page = await openAnonymously(`${unchanged.url}/_${path}`, { theme, width: 390 });
      await settled(page);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect([path, await violationsOf(page)]).toEqual([path, []]);
      expect([path, await overflowOf(page)]).toEqual([path, 0]);
      await leave(page);
    }
  },
);
