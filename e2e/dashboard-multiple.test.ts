/** Multiple fields in the dashboard: the attribute in the schema editor, the controls of a record, the grid, filters, an import. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { CollectionEntry, RecordList, StoredRecord } from "@socle/protocol";
import { png } from "../packages/server/test/images.ts";
import { complaintsOf, leave, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";
import { temporaryFolder } from "./kit.ts";

const dashboard = await openDashboard({
  collections: [
    {
      name: "people",
      fields: [
        { name: "name", type: "string" },
        { name: "nicknames", type: "string", multiple: true },
      ],
    },
    {
      name: "issues",
      fields: [
        { name: "title", type: "string" },
        { name: "tags", type: "string" },
        { name: "areas", type: "string", values: ["api", "docs", "ui"], multiple: true },
        { name: "watchers", type: "relation", collection: "people", multiple: true },
        { name: "files", type: "file", multiple: true },
      ],
    },
  ],
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;
const make = async (collection: string, body: object): Promise<string> =>
  ((await api("POST", `/api/${collection}`, body)) as StoredRecord).id;
const ada = await make("people", { name: "Ada", nicknames: ["Countess"] });
const emile = await make("people", { name: "Émile" });

test("a field gets several values: the switch, its bounds, its default, and existing values", async () => {
  await make("issues", { title: "First", tags: "old" });
  const page = await dashboard.open("/collections/issues/schema");
  await page.getByRole("button", { name: "Options of tags" }).click();
  await page.getByRole("switch", { name: "Several values" }).check();
  await page.getByRole("textbox", { name: "Most items" }).fill("3");
  await page.getByRole("switch", { name: "Has a default" }).check();
  await page.getByRole("combobox", { name: "Default" }).fill("new");
  await page.keyboard.press("Enter");
  expect(await page.getByRole("switch", { name: "Unique" }).count()).toBe(0);
  await settled(page);
  expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByText("several values").last().waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Collection issues was changed").waitFor();
  const { fields } = (await api("GET", "/api/admin/collections/issues")) as CollectionEntry;
  expect(fields[1]).toEqual({ name: "tags", type: "string", multiple: true, max: 3, default: ["new"] });
  expect(((await api("GET", "/api/issues")) as RecordList).items[0]).toMatchObject({ tags: ["old"], watchers: [] });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a record: tags are typed, values chosen, records searched, files uploaded, and the order is changed", async () => {
  const page = await dashboard.open("/collections/issues?record=new");
  await page.getByRole("textbox", { name: "title" }).fill("Second");
  const tags = page.locator('[data-field="tags"]');
  await tags.locator("input:visible").fill("bug");
  await page.keyboard.press("Enter");
  await tags.locator("input:visible").fill("late");
  await page.keyboard.press("Enter");
  const areas = page.locator('[data-field="areas"]');
  await areas.locator("input:visible").click();
  await page.getByRole("option", { name: "ui" }).click();
  await page.getByRole("option", { name: "api" }).click();
  await page.keyboard.press("Escape");
  const watchers = page.locator('[data-field="watchers"]');
  for (const name of ["Ada", "Émile"]) {
    await watchers.locator('button[aria-label="watchers"]').click();
    await page.getByRole("textbox", { name: "Search, or paste an id: watchers" }).fill(name);
    await page.getByRole("option", { name }).click();
    await watchers.getByRole("listitem").filter({ hasText: name }).waitFor();
  }
  await watchers.getByRole("button", { name: "Move item 2 of watchers up" }).click();
  const folder = temporaryFolder();
  const paths = ["one.png", "two.png"].map((name) => join(folder, name));
  for (const path of paths) await Bun.write(path, await png(2, 2));
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Upload files: files" }).click();
  await (await chooser).setFiles(paths);
  const files = page.locator('[data-field="files"]').getByRole("listitem");
  await files.filter({ hasText: "two.png" }).waitFor();
  expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
  await page.keyboard.press("Control+s");
  await page.getByText("The record was created.").waitFor();
  const [made] = ((await api("GET", "/api/issues")) as RecordList).items;
  expect(made).toMatchObject({ title: "Second", tags: ["bug", "late"], areas: ["ui", "api"], watchers: [emile, ada] });
  expect(made?.["files"]).toHaveLength(2);
  // An item goes, and the others stay.
  await page.goto(`${dashboard.server.url}/_/collections/issues?record=${made?.id}`);
  await page.getByRole("button", { name: "Remove item 1 of watchers" }).click();
  await page.getByRole("button", { name: "Save", exact: false }).click();
  await page.getByText("The record was saved.").waitFor();
  expect((await api("GET", `/api/issues/${made?.id}`)) as StoredRecord).toMatchObject({ watchers: [ada] });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the grid shows the items, and a filter compares some items", async () => {
  const page = await dashboard.open("/collections/issues");
  const grid = page.getByRole("grid");
  await grid.getByText("bug").waitFor();
  await grid.getByRole("link", { name: "Open Ada" }).waitFor();
  expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByRole("combobox", { name: "Field" }).click();
  await page.getByRole("option", { name: "tags" }).click();
  await page.getByRole("combobox", { name: "Operator" }).click();
  expect(await page.getByRole("option").allInnerTexts()).toEqual([
    "has",
    "does not have",
    "has one with",
    "has none with",
    "has one of",
  ]);
  await page.getByRole("option", { name: "has", exact: true }).click();
  await page.getByRole("textbox", { name: "Value" }).fill("late");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("button", { name: "Edit tags has late" }).waitFor();
  await grid.getByText("Second").waitFor();
  await grid.getByText("First").waitFor({ state: "detached" });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("an import reads lists, and finds records by their names", async () => {
  const file = join(temporaryFolder(), "issues.csv");
  await Bun.write(file, `title,tags,watchers\nThird,"a, b","[""${ada}"",""${emile}""]"\nFourth,"a,b,c,d",\n`);
  const page = await dashboard.open("/collections/issues/import");
  await page.locator("input[type=file]").setInputFiles(file);
  await page.getByText("1 row of 2 with problems").waitFor();
  await settled(page);
  expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
  await page.getByRole("button", { name: "Start the import", exact: true }).click();
  await page.getByText("1 created").waitFor();
  const [third] = ((await api("GET", '/api/issues?filter=title = "Third"')) as RecordList).items;
  expect(third).toMatchObject({ tags: ["a", "b"], watchers: [ada, emile] });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});
