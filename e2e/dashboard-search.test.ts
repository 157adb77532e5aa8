/** Full-text search in the dashboard: the searched fields in the schema editor, the search box of the grid, and an export of the hits. */
import { afterAll, expect, test } from "bun:test";
import type { CollectionEntry } from "@socle/protocol";
import type { Page } from "playwright-core";
import { complaintsOf, leave, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";
import { patience } from "./kit.ts";

const dashboard = await openDashboard({
  collections: [
    {
      name: "articles",
      fields: [
        { name: "title", type: "string" },
        { name: "body", type: "text" },
        { name: "views", type: "integer" },
      ],
    },
  ],
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;

const filler = "words that nobody looks for stand here ".repeat(20);

/** The text of a column, from the first row on. */
function cellsOf(page: Page, column: number): Promise<string[]> {
  return page.locator(`[role="gridcell"][data-cell$=":${column}"]`).allInnerTexts();
}

async function shown(page: Page, titles: readonly string[]): Promise<void> {
  for (const end = performance.now() + patience; (await cellsOf(page, 0)).join() !== titles.join(); )
    if (performance.now() > end) expect(await cellsOf(page, 0)).toEqual([...titles]);
    else await page.waitForTimeout(30);
}

test("the searched fields are chosen, reviewed and applied; fields of other types are not offered", async () => {
  await api("POST", "/api/articles", { title: "Café culture", body: "Espresso", views: 1 });
  await api("POST", "/api/articles", { title: "Tea", body: `${filler}the <b>café</b> next door`, views: 2 });
  await api("POST", "/api/articles", { title: "Water", body: "From the tap", views: 3 });
  const page = await dashboard.open("/collections/articles/schema?tab=indexes");
  await page.getByRole("combobox", { name: "Searched fields" }).click();
  expect(await page.getByRole("option").allInnerTexts()).toEqual(["title", "body"]);
  await page.getByRole("option", { name: "title" }).click();
  await page.getByRole("option", { name: "body" }).click();
  await page.keyboard.press("Escape");
  await settled(page);
  expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByText("Search the words of").waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Collection articles was changed").waitFor();
  const { definition } = (await api("GET", "/api/admin/collections/articles")) as CollectionEntry;
  expect(definition.search).toEqual(["title", "body"]);
  // A searched field that is dropped is a problem of this tab.
  await page.getByRole("tab", { name: "Fields" }).click();
  await page.getByRole("button", { name: "Remove body" }).click();
  await page.getByRole("tab", { name: /Indexes/ }).click();
  await page.getByText('"body" will be dropped. Remove the field here, too.').waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the box finds words during the typing, and the cells show the places", async () => {
  const page = await dashboard.open("/collections/articles");
  await shown(page, ["Water", "Tea", "Café culture"]);
  await page.keyboard.press("/");
  await page.keyboard.type("caf");
  await shown(page, ["Café culture", "Tea"]);
  await settled(page);
  expect(await page.locator("mark").allInnerTexts()).toEqual(["Café", "café"]);
  // Markup of a record is text.
  expect((await cellsOf(page, 1))[1]).toContain("the <b>café</b> next door");
  expect(new URL(page.url()).searchParams.get("search")).toBe("caf");
  expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
  // With a condition, and with an order.
  await page.goto(
    `${dashboard.server.url}/_/collections/articles?search=caf&filter=${encodeURIComponent("views > 1")}`,
  );
  await shown(page, ["Tea"]);
  await page.goto(`${dashboard.server.url}/_/collections/articles?search=caf&sort=title`);
  await shown(page, ["Café culture", "Tea"]);
  await page.getByRole("button", { name: "Clear the search" }).click();
  await shown(page, ["Café culture", "Tea", "Water"]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("nothing found, and a text without a word, are no errors", async () => {
  const page = await dashboard.open("/collections/articles?search=nowhere");
  await page.getByText("Search and filter find nothing in this collection.").waitFor();
  await page.getByRole("button", { name: "Clear search and filter" }).click();
  await shown(page, ["Water", "Tea", "Café culture"]);
  await page.getByRole("searchbox", { name: "Search words" }).fill('"');
  await page.waitForURL(/search=/);
  await shown(page, ["Water", "Tea", "Café culture"]);
  // The service explains its refusal.
  await page.getByRole("searchbox", { name: "Search words" }).fill("a ".repeat(40));
  await page.getByText("at most 32 words are allowed").waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the export has the found records", async () => {
  const page = await dashboard.open("/collections/articles?search=caf");
  await shown(page, ["Café culture", "Tea"]);
  // Without `showSaveFilePicker`, the browser downloads the file.
  await page.evaluate("delete window.showSaveFilePicker");
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Export 2 filtered" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const rows = (await Bun.file(await (await download).path()).text()).trim().split("\n");
  expect(rows).toHaveLength(3);
  expect(rows.join()).not.toContain("Water");
  await leave(page);
});
