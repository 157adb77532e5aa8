/**
 * The records that hold the id of a file. A field of files has no index unless its definition asks for one, so every record
 * of the collections that have such fields may be looked at.
 */
import type { FileUse } from "@socle/protocol";
import { type Collections, columnName } from "../collections/index.ts";
import { identifier } from "../database/index.ts";
import { typeOf } from "../fields/index.ts";
import type { FileColumn, FileUsesInput } from "./plan.ts";
import { conditionSql, type Run } from "./sql/statement.ts";

export interface FileUses {
  readonly items: FileUse[];
  readonly total: number;
}

/** The columns that hold ids of files. */
export function fileColumns(collections: Collections): FileColumn[] {
  const columns: FileColumn[] = [];
  for (const collection of collections.all())
    for (const field of collection.definition.fields) {
      if (typeOf(field).reference !== "file") continue;
      const table = identifier(collection.table);
      const column = `${table}.${identifier(columnName(field))}`;
      columns.push({ collection: collection.name, field: field.name, table, column });
    }
  return columns;
}

/** The uses of a file, by collection and field, newest first in each. */
export function runFileUses(run: Run, { columns, fileId, limit, offset }: FileUsesInput): FileUses {
  const items: FileUse[] = [];
  let total = 0;
  for (const { collection, field, table, column } of columns) {
    const where = conditionSql(run, table, [{ text: `${column} = ?`, values: [] }]).text;
    const row = run.reader.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}${where}`, fileId);
    const [found, skipped] = [row?.n ?? 0, Math.max(0, offset - total)];
    total += found;
    if (skipped >= found || items.length >= limit) continue;
    const ids = run.reader.all<{ id: string }>(
      `SELECT id FROM ${table}${where} ORDER BY _seq DESC LIMIT ? OFFSET ?`,
      fileId,
      limit - items.length,
      skipped,
    );
    items.push(...ids.map(({ id }) => ({ collection, field, id })));
  }
  return { items, total };
}
