/** Every page of the dashboard: accessible in both themes, without complaints of the browser, and fit for a phone. */
import { afterAll, describe, expect, test } from "bun:test";
import { complaintsOf, leave, overflowOf, settled, violationsOf } from "./dashboard.ts";
import { openFilledDashboard, pages } from "./dashboard-data.ts";

const dashboard = await openFilledDashboard();
afterAll(() => dashboard.server.stop());

/** Both themes and both widths, in two looks at each page. */
const looks = [
  ["light and wide", { theme: "light", width: 1_280, height: 860 }],
  ["dark and narrow", { theme: "dark", width: 390, height: 800 }],
] as const;

describe.each(looks)("%s", (_, window) => {
  test.each(Object.entries(pages))(
    "%s: axe finds nothing, the browser has no complaint, nothing scrolls sideways",
    async (_name, path) => {
      const page = await dashboard.open(path, window);
      await settled(page);
      expect(await violationsOf(page)).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
      expect(complaintsOf(page)).toEqual([]);
      await leave(page);
    },
  );
});

test("the overview needs at most 40 requests, with its charts, and tells whether all is well", async () => {
  const page = await dashboard.open("/users");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${dashboard.server.url}/_/`);
  await settled(page);
  await page.locator(".recharts-wrapper").nth(1).waitFor();
  await page.getByRole("heading", { name: "Failures by cause" }).waitFor();
  await page.waitForLoadState("networkidle");
  // The first panels ask again after ten seconds.
  expect(new Set(asked).size).toBeLessThanOrEqual(40);
  expect(asked.length).toBeGreaterThan(10);
  await page.getByRole("heading", { name: "1 condition needs attention" }).waitFor();
  // The panels lead to the cause, and a panel without a row is left out.
  expect(await page.getByRole("heading", { name: "Slow queries" }).count()).toBe(0);
  const range = page.getByRole("radiogroup", { name: "Time of the charts" });
  await range.getByText("7 days").click();
  await page.waitForURL("**/_/?range=week");
  await page.getByText("Requests per hour").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page
    .getByRole("link", { name: /No mail server answers/ })
    .first()
    .click();
  await page.waitForURL("**/_/failures?group=*");
  await page.route("**/api/admin/status", (route) => route.fulfill({ json: { isWell: true, items: [] } }));
  await page.goto(`${dashboard.server.url}/_/`);
  await page.getByRole("heading", { name: "All is well" }).waitFor();
  expect(await page.getByRole("heading", { name: "attention" }).count()).toBe(0);
  await leave(page);
});

test("the first paint needs at most 170 KB of script, compressed", async () => {
  const index = await (await fetch(`${dashboard.server.url}/_/`)).text();
  const scripts = [...index.matchAll(/(?:src|href)="([^"]+\.js)"/g)].map(([, path = ""]) => path);
  expect(scripts.length).toBeGreaterThan(0);
  let bytes = 0;
  for (const path of scripts) {
    const script = await (await fetch(new URL(path, `${dashboard.server.url}/_/`))).arrayBuffer();
    bytes += Bun.gzipSync(script, { level: 9 }).length;
  }
  expect(bytes).toBeLessThan(170 * 1_024);
});

test("the list of shortcuts and the palette: every page is reached by keyboard", async () => {
  const page = await dashboard.open("/");
  await page.keyboard.press("?");
  const list = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await list.getByText("Find pages, records, users and actions").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await list.waitFor({ state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByPlaceholder("A page, a record, an email, an id …").fill("records of pos");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/_/collections/posts");
  await leave(page);
});

test("the palette finds a part of a schema and a theme; the opened page has the focus", async () => {
  const page = await dashboard.open("/users");
  await page.keyboard.press("Control+k");
  const search = page.getByRole("dialog").getByPlaceholder("A page, a record, an email, an id …");
  await search.fill("permissions of pos");
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/_/collections/posts/schema?tab=permissions");
  await search.waitFor({ state: "detached" });
  await page.locator("h1:focus").waitFor();
  await page.keyboard.press("Control+k");
  await search.fill("theme dark");
  await page.keyboard.press("Enter");
  await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
  await leave(page);
});

test("the palette keeps the keys that were typed during its loading, and no page takes a key", async () => {
  const page = await dashboard.open("/collections/posts");
  await page.getByRole("heading", { level: 1, name: "posts" }).waitFor();
  const loading = Promise.withResolvers<void>();
  await page.route("**/assets/palette*.js", async (route) => {
    await loading.promise;
    await route.continue();
  });
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("A page, a record, an email, an id …").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  // "n" is the shortcut of a new record.
  await page.keyboard.type("new rec");
  loading.resolve();
  const search = page.getByRole("dialog").getByPlaceholder("A page, a record, an email, an id …");
  await search.waitFor();
  await page.keyboard.type("ord");
  expect(await search.inputValue()).toBe("new record");
  expect(page.url()).toEndWith("/_/collections/posts");
  expect(await page.getByPlaceholder("A page, a record, an email, an id …").count()).toBe(1);
  await page.keyboard.press("Escape");
  await search.waitFor({ state: "detached" });
  await leave(page);
});

test("Enter while the palette is loaded runs the first result", async () => {
  const page = await dashboard.open("/users");
  const loading = Promise.withResolvers<void>();
  await page.route("**/assets/palette*.js", async (route) => {
    await loading.promise;
    await route.continue();
  });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("records of pos");
  await page.keyboard.press("Enter");
  loading.resolve();
  await page.waitForURL("**/_/collections/posts");
  await leave(page);
});

test("the palette has labels with the query at the begin of a word before labels with the query inside of a word", async () => {
  const page = await dashboard.open("/users");
  await page.keyboard.press("Control+k");
  // "co" is inside of "Records of authors", and begins "comments".
  await page.getByRole("dialog").getByPlaceholder("A page, a record, an email, an id …").fill("of co");
  const labels = page.getByRole("dialog").locator("[data-action]");
  await labels.filter({ hasText: "Records of comments" }).waitFor();
  const shown = await labels.allInnerTexts();
  expect(shown.indexOf("Records of comments")).toBeLessThan(shown.indexOf("Records of authors"));
  expect(shown).toContain("Records of authors");
  await leave(page);
});

test("an unknown address shows a page that leads back", async () => {
  const page = await dashboard.open("/nothing/here");
  await page.getByRole("heading", { name: "No page has this address" }).waitFor();
  await page.getByRole("link", { name: "Go to the overview" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await leave(page);
});
