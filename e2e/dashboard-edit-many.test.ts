/** The edit of many records in the dashboard: of a selection, of all that match, with refusals and an undo; and the panel of a record beside the grid. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, openDashboard, settled, violationsOf } from "./dashboard.ts";
import { until } from "./kit.ts";

const tasks = {
  name: "tasks",
  fields: [
    { name: "title", type: "string", required: true },
    { name: "code", type: "string", unique: true },
    { name: "stage", type: "string", values: ["open", "done"] },
    { name: "points", type: "integer", max: 10 },
  ],
};
/** Refuses the change of locked records. */
const hook = `export function beforeUpdate({ previous }: { previous: { title: string } }) {
  if (previous.title === "Task 299") throw new Refusal("This task is locked.");
}
`;
const dashboard = await openDashboard({ collections: [tasks], files: { "functions/tasks/lock.ts": hook } });
afterAll(() => dashboard.server.stop());

const operations = Array.from({ length: 600 }, (_, n) => ({
  method: "create",
  collection: "tasks",
  body: { title: `Task ${n}`, stage: "open", points: n < 300 ? 1 : 2 },
}));
await dashboard.api("POST", "/api/batch", { operations });

async function countOf(filter: string): Promise<number> {
  const query = new URLSearchParams({ filter, limit: "1", count: "exact" });
  return ((await dashboard.api("GET", `/api/tasks?${query}`)) as { total: number }).total;
}

test("selected records get a value, and Undo gives the values before; unique fields are not offered", async () => {
  const page = await dashboard.open("/collections/tasks");
  await settled(page);
  const boxes = page.getByRole("checkbox", { name: /^Select record/ });
  for (const row of [0, 1]) await boxes.nth(row).locator("..").click();
  await page.getByRole("button", { name: "Edit 2 selected" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit 2 records" });
  await dialog.getByRole("combobox", { name: "Field" }).click();
  expect(await page.getByRole("option").allInnerTexts()).toEqual(["title", "stage", "points"]);
  await page.getByRole("option", { name: "points" }).click();
  await dialog.getByRole("textbox", { name: "New value of points" }).fill("7");
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Change the records" }).click();
  await page.getByText("2 records changed").waitFor();
  expect(await countOf("points = 7")).toBe(2);
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await countOf("points = 7")) === 0);
  expect(await countOf("points = 2")).toBe(300);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("all records that match get a value, beyond the loaded rows; a refused record stays and is listed with its reason", async () => {
  const page = await dashboard.open(`/collections/tasks?filter=${encodeURIComponent("points = 1")}`);
  await settled(page);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Edit all 300 that match" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit all 300 that match" });
  await dialog.getByRole("combobox", { name: "Field" }).click();
  await page.getByRole("option", { name: "points" }).click();
  await dialog.getByRole("textbox", { name: "New value of points" }).fill("5");
  await dialog.getByRole("button", { name: "Change the records" }).click();
  await dialog.getByText("299 records changed. 1 record was refused:").waitFor();
  await dialog.getByText("This task is locked.").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect([await countOf("points = 5"), await countOf("points = 1"), await countOf("points = 2")]).toEqual([
    299, 1, 300,
  ]);
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await countOf("points = 1")) === 300);
  await leave(page);
});

test("the panel of a record stands beside the grid, which stays in use; next and previous follow the order of the grid", async () => {
  const page = await dashboard.open("/collections/tasks?sort=title&filter=points%20%3D%202", { width: 1_440 });
  await settled(page);
  const openers = page.getByRole("button", { name: "Open the record" });
  await openers.first().click();
  await page.getByRole("dialog", { name: /^Task 300/ }).waitFor();
  expect(await page.locator(".mantine-Drawer-overlay").count()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  // The grid ends at the panel, so that each column can be reached.
  const [grid, panel] = [await page.getByRole("grid").boundingBox(), await page.getByRole("dialog").boundingBox()];
  expect((grid?.x ?? 0) + (grid?.width ?? 2_000)).toBeLessThanOrEqual(panel?.x ?? 0);
  expect(await page.getByRole("button", { name: "Previous record" }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Next record" }).click();
  await page.getByRole("dialog", { name: /^Task 301/ }).waitFor();
  await page.keyboard.press("Alt+ArrowDown");
  await page.getByRole("dialog", { name: /^Task 302/ }).waitFor();
  await page.keyboard.press("Alt+ArrowUp");
  await page.getByRole("dialog", { name: /^Task 301/ }).waitFor();
  // A draft keeps typed text when another record is opened from the grid.
  await page.getByRole("dialog").getByRole("textbox", { name: "title", exact: true }).fill("Typed");
  await openers.nth(4).click();
  await page.getByRole("dialog", { name: /^Task 304/ }).waitFor();
  await openers.nth(1).click();
  await page.getByRole("dialog", { name: /^Task 301/ }).waitFor();
  expect(await page.getByRole("dialog").getByRole("textbox", { name: "title", exact: true }).inputValue()).toBe(
    "Typed",
  );
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: /^Task 301/ }).waitFor({ state: "detached" });
  expect(await countOf('title = "Typed"')).toBe(0);
  await leave(page);
});

test("the panel beside the grid is not modal: Tab leaves the panel, keys work in the grid, Escape closes the panel and gives the row the focus", async () => {
  const page = await dashboard.open("/collections/tasks?sort=title&filter=points%20%3D%202", { width: 1_440 });
  await settled(page);
  const openers = page.getByRole("button", { name: "Open the record" });
  const panel = page.getByRole("dialog", { name: /^Task/ });
  await openers.nth(1).click();
  // The name of the record has the focus.
  await panel.locator("h2:focus", { hasText: "Task 301" }).waitFor();
  expect(await panel.getAttribute("aria-modal")).toBe("false");
  await page.keyboard.press("Shift+Tab");
  await page.locator("#main :focus").waitFor();
  await page.keyboard.press("Tab");
  await panel.locator(":focus").waitFor();
  await panel.getByRole("button", { name: "Close" }).last().focus();
  await page.keyboard.press("Tab");
  expect(await panel.locator(":focus").count()).toBe(0);

  const cell = (row: string) => page.getByRole("row", { name: row }).getByRole("gridcell");
  await cell("Task 303").last().click();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("row", { name: "Task 304" }).locator(":focus").waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor({ state: "detached" });
  // The Escape was for the list alone.
  expect(await panel.count()).toBe(1);
  await page.getByRole("row", { name: "Task 304" }).locator(":focus").waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await page.getByRole("row", { name: "Task 304" }).locator(":focus").waitFor();

  await openers.nth(1).click();
  await panel.locator("h2:focus", { hasText: "Task 301" }).waitFor();
  await panel.getByRole("button", { name: "Next record" }).click();
  await panel.locator("h2:focus", { hasText: "Task 302" }).waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await page.getByRole("row", { name: "Task 302" }).locator(":focus").waitFor();

  // A narrower window has no room beside the grid: the panel keeps the Tab key.
  await page.setViewportSize({ width: 1_024, height: 860 });
  await openers.nth(1).click();
  await panel.locator("h2:focus", { hasText: "Task 301" }).waitFor();
  expect(await panel.getAttribute("aria-modal")).toBe("true");
  await page.keyboard.press("Shift+Tab");
  await panel.locator(":focus").waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});
