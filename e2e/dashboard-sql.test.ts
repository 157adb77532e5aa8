/** The SQL console of the dashboard: completion, rows, plan, errors, cancel, exports, and the statements that the browser keeps. */
import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { EventEntry, Page as List } from "@socle/protocol";
import { complaintsOf, leave, looks, openDashboard, overflowOf, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [
    {
      name: "posts",
      fields: [
        { name: "title", type: "string" },
        { name: "views", type: "integer" },
      ],
      permissions: { read: "public" },
    },
  ],
  config: { limits: { queryTime: "30s" } },
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;
for (let views = 1; views <= 3; views++) await api("POST", "/api/posts", { title: `Post ${views}`, views });
const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS n FROM n";

test("a statement is written with completion and run by Ctrl Enter; plan, error and exports follow; a reload keeps the statement", async () => {
  const page = await dashboard.open("/sql");
  const editor = page.getByRole("textbox", { name: "Statement" });
  await page.getByRole("heading", { name: "No statement has run yet" }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await editor.click();
  await page.keyboard.type("SELECT title, views FROM pos");
  await page.getByRole("option", { name: "posts" }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type(" ORDER BY posts.vie");
  await page.getByRole("option", { name: "views" }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type(" DESC");
  await page.keyboard.press("Control+Enter");
  const table = page.getByRole("table", { name: "Rows" });
  await table.getByRole("cell", { name: "Post 3" }).waitFor({ timeout: 15_000 });
  expect(await table.getByRole("row").allInnerTexts()).toEqual(["title\tviews", "Post 3\t3", "Post 2\t2", "Post 1\t1"]);
  await page.getByText(/^3 rows in /).waitFor();
  expect(await violationsOf(page)).toEqual([]);

  await page.evaluate("delete window.showSaveFilePicker");
  for (const [format, content] of [
    ["CSV", "\ufefftitle,views\r\nPost 3,3\r\nPost 2,2\r\nPost 1,1\r\n"],
    [
      "JSON",
      JSON.stringify(
        [3, 2, 1].map((views) => ({ title: `Post ${views}`, views })),
        null,
        2,
      ),
    ],
  ] as const) {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `Export the rows as ${format}` }).click(),
    ]);
    expect(readFileSync((await download.path()) ?? "", "utf8")).toBe(content);
  }

  await page.getByRole("tab", { name: "Plan" }).click();
  await page.getByText("SCAN posts").waitFor();
  await page.getByText("Reads a whole table").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.reload();
  await page.getByRole("heading", { name: "No statement has run yet" }).waitFor();
  expect(await editor.innerText()).toBe("SELECT title, views FROM posts ORDER BY posts.views DESC");
  // A plan alone is no run: there are no rows, and no count of rows.
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("SCAN posts").waitFor();
  await page.getByRole("tab", { name: "Rows" }).click();
  await page.getByRole("heading", { name: "No statement has run yet" }).waitFor();
  expect(await page.getByText(/rows? in /).count()).toBe(0);
  expect(await page.getByText("The statement returned no rows").count()).toBe(0);
  // Without a statement in the address, the page opens with the last statement.
  await page.goto(`${dashboard.server.url}/_/sql`);
  await editor.getByText("SELECT title, views FROM posts ORDER BY posts.views DESC").waitFor();

  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("DELETE FROM posts");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("alert").getByText("the SQL only reads").waitFor();
  expect(await table.count()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  const { items } = (await api("GET", "/api/posts")) as { items: object[] };
  expect(items).toHaveLength(3);
  const { items: runs } = (await api("GET", "/api/admin/events?type=admin.sql.run")) as List<EventEntry>;
  expect(runs.map(({ payload }) => payload["after"])).toEqual([
    { sql: "SELECT title, views FROM posts ORDER BY posts.views DESC" },
  ]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a statement that runs is cancelled, and the service ends the statement", async () => {
  const page = await dashboard.open(`/sql?sql=${encodeURIComponent(endless)}`);
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("The statement was cancelled").waitFor();
  // A statement that still ran would refuse the next one.
  const answer = (await api("POST", "/api/admin/sql", { sql: "SELECT 1 AS n" })) as { rows: object[] };
  expect(answer.rows).toEqual([{ n: 1 }]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("statements are saved under a name, opened and removed, and the last statements are kept", async () => {
  const page = await dashboard.open("/sql?sql=SELECT%20'saved'%20AS%20a");
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Save the statement" });
  await dialog.getByRole("textbox", { name: "Name" }).fill("My statement");
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  const editor = page.getByRole("textbox", { name: "Statement" });
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("SELECT 'last' AS a");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("cell", { name: "last" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Open a statement" }).click();
  await page.getByRole("button", { name: "SELECT 'last' AS a" }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "My statement", exact: true }).click();
  await editor.getByText("'saved'").waitFor();
  await page.getByRole("button", { name: "Open a statement" }).click();
  await page.getByRole("button", { name: "Remove My statement" }).click();
  await page.getByRole("button", { name: "My statement", exact: true }).waitFor({ state: "detached" });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("in each look, axe finds nothing, and nothing scrolls sideways", async () => {
  const many =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'a long text in a cell' AS a, i AS b, i AS c FROM n LIMIT 1001";
  for (const look of looks) {
    const page = await dashboard.open(`/sql?sql=${encodeURIComponent(many)}`, look);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("The first 1,000 rows").waitFor();
    expect(await page.getByRole("row").count()).toBe(1_001);
    expect(await violationsOf(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
});
