/** Tests of the check of a whole file. */
import { expect, test } from "bun:test";
import { checkFile, type FileCheck } from "./check-file.ts";
import { mappingFor } from "./mapping/mapping.ts";
import type { ImportPlan } from "./run/prepare.ts";
import type { SourceRow } from "./source/source.ts";

const field = { name: "n", type: "integer", min: 0, unique: true } as const;
const plan: ImportPlan = {
  collection: "items",
  mappings: [mappingFor({ field, column: 0, sample: [["1"]], collections: [] })],
  match: null,
  isProtected: false,
  hasTypes: false,
};

async function* rows(cells: readonly string[]): AsyncGenerator<SourceRow> {
  for (const [at, cell] of cells.entries())
    yield { number: at + 1, cells: [cell], isEmpty: false, problem: null, part: 0 };
}

async function check(cells: readonly string[]): Promise<FileCheck | null> {
  let last: FileCheck | null = null;
  await checkFile(rows(cells), plan, { signal: new AbortController().signal, onProgress: (now) => (last = now) });
  return last;
}

test("rows far behind the preview are checked, too", async () => {
  const cells = Array.from({ length: 1_200 }, (_, n) => String(n));
  cells[700] = "x";
  cells[900] = "-1";
  cells[1_100] = "5";
  const found = await check(cells);
  expect([found?.rows, found?.bad, found?.isDone]).toEqual([1_200, 3, true]);
  expect(found?.first.map(({ number }) => number)).toEqual([701, 901, 1_101]);
});

test("a good file has no problem; a stopped check reports nothing more", async () => {
  expect((await check(["1", "2"]))?.bad).toBe(0);
  const stop = new AbortController();
  stop.abort();
  let told = 0;
  await checkFile(rows(["x"]), plan, { signal: stop.signal, onProgress: () => (told += 1) });
  expect(told).toBe(0);
});
