/** Places and sizes that a review of the pages once found wrong: elements that are cut, too small, out of line or overlapping. */
import { afterAll, expect, test } from "bun:test";
import type { Overview } from "@socle/protocol";
import type { Locator, Page } from "playwright-core";
import { leave, overflowOf, settled, violationsOf } from "./dashboard.ts";
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
  await leave(wide);
  const narrow = await dashboard.open("/collections/posts/schema?tab=permissions", { width: 390, height: 800 });
  await settled(narrow);
  expect((await choiceOf(narrow, "Read", "Public")).x).toBe((await choiceOf(narrow, "Read", "Admin")).x);
  expect((await choiceOf(narrow, "Read", "Owner")).x).toBe((await choiceOf(narrow, "Delete", "Owner")).x);
  expect(await overflowOf(narrow)).toBe(0);
  await leave(narrow);
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
  await leave(page);
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
  await leave(page);
});

test("on a phone the diagram begins large enough to read", async () => {
  const page = await dashboard.open("/collections/-/diagram", { width: 390, height: 800 });
  await settled(page);
  const node = page.locator(".react-flow__node").filter({ hasText: "publishedAt" });
  await node.waitFor();
  expect((await boxOf(node)).width).toBeGreaterThan(150);
  expect(await overflowOf(page)).toBe(0);
  await leave(page);
});

test("each value on the axis of a chart has its line, and the rows of panels end at the same place", async () => {
  const page = await dashboard.open("/users");
  await page.route("**/api/admin/overview", async (route) => {
    const response = await route.fetch();
    const overview = (await response.json()) as Overview;
    // Four steps of the axis: 0, 20, 40, 60, 80.
    const requests = overview.requests.map((minute) => ({ ...minute, requests: 80, p99: 80 }));
    await route.fulfill({ response, json: { ...overview, requests } });
  });
  await page.getByRole("link", { name: "Overview" }).click();
  const charts = page.locator(".recharts-wrapper");
  await charts.nth(1).waitFor();
  for (const chart of await charts.all()) {
    expect(await chart.locator(".recharts-yAxis-tick-labels text").allTextContents()).toHaveLength(5);
    expect(await chart.locator(".recharts-cartesian-grid-horizontal line").count()).toBe(5);
  }
  // No panel leaves an empty place beside the panel.
  const ends = await page.locator("main section").evaluateAll((sections) => {
    const right = new Map<number, number>();
    for (const section of sections) {
      const { top, right: end } = section.getBoundingClientRect();
      right.set(Math.round(top), Math.max(right.get(Math.round(top)) ?? 0, Math.round(end)));
    }
    return [...right.values()];
  });
  expect(ends.length).toBeGreaterThan(3);
  expect(new Set(ends).size).toBe(1);
  await leave(page);
});

test("in the log of a run, the time has enough room before the level", async () => {
  const { items } = (await dashboard.api("GET", "/api/admin/functions/runs?status=failed")) as {
    items: readonly { runId: string }[];
  };
  const page = await dashboard.open(`/functions?tab=runs&run=${items[0]?.runId}`);
  const time = page.getByRole("list", { name: "Log" }).getByRole("listitem").first().locator("time");
  expect(await time.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
  await leave(page);
});

test("on a phone, the hint of a role ends inside the drawer", async () => {
  const { items } = (await dashboard.api("GET", "/api/admin/users?search=ada")) as { items: readonly { id: string }[] };
  const page = await dashboard.open(`/users?user=${items[0]?.id}`, { width: 390, height: 800 });
  const hint = await boxOf(page.getByText("Has the rights that the permissions of each collection give"));
  expect(hint.x + hint.width).toBeLessThanOrEqual(390);
  await leave(page);
});

test("on a phone, the bar of the selected records holds all its buttons", async () => {
  const page = await dashboard.open("/collections/posts", { width: 390, height: 800 });
  for (const row of [1, 2]) await page.getByRole("row").nth(row).getByRole("gridcell").first().click();
  const bar = page.getByRole("toolbar", { name: "Selected records" });
  const frame = await boxOf(bar);
  for (const button of await bar.getByRole("button").all()) {
    const { x, width } = await boxOf(button);
    expect(x + width).toBeLessThanOrEqual(frame.x + frame.width);
  }
  await leave(page);
});
