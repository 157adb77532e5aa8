/** Tests of a paste: texts as spreadsheets write them, and the changes and refusals of a paste. */
import { expect, test } from "bun:test";
import type { CollectionEntry, FieldDefinition, JsonValue } from "@socle/protocol";
import { gridColumns } from "../columns/use-columns.ts";
import { toRow } from "../data/rows.ts";
import { type Paste, planPaste, rowsOf } from "./paste.ts";

test("texts of Excel, LibreOffice and Google Sheets: quotes hold newlines and tabs, broken quotes stand for themselves", () => {
  expect(rowsOf("a\tb\r\nc\t\r\n")).toEqual([
    ["a", "b"],
    ["c", null],
  ]);
  expect(rowsOf('"two\nlines"\t"say ""hi"""\nnext\t1\n')).toEqual([
    ["two\nlines", 'say "hi"'],
    ["next", "1"],
  ]);
  expect(rowsOf('5" tape\tx')).toEqual([['5" tape', "x"]]);
  expect(rowsOf('"open\tx\ny\tz')).toEqual([
    ['"open', "x"],
    ["y", "z"],
  ]);
  expect(rowsOf('"a" b\tx')).toEqual([['"a" b', "x"]]);
});

const fields: FieldDefinition[] = [
  { name: "title", type: "string", required: true },
  { name: "size", type: "integer", min: 1 },
  { name: "no", type: "integer", sequence: true },
  { name: "state", type: "string", values: ["open", "done"] },
  { name: "due", type: "datetime" },
];
const collection: CollectionEntry = {
  name: "tasks",
  fields,
  permissions: null,
  indexes: [],
  definition: { name: "tasks", fields },
  createdAt: "",
  updatedAt: "",
  records: 2,
};
const records = ["a", "b"].map((title, i) => {
  const values: { [name: string]: JsonValue } = { title, size: 1, no: i, state: "open", due: null };
  return { id: `rec_${title}`, createdAt: "", updatedAt: "", ...values };
});
const rows = { first: 0, items: records.map(toRow) };

function paste(pasted: string, column: number, row = 0): Promise<Paste> {
  const columns = gridColumns(collection, {});
  return planPaste(pasted, { collection, collections: [], columns, rows, at: { row, column } }, async () => null);
}

test("cells become values as in an import; equal cells are counted, and no record beyond the cells changes", async () => {
  const plan = await paste("x\t2\nb\t1\n", 0);
  expect([...plan.changes]).toEqual([["rec_a", { title: "x", size: 2 }]]);
  expect(plan).toMatchObject({ cells: 2, same: 2, refused: [] });
});

test("each refusal has its reason: a broken rule, an unread cell, a read-only column, cells below and beside", async () => {
  const plan = await paste("\t0\t7\tlater\tnever\nok\t3\t7\tdone\t2026-03-01\nno\trow", 0);
  expect([...plan.changes]).toEqual([
    ["rec_b", { title: "ok", size: 3, state: "done", due: "2026-03-01T00:00:00.000Z" }],
  ]);
  const refused = plan.refused.map(({ id, field }) => `${id} ${field}`);
  expect(refused.toSorted()).toEqual(
    ["rec_a title", "rec_a size", "rec_a no", "rec_a state", "rec_a due", "rec_b no", " null"].toSorted(),
  );
  const wide = await paste("1\t2", gridColumns(collection, {}).length - 1, 1);
  expect(wide.changes.size).toBe(0);
  expect(wide.refused.map(({ field }) => field).toSorted()).toEqual(["updatedAt", null].toSorted());
});

test("a short row leaves the further columns alone, and an empty cell empties its field", async () => {
  const plan = await paste("open\t\nopen", 3);
  expect(plan).toMatchObject({ cells: 0, same: 3, refused: [] });
  const emptied = await paste("\t", 3);
  expect([...emptied.changes]).toEqual([["rec_a", { state: null }]]);
});

test("too many cells are refused as a whole", async () => {
  await expect(paste("x\n".repeat(20_001), 0)).rejects.toThrow(/20,000 cells/);
});
