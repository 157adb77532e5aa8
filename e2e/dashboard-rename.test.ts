/** Renames in the schema editor: the review names with counts all that follows; problems of an input wait until the input was left. */
import { afterAll, expect, test } from "bun:test";
import type { CollectionEntry } from "@socle/protocol";
import { complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [
    {
      name: "tasks",
      fields: [
        { name: "title", type: "string" },
        { name: "state", type: "string", values: ["new", "wip"] },
      ],
      indexes: [["title", "state"]],
      search: ["title"],
      permissions: { read: 'title != "" || state = "wip"', create: "public" },
    },
    {
      name: "notes",
      fields: [
        { name: "text", type: "string" },
        { name: "task", type: "relation", collection: "tasks" },
      ],
      permissions: { read: 'task.title != ""' },
    },
    { name: "titles", query: "SELECT id, text FROM notes" },
  ],
  files: {
    "functions/tasks/on-create.ts": "export const onCreate = ({ record, logger }) => logger.info(record.title);\n",
  },
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;
for (const state of ["wip", "wip", "new"]) await api("POST", "/api/tasks", { title: "one", state });
const schema = "/collections/tasks/schema";

test("a problem of a field waits until the input was left, and goes at once", async () => {
  const page = await dashboard.open(schema);
  const name = page.getByRole("textbox", { name: "Name of field title" });
  await name.click();
  await page.keyboard.press("End");
  await page.keyboard.type("!1");
  await settled(page);
  const problems = page.getByText("Only letters, digits and _");
  expect(await problems.count()).toBe(0);
  await page.keyboard.press("Tab");
  await problems.first().waitFor();
  await page.getByText("1 problem").waitFor();
  await page.getByRole("textbox", { name: "Name of field title!1" }).fill("title1");
  await problems.first().waitFor({ state: "detached" });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a field and a value: counts, indexes, search, rules of other collections, and files of code; then the rename", async () => {
  for (const look of looks) {
    const page = await dashboard.open(schema, look);
    await page.getByRole("textbox", { name: "Name of field title" }).fill("headline");
    await page.getByRole("button", { name: "Options of state" }).click();
    await page.getByRole("textbox", { name: "Values" }).fill("new\ndoing");
    await page.getByRole("combobox", { name: "“doing” was called" }).click();
    await page.getByRole("option", { name: "wip" }).click();
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog");
    const steps = dialog.getByRole("list", { name: "Steps" });
    for (const words of [
      "3 records keep the values",
      "The index on title, state follows",
      "The search follows",
      "wip becomes doing in 2 records, and in the rules",
      'read: title != "" || state = "wip" → headline != "" || state = "doing"',
    ])
      await steps.getByText(words).waitFor();
    await dialog.getByRole("region", { name: "Collection notes follows" }).getByText("read: task").waitFor();
    await dialog.getByText("1 file of code has the old name as a word").waitFor();
    await dialog.getByText("functions/tasks/on-create.ts").waitFor();
    await settled(page);
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    if (look === looks.at(-1)) {
      await page.keyboard.press("Control+Enter");
      await page.getByText("Collection tasks was changed").waitFor();
    }
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
  const notes = (await api("GET", "/api/admin/collections/notes")) as CollectionEntry;
  expect(notes.permissions).toEqual({ read: 'task.headline != ""' });
  expect(await api("GET", "/api/tasks?filter=state=%22doing%22")).toMatchObject({ items: [{}, {}] });
});

test("a collection that a view reads is not renamed: the review names the view, and nothing is changed", async () => {
  const page = await dashboard.open("/collections/notes/schema");
  await page.getByRole("button", { name: "Actions of the collection" }).click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  const input = page.getByRole("textbox", { name: "New name" });
  await input.fill("tasks");
  expect(await page.getByText('A collection is called "tasks" already.').count()).toBe(0);
  await page.keyboard.press("Enter");
  await page.getByText('A collection is called "tasks" already.').waitFor();
  await input.fill("remarks");
  await page.keyboard.press("Enter");
  await page.getByText('the view "titles" reads what the change takes').waitFor();
  await page.keyboard.press("Escape");
  await settled(page);
  await api("GET", "/api/admin/collections/notes");
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});
