/** Puts a table into docs/reliability.md, between the comments that bear the name. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../kit.ts";

export function writeTable(name: string, table: string): void {
  const page = join(root, "docs/reliability.md");
  const [start, stop] = [`<!-- ${name}: start -->`, `<!-- ${name}: end -->`];
  const text = readFileSync(page, "utf8");
  const [before = "", rest] = text.split(start);
  const after = rest?.split(stop)[1];
  if (after === undefined) throw new Error(`${page} has no place for ${name}`);
  writeFileSync(page, `${before}${start}\n\n${table}\n\n${stop}${after}`);
}
