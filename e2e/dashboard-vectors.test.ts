/** Vectors in the dashboard: the cell, the edit in the drawer, values that the service refuses, and a field of a new collection. */
import { afterAll, expect, test } from "bun:test";
import type { CollectionEntry } from "@socle/protocol";
import { complaintsOf, leave, looks, openDashboard, settled, violationsOf } from "./dashboard.ts";
import { until } from "./kit.ts";

const numbers = Array.from({ length: 384 }, (_, i) => (i % 7) / 8 - 0.25);
const dashboard = await openDashboard({
  collections: [
    {
      name: "notes",
      fields: [
        { name: "text", type: "string" },
        { name: "embedding", type: "vector", dimensions: 384 },
        { name: "tone", type: "vector", dimensions: 2, metric: "l2" },
      ],
    },
  ],
});
afterAll(() => dashboard.server.stop());
interface Note {
  readonly id: string;
  readonly embedding: number[] | null;
  readonly tone: number[] | null;
}
const note = (await dashboard.api("POST", "/api/notes", { text: "One", embedding: numbers, tone: [1, 2] })) as Note;
await dashboard.api("POST", "/api/notes", { text: "Two" });
const noteNow = async (): Promise<Note> => (await dashboard.api("GET", `/api/notes/${note.id}`)) as Note;

test("a cell has the count of the numbers; the drawer saves other numbers, and shows why the service refuses numbers", async () => {
  const page = await dashboard.open(`/collections/notes?record=${note.id}`);
  await settled(page);
  await page.getByRole("gridcell", { name: "384 numbers" }).waitFor();
  expect(await page.getByRole("gridcell", { name: "2 numbers", exact: true }).count()).toBe(1);
  const editor = page.getByRole("textbox", { name: "tone" });
  await editor.fill("[0.5]");
  const save = page.getByRole("button", { name: /^Save/ }).first();
  await save.click();
  await page
    .getByText(/must be an array of 2 numbers, not of 1/)
    .first()
    .waitFor();
  expect((await noteNow()).tone).toEqual([1, 2]);
  await editor.fill("[0.5, -3]");
  await save.click();
  await until(async () => (await noteNow()).tone?.[0] === 0.5);
  expect(await noteNow()).toMatchObject({ tone: [0.5, -3], embedding: numbers });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a new vector field needs the count of its numbers", async () => {
  const page = await dashboard.open("/collections/notes/schema");
  await settled(page);
  await page.getByRole("button", { name: "Add field" }).click();
  await page.keyboard.type("shape");
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: /^Vector/ }).click();
  const options = page.getByRole("button", { name: "Options of shape" });
  if ((await options.getAttribute("aria-expanded")) !== "true") await options.click();
  await page.getByText("A vector has 1 to 4096 numbers.").waitFor();
  await page.getByRole("textbox", { name: "Count of numbers" }).fill("3");
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Collection notes was changed").waitFor();
  const { fields } = (await dashboard.api("GET", "/api/admin/collections/notes")) as CollectionEntry;
  expect(fields.at(-1)).toEqual({ name: "shape", type: "vector", dimensions: 3 });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test.each([...looks])("the record and the schema look right: $theme, $width", async (look) => {
  for (const path of [`/collections/notes?record=${note.id}`, "/collections/notes/schema"]) {
    const page = await dashboard.open(path, look);
    await settled(page);
    await page.getByText(path.endsWith("schema") ? "384 numbers" : "vector · 384").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
});
