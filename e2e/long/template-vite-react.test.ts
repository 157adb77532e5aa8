/** The template for Vite and React, in Chromium: with the server of Vite during development, and built, as the service serves the page. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { openWindow } from "../browser.ts";
import { freePort, serve, socle, until } from "../kit.ts";
import { buildApp, environment } from "../ssr-kit.ts";

setDefaultTimeout(600_000);

const app = await buildApp("vite-react");
const problems: string[] = [];

async function openTab(window: BrowserContext, url: string): Promise<Page> {
  const page = await window.newPage();
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(url);
  return page;
}

async function enter(page: Page, button: "Sign in" | "Register", password = "correct horse battery"): Promise<void> {
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: button }).click();
}

async function isLive(page: Page): Promise<void> {
  await page.locator("output", { hasText: /^live$/ }).waitFor();
}

async function add(page: Page, title: string): Promise<void> {
  await page.getByLabel("Title").fill(title);
  await page.getByRole("button", { name: "Add" }).click();
  await page.getByLabel(title).waitFor();
}

/** The first minute of a user: two tabs, a reload, a sign-out, and a sign-in again. */
async function drive(url: string): Promise<void> {
  const window = await openWindow();
  const first = await openTab(window, url);
  await enter(first, "Register");
  await isLive(first);
  const second = await openTab(window, url);
  await second.getByText("ada@example.com").waitFor();
  await isLive(second);
  await add(first, "Water the plants");
  await second.getByLabel("Water the plants").check();
  await until(() => first.getByLabel("Water the plants").isChecked());
  await first.reload();
  await first.getByText("ada@example.com").waitFor();
  await isLive(first);
  expect(await first.getByLabel("Water the plants").isChecked()).toBe(true);
  expect(await first.getByLabel("Email").count()).toBe(0);
  await second.getByRole("button", { name: "Sign out" }).click();
  for (const page of [first, second]) {
    await page.getByLabel("Email").waitFor();
    expect(await page.getByText("Water the plants").count()).toBe(0);
  }
  await first.reload();
  await enter(first, "Sign in", "a wrong password");
  await first.getByRole("alert").waitFor();
  await enter(first, "Sign in");
  await first.getByLabel("Water the plants").waitFor();
  expect(problems).toEqual([]);
}

test("the page works with the server of Vite", async () => {
  const service = await serve(app.cwd, { args: ["dev", "--port", "0"] });
  const port = await freePort();
  const vite = Bun.spawn(["npm", "run", "dev", "--", "--port", String(port), "--strictPort", "--host", "127.0.0.1"], {
    cwd: app.cwd,
    env: environment(app.cwd, { SOCLE_URL: service.url, NODE_ENV: "development" }),
    ...{ stdin: "ignore", stdout: "ignore", stderr: "inherit" },
    detached: true,
  });
  // The server of Vite is a child of npm: the group ends with both.
  afterAll(() => {
    if (vite.exitCode === null) process.kill(-vite.pid, "SIGKILL");
  });
  const url = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
  await drive(url);
});

test("the built page works, served by the service", async () => {
  const env = { SERVICE_PUBLIC: "dist", SERVICE_DATABASE: "built.db" };
  const service = await serve(app.cwd, { args: ["--port", "0"], env });
  await drive(service.url);
});

test("the test of the template passes, and the written types are those of the collections", async () => {
  const { code, stderr } = await socle(["test"], { cwd: app.cwd });
  expect([code, stderr]).toEqual([0, expect.stringContaining("\n 0 fail")]);
  const written = await Bun.file(`${app.cwd}/src/project.ts`).text();
  expect((await socle(["types", "--module", "src/project.ts"], { cwd: app.cwd })).code).toBe(0);
  expect(await Bun.file(`${app.cwd}/src/project.ts`).text()).toBe(written);
});
