/** Places and sizes that a review of the pages once found wrong: elements that are cut, too small, out of line or overlapping. */
import { afterAll, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { overflowOf, settled, violationsOf } from "./dashboard.ts";
import { openFilledDashboard } from "./dashboard-data.ts";

const dashboard = await openFilledDashboard();
afterAll(() => dashboard.server.stop());

async function boxOf(locator: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await locator.boundingBox();
  if (box === null) throw new Error("It is not on the page");
  return box;
}

/** The place of the radio button for a rule of an operation. */
function choiceOf(page: Page, operation: string, rule: string) {
  return boxOf(page.getByRole("radio", { name: `${operation}: ${rule}` }));
}

test("permissions are a matrix in a window of ordinary width, and stand in columns on a phone", async () => {
  const wide = await dashboard.open("/collections/posts/schema?tab=permissions", { width: 1_280 });
  await settled(wide);
  expect((await choiceOf(wide, "Read", "Public")).y).toBe((await choiceOf(wide, "Read", "Expression")).y);
  expect((await choiceOf(wide, "Read", "Owner")).x).toBe((await choiceOf(wide, "Delete", "Owner")).x);
  expect((await boxOf(wide.getByRole("columnheader", { name: "Expression" }))).width).toBeGreaterThan(60);
  await wide.context().close();
  const narrow = await dashboard.open("/collections/posts/schema?tab=permissions", { width: 390, height: 800 });
  await settled(narrow);
  expect((await choiceOf(narrow, "Read", "Public")).x).toBe((await choiceOf(narrow, "Read", "Admin")).x);
  expect((await choiceOf(narrow, "Read", "Owner")).x).toBe((await choiceOf(narrow, "Delete", "Owner")).x);
  expect(await overflowOf(narrow)).toBe(0);
  await narrow.context().close();
});

test("an open list of options breaks no rule of axe, and its last option is reached by the keyboard", async () => {
  const page = await dashboard.open("/collections/posts");
  await settled(page);
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  const list = page.getByRole("listbox");
  await list.waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  const last = await boxOf(list.getByRole("option").last());
  const frame = await boxOf(list);
  expect(last.y + last.height).toBeLessThanOrEqual(frame.y + frame.height + 1);
  await page.context().close();
});

test("completions stand below the expression, and not over its border", async () => {
  const page = await dashboard.open(`/collections/posts?filter=${encodeURIComponent("views > 100")}`);
  await settled(page);
  await page.getByRole("button", { name: "Edit as text" }).click();
  const expression = page.getByRole("textbox", { name: "Filter expression" });
  await expression.focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("auth");
  const frame = await boxOf(expression.locator("xpath=ancestor::div[contains(@class, 'frame')][1]"));
  const list = await boxOf(page.locator(".cm-tooltip-autocomplete"));
  expect(list.y).toBeGreaterThanOrEqual(frame.y + frame.height);
  await page.context().close();
});

test("on a phone the diagram begins large enough to read", async () => {
  const page = await dashboard.open("/collections/-/diagram", { width: 390, height: 800 });
  await settled(page);
  const node = page.locator(".react-flow__node").filter({ hasText: "publishedAt" });
  await node.waitFor();
  expect((await boxOf(node)).width).toBeGreaterThan(150);
  expect(await overflowOf(page)).toBe(0);
  await page.context().close();
});
