/** Small things in the dashboard that each cost somebody a moment: focus, Escape, names, marks, the first paint. */
import { afterAll, expect, test } from "bun:test";
import type { Locator } from "playwright-core";
import { openWindow } from "./browser.ts";
import { complaintsOf, leave, openAnonymously, openDashboard, settled, violationsOf } from "./dashboard.ts";

const longName = "a_field_whose_name_is_as_long_as_the_service_allows_it";
const dashboard = await openDashboard({
  collections: [
    {
      name: "notes",
      fields: [
        { name: "title", type: "string", max: 60 },
        { name: longName, type: "integer" },
      ],
    },
  ],
  files: {
    "functions/notes/warn.ts": 'export const onCreate = ({ logger }) => logger.warn("The sea is rising");\n',
    "jobs/mail.ts": `export const queue = { retries: 0 };
export default () => { throw new Error("There is no such address, however long one looks for it in the book"); };
`,
  },
});
afterAll(() => dashboard.server.stop());
const { api, server } = dashboard;
for (const title of ["one", "two", "file\u202Egnp.exe"]) await api("POST", "/api/notes", { title });
for (const key of ["a-key-of-some-length-for-the-table", "b"])
  await api("POST", "/api/admin/jobs/mail/enqueue", { payload: null, key });

async function boxOf(locator: Locator) {
  const box = await locator.boundingBox();
  if (box === null) throw new Error("not on the page");
  return box;
}

test("an Escape closes the dialog, and the next Escape the drawer below; a drawer begins at its title and shows its tables whole", async () => {
  const page = await dashboard.open("/jobs?job=mail", { width: 1_440 });
  const drawer = page.getByRole("dialog", { name: "mail", exact: true });
  await drawer.locator("h2 :focus").waitFor();
  const table = drawer.getByRole("table", { name: "Failed for good" });
  await table
    .getByRole("button", { name: /^Retry/ })
    .nth(1)
    .waitFor();
  expect(
    await table.evaluate(({ scrollWidth, parentElement }) => scrollWidth - (parentElement?.clientWidth ?? 0)),
  ).toBeLessThanOrEqual(0);
  await drawer.getByRole("button", { name: /^Enqueue/ }).click();
  const dialog = page.getByRole("dialog", { name: "Enqueue a run: mail" });
  await dialog.locator(":focus").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await drawer.count()).toBe(1);
  expect(new URL(page.url()).searchParams.get("job")).toBe("mail");
  await drawer.getByRole("button", { name: /^Enqueue/ }).focus();
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a Shift-click selects rows and no text; marks that turn the text are visible; an edited cell is marked as saved", async () => {
  const page = await dashboard.open("/collections/notes");
  await settled(page);
  await page.locator('[data-cell="0:0"]').getByText("file‹U+202E›gnp.exe").waitFor();
  await page
    .getByRole("checkbox", { name: /^Select record/ })
    .first()
    .locator("..")
    .click();
  await page
    .getByRole("checkbox", { name: /^Select record/ })
    .nth(2)
    .locator("..")
    .click({ modifiers: ["Shift"] });
  await page
    .getByRole("status")
    .filter({ hasText: /^3 selected$/ })
    .waitFor();
  expect(await page.evaluate("getSelection().toString()")).toBe("");
  await page.keyboard.press("Escape");
  await page.locator('[data-cell="1:0"]').dblclick();
  await page.getByRole("textbox", { name: "title" }).fill("changed");
  await page.keyboard.press("Enter");
  await page.getByRole("status").filter({ hasText: "title saved" }).waitFor();
  await page.locator('[data-cell="1:0"]').getByText("changed").waitFor();
  // Another cell that is clicked saves, too.
  await page.locator('[data-cell="1:1"]').dblclick();
  await page.getByRole("textbox", { name: longName }).fill("7");
  await page.locator('[data-cell="2:0"]').click();
  await page
    .getByRole("status")
    .filter({ hasText: `${longName} saved` })
    .waitFor();
  await leave(page);
});

test("while the control of an edited cell is loading, the Delete key deletes no record", async () => {
  const page = await dashboard.open("/users");
  const held = Promise.withResolvers<void>();
  await page.route(/inline-editor/, async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.goto(`${server.url}/_/collections/notes`);
  await settled(page);
  await page.locator('[data-cell="1:0"]').dblclick();
  await page.keyboard.press("Delete");
  held.resolve();
  await page.getByRole("textbox", { name: "title" }).waitFor();
  expect(await page.getByRole("button", { name: "Undo" }).count()).toBe(0);
  await leave(page);
});

test("a record that opens has the focus on its name, and no ring around its form; a notification leaves the row count free", async () => {
  const page = await dashboard.open("/collections/notes", { width: 1_440 });
  await settled(page);
  await page.getByRole("button", { name: "Open the record" }).first().click();
  const drawer = page.getByRole("dialog");
  await drawer.locator("h2:focus").filter({ hasText: "‹U+202E›" }).waitFor();
  await drawer.locator('[data-field="title"]').waitFor();
  const outline = await page.evaluate(`(() => {
    const form = document.querySelector('[data-field="title"]').parentElement;
    form.focus({ focusVisible: true });
    return [document.activeElement === form, getComputedStyle(form).outlineStyle];
  })()`);
  expect(outline).toEqual([true, "none"]);
  await drawer.getByRole("textbox", { name: "title", exact: true }).fill("renamed");
  await drawer.getByRole("button", { name: "Save" }).click();
  await drawer.waitFor({ state: "detached" });
  const toast = await boxOf(page.getByRole("alert").filter({ hasText: /saved/i }).first());
  const count = await boxOf(page.getByRole("button", { name: /^Rows 1–3 of 3/ }));
  expect(toast.y + toast.height).toBeLessThanOrEqual(count.y);
  await leave(page);
});

test.each(["light", "dark"] as const)(
  "%s: warnings of the log and the menu of columns are accessible",
  async (theme) => {
    const page = await dashboard.open("/", { theme });
    await page.getByText("The sea is rising").first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.goto(`${server.url}/_/collections/notes`);
    await settled(page);
    await page.getByRole("button", { name: "Columns", exact: true }).click();
    const menu = page.getByRole("dialog", { name: "Columns" });
    await menu.getByRole("textbox").and(page.locator(":focus")).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    const name = menu.getByText(longName);
    expect(await name.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)).toBe(true);
    const overflow = `getComputedStyle(document.querySelector('[title="${longName}"]')).textOverflow`;
    expect(await page.evaluate<string>(overflow)).toBe("ellipsis");
    expect((await boxOf(name)).x + (await boxOf(name)).width).toBeLessThan(
      (await boxOf(menu)).x + (await boxOf(menu)).width,
    );
    await leave(page);
  },
);

test("Enter in a field row without a name adds no row", async () => {
  const page = await dashboard.open("/collections/-/new");
  const names = page.locator("[data-field-name]");
  await names.first().focus();
  const before = await names.count();
  for (let i = 0; i < 3; i += 1) await page.keyboard.press("Enter");
  await names.first().fill("title");
  expect(await names.count()).toBe(before);
  await leave(page);
});

test("a page is painted while its script and its styles are on their way", async () => {
  const context = await openWindow();
  const page = await context.newPage();
  const held: (() => void)[] = [];
  await page.route(/\/assets\//, async (route) => {
    await new Promise<void>((resolve) => held.push(resolve));
    await route.continue();
  });
  await page.goto(`${server.url}/_/`, { waitUntil: "commit" });
  await page.getByText("Loading …").waitFor();
  while ((await page.evaluate("performance.getEntriesByName('first-contentful-paint').length")) === 0)
    await Bun.sleep(20);
  expect(held.length).toBeGreaterThan(1);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  for (const go of held) go();
  await page.getByRole("heading", { name: "Sign in to Socle" }).waitFor();
  expect(await page.getByText("Loading …").count()).toBe(0);
  await context.close();
});

test("the sign-in page sends no request that the service refuses, and leads signed-in users on", async () => {
  const page = await openAnonymously(`${server.url}/_/login`);
  const refused: string[] = [];
  page.on("response", (response) => response.status() >= 400 && refused.push(response.url()));
  await page.reload();
  await page.getByRole("heading", { name: "Sign in to Socle" }).waitFor();
  await page.waitForLoadState("networkidle");
  expect(refused).toEqual([]);
  expect(await page.getByText("No admin yet?").count()).toBe(0);
  await leave(page);
  const inside = await dashboard.open("/users");
  await inside.goto(`${server.url}/_/login?from=%2Fjobs`);
  await inside.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
  expect(new URL(inside.url()).pathname).toBe("/_/jobs");
  await leave(inside);
});
