/** The templates whose page needs no build, in Chromium: `blank` and `shop`. e2e/chat.test.ts and e2e/tracker.test.ts have the others. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { openWindow } from "../browser.ts";
import { copyExample, serve, socle, temporaryFolder, until } from "../kit.ts";

setDefaultTimeout(600_000);

const problems: string[] = [];

async function openTab(window: BrowserContext, url: string): Promise<Page> {
  const page = await window.newPage();
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(url);
  await page.locator("output", { hasText: /^live$/ }).waitFor();
  return page;
}

async function enter(page: Page, button: "Sign in" | "Register", password = "correct horse battery"): Promise<void> {
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: button }).click();
}

test("blank: a note is in both tabs, a reload stays signed in, and a sign-out is for both tabs", async () => {
  const cwd = temporaryFolder();
  expect((await socle(["init"], { cwd })).code).toBe(0);
  const { url, output } = await serve(cwd, { args: ["dev", "--port", "0"] });
  const window = await openWindow();
  const [first, second] = [await openTab(window, url), await openTab(window, url)];
  await enter(first, "Register", "password123");
  await first.getByRole("alert").filter({ hasText: "common" }).waitFor();
  await enter(first, "Register");
  await second.getByRole("button", { name: "Sign out" }).waitFor();
  await first.getByLabel("Title").fill("Buy <b>milk</b>");
  await first.getByRole("button", { name: "Add" }).click();
  await second.getByLabel("Buy <b>milk</b>").check();
  await until(() => first.getByLabel("Buy <b>milk</b>").isChecked());
  await until(() => output().includes("New note: Buy <b>milk</b>"));
  await first.reload();
  await first.getByRole("button", { name: "Sign out" }).waitFor();
  // A stranger sees the note, and may not change the note.
  const stranger = await openTab(await openWindow(), url);
  await stranger.getByLabel("Buy <b>milk</b>").click();
  await stranger.getByRole("alert").filter({ hasText: /\w/ }).waitFor();
  expect(await second.getByLabel("Buy <b>milk</b>").isChecked()).toBe(true);
  await first.getByRole("button", { name: "Sign out" }).click();
  await second.getByLabel("Email").waitFor();
  expect(await second.getByLabel("Title").isVisible()).toBe(false);
  await enter(second, "Sign in");
  await first.getByRole("button", { name: "Sign out" }).waitFor();
  expect(problems).toEqual([]);
});

test("shop: an order takes the stock in every tab, and the order is confirmed; a wrong coupon is refused", async () => {
  const cwd = temporaryFolder();
  copyExample("shop", cwd);
  expect((await socle(["seed", "seed.json"], { cwd })).code).toBe(0);
  const { url } = await serve(cwd, { args: ["--port", "0"] });
  const window = await openWindow();
  const [buyer, stranger] = [await openTab(window, url), await openTab(await openWindow(), url)];
  await enter(buyer, "Register");
  await buyer.getByLabel("Coupon").fill("WINTER");
  await buyer.getByRole("button", { name: "Buy Table" }).click();
  await buyer.getByRole("alert").filter({ hasText: "no such coupon" }).waitFor();
  await stranger.getByText("Table, 199.00, 3 left").waitFor();
  await buyer.getByLabel("Coupon").fill("SPRING");
  await buyer.getByRole("button", { name: "Buy Table" }).click();
  await stranger.getByText("Table, 199.00, 2 left").waitFor();
  await buyer.getByText("179.10 confirmed").waitFor();
  for (const left of [1, 0]) {
    await buyer.getByRole("button", { name: "Buy Table" }).click();
    await buyer.getByText(`Table, 199.00, ${left} left`).waitFor();
  }
  expect(await stranger.getByRole("button", { name: "Buy Table" }).isDisabled()).toBe(true);
  await buyer.reload();
  await buyer.getByText("179.10 confirmed").waitFor();
  expect(await stranger.getByText("179.10").count()).toBe(0);
  // Nobody buys without a sign-in.
  await stranger.getByRole("button", { name: "Buy Lamp" }).click();
  await stranger.getByRole("alert").filter({ hasText: /\w/ }).waitFor();
  expect(await stranger.getByText("Lamp, 25.00, 25 left").count()).toBe(1);
  expect(problems).toEqual([]);
});
