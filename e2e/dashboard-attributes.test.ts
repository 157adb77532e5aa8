/** Attributes of fields in the dashboard: values, defaults, deletions and sequences in the schema editor, in the form of a record and in an import. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { CollectionEntry, RecordList } from "@socle/protocol";
import { complaintsOf, leave, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";
import { temporaryFolder } from "./kit.ts";

const dashboard = await openDashboard({
  collections: [
    { name: "boards", fields: [{ name: "title", type: "string" }] },
    {
      name: "tasks",
      fields: [
        { name: "title", type: "string" },
        { name: "status", type: "string", values: ["todo", "done"] },
        { name: "board", type: "relation", collection: "boards" },
        { name: "number", type: "integer" },
      ],
    },
  ],
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;

test("attributes are chosen in the options of a field, reviewed and applied", async () => {
  await api("POST", "/api/tasks", { title: "First", status: "todo" });
  const page = await dashboard.open("/collections/tasks/schema");
  await page.getByRole("button", { name: "Options of status" }).click();
  await page.getByRole("textbox", { name: "Values" }).fill("doing\ntodo\ndone");
  await page.getByRole("switch", { name: "Has a default" }).check();
  await page.getByRole("button", { name: "Options of board" }).click();
  await page.getByRole("combobox", { name: "When the target is deleted" }).click();
  await page.getByRole("option", { name: "Delete this record, too" }).click();
  await page.getByRole("button", { name: "Options of number" }).click();
  await page.getByRole("switch", { name: "Numbers the records" }).check();
  await page.getByRole("combobox", { name: "Counts separately for each" }).click();
  await page.getByRole("option", { name: "board" }).click();
  await page.keyboard.press("Escape");
  await settled(page);
  expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByText("1 record without a number gets a number").waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Collection tasks was changed").waitFor();
  expect(((await api("GET", "/api/admin/collections/tasks")) as CollectionEntry).fields).toEqual([
    { name: "title", type: "string" },
    { name: "status", type: "string", values: ["doing", "todo", "done"], default: "doing" },
    { name: "board", type: "relation", collection: "boards", onDelete: "cascade" },
    { name: "number", type: "integer", sequence: ["board"] },
  ]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a record chooses a value from the list, and its number is only shown", async () => {
  const page = await dashboard.open("/collections/tasks?record=new");
  await page.getByRole("textbox", { name: "title" }).fill("Second");
  await page.getByRole("combobox", { name: "status" }).click();
  await page.getByRole("option", { name: "done" }).click();
  expect(await page.getByPlaceholder("given by the service").isEditable()).toBe(false);
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Control+s");
  await page.getByText("The record was created.").waitFor();
  const { items } = (await api("GET", "/api/tasks")) as RecordList;
  expect(items[0]).toMatchObject({ title: "Second", status: "done", number: 2 });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("an import asks for no default and no number", async () => {
  await api("POST", "/api/admin/collections", {
    name: "tickets",
    fields: [
      { name: "title", type: "string", required: true },
      { name: "status", type: "string", required: true, values: ["open", "closed"], default: "open" },
      { name: "number", type: "integer", sequence: true },
    ],
  });
  const file = join(temporaryFolder(), "tickets.csv");
  await Bun.write(file, "title,number,state\nFirst,70,\nSecond,80,closed\n");
  const page = await dashboard.open("/collections/tickets/import");
  await page.locator("input[type=file]").setInputFiles(file);
  await page.getByText("Assigned by the service").waitFor();
  expect(await page.getByRole("combobox", { name: "Value of number from" }).count()).toBe(0);
  expect(await page.getByText("Required, and without a value").count()).toBe(0);
  await page.getByText("No problems in 2 rows").waitFor();
  await settled(page);
  expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
  // An empty cell takes the default, too.
  await page.getByRole("combobox", { name: "Value of status from" }).click();
  await page.getByRole("option", { name: "state" }).click();
  await page.getByRole("cell", { name: "default" }).waitFor();
  await page.getByText("No problems in 2 rows").waitFor();
  await page.getByRole("button", { name: "Start the import", exact: true }).click();
  await page.getByText("2 created").waitFor();
  const { items } = (await api("GET", "/api/tickets?sort=title&fields=title,status,number")) as RecordList;
  expect(items).toMatchObject([
    { title: "First", status: "open" },
    { title: "Second", status: "closed" },
  ]);
  expect(items.map(({ number }) => Number(number)).toSorted((a, b) => a - b)).toEqual([1, 2]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a value, a type and a collection get another name or type, with the records", async () => {
  await api("POST", "/api/admin/collections", {
    name: "jobs",
    fields: [
      { name: "state", type: "string", values: ["new", "wip"] },
      { name: "size", type: "integer" },
    ],
  });
  await api("POST", "/api/jobs", { state: "wip", size: 3 });
  const page = await dashboard.open("/collections/jobs/schema");
  await page.getByRole("button", { name: "Options of state" }).click();
  await page.getByRole("textbox", { name: "Values" }).fill("new\ndoing");
  await page.getByRole("combobox", { name: "“doing” was called" }).click();
  await page.getByRole("option", { name: "wip" }).click();
  await page.getByRole("button", { name: "Type of size" }).click();
  await page.getByRole("menuitem", { name: "Float" }).click();
  await settled(page);
  expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByText("wip becomes doing in 1 record, and in the rules").waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Collection jobs was changed").waitFor();
  await page.getByRole("button", { name: "Actions of the collection" }).click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  await page.getByRole("textbox", { name: "New name" }).fill("tasks");
  await page.keyboard.press("Tab");
  await page.getByText('A collection is called "tasks" already.').waitFor();
  await page.getByRole("textbox", { name: "New name" }).fill("runs");
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "Review changes" }).click();
  await page.getByText("the paths of its API change").waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Collection jobs is runs now").waitFor();
  await page.waitForURL("**/collections/runs/schema");
  expect((await api("GET", "/api/runs")) as RecordList).toMatchObject({ items: [{ state: "doing", size: 3 }] });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});
