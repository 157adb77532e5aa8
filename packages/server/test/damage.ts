/** Damage for tests: writes garbage over pages of a closed database file. */
import { Database as Driver } from "bun:sqlite";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** Pages of a b-tree: the root page, or the last leaf, with the newest rows or the highest keys. */
export type PageKind = "root" | "leaf";

function pagesOf(path: string, name: string, kind: PageKind): number[] {
  const driver = new Driver(path, { readonly: true });
  try {
    const rows = driver
      .query<{ pageno: number; pagetype: string }, [string]>(
        "SELECT pageno, pagetype FROM dbstat WHERE name = ? ORDER BY path",
      )
      .all(name);
    const root = driver
      .query<{ page: number }, [string]>("SELECT rootpage AS page FROM sqlite_schema WHERE name = ?")
      .get(name);
    if (kind === "root") return root === null ? [] : [root.page];
    return rows.filter(({ pagetype }) => pagetype === kind).map(({ pageno }) => pageno);
  } finally {
    driver.close();
  }
}

function overwrite(path: string, page: number, fill: number): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(4_096, fill), 0, 4_096, (page - 1) * 4_096);
  closeSync(file);
}

/** Overwrites a page of a table or index. */
export function damage(
  path: string,
  name: string,
  { kind = "leaf", fill = 0x5a }: { kind?: PageKind; fill?: number } = {},
): void {
  const page = pagesOf(path, name, kind).at(-1);
  if (page === undefined) throw new Error(`${name} has no ${kind} page`);
  overwrite(path, page, fill);
}

/** Overwrites a page by its number; the first is the file's header and the root of the schema. */
export function damagePage(path: string, page: number, fill = 0x5a): void {
  overwrite(path, page, fill);
}

/** The number of the first page of the list of free pages; 0 for an empty list. */
export function firstFreePage(path: string): number {
  return readFileSync(path).readUInt32BE(32);
}
