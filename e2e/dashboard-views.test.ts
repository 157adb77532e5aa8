/** The pages of a view: the grid without anything that writes, and the query and the rule as texts. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, looks, openDashboard, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [
    { name: "notes", fields: [{ name: "title", type: "string" }] },
    { name: "board", query: "SELECT id, createdAt, title FROM notes" },
  ],
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;
for (const title of ["first", "second"]) await api("POST", "/api/notes", { title });

test("the grid shows the rows, and offers no new record, no import, no export and no deletion", async () => {
  const page = await dashboard.open("/collections/board");
  await page.getByText("first").waitFor();
  await page.getByRole("link", { name: /board/ }).getByText("view").waitFor();
  await page.getByText("first").dblclick();
  await page.getByText("The service manages title").first().waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  expect(await page.getByRole("button", { name: "New record" }).count()).toBe(0);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Code" }).waitFor();
  for (const name of [/Import/, /Export/]) expect(await page.getByRole("menuitem", { name }).count()).toBe(0);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the query and the rule are edited as texts, and a refusal stands below", async () => {
  for (const look of looks) {
    const page = await dashboard.open("/collections/board/schema", look);
    await page.getByLabel("Query").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
  const page = await dashboard.open("/collections/board/schema");
  await page.getByLabel("Query").fill("SELECT id, titel FROM notes");
  await page.getByRole("button", { name: "Save the view" }).click();
  await page.getByText("no such column: titel").waitFor();
  await page.getByLabel("Query").fill("SELECT id, title AS head FROM notes");
  await page.getByLabel("Who may read").fill("authenticated");
  await page.getByRole("button", { name: "Save the view" }).click();
  await page.getByText("Collection board was changed").waitFor();
  await page.getByText("head", { exact: true }).waitFor();
  const { definition } = (await api("GET", "/api/admin/collections/board")) as { definition: object };
  expect(definition).toMatchObject({
    query: "SELECT id, title AS head FROM notes",
    permissions: { read: "authenticated" },
    fields: [{ name: "head", type: "string" }],
  });
});
