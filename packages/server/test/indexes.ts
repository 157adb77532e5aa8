/** Kit of the tests of indexes: the indexes that SQLite has on a table. */
import type { Service } from "../src/app/index.ts";
import { identifier } from "../src/store/database/index.ts";

interface FoundIndex {
  readonly name: string;
  /** The columns of the index, with "unique" before the columns of a unique index. */
  readonly text: string;
  /** The first page of the index in the file: a rebuilt index has another page. */
  readonly place: number;
}

/** The indexes of a table that migrations made, in the order of their columns. */
export async function indexesIn(service: Service, table: string): Promise<FoundIndex[]> {
  const { reader } = service.database;
  const found: FoundIndex[] = [];
  // A pragma answers from the schema that the connection has read before; a query reads a changed schema again.
  await reader.get(`SELECT 1 FROM ${identifier(table)}`);
  const list = `PRAGMA index_list(${identifier(table)})`;
  for (const index of await reader.all<{ name: string; unique: number; origin: string }>(list)) {
    if (index.origin !== "c") continue;
    const columns = await reader.all<{ name: string }>(`PRAGMA index_info(${identifier(index.name)})`);
    const place = await reader.get<{ rootpage: number }>(
      "SELECT rootpage FROM sqlite_schema WHERE name = ?",
      index.name,
    );
    const text = `${index.unique === 1 ? "unique " : ""}${columns.map(({ name }) => name).join(", ")}`;
    found.push({ name: index.name, text, place: place?.rootpage ?? 0 });
  }
  return found.sort((a, b) => (a.text < b.text ? -1 : 1));
}

export async function indexTexts(service: Service, table: string): Promise<string[]> {
  return (await indexesIn(service, table)).map(({ text }) => text);
}
