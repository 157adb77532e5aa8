/** The records that hold the id of a file, found by the indexes of the fields of files. */
import type { FileUse } from "@socle/protocol";
import { identifier, type Reader } from "../../../store/database/index.ts";
import { type Collections, columnName, itemTableName } from "../../collections/index.ts";
import { type EvaluationContext, type Expression, join, type SqlPart, toSql } from "../../expressions/index.ts";
import { typeOf } from "../../fields/index.ts";
import { fieldLimits } from "../../records/index.ts";
import type { FileColumn, FileShownInput, FileUsesInput, PointerPlan, ReadableFileColumn } from "../plan.ts";
import { conditionOf, type ReadScope } from "../read-scope.ts";
import { all, conditionSql, count, first, type Run } from "./rows.ts";

/** Records of a column that `isShownIn` looks at. */
const maxNewest = 100;

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

/** A column, and the id of a file. */
interface Uses extends PointerPlan {
  /** As SQL. */
  readonly table: string;
  readonly fileId: string;
}

/** The records that hold the id and fulfil a condition, as SQL from FROM on. */
function usesSql(run: Run, { table, column, items, fileId }: Uses, condition: SqlPart | null): SqlPart {
  const holds = items === null ? `${column} = ?` : `${table}._seq IN (SELECT record FROM ${items} WHERE value = ?)`;
  return join([` FROM ${table}`, conditionSql(run, table, [{ text: holds, values: [fileId] }, condition])]);
}

/** The uses of a file, by collection and field, newest first in each. */
export function runFileUses(run: Run, { columns, fileId, limit, offset }: FileUsesInput): FileUses {
  const items: FileUse[] = [];
  let total = 0;
  for (const { collection, field, ...column } of columns) {
    const uses = usesSql(run, { ...column, fileId }, null);
    const [found, skipped] = [count(run, join(["SELECT count(*) AS n", uses])), Math.max(0, offset - total)];
    total += found;
    if (skipped >= found || items.length >= limit) continue;
    const page = { text: " ORDER BY _seq DESC LIMIT ? OFFSET ?", values: [limit - items.length, skipped] };
    const ids = all<{ id: string }>(run, join(["SELECT id", uses, page]));
    items.push(...ids.map(({ id }) => ({ collection, field, id })));
  }
  return { items, total };
}

/** Whether some record of the columns holds the id of a file. */
export function runFileShown(run: Run, { columns, fileId }: FileShownInput): boolean {
  return columns.some(({ condition, ...column }) => {
    const uses = usesSql(run, { ...column, fileId }, condition);
    return first(run, join(["SELECT 1", uses, " LIMIT 1"])) !== null;
  });
}

/**
 * Whether a record among the newest of the columns holds the id of a file. A transaction holds up everything else, so it looks at a
 * bounded number of records, without stop probes.
 */
export function isShownIn(
  reader: Reader,
  context: EvaluationContext,
  { columns, fileId }: Pick<FileShownInput, "columns" | "fileId">,
): boolean {
  const run: Run = { reader, context, isProbed: false };
  return columns.some(({ condition, table, column, items }) => {
    const newest =
      items === null
        ? `SELECT ${table}._seq FROM ${table} WHERE ${column} = ? ORDER BY ${table}._seq DESC LIMIT ${maxNewest}`
        : `SELECT record FROM ${items} WHERE value = ? ORDER BY record DESC LIMIT ${maxNewest}`;
    const isNewest = { text: `${table}._seq IN (${newest})`, values: [fileId] };
    const found = conditionSql(run, table, [isNewest, condition]);
    return first(run, join([`SELECT 1 FROM ${table}`, found, " LIMIT 1"])) !== null;
  });
}
