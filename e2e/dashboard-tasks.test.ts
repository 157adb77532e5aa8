/** Tasks of a new user of the dashboard, in a real browser: the obstacles that this user met must not come back. */
import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import {
  complaintsOf,
  keepUndo,
  leave,
  openDashboard,
  overflowOf,
  settled,
  violationsOf,
  type WindowOptions,
} from "./dashboard.ts";
import { until } from "./kit.ts";

const dashboard = await openDashboard({
  collections: [
    {
      name: "authors",
      fields: [
        { name: "name", type: "string", required: true },
        { name: "email", type: "string", unique: true },
        { name: "best", type: "relation", collection: "books" },
      ],
    },
    {
      name: "books",
      fields: [
        { name: "title", type: "string" },
        { name: "author", type: "relation", collection: "authors" },
      ],
    },
    { name: "notes", fields: [{ name: "text", type: "string" }] },
    { name: "visits", fields: [{ name: "place", type: "string" }] },
  ],
  files: {
    "functions/notes/keep.ts": `export const beforeDelete: BeforeDelete<"notes"> = ({ record }) => {
      if (record.text?.startsWith("Keep")) throw new Refusal("This note is to be kept.", { status: 403 });
    };`,
    "functions/visits/greet.ts": `export const onCreate: OnCreate<"visits"> = ({ record }) => {
      throw new Error("nobody is at " + record.place);
    };`,
  },
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;

interface Item {
  readonly id: string;
  readonly [field: string]: unknown;
}

const make = async (collection: string, values: object): Promise<Item> =>
  (await api("POST", `/api/${collection}`, values)) as Item;
const read = async (collection: string, id: string): Promise<Item> =>
  (await api("GET", `/api/${collection}/${id}`)) as Item;
const count = async (collection: string): Promise<number> =>
  ((await api("GET", `/api/${collection}?limit=1&count=exact`)) as { total: number }).total;

/** Pixels by which the page is scrolled sideways, within its frame too. */
const scrolled = (page: Page): Promise<number> =>
  page.evaluate<number>("document.querySelector('#main').scrollLeft + scrollX");

test("Tab goes from field to field of a new record, and removes no value; a missing target can be made", async () => {
  const page = await dashboard.open("/collections/authors?record=new");
  const drawer = page.getByRole("dialog", { name: "New record in authors" });
  await drawer.locator("input:focus").waitFor();
  // The control of the relation loads at its first use.
  await drawer.getByRole("combobox", { name: "best" }).waitFor();
  await page.keyboard.type("Ada");
  await page.keyboard.press("Tab");
  await page.keyboard.type("ada@example.com");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  // Enter has opened the relation, and has not emptied the field above.
  await page.getByText("books has no records yet.").waitFor();
  expect(await page.getByRole("link", { name: "Make a record in another tab" }).getAttribute("href")).toContain(
    "/_/collections/books?record=new",
  );
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+s");
  await drawer.waitFor({ state: "detached" });
  const { items } = (await api("GET", "/api/authors")) as { items: Item[] };
  expect(items.map(({ name, email, best }) => [name, email, best])).toEqual([["Ada", "ada@example.com", null]]);
  // A stored value can be set to null by the keyboard still.
  await page.getByRole("button", { name: "Open the record" }).first().click();
  const stored = page.getByRole("dialog", { name: "Ada" });
  await stored.getByRole("textbox", { name: "email" }).focus();
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Set email to null");
  // Nothing is changed: the drawer offers Close instead of Cancel.
  await stored.getByRole("button", { name: "Close", exact: true }).last().click();
  await stored.waitFor({ state: "detached" });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

/** The grid of the authors with wide first columns. */
async function openWide(window: WindowOptions): Promise<Page> {
  const page = await dashboard.open("/collections/authors", window);
  await page.evaluate(
    `localStorage.setItem("socle.columns.authors", JSON.stringify({ widths: { name: 400, email: 400 } }))`,
  );
  await page.reload();
  await settled(page);
  return page;
}

test("a relation in a cell that is half on the screen: the first match is taken by Enter and stored, nothing shifts", async () => {
  const author = await make("authors", { name: "Grace", email: "grace@example.com" });
  const book = await make("books", { title: "Compilers" });
  const page = await openWide({ width: 1_180 });
  const row = page.getByRole("row").filter({ hasText: "Grace" });
  const cell = row.locator('[data-cell$=":2"]');
  const before = await cell.boundingBox();
  if (before === null) throw new Error("The cell is not there");
  // The end is beyond the window.
  expect(before.x + before.width).toBeGreaterThan(1_180);
  await page.mouse.dblclick(before.x + 12, before.y + 12);
  await page.getByText("A choice is saved, Esc cancels").waitFor();
  const editor = await page.getByText("A choice is saved, Esc cancels").boundingBox();
  expect((editor?.x ?? 0) + (editor?.width ?? 0)).toBeLessThanOrEqual(1_180);
  await page.locator('[role="gridcell"] [role="combobox"]:focus').waitFor();
  await page.keyboard.press("Enter");
  await page.locator('[role="option"][aria-selected="true"], [role="option"][data-combobox-selected]').waitFor();
  expect(await scrolled(page)).toBe(0);
  await page.keyboard.press("Enter");
  await until(async () => (await read("authors", author.id))["best"] === book.id);
  await page.getByText("A choice is saved, Esc cancels").waitFor({ state: "detached" });
  // The cell has the focus again.
  await page.locator('[data-cell$=":2"]:focus').waitFor();
  expect(await scrolled(page)).toBe(0);
  await leave(page);
});

test("a value is saved by a click on another cell, and dropped by Escape; a refusal is shown", async () => {
  const { id } = await make("authors", { name: "Edsger", email: "edsger@example.com" });
  const page = await openWide({});
  const row = page.getByRole("row").filter({ hasText: "edsger@example.com" });
  const name = row.locator('[data-cell$=":0"]');
  const email = row.locator('[data-cell$=":1"]');
  await name.dblclick();
  await name.getByRole("textbox").fill("Edsger W.");
  await email.click();
  await until(async () => (await read("authors", id))["name"] === "Edsger W.");
  await name.dblclick();
  await name.getByRole("textbox").fill("Nobody");
  await page.keyboard.press("Escape");
  await email.dblclick();
  await email.getByRole("textbox").fill("grace@example.com");
  await name.click();
  await page.getByRole("alert").filter({ hasText: "email was not saved" }).getByText("is taken").waitFor();
  expect(await read("authors", id)).toMatchObject({ name: "Edsger W.", email: "edsger@example.com" });
  await leave(page);
});

test("an empty row is no new field; two collections that point to each other are explained", async () => {
  const page = await dashboard.open("/collections/visits/schema");
  await page.getByRole("button", { name: "Add field" }).click();
  await page.keyboard.type("who");
  await page.keyboard.press("Enter");
  await page.locator('[role="menuitem"]:focus').waitFor();
  await page.keyboard.press("r");
  await page.keyboard.press("Enter");
  await page.getByText(/For two collections that point to each other/).waitFor();
  await page.getByRole("option", { name: "authors" }).click();
  await page.getByText("1 new", { exact: true }).waitFor();
  expect(await page.getByText("2 new").count()).toBe(0);
  await leave(page);
});

test("600 records are deleted in three batches; a few refused records are listed with their reason, and the others are gone", async () => {
  for (let at = 0; at < 600; at += 300) {
    const operations = Array.from({ length: 300 }, (_, n) => ({
      method: "create",
      collection: "notes",
      body: { text: `${at + n === 120 || at + n === 130 ? "Keep" : "Note"} ${at + n}` },
    }));
    await api("POST", "/api/batch", { operations });
  }
  const page = await dashboard.open("/collections/notes");
  await settled(page);
  const batches: number[] = [];
  const alone: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname === "/api/batch")
      batches.push((request.postDataJSON() as { operations: unknown[] }).operations.length);
    else if (request.method() === "DELETE") alone.push(pathname);
  });
  // A grid holds the rows that were scrolled to: here all rows.
  await page.getByRole("grid").hover();
  const outlines = page.locator('[role="row"][aria-busy="true"]');
  await until(async () => {
    await page.mouse.wheel(0, 2_000);
    // The footer counts rows that are still loading, too; only loaded rows can be selected.
    await outlines.first().waitFor({ state: "detached" });
    return page.getByRole("button", { name: /–600 of 600 – Go to row$/ }).isVisible();
  });
  await outlines.first().waitFor({ state: "detached" });
  await keepUndo(page);
  await page.getByRole("checkbox", { name: "Select all loaded records" }).click();
  await page.getByText("600 selected", { exact: true }).waitFor();
  await page.keyboard.press("Delete");
  await page.getByText("600 records of notes deleted").waitFor();
  await page.getByRole("button", { name: "Delete now" }).click();
  await page.getByText("2 of 600 records could not be deleted").waitFor();
  await page.getByText("This note is to be kept.").waitFor();
  expect(await count("notes")).toBe(2);
  expect(Math.max(...batches)).toBe(250);
  // A refused batch is halved down to the refused records: few records are sent alone.
  expect(batches.length + alone.length).toBeLessThan(60);
  expect(alone.length).toBeLessThan(8);
  // Records that the service has kept are in the grid again.
  await until(async () => (await page.getByRole("row").filter({ hasText: "Keep" }).count()) === 2);
  await leave(page);
});

test("a failed run names its remedy; the overview leads to its cause", async () => {
  await make("visits", { place: "home" });
  const page = await dashboard.open("/");
  await page
    .getByRole("link", { name: /nobody is at home/ })
    .first()
    .click();
  await page.waitForURL("**/failures?group=*");
  await page.goto(`${dashboard.server.url}/_/functions?tab=runs&status=failed`);
  await page.getByText("nobody is at home").first().click();
  const drawer = page.getByRole("dialog", { name: "onCreate of visits/greet.ts" });
  await drawer.getByText(/Correct and save the file, then retry/).waitFor();
  await Bun.write(
    `${dashboard.folder}/functions/visits/greet.ts`,
    `export const onCreate: OnCreate<"visits"> = ({ logger }) => logger.info("hello");`,
  );
  dashboard.server.signal("SIGHUP");
  await drawer.getByText("a retry runs the new version").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(await drawer.getByText(/Correct and save the file/).count()).toBe(0);
  await drawer.getByRole("button", { name: "Retry" }).click();
  await drawer.getByText("Completed").waitFor();
  await leave(page);
});

test("a role explains its rights and keeps the focus; a new password has the focus from the first key to the last", async () => {
  await api("POST", "/api/admin/users", { email: "alan@example.com", password: "correct horse battery" });
  const page = await dashboard.open("/users?search=alan");
  await page.getByText("alan@example.com").click();
  const drawer = page.getByRole("dialog", { name: "alan@example.com", exact: true });
  await drawer.getByText("Has the rights that the permissions of each collection give").waitFor();
  await drawer.getByRole("combobox", { name: "Role" }).or(drawer.getByLabel("Role")).first().click();
  await page.getByRole("option", { name: "Public" }).click();
  await drawer.getByText("Has the same rights as Authenticated").waitFor();
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Role");
  await drawer.getByRole("button", { name: "Reset the password" }).click();
  await page.keyboard.type("another horse");
  expect(await drawer.getByLabel("New password").inputValue()).toBe("another horse");
  await drawer.getByText(/ends all sessions/).waitFor();
  await page.keyboard.press("Enter");
  await drawer.getByText("The password is set.", { exact: false }).waitFor();
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.innerText")).toBe("Reset the password");
  await leave(page);
});

test("on a phone a notification leaves the buttons of a form free", async () => {
  const page = await dashboard.open("/collections/notes?record=new", { theme: "dark", width: 390, height: 800 });
  await page.getByRole("textbox", { name: "text" }).fill("From a phone");
  await page.getByRole("button", { name: "Create" }).click();
  const told = page.getByRole("alert").filter({ hasText: "The record was created" });
  const box = await told.boundingBox();
  if (box === null) throw new Error("The notification is not there");
  expect(box.y + box.height).toBeLessThan(200);
  expect(await overflowOf(page)).toBe(0);
  await leave(page);
});
