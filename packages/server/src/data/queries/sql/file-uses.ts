/**
 * File uses: the records that hold the id of a file, found by the indexes of the fields of files, and the files that a caller may read
 * because a record shows the file.
 */
import type { FileUse } from "@socle/protocol";
import type { Principal } from "../../../base/kernel/index.ts";
import { identifier, type Reader } from "../../../store/database/index.ts";
import { type Collection, type Collections, columnName, givesRight, itemTableName } from "../../collections/index.ts";
import { type SqlPart, sqlPart } from "../../expressions/index.ts";
import { typeOf } from "../../fields/index.ts";
import { callerOf } from "../../permissions/index.ts";
import { fieldLimits, recordTableOf } from "../../records/index.ts";
import type { FileColumn, FileShownInput, FileUsesInput, ReadableFileColumn } from "../plan.ts";
import { conditionOf, ReadScope, whereOf } from "../read-scope.ts";
import { conditionSql, pointingTo, Run } from "./rows.ts";

/** Records of a column that a transaction looks at. */
const maxNewest = 100;

export interface FileUses {
  readonly items: FileUse[];
  readonly total: number;
}

/** The columns of a collection that hold ids of files. */
export function fileColumns(collection: Collection): FileColumn[] {
  const { name, table, definition } = collection;
  const { newestFirst } = recordTableOf(collection);
  const files = definition.fields.filter((field) => typeOf(field).reference === "file");
  return files.map((field) => ({
    collection: name,
    field: field.name,
    table: identifier(table),
    newestFirst,
    column: `${identifier(table)}.${identifier(columnName(field))}`,
    items: field.multiple === true ? identifier(itemTableName(name, field.name)) : null,
  }));
}

/** The columns of files that a caller may read something of, with the read rules of collection and field as a condition. */
export function readableFileColumns(scope: ReadScope): ReadableFileColumn[] {
  const options = { users: scope.collections.users.table, isProbed: true, isOfOneRecord: true };
  return scope.readable().flatMap((collection) => {
    const limits = fieldLimits(collection, scope.principal);
    const columns = fileColumns(collection).filter(({ field }) => limits?.closed.has(field) !== true);
    return columns.map((column) => {
      const field = limits?.conditional.get(column.field) ?? null;
      const rules = [scope.source(collection).condition, field && conditionOf(field)];
      const conditions = rules.filter((each) => each !== null);
      return { ...column, condition: whereOf(conditions, column.table, options) };
    });
  });
}

/** The uses of a file, by collection and field, newest first in each field. */
export function runFileUses(run: Run, { columns, fileId, limit, offset }: FileUsesInput): FileUses {
  const items: FileUse[] = [];
  let total = 0;
  for (const { collection, field, table, newestFirst, ...pointer } of columns) {
    const uses = sqlPart` FROM ${table}${conditionSql(table, [pointingTo(table, pointer, [fileId])])}`;
    const [found, skipped] = [run.count(sqlPart`SELECT count(*) AS n${uses}`), Math.max(0, offset - total)];
    total += found;
    if (skipped >= found || items.length >= limit) continue;
    const page = { text: ` ORDER BY ${newestFirst} LIMIT ? OFFSET ?`, values: [limit - items.length, skipped] };
    const ids = run.all<{ id: string }>(sqlPart`SELECT id${uses}${page}`);
    items.push(...ids.map(({ id }) => ({ collection, field, id })));
  }
  return { items, total };
}

export function runFileShown(run: Run, { columns, fileId }: FileShownInput): boolean {
  return columns.some((column) => isIn(run, column, { fileId, matches: pointingTo(column.table, column, [fileId]) }));
}

function isIn(
  run: Run,
  { table, condition }: ReadableFileColumn,
  { fileId, matches }: { fileId: string; matches: SqlPart },
): boolean {
  const where = conditionSql(table, [matches, givesRight(table, fileId), condition]);
  return run.first(sqlPart`SELECT 1 FROM ${table}${where} LIMIT 1`) !== null;
}

/** The newest records of a column that hold the id of a file. */
function newestWith(fileId: string, { table, column, items }: FileColumn): SqlPart {
  const newest =
    items === null
      ? `SELECT ${table}._seq FROM ${table} WHERE ${column} = ? ORDER BY ${table}._seq DESC LIMIT ${maxNewest}`
      : `SELECT record FROM ${items} WHERE value = ? ORDER BY record DESC LIMIT ${maxNewest}`;
  return { text: `${table}._seq IN (${newest})`, values: [fileId] };
}

/** The files that a caller may read because a record shows the file, in the view of a transaction. */
export class ShownFiles {
  readonly #collections: Collections;
  /** The columns of files that the last caller may read: a record may name hundreds of files. */
  #last: { principal: Principal; epoch: number; columns: ReadableFileColumn[] } | null = null;

  constructor(collections: Collections) {
    this.#collections = collections;
  }

  /** Like `Queries.isShownByRecord`, among some of the newest records: a transaction holds up everything else. */
  isShown(reader: Reader, fileId: string, principal: Principal): boolean {
    const { epoch } = this.#collections;
    if (this.#last?.principal !== principal || this.#last.epoch !== epoch) {
      const scope = new ReadScope(this.#collections, principal);
      this.#last = { principal, epoch, columns: readableFileColumns(scope) };
    }
    const run = new Run(reader, { now: Date.now(), user: callerOf(principal) }, { isOnLoop: false });
    return this.#last.columns.some((column) => isIn(run, column, { fileId, matches: newestWith(fileId, column) }));
  }
}
