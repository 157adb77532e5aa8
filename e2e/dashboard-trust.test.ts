/** Trust in the dashboard: undo, the records that point to a record, dates, the visibility of files. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { png } from "../packages/server/test/images.ts";
import { openWindow } from "./browser.ts";
import { complaintsOf, keepUndo, leave, openDashboard, settled, violationsOf } from "./dashboard.ts";
import { temporaryFolder, until } from "./kit.ts";

const readable = { read: "public", create: "authenticated", update: "owner", delete: "admin" };
const dashboard = await openDashboard({
  collections: [
    {
      name: "authors",
      fields: [
        { name: "name", type: "string", required: true },
        { name: "born", type: "datetime" },
        { name: "portrait", type: "file" },
      ],
      permissions: readable,
    },
    {
      name: "books",
      fields: [
        { name: "title", type: "string", required: true },
        { name: "author", type: "relation", collection: "authors" },
        { name: "price", type: "float", min: 0 },
      ],
      permissions: readable,
    },
  ],
});
afterAll(() => dashboard.server.stop());
const { api, server } = dashboard;

interface Item {
  readonly id: string;
  readonly [field: string]: unknown;
}

const make = async (collection: string, values: object): Promise<Item> =>
  (await api("POST", `/api/${collection}`, values)) as Item;
const isThere = async (id: string): Promise<boolean> =>
  ((await api("GET", "/api/authors?limit=100")) as { items: Item[] }).items.some((item) => item.id === id);

test("an undo holds on other pages, and names the records that point to the record", async () => {
  const { id } = await make("authors", { name: "To be kept" });
  for (let n = 0; n < 3; n++) await make("books", { title: `Book ${n}`, author: id });
  const page = await dashboard.open("/collections/authors");
  await settled(page);
  await keepUndo(page);
  await page.locator('[data-cell^="0:"]').filter({ hasText: "To be kept" }).click();
  await page.keyboard.press("Delete");
  await page.getByText("1 record of authors deleted").waitFor();
  await page.getByText(/3 records of books point to it/).waitFor();
  await page.getByRole("link", { name: "Users" }).click();
  await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Nothing was deleted").waitFor();
  expect(await isThere(id)).toBe(true);
  await page.getByRole("link", { name: "Collections" }).click();
  await page.getByRole("link", { name: /^authors/ }).click();
  await page.locator('[data-cell^="0:"]').filter({ hasText: "To be kept" }).waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("without an undo the record is deleted, also from another page; leaving the dashboard sends the deletion at once", async () => {
  const first = await make("authors", { name: "To go first" });
  const page = await dashboard.open("/collections/authors");
  await settled(page);
  await keepUndo(page);
  await page.locator('[data-cell^="0:"]').filter({ hasText: "To go first" }).click();
  await page.keyboard.press("Delete");
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByRole("button", { name: "Delete now" }).click();
  await until(async () => !(await isThere(first.id)));
  const second = await make("authors", { name: "To go second" });
  await page.goto(`${server.url}/_/collections/authors`);
  await settled(page);
  await keepUndo(page);
  await page.locator('[data-cell^="0:"]').filter({ hasText: "To go second" }).click();
  await page.keyboard.press("Delete");
  await page.getByText("1 record of authors deleted").waitFor();
  await page.goto("about:blank");
  await until(async () => !(await isThere(second.id)));
  await page.context().close();
});

test("an own deletion is no news; a chip whose record is gone shows the loss at once, and after a reload", async () => {
  const { id } = await make("authors", { name: "Gone soon" });
  await make("books", { title: "Left behind", author: id });
  const page = await dashboard.open("/collections/books?sort=title");
  await settled(page);
  const chip = page.getByRole("gridcell").filter({ hasText: "Gone soon" });
  await chip.waitFor();
  const other = await dashboard.open(`/collections/authors?sort=name&record=${id}`);
  const drawer = other.getByRole("dialog", { name: /^Gone soon/ });
  await drawer.getByRole("button", { name: "Delete" }).click();
  const question = other.getByRole("dialog", { name: "Delete this record?" });
  await question.getByText(/1 record of books points to it/).waitFor();
  await question.getByRole("button", { name: "Delete record" }).click();
  await question.waitFor({ state: "detached" });
  await chip.waitFor({ state: "detached" });
  const broken = page.getByRole("gridcell").filter({ hasText: "The record does not exist any more." });
  await broken.waitFor();
  await page.reload();
  await settled(page);
  await broken.waitFor();
  expect(await violationsOf(page)).toEqual([]);

  const mine = await make("authors", { name: "Mine" });
  await other.goto(`${server.url}/_/collections/authors?sort=name`);
  await settled(other);
  await keepUndo(other);
  await other.getByRole("gridcell").filter({ hasText: "Mine" }).click();
  await other.keyboard.press("Delete");
  await other.getByRole("button", { name: "Delete now" }).click();
  await until(async () => !(await isThere(mine.id)));
  await other.waitForTimeout(500);
  expect(await other.getByRole("button", { name: "Records have changed" }).count()).toBe(0);
  await leave(page);
  await leave(other);
});

test("a date is the same day in every zone", async () => {
  const { id } = await make("authors", { name: "Ursula", born: "1929-10-21" });
  const context = await openWindow({ timezoneId: "America/New_York", locale: "en-US" });
  const tokens = (await (
    await fetch(`${server.url}/api/auth/login`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ email: "admin@example.com", password: "correct horse battery" }),
    })
  ).json()) as { accessToken: string; refreshToken: string };
  await context.addInitScript((kept) => sessionStorage.setItem("socle.tokens", kept), JSON.stringify(tokens));
  const page = await context.newPage();
  await page.goto(`${server.url}/_/collections/authors?filter=${encodeURIComponent('name = "Ursula"')}`);
  await settled(page);
  await page.getByText("Oct 21, 1929", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Open the record" }).first().click();
  const born = page.getByRole("textbox", { name: "born" });
  await born.waitFor();
  expect(await born.inputValue()).toBe("1929-10-21");
  await page.getByRole("button", { name: "Choose the time of born" }).click();
  await page.getByRole("radio", { name: "Date only" }).isChecked();
  await page.getByRole("button", { name: /^23 October 1929/ }).click();
  expect(await born.inputValue()).toBe("1929-10-23");
  await page.keyboard.press("Control+s");
  await until(async () => ((await api("GET", `/api/authors/${id}`)) as Item)["born"] === "1929-10-23T00:00:00.000Z");
  await context.close();
});

test("a file beside records that everybody reads is public, and the switch changes the existing file", async () => {
  const path = join(temporaryFolder(), "portrait.png");
  await Bun.write(path, png(40, 40));
  const page = await dashboard.open("/collections/authors?record=new");
  const drawer = page.getByRole("dialog", { name: "New record in authors" });
  await drawer.getByText("Everybody may read authors.", { exact: false }).waitFor();
  await drawer.locator("input[type=file]").first().setInputFiles(path);
  await drawer.getByText("This file is").waitFor();
  const [file] = ((await api("GET", "/api/admin/storage")) as { items: Item[] }).items;
  expect(file?.["visibility"]).toBe("public");
  await drawer.getByText("Protected", { exact: true }).last().click();
  const visibility = async (): Promise<unknown> =>
    ((await api("GET", `/api/admin/storage/${file?.id}`)) as Item)["visibility"];
  await until(async () => (await visibility()) === "protected");
  expect(await violationsOf(page)).toEqual([]);
  await leave(page);
});

test("numbers are checked during the typing, with a single complaint; text typed into a relation searches", async () => {
  await make("authors", { name: "Ada Lovelace" });
  const page = await dashboard.open("/collections/books?record=new");
  const drawer = page.getByRole("dialog", { name: "New record in books" });
  const price = drawer.getByRole("textbox", { name: "price" });
  await price.fill("9,99");
  await drawer.getByText("Write the decimals after a point: 9.99.").waitFor();
  await price.fill("-3");
  await drawer.getByText("Must be at least 0.").waitFor();
  await price.fill("3");
  await drawer.getByRole("combobox", { name: "author" }).focus();
  await page.keyboard.type("ada");
  await page.getByRole("option", { name: /Ada Lovelace/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+s");
  await drawer.getByText("title is required", { exact: true }).waitFor();
  await leave(page);
});
