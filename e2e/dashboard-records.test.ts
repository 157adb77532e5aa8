/** The dashboard's main work in a real browser: collections, records, migrations, imports. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { complaintsOf, type Dashboard, keepUndo, leave, openDashboard, settled } from "./dashboard.ts";
import { temporaryFolder, until } from "./kit.ts";

const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string", required: true, max: 200 },
    { name: "teaser", type: "text" },
    { name: "views", type: "integer", min: 0 },
    { name: "slug", type: "string", unique: true },
  ],
};

interface Item {
  readonly id: string;
  readonly [field: string]: unknown;
}

async function itemsOf({ api }: Dashboard, query = ""): Promise<Item[]> {
  return ((await api("GET", `/api/posts${query}`)) as { items: Item[] }).items;
}

/** A cell of the grid: rows from 0, columns from the selection's on; row -1 is the header. */
function cell(page: Page, row: number, text: string) {
  return page.locator(`[data-cell^="${row}:"]`).filter({ hasText: text });
}

const dashboard = await openDashboard({ collections: [posts] });
afterAll(() => dashboard.server.stop());

test("a collection and a record by the keyboard alone", async () => {
  const page = await dashboard.open("/collections");
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByPlaceholder("A page, a record, an email, an id …").fill("new coll");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/collections/-/new");
  await page.getByPlaceholder("A page, a record, an email, an id …").waitFor({ state: "detached" });
  // The name has the focus from the start.
  await page.locator("input:focus").waitFor();
  await page.keyboard.type("notes");
  await page.keyboard.press("Tab");
  await page.keyboard.type("text");
  await page.keyboard.press("Control+Enter");
  await page.waitForURL("**/collections/notes");
  await page.getByText("No records yet").waitFor();
  await page.locator("body").press("n");
  const drawer = page.getByRole("dialog", { name: "New record in notes" });
  await drawer.getByRole("textbox", { name: "text", exact: true }).waitFor();
  await page.keyboard.type("The first one");
  await page.keyboard.press("Control+Enter");
  await drawer.waitFor({ state: "detached" });
  await cell(page, 0, "The first one").first().waitFor();
  await page.locator('[data-cell="0:0"]:focus').waitFor();
  const { items } = (await dashboard.api("GET", "/api/notes")) as { items: Item[] };
  expect(items.map(({ text }) => text)).toEqual(["The first one"]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a record of another browser appears by itself; a change shows, a deletion leaves", async () => {
  const first = await dashboard.open("/collections/posts");
  await settled(first);
  const second = await dashboard.open("/collections/posts?record=new");
  const drawer = second.getByRole("dialog", { name: "New record in posts" });
  await drawer.getByRole("textbox", { name: "title", exact: true }).fill("Made elsewhere");
  await drawer.getByRole("button", { name: "Create" }).click();
  await cell(first, 0, "Made elsewhere").first().waitFor();
  const [made] = await itemsOf(dashboard);
  await dashboard.api("PUT", `/api/posts/${made?.id}`, { title: "Changed elsewhere" });
  await cell(first, 0, "Changed elsewhere").first().waitFor();
  await dashboard.api("DELETE", `/api/posts/${made?.id}`);
  await cell(first, 0, "Changed elsewhere").first().waitFor({ state: "detached" });
  await leave(first);
  await leave(second);
});

test("an error of the service stands at its control, and the typed text stays", async () => {
  await dashboard.api("POST", "/api/posts", { title: "Taken", slug: "taken" });
  const page = await dashboard.open("/collections/posts?record=new");
  const drawer = page.getByRole("dialog", { name: "New record in posts" });
  await drawer.getByRole("textbox", { name: "title", exact: true }).fill("Mine");
  await drawer.getByRole("textbox", { name: "slug", exact: true }).fill("taken");
  await drawer.getByRole("button", { name: "Create" }).click();
  await drawer
    .getByText(/unique/)
    .last()
    .waitFor();
  expect(await drawer.getByRole("textbox", { name: "title", exact: true }).inputValue()).toBe("Mine");
  expect((await itemsOf(dashboard)).some(({ title }) => title === "Mine")).toBe(false);
  await leave(page);
});

test("a deleted record returns with Undo, and is gone without Undo", async () => {
  const { id } = (await dashboard.api("POST", "/api/posts", { title: "To be deleted" })) as Item;
  const exists = async (): Promise<boolean> => (await itemsOf(dashboard)).some((item) => item.id === id);
  const page = await dashboard.open("/collections/posts");
  await settled(page);
  await keepUndo(page);
  await cell(page, 0, "To be deleted").first().click();
  await page.keyboard.press("Delete");
  await page.getByText("1 record of posts deleted").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await cell(page, 0, "To be deleted").first().waitFor();
  expect(await exists()).toBe(true);
  await cell(page, 0, "To be deleted").first().click();
  await page.keyboard.press("Delete");
  await page.getByRole("button", { name: "Delete now" }).click();
  await cell(page, 0, "To be deleted").first().waitFor({ state: "detached" });
  await until(async () => !(await exists()));
  await leave(page);
});

test("Escape in the export leaves the selection; both exports name their records", async () => {
  for (let n = 0; n < 3; n++) await dashboard.api("POST", "/api/posts", { title: `Exported ${n}` });
  const page = await dashboard.open(`/collections/posts?filter=${encodeURIComponent('title ~ "Exported"')}`);
  await settled(page);
  await page.locator('[data-cell="0:1"]').click();
  await page.keyboard.press(" ");
  await page.getByRole("button", { name: "Export 1 selected" }).click();
  const dialog = page.getByRole("dialog", { name: "Export posts" });
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByText("1 selected", { exact: true }).waitFor();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Export 3 filtered" }).waitFor();
  await leave(page);
});

test("text typed right after the key of a new record is in its first field", async () => {
  const page = await dashboard.open("/collections/posts");
  await settled(page);
  // The drawer is loaded when the page has come to rest.
  await page.waitForTimeout(1_500);
  await page.locator("h1").last().press("n");
  const title = page.getByRole("dialog", { name: "New record in posts" }).getByRole("textbox", { name: "title" });
  await page.locator("input:focus").waitFor();
  await page.keyboard.type("Typed at once");
  expect(await title.inputValue()).toBe("Typed at once");
  await page.keyboard.press("Escape");
  await page.getByText("Your changes are kept as a draft.").waitFor();
  // The draft is restored without a question, and can be given up.
  await page.goto(`${dashboard.server.url}/_/collections/posts?record=new`);
  await page.getByText("Your unsaved changes were restored", { exact: false }).waitFor();
  expect(await title.inputValue()).toBe("Typed at once");
  await page.getByRole("button", { name: "Discard changes" }).click();
  expect(await title.inputValue()).toBe("");
  await leave(page);
});

test("a filter that the service refuses is shown with its position; a valid filter is in the address", async () => {
  const page = await dashboard.open(`/collections/posts?filter=${encodeURIComponent("titel = 1")}`);
  await page
    .getByText(/at position 1/)
    .first()
    .waitFor();
  await page.goto(`${dashboard.server.url}/_/collections/posts?filter=${encodeURIComponent('title ~ "Taken"')}`);
  await settled(page);
  await cell(page, 0, "Taken").first().waitFor();
  await leave(page);
});

test("a migration that loses data names the lost data, and requires the name", async () => {
  for (let n = 0; n < 3; n++) await dashboard.api("POST", "/api/posts", { title: `T${n}`, teaser: "x" });
  const page = await dashboard.open("/collections/posts/schema");
  await settled(page);
  await page.getByRole("button", { name: "Remove teaser" }).click();
  await page.getByRole("textbox", { name: "Name of field slug" }).fill("path");
  await page.getByRole("button", { name: "Review changes" }).click();
  const review = page.getByRole("dialog", { name: "Review changes to posts" });
  await review.getByText(/Rename field/).waitFor();
  await review.getByText(/3 records have a value/).waitFor();
  const apply = review.getByRole("button", { name: "Apply, and drop values" });
  expect(await apply.isDisabled()).toBe(true);
  await review.getByRole("textbox").fill("post");
  expect(await apply.isDisabled()).toBe(true);
  await review.getByRole("textbox").fill("posts");
  await apply.click();
  await review.waitFor({ state: "detached" });
  // The bar with its button is gone: the focus is at the heading.
  await page.locator("h1:focus").waitFor();
  const { fields } = (await dashboard.api("GET", "/api/admin/collections/posts")) as { fields: { name: string }[] };
  expect(fields.map(({ name }) => name)).toEqual(["title", "views", "path"]);
  // The rename has kept the values.
  expect((await itemsOf(dashboard)).some(({ path }) => path === "taken")).toBe(true);
  await leave(page);
});

test("10,000 rows with 7 bad rows: 9,993 records, and a report of the 7", async () => {
  const people = {
    name: "people",
    fields: [
      { name: "name", type: "string", required: true, max: 40 },
      { name: "age", type: "integer", min: 0, max: 150 },
    ],
  };
  await dashboard.api("POST", "/api/admin/collections", people);
  const bad = [17, 400, 2_001, 5_555, 7_777, 9_000, 9_999];
  const rows = Array.from({ length: 10_000 }, (_, n) => `"Person ${n}, the ${n}th",${bad.includes(n) ? 151 : n % 100}`);
  const file = join(temporaryFolder(), "people.csv");
  await Bun.write(file, `name,age\n${rows.join("\n")}\n`);
  const page = await dashboard.open("/collections/people/import");
  await page.locator("input[type=file]").setInputFiles(file);
  const writes: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") writes.push(new URL(request.url()).pathname);
  });
  // The area for files names the button in its hint: a loose name finds the area while the file is read.
  await page.getByRole("button", { name: "Start the import", exact: true }).click();
  await page.getByText("9,993 created").waitFor({ timeout: 120_000 });
  await page.getByText("7 rejected").waitFor();
  // A request carries a hundred rows; a batch with bad rows goes out a second time, without the bad rows.
  expect(writes.filter((path) => path === "/api/batch").length).toBe(107);
  expect(writes).not.toContain("/api/people");
  // The rejected rows can be taken away, mended and imported again.
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download rejected rows" }).click();
  const rejected = await Bun.file(await (await download).path()).text();
  const names = [...rejected.matchAll(/Person (\d+), the/g)].map(([, n]) => Number(n));
  // In the order of the file.
  expect(names).toEqual(bad);
  const counted = (await dashboard.api("GET", "/api/people?limit=1&count=exact")) as { total: number };
  expect(counted.total).toBe(9_993);
  const wrong = (await dashboard.api(
    "GET",
    `/api/people?limit=1&count=exact&filter=${encodeURIComponent("age > 150")}`,
  )) as { total: number };
  expect(wrong.total).toBe(0);
  await leave(page);
});

test("an import asks for the meaning of an ambiguous cell, counts empty rows, and names the encoding of other letters", async () => {
  const weights = {
    name: "weights",
    fields: [
      { name: "name", type: "string" },
      { name: "kg", type: "float" },
    ],
  };
  await dashboard.api("POST", "/api/admin/collections", weights);
  const file = join(temporaryFolder(), "weights.csv");
  const text = "name;kg\r\nAnna;1,250\r\n;\r\nJos\u00e9;52,520\r\n";
  await Bun.write(
    file,
    Uint8Array.from(text, (character) => character.charCodeAt(0)),
  );
  const page = await dashboard.open("/collections/weights/import");
  await page.locator("input[type=file]").setInputFiles(file);
  await page.getByText("The file is not UTF-8.").waitFor();
  await page.getByText("“1,250” may be several numbers").waitFor();
  await page.getByRole("button", { name: "2 rows of 2 with problems, 1 empty row skipped" }).waitFor();
  await page.getByRole("combobox", { name: "Numbers of kg" }).click();
  await page.getByRole("option", { name: "1.234,5" }).click();
  await page.getByText("No problems in 2 rows, 1 empty row skipped").waitFor();
  await page.getByRole("button", { name: "Start the import", exact: true }).click();
  await page.getByText("2 created").waitFor();
  await page.getByText("1 empty row skipped").waitFor();
  const { items } = (await dashboard.api("GET", "/api/weights?sort=kg")) as { items: object[] };
  expect(items).toMatchObject([
    { name: "Anna", kg: 1.25 },
    { name: "José", kg: 52.52 },
  ]);
  await leave(page);
});
