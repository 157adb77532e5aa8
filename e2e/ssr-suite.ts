/**
 * Tests that each template of pages with servers passes. The template is built with the packages of its framework, which the tests install, and driven in Chromium: sign-in by a
 * form, pages for the signed-in user, renewals, live lists that begin with what the server read, and sign-outs. An access token lives for seconds.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { openWindow } from "./browser.ts";
import { project, serve, until } from "./kit.ts";
import { type App, accessTokenSeconds, buildApp, serveApp } from "./ssr-kit.ts";

setDefaultTimeout(600_000);

const password = "correct horse battery";
let users = 0;

/** Errors of pages: none is expected. */
const problems: string[] = [];

async function openPage(window: BrowserContext, url: string): Promise<Page> {
  const page = await window.newPage();
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(url);
  return page;
}

interface Entry {
  readonly email: string;
  readonly button: "Sign in" | "Register";
  readonly typed?: string;
}

/** Fills the form, and presses a button. */
async function enter(page: Page, { email, button, typed = password }: Entry): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(typed);
  await page.getByRole("button", { name: button }).click();
}

/** A window of a new user. */
async function register(url: string): Promise<{ email: string; window: BrowserContext; page: Page }> {
  users += 1;
  const email = `user${users}@example.com`;
  const window = await openWindow();
  const page = await openPage(window, url);
  await enter(page, { email, button: "Register" });
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  await isLive(page);
  return { email, window, page };
}

async function isLive(page: Page): Promise<void> {
  await page.locator("output", { hasText: /^live$/ }).waitFor();
}

/** Adds a task, and waits until the list has the task. */
async function add(page: Page, title: string): Promise<void> {
  await page.getByLabel("Title").fill(title);
  await page.getByRole("button", { name: "Add" }).click();
  await shows(page, title);
}

/** Waits until the list has a task of the title, once. */
async function shows(page: Page, title: string): Promise<void> {
  await until(async () => (await page.getByRole("listitem").filter({ hasText: title }).count()) === 1);
}

async function sessionCookie(window: BrowserContext): Promise<{ name: string; value: string }> {
  const [cookie, ...others] = await window.cookies();
  expect(others).toEqual([]);
  if (cookie === undefined) throw new Error("There is no cookie");
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Lax", path: "/" });
  expect(cookie.name.length + cookie.value.length).toBeLessThan(4_096);
  return cookie;
}

/** Asks the server of the framework with a cookie, without the script of the page. */
function ask(url: string, cookie: string): Promise<Response> {
  return fetch(url, { headers: { Cookie: cookie, "Socle-Session": "page" }, redirect: "manual" });
}

/** Builds and serves a template, and declares the tests. Called at the top of a file: services end after the tests of the file. */
export async function testPages(template: string): Promise<void> {
  const app = await buildApp(template);
  const served = await serveApp(app);
  const { url } = app;

  test("a wrong password and an address that is taken are said in the page, without a cookie", async () => {
    const { email } = await register(url);
    const window = await openWindow();
    const page = await openPage(window, url);
    await enter(page, { email, button: "Register" });
    await page
      .getByRole("alert")
      .filter({ hasText: /already|taken|exists/i })
      .waitFor();
    await enter(page, { email, button: "Sign in", typed: "a wrong password" });
    await page
      .getByRole("alert")
      .filter({ hasText: /password|credentials/i })
      .waitFor();
    expect(await window.cookies()).toEqual([]);
  });

  test("the server renders the tasks; the page begins with them, and is live", async () => {
    const { email, window, page } = await register(url);
    await add(page, "first task");
    const { name, value } = await sessionCookie(window);
    const answer = await ask(url, `${name}=${value}`);
    const text = await answer.text();
    expect(answer.headers.get("Cache-Control")).toContain("private");
    expect(text).toContain("first task");
    expect(text).toContain(email);
    // A page without script, as the server has rendered the page.
    const still = await openPage(
      await openWindow({ javaScriptEnabled: false, storageState: await window.storageState() }),
      url,
    );
    expect(await still.getByRole("listitem").allTextContents()).toEqual([expect.stringContaining("first task")]);
    // Another browser of the same user, which signs in without script.
    const other = await openWindow({ javaScriptEnabled: false });
    const signIn = await openPage(other, url);
    await enter(signIn, { email, button: "Sign in" });
    await signIn.getByText("first task").waitFor();
    // A change of one browser comes to the other.
    const live = await openPage(await openWindow({ storageState: await other.storageState() }), url);
    await isLive(live);
    await add(page, "second task");
    await shows(live, "second task");
    await live.getByLabel("second task").click();
    await until(() => page.getByLabel("second task").isChecked());
    await until(async () => (await live.getByRole("listitem").count()) === 2);
  });

  test("the list never flashes: a page that loads has the items in every frame", async () => {
    const { page } = await register(url);
    await add(page, "steady task");
    await page.addInitScript({
      content: `
        window.seen = [];
        const look = () => {
          const list = document.querySelector("ul");
          if (list) window.seen.push(list.textContent);
          requestAnimationFrame(look);
        };
        look();`,
    });
    await page.reload();
    await isLive(page);
    const seen: string[] = await page.evaluate("window.seen");
    expect(seen.filter((text) => !text.includes("steady task"))).toEqual([]);
    expect(seen.length).toBeGreaterThan(0);
  });

  test("a reload stays signed in, also after the access token has ended; the refresh token never reaches the page", async () => {
    const { email, window, page } = await register(url);
    const bodies: string[] = [];
    page.on(
      "response",
      (response) =>
        void response.text().then(
          (text) => bodies.push(text),
          () => undefined,
        ),
    );
    await Bun.sleep(accessTokenSeconds * 1_000 + 500);
    await page.reload();
    await page.getByText(email).waitFor();
    await isLive(page);
    const { value } = await sessionCookie(window);
    expect(await page.evaluate("document.cookie")).toBe("");
    const stored = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])");
    expect(stored).not.toContain("Token");
    const handed: { accessToken: string } = await page.evaluate(
      'fetch("/session", { headers: { "Socle-Session": "page" } }).then((answer) => answer.json())',
    );
    expect(Object.keys(handed).sort()).toEqual(["accessToken", "id", "userId"]);
    const refreshToken = tokenIn(value);
    expect(bodies.length).toBeGreaterThan(1);
    expect(bodies.filter((body) => body.includes(refreshToken))).toEqual([]);
    expect(stored).not.toContain(refreshToken);
    expect(await page.content()).not.toContain(refreshToken);
  });

  test("a page that stays open goes on with new access tokens of the server", async () => {
    const { page, window } = await register(url);
    await Bun.sleep(accessTokenSeconds * 2_500);
    const other = await openPage(window, url);
    await add(other, "later task");
    await shows(page, "later task");
    await add(page, "own task");
    await shows(other, "own task");
  });

  test("ten parallel requests with an access token that has ended renew once, and nobody is signed out", async () => {
    const { email, window, page } = await register(url);
    await page.goto("about:blank");
    const { name, value } = await sessionCookie(window);
    const cookie = `${name}=${value}`;
    await Bun.sleep(accessTokenSeconds * 1_000 + 500);
    const before = served.refreshes();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => ask(`${url}${i % 2 === 0 ? "/" : "/session"}`, cookie)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(texts.filter((text, i) => !text.includes(i % 2 === 0 ? email : "accessToken"))).toEqual([]);
    expect(served.refreshes() - before).toBe(1);
    const renewed = new Set(
      answers.flatMap(({ headers }) => headers.getSetCookie().map((line) => line.split(";")[0] ?? "")),
    );
    expect(renewed.size).toBe(1);
    const [next = ""] = renewed;
    expect(next).not.toBe(cookie);
    expect(await (await ask(url, next)).text()).toContain(email);
    // A request that left the browser before the new cookie came.
    expect(await (await ask(url, cookie)).text()).toContain(email);
    expect(served.refreshes() - before).toBe(1);
  });

  test("a cookie that is cut, forged, or of another service shows the form, without an error", async () => {
    const { window } = await register(url);
    const { name, value } = await sessionCookie(window);
    const forged =
      value.slice(0, 20) + value.slice(20).replace(/[a-y]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 1));
    const foreign = await foreignCookie(app);
    const values = [
      value.slice(0, 40),
      value.slice(40),
      forged,
      foreign,
      "null",
      "{}",
      "%",
      "e30",
      "x".repeat(3_000),
      "",
    ];
    for (const wrong of values) {
      const answer = await ask(url, `${name}=${wrong}`);
      expect([wrong, answer.status]).toEqual([wrong, 200]);
      expect(await answer.text()).toContain("Sign in");
      const session = await ask(`${url}/session`, `${name}=${wrong}`);
      expect([wrong, session.status, await session.text()]).toEqual([wrong, 200, "null"]);
    }
    expect(await (await ask(url, `${name}=${value}`)).text()).toContain("Sign out");
    // Signing in works beside such a cookie.
    const broken = await openWindow();
    await broken.addCookies([{ name, value: forged, url }]);
    const page = await openPage(broken, url);
    await enter(page, { email: `stranger${users}@example.com`, button: "Register" });
    await isLive(page);
  });

  test("a sign-out ends the session and the live lists of all tabs", async () => {
    const { window, page } = await register(url);
    await add(page, "secret task");
    const other = await openPage(window, url);
    await isLive(other);
    const { name, value } = await sessionCookie(window);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Email").waitFor();
    expect(await page.getByText("secret task").count()).toBe(0);
    expect(await window.cookies()).toEqual([]);
    await other.locator("output", { hasText: /^live$/ }).waitFor({ state: "detached" });
    await other.getByText("secret task").waitFor({ state: "detached" });
    await other.getByLabel("Email").waitFor();
    await page.goBack();
    expect(await page.getByText("secret task").count()).toBe(0);
    await page.goto(url);
    await page.getByLabel("Email").waitFor();
    // The session is over at the service, too.
    expect(await (await ask(url, `${name}=${value}`)).text()).toContain("Sign in");
  });

  test("another user in the same tab sees the tasks of this user alone", async () => {
    const { page } = await register(url);
    await add(page, "task of the first");
    await page.getByRole("button", { name: "Sign out" }).click();
    users += 1;
    await enter(page, { email: `user${users}@example.com`, button: "Register" });
    await isLive(page);
    expect(await page.getByRole("listitem").count()).toBe(0);
    await add(page, "task of the second");
    await until(async () => (await page.getByRole("listitem").count()) === 1);
  });

  test("the same user, who signs in again in the same tab, has a live list", async () => {
    const { email, page } = await register(url);
    await add(page, "task of before");
    await page.getByRole("button", { name: "Sign out" }).click();
    await enter(page, { email, button: "Sign in" });
    await shows(page, "task of before");
    await isLive(page);
    await add(page, "task of after");
    await until(async () => (await page.getByRole("listitem").count()) === 2);
  });

  test("no page had an error", () => {
    expect(problems).toEqual([]);
  });
}

/** The cookie of a user of another service, made by the packages of the app. */
async function foreignCookie(app: App): Promise<string> {
  const other = await serve(await project());
  const program = `
    import { createClient } from "@socle/client";
    import { cookieSession } from "@socle/client/server";
    let cookie;
    const session = cookieSession({ get: () => cookie, set: (name, value) => { cookie = value; } });
    await createClient({ baseUrl: "${other.url}", session }).register({ email: "ada@example.com", password: "${password}" });
    console.log(cookie);`;
  const cookie = (await app.run("node", "--input-type=module", "--eval", program)).trim();
  expect(cookie.length).toBeGreaterThan(100);
  await other.stop();
  return cookie;
}

/** The refresh token in a cookie. */
function tokenIn(cookie: string): string {
  // Frameworks encode the value of a cookie.
  const refreshToken = decodeURIComponent(cookie).split("~")[3] ?? "";
  expect(refreshToken.length).toBeGreaterThan(20);
  return refreshToken;
}
