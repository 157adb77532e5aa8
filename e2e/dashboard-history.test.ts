/** Histories and undos in a real browser: versions of a record, the undo of own changes, imports, runs and users that are taken back. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import {
  complaintsOf,
  keepUndo,
  leave,
  looks,
  openDashboard,
  overflowOf,
  violationsOf,
  type WindowOptions,
} from "./dashboard.ts";
import { temporaryFolder, until } from "./kit.ts";

const everybody = { read: "public", create: "authenticated", update: "authenticated", delete: "authenticated" };
const products = {
  name: "products",
  fields: [
    { name: "title", type: "string", required: true },
    { name: "price", type: "integer", min: 0 },
    { name: "note", type: "text" },
    { name: "photo", type: "file" },
  ],
  permissions: everybody,
};
const orders = { name: "orders", fields: [{ name: "n", type: "integer" }], permissions: everybody };
const files = {
  "functions/orders/price.ts": `export async function onCreate({ db }) {
  for (const { id, price } of (await db.collection("products").list({ filter: 'note = "of the run"' })).items)
    await db.collection("products").update(id, { price: price * 2 });
}
`,
};

interface Item {
  readonly id: string;
  readonly [field: string]: unknown;
}

const dashboard = await openDashboard({ collections: [products, orders], files });
afterAll(() => dashboard.server.stop());
const { api } = dashboard;

const create = (body: object): Promise<Item> => api("POST", "/api/products", body) as Promise<Item>;
const change = (id: string, body: object): Promise<unknown> => api("PUT", `/api/products/${id}`, body);
const read = (id: string): Promise<Item> => api("GET", `/api/products/${id}`) as Promise<Item>;
const titles = async (): Promise<unknown[]> =>
  ((await api("GET", "/api/products?limit=100&sort=title")) as { items: Item[] }).items.map(({ title }) => title);

/** A cell of the grid, by its text. */
function cell(page: Page, text: string): Locator {
  return page.locator("[data-cell]").filter({ hasText: text }).first();
}

/** Edits a cell: the new value is typed in place of the old value. */
async function edit(page: Page, from: string, to: string): Promise<void> {
  await cell(page, from).dblclick();
  await page.locator("[role=grid] :is(input, textarea):focus").waitFor();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(to);
  await page.keyboard.press("Enter");
  await cell(page, to).waitFor();
}

const told = (page: Page, words: string | RegExp): Promise<void> =>
  page.locator(".mantine-Notification-root").filter({ hasText: words }).last().waitFor();

async function lookAt(page: Page): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
}

async function openHistory(id: string, options: WindowOptions = {}): Promise<[Page, Locator]> {
  const page = await dashboard.open(`/collections/products?record=${id}`, options);
  const drawer = page.getByRole("dialog").last();
  await drawer.getByRole("tab", { name: "History" }).click();
  await drawer.getByText("created", { exact: true }).last().waitFor();
  return [page, drawer];
}

test("the history of a record: the user, the cause, the changes; pages by the button", async () => {
  const { id } = await create({ title: "Chair 0", price: 10 });
  for (let n = 1; n <= 25; n += 1) await change(id, { title: `Chair ${n}` });
  const page = await dashboard.open(`/collections/products?record=${id}`);
  const drawer = page.getByRole("dialog");
  await drawer.getByRole("tab", { name: "History" }).click();
  const entries = drawer.locator("ol > li");
  await entries.nth(19).waitFor();
  expect(await entries.count()).toBe(20);
  const newest = await entries.first().innerText();
  expect(newest).toMatch(
    /updated[\s\S]*by admin@example\.com[\s\S]*in the request \S+[\s\S]*title[\s\S]*Chair 24[\s\S]*Chair 25/,
  );
  // The newest version is the present record.
  expect(await entries.first().getByRole("button", { name: "Restore this version" }).count()).toBe(0);
  await drawer.getByRole("button", { name: "Show older changes" }).click();
  await entries.nth(25).waitFor();
  expect(await entries.count()).toBe(26);
  await drawer.getByText("To the beginning of the record.").waitFor();
  expect(await drawer.getByRole("button", { name: "Show older changes" }).count()).toBe(0);
  // A change by another user appears at once.
  await change(id, { price: 11 });
  await entries.nth(20).waitFor();
  await drawer.locator("ol > li").first().getByText("price").waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("an earlier version is restored after a question that shows the differences; gone fields and files are named", async () => {
  const form = new FormData();
  form.set("file", new File(["photo"], "photo.txt"));
  const headers = { Authorization: `Bearer ${dashboard.token}` };
  const upload = await fetch(`${dashboard.server.url}/api/storage/upload`, { method: "POST", body: form, headers });
  const photo = ((await upload.json()) as Item).id;
  const { id } = await create({ title: "Table", price: 10, note: "oak", photo });
  await change(id, { title: "Tabel", photo: null });
  await change(id, { price: 99, note: null });
  await api("DELETE", `/api/storage/${photo}`);
  const [page, drawer] = await openHistory(id);
  await drawer.locator("ol > li").last().getByRole("button", { name: "Restore this version" }).click();
  const question = page.getByRole("dialog", { name: "Restore this version?" });
  await question.getByText("photo", { exact: false }).last().waitFor();
  const words = await question.innerText();
  for (const part of ["Tabel", "Table", "99", "10", "oak", "because the files do not exist any more: photo"])
    expect(words).toContain(part);
  expect((await read(id))["title"]).toBe("Tabel");
  await question.getByRole("button", { name: "Restore", exact: true }).click();
  await told(page, "The version was restored.");
  expect(await read(id)).toMatchObject({ title: "Table", price: 10, note: "oak", photo: null });
  await drawer.locator("ol > li").nth(3).waitFor();
  // The newest of the earlier versions has the values of before the restoration.
  await page.locator(".mantine-Notification-root").getByRole("button", { name: "Undo" }).click();
  await told(page, "Undone: an earlier version of a record of products restored");
  expect(await read(id)).toMatchObject({ title: "Tabel", price: 99, note: null });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the address of a deleted record shows the history, which brings the record back", async () => {
  const { id } = await create({ title: "Lamp", price: 5 });
  await api("DELETE", `/api/products/${id}`);
  const page = await dashboard.open(`/collections/products?record=${id}`);
  const drawer = page.getByRole("dialog").first();
  await drawer.getByText("This record is gone").waitFor();
  expect(await drawer.getByRole("button", { name: "Restore this version" }).count()).toBe(0);
  await drawer.getByRole("button", { name: "Restore the record" }).click();
  const dialog = page.getByRole("dialog", { name: "Restore the record" });
  await dialog.getByText("1 deleted record of products will come back.").waitFor();
  await dialog.getByRole("button", { name: "Undo 1 change" }).click();
  await dialog.getByText("1 change taken back.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await drawer.getByRole("textbox", { name: "title" }).waitFor();
  expect(await read(id)).toMatchObject({ id, title: "Lamp", price: 5 });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("Ctrl+Z takes back the edits of cells, the newest first, and leaves the search", async () => {
  const { id } = await create({ title: "Mug", price: 7311 });
  const page = await dashboard.open("/collections/products");
  await page.getByPlaceholder("Search in all texts").fill("Mug");
  await page.waitForURL(/filter=.*Mug/);
  await cell(page, "Mug").waitFor();
  await edit(page, "Mug", "Mug, blue");
  await page.getByText("title saved").waitFor();
  await edit(page, "7311", "8422");
  await page.getByText("price saved").waitFor();
  expect(await read(id)).toMatchObject({ title: "Mug, blue", price: 8422 });
  await page.keyboard.press("Control+z");
  await told(page, "Undone: price changed in products");
  await cell(page, "7311").waitFor();
  expect(await read(id)).toMatchObject({ title: "Mug, blue", price: 7311 });
  await page.keyboard.press("Control+z");
  await told(page, "Undone: title changed in products");
  expect(await read(id)).toMatchObject({ title: "Mug", price: 7311 });
  await page.keyboard.press("Control+z");
  await told(page, "This tab has no change to undo.");
  await page.keyboard.press("Control+Shift+z");
  expect(await page.getByPlaceholder("Search in all texts").inputValue()).toBe("Mug");
  expect(await read(id)).toMatchObject({ title: "Mug", price: 7311 });
  // A text field has an undo for the typed text.
  await page.getByPlaceholder("Search in all texts").focus();
  await page.keyboard.type(" x");
  await page.keyboard.press("Control+z");
  expect(await page.getByPlaceholder("Search in all texts").inputValue()).not.toBe("Mug x");
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the button below the grid takes the edit back; a change that was changed since is left, and the reason is told", async () => {
  const { id } = await create({ title: "Bowl", price: 7 });
  const page = await dashboard.open("/collections/products");
  await edit(page, "Bowl", "Bowl, red");
  await page.getByText("title saved").waitFor();
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await told(page, "Undone: title changed in products");
  expect(await page.getByRole("button", { name: "Undo", exact: true }).count()).toBe(0);
  expect(await read(id)).toMatchObject({ title: "Bowl" });
  await edit(page, "Bowl", "Bowl, green");
  await page.getByText("title saved").waitFor();
  await change(id, { title: "Bowl of another" });
  await cell(page, "Bowl of another").waitFor();
  await page.keyboard.press("Control+z");
  await told(page, /Not undone: title changed in products[\s\S]*title was changed since/);
  expect(await read(id)).toMatchObject({ title: "Bowl of another" });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("saves, creations and deletions of the editor and of the grid are taken back", async () => {
  const { id } = await create({ title: "Plate", price: 4 });
  const page = await dashboard.open(`/collections/products?record=${id}`);
  const drawer = page.getByRole("dialog").first();
  const title = drawer.getByRole("textbox", { name: "title" });
  await title.fill("Plate, large");
  await page.keyboard.press("Control+s");
  await drawer.getByText("Saved", { exact: true }).waitFor();
  await drawer.getByRole("button", { name: "Close" }).last().focus();
  await page.keyboard.press("Control+z");
  await told(page, "Undone: a record of products saved");
  expect(await read(id)).toMatchObject({ title: "Plate" });
  await until(async () => (await title.inputValue()) === "Plate");
  await title.fill("Plate, small");
  await drawer.getByRole("button", { name: /^Save/ }).click();
  await page.locator(".mantine-Notification-root").getByRole("button", { name: "Undo" }).click();
  await until(async () => (await read(id))["title"] === "Plate");
  // The deletion of the editor.
  await drawer.waitFor({ state: "detached" });
  await cell(page, "Plate").click();
  await page.keyboard.press("o");
  await drawer.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete record" }).click();
  await told(page, "The record was deleted.");
  expect(await titles()).not.toContain("Plate");
  await page.locator(".mantine-Notification-root").getByRole("button", { name: "Undo" }).click();
  await told(page, "Undone: 1 record of products deleted");
  await cell(page, "Plate").waitFor();
  expect(await read(id)).toMatchObject({ title: "Plate", price: 4 });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("Ctrl+Z takes back a waiting deletion of the grid, and a deletion that the service has made", async () => {
  const { id } = await create({ title: "Fork", price: 2 });
  const page = await dashboard.open("/collections/products");
  await keepUndo(page);
  await cell(page, "Fork").waitFor();
  const row = page.getByRole("row").filter({ hasText: "Fork" });
  const remove = async (): Promise<void> => {
    await cell(page, "Fork").click();
    await page.keyboard.press("Delete");
    await row.waitFor({ state: "detached" });
  };
  await remove();
  await page.keyboard.press("Control+z");
  await told(page, "Undone: 1 record of products deleted");
  await row.waitFor();
  expect(await read(id)).toMatchObject({ title: "Fork" });
  await remove();
  await page.getByRole("button", { name: "Delete now" }).click();
  await until(async () => !(await titles()).includes("Fork"));
  await page.getByRole("region", { name: "Deletions that can be undone" }).waitFor({ state: "detached" });
  await page.keyboard.press("Control+z");
  await row.waitFor();
  expect(await read(id)).toMatchObject({ title: "Fork", price: 2 });
  // The list has the record a single time, at the right place.
  expect(await row.count()).toBe(1);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("an import is taken back: the preview with the change that stays, the undo, the outcome, and the undo of the undo", async () => {
  const before = await titles();
  const folder = await temporaryFolder();
  const rows = Array.from({ length: 250 }, (_, n) => `Imported ${String(n).padStart(3, "0")},${n}`);
  await Bun.write(join(folder, "rows.csv"), `title,price\n${rows.join("\n")}\n`);
  const page = await dashboard.open("/collections/products/import");
  await page.locator("input[type=file]").first().setInputFiles(join(folder, "rows.csv"));
  await page.getByRole("button", { name: "Start the import", exact: true }).click();
  await page.getByText("250 created").waitFor();
  const [{ id = "" } = {}] = ((await api("GET", "/api/products?filter=title = 'Imported 007'")) as { items: Item[] })
    .items;
  await change(id, { price: 1_000 });
  // The history of a record of the import has the button, too.
  const [other] = await openHistory(id);
  await other.getByText("in the import").waitFor();
  await other.getByRole("button", { name: "Undo the import" }).click();
  await other.getByText("249 created records of products will be deleted.").waitFor();
  await leave(other);
  await page.getByRole("button", { name: "Undo this import" }).click();
  const dialog = page.getByRole("dialog", { name: "Undo this import" });
  await dialog.getByText("249 created records of products will be deleted.").waitFor();
  const staying = dialog.getByRole("region", { name: "1 change that stays, or comes back in part" });
  expect(await staying.innerText()).toContain("price was changed since");
  await lookAt(page);
  expect(await titles()).toHaveLength(100);
  await dialog.getByRole("button", { name: "Undo 249 changes" }).click();
  await dialog.getByText("249 changes taken back.").waitFor();
  expect(await staying.innerText()).toContain("price was changed since");
  await lookAt(page);
  expect(await titles()).toEqual([...before, "Imported 007"].sort());
  await dialog.getByRole("button", { name: "Take the undo back" }).click();
  const again = page.getByRole("dialog", { name: "Take the undo back" });
  await again.getByText("249 deleted records of products will come back.").waitFor();
  await again.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await titles()).toEqual([...before, "Imported 007"].sort());
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("an event shows the difference at once, and takes back the change or the whole request", async () => {
  const [one, two] = [await create({ title: "Pen", price: 1 }), await create({ title: "Ink", price: 2 })];
  const operations = [one, two].map(({ id }) => ({
    method: "update",
    collection: "products",
    id,
    body: { price: 50 },
  }));
  await api("POST", "/api/batch", { operations });
  const { items } = (await api("GET", "/api/admin/events?type=products.updated&limit=1")) as { items: Item[] };
  const page = await dashboard.open(`/events?event=${items[0]?.id}`);
  const drawer = page.getByRole("dialog", { name: "products.updated" });
  await drawer.getByText("in the request").waitFor();
  const changes = drawer.locator("section").filter({ has: page.getByRole("heading", { name: "Changes" }) });
  expect((await changes.innerText()).split(/\s+/)).toEqual(["Changes", "price", "2", "50"]);
  await lookAt(page);
  await drawer.getByRole("button", { name: "Undo the request" }).click();
  const dialog = page.getByRole("dialog", { name: "Undo the request" });
  await dialog.getByText("2 changes in products will be taken back.").waitFor();
  await dialog.getByRole("button", { name: "Undo 2 changes" }).click();
  await dialog.getByText("2 changes taken back.").waitFor();
  expect([(await read(one.id))["price"], (await read(two.id))["price"]]).toEqual([1, 2]);
  await dialog.getByRole("button", { name: "Close" }).last().click();
  // The deletion of a record shows the values.
  await api("DELETE", `/api/products/${one.id}`);
  const deleted = (await api("GET", "/api/admin/events?type=products.deleted&limit=1")) as { items: Item[] };
  await page.goto(page.url().replace(/event=.*/, `event=${deleted.items[0]?.id}`));
  const last = page.getByRole("dialog", { name: "products.deleted" });
  await last.getByRole("heading", { name: "Changes" }).waitFor();
  expect(await last.innerText()).toContain("Pen");
  await last.getByRole("link", { name: "Open the history" }).click();
  await page.getByRole("button", { name: "Restore the record" }).waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the page of a run of a function takes the run back", async () => {
  const { id } = await create({ title: "Vase", price: 8, note: "of the run" });
  await api("POST", "/api/orders", { n: 1 });
  await until(async () => (await read(id))["price"] === 16);
  const { items } = (await api("GET", "/api/admin/functions/runs")) as { items: { runId: string }[] };
  const page = await dashboard.open(`/functions?tab=runs&run=${items[0]?.runId}`);
  await page.getByRole("button", { name: "Undo this run" }).click();
  const dialog = page.getByRole("dialog", { name: "Undo this run" });
  await dialog.getByRole("button", { name: "Undo 1 change" }).click();
  await dialog.getByText("1 change taken back.").waitFor();
  expect((await read(id))["price"]).toBe(8);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the changes of a user since a time are taken back on the page of the user, and no others", async () => {
  const password = "a long password";
  const eve = (await api("POST", "/api/admin/users", { email: "eve@example.com", password })) as Item;
  const login = await fetch(`${dashboard.server.url}/api/auth/login`, {
    method: "POST",
    body: JSON.stringify({ email: "eve@example.com", password }),
  });
  const { accessToken } = (await login.json()) as { accessToken: string };
  const headers = { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" };
  const { id } = await create({ title: "Spoon", price: 1 });
  const body = JSON.stringify({ price: 77 });
  expect((await fetch(`${dashboard.server.url}/api/products/${id}`, { method: "PUT", body, headers })).status).toBe(
    200,
  );
  await change(id, { note: "of the admin" });
  const page = await dashboard.open(`/users?user=${eve.id}`);
  await page.getByRole("button", { name: "Undo the changes since then" }).click();
  const dialog = page.getByRole("dialog", { name: "Undo the changes since then" });
  await dialog.getByText("1 change in products will be taken back.").waitFor();
  await dialog.getByRole("button", { name: "Undo 1 change" }).click();
  await dialog.getByText("1 change taken back.").waitFor();
  expect(await read(id)).toMatchObject({ price: 1, note: "of the admin" });
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("button", { name: "Undo the changes since then" }).click();
  // The undo is no change by the user; the change of the user is undone already.
  await dialog.getByText("Nothing would change.").waitFor();
  expect(await dialog.getByRole("button", { name: "Undo 0 changes" }).isDisabled()).toBe(true);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test.each(looks.map((look) => [look] as const))("histories and dialogs at %p", async (look) => {
  const { id } = await create({ title: "Clock", price: 1 });
  await change(id, {
    title: "Clock, with a name that takes more than a line of a narrow screen",
    note: "x".repeat(400),
  });
  await change(id, { price: 2 });
  const [page, drawer] = await openHistory(id, look);
  await lookAt(page);
  await drawer.locator("ol > li").last().getByRole("button", { name: "Restore this version" }).click();
  await page
    .getByRole("dialog", { name: "Restore this version?" })
    .getByRole("button", { name: "Restore", exact: true })
    .waitFor();
  await lookAt(page);
  await page.getByRole("button", { name: "Cancel" }).last().click();
  await api("DELETE", `/api/products/${id}`);
  await drawer.getByRole("button", { name: "Restore the record" }).click();
  await page.getByText("1 deleted record of products will come back.").waitFor();
  await lookAt(page);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});
