import { expect, test } from "bun:test";
import { join } from "node:path";
import { configurationTable } from "./docs.ts";

/** Cells without the spaces that a formatter aligns them with. */
function cells(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .join("|"),
    );
}

test("docs/configuration.md has every key as it is", async () => {
  const page = await Bun.file(join(import.meta.dir, "../docs/configuration.md")).text();
  expect(cells(page)).toEqual(cells(configurationTable()));
});
