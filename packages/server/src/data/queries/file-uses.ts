/** The records that hold the id of a file, found by the indexes of the fields of files. */
import type { FileUse } from "@socle/protocol";
import { identifier, type Reader } from "../../store/database/index.ts";
import { type Collections, columnName, itemTableName } from "../collections/index.ts";
import { type Expression, toSql } from "../expressions/index.ts";
import { typeOf } from "../fields/index.ts";
import { fieldLimits } from "../records/index.ts";
import type { FileColumn, FileShownInput, FileUsesInput, ReadableFileColumn } from "./plan.ts";
import type { ReadScope } from "./read-scope.ts";
import { conditionOf } from "./source.ts";
import { anyUseSql, countUsesSql, newestUseSql, usesSql } from "./sql/file-uses.ts";
import type { Run } from "./sql/statement.ts";

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
      const items = field.multiple === true ? identifier(itemTableName(collection.name, field.name)) : null;
      columns.push({ collection: collection.name, field: field.name, table, column, items });
    }
  return columns;
}

/** The uses of a file, by collection and field, newest first in each. */
export function runFileUses(run: Run, { columns, fileId, limit, offset }: FileUsesInput): FileUses {
  const items: FileUse[] = [];
  let total = 0;
  for (const { collection, field, ...column } of columns) {
    const uses = { ...column, fileId };
    const count = countUsesSql(run, uses);
    const row = run.reader.get<{ n: number }>(count.sql, ...count.values);
    const [found, skipped] = [row?.n ?? 0, Math.max(0, offset - total)];
    total += found;
    if (skipped >= found || items.length >= limit) continue;
    const page = usesSql(run, uses, { limit: limit - items.length, offset: skipped });
    const ids = run.reader.all<{ id: string }>(page.sql, ...page.values);
    items.push(...ids.map(({ id }) => ({ collection, field, id })));
  }
  return { items, total };
}

/**
 * The columns of files that a caller may read something of, each with the condition on its records: the read rule of the collection, and
 * that of the field.
 */
export function readableFileColumns(
  collections: Collections,
  scope: ReadScope,
  { isProbed }: { isProbed: boolean },
): ReadableFileColumn[] {
  return fileColumns(collections).flatMap((column) => {
    const collection = collections.get(column.collection);
    if (collection === undefined || !scope.canRead(collection)) return [];
    const limits = fieldLimits(collection, scope.principal);
    if (limits?.closed.has(column.field) === true) return [];
    const field = limits?.conditional.get(column.field) ?? null;
    const conditions = [scope.source(collection).condition, field && conditionOf(field)];
    const items = conditions.filter((each) => each !== null);
    const all: Expression = { type: "and", items };
    const options = { users: scope.users.table, isProbed, isOfOneRecord: true };
    return { ...column, condition: items.length === 0 ? null : toSql(all, column.table, options) };
  });
}

/**
 * Whether a record among the newest of the columns holds the id of a file. A transaction holds up everything else, so it looks at a
 * bounded number of records.
 */
export function isShownIn(
  reader: Reader,
  { columns, fileId, context }: Pick<FileShownInput, "columns" | "fileId" | "context">,
): boolean {
  for (const { condition, ...column } of columns) {
    const { sql, values } = newestUseSql(context, { ...column, fileId }, condition);
    if (reader.get(sql, ...values) !== null) return true;
  }
  return false;
}

/** Whether some record of the columns holds the id of a file. */
export function runFileShown(run: Run, { columns, fileId }: FileShownInput): boolean {
  return columns.some(({ condition, ...column }) => {
    const { sql, values } = anyUseSql(run, { ...column, fileId }, condition);
    return run.reader.get(sql, ...values) !== null;
  });
}
