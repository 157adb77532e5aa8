/**
 * Dropped values: the values of a field, or the records of a collection, that a migration dropped. A row of `_dropped` is a
 * drop. The values of a field are in `_dropped_values`; the table of a collection stays under another name.
 */
import type { CollectionDefinition, DroppedEntry, FieldDefinition } from "@socle/protocol";
import { identifier, literal, type Reader, type SlowTransactor, type Transactor } from "../../store/database/index.ts";
import { foldedSql, noItems } from "../fields/index.ts";
import { plainColumn, tableName } from "./collection.ts";
import type { RecordSource } from "./plan.ts";

export const droppedTables = [
  // `definition`: JSON of the field, or of the collection (`field` null). `kept`: 0 while the values are being deleted.
  "CREATE TABLE _dropped (n INTEGER PRIMARY KEY, collection TEXT NOT NULL, field TEXT, definition TEXT NOT NULL, at TEXT NOT NULL, cause TEXT NOT NULL, kept INTEGER NOT NULL) STRICT",
  "CREATE TABLE _dropped_values (record TEXT NOT NULL, dropped INTEGER NOT NULL, value ANY NOT NULL, PRIMARY KEY (record, dropped)) STRICT, WITHOUT ROWID",
  "CREATE INDEX _dropped_values_dropped ON _dropped_values (dropped)",
];

/** A drop. */
export interface DroppedRow {
  readonly n: number;
  /** The present name of the collection of a field; the last name of a collection. */
  readonly collection: string;
  readonly field: string | null;
  readonly definition: string;
  readonly at: string;
  readonly cause: DroppedEntry["cause"];
  /** The number of values, or of records. */
  readonly kept: number;
}

/** The time and the cause of a migration. */
export interface DropCause {
  readonly at: string;
  readonly cause: DroppedEntry["cause"];
}

/** The drops that can be restored, newest first. */
export function droppedRows(reader: Reader): DroppedRow[] {
  return reader.all<DroppedRow>("SELECT * FROM _dropped WHERE kept > 0 ORDER BY n DESC");
}

export function entryOf({ n, collection, field, at, cause, kept }: DroppedRow): DroppedEntry {
  return { id: String(n), collection, field, at, cause, values: kept };
}

/** The name of the table of the records of a dropped collection, not quoted. */
function keptTable({ n }: Pick<DroppedRow, "n">): string {
  return `_dropped_${n}`;
}

/** The records of a dropped collection. */
export function keptRecords(row: DroppedRow): RecordSource {
  const table = keptTable(row);
  return { table, rows: `SELECT * FROM ${identifier(table)}` };
}

/** Whether a column has a value, as SQL. */
export function isSetSql({ multiple }: Pick<FieldDefinition, "multiple">, column: string): string {
  return multiple === true ? `${column} <> ${literal(noItems)}` : `${column} IS NOT NULL`;
}

/** Numbers grow with the time, so that the number of a drop that is over comes not again. */
async function nextNumber(tx: SlowTransactor, at: string): Promise<number> {
  const sql = "SELECT max(?, 1 + coalesce(max(n), 0)) AS n FROM _dropped";
  return (await tx.get<{ n: number }>(sql, Date.parse(at)))?.n ?? 0;
}

async function put(tx: SlowTransactor, row: DroppedRow): Promise<void> {
  const { n, collection, field, definition, at, cause, kept } = row;
  const sql = "INSERT INTO _dropped (n, collection, field, definition, at, cause, kept) VALUES (?, ?, ?, ?, ?, ?, ?)";
  await tx.run(sql, n, collection, field, definition, at, cause, kept);
}

/** Keeps the values of a column that goes. */
export async function keepField(
  tx: SlowTransactor,
  { collection, field }: { collection: string; field: FieldDefinition },
  by: DropCause,
): Promise<void> {
  const n = await nextNumber(tx, by.at);
  const column = identifier(plainColumn(field.name));
  const kept = await tx.run(
    `INSERT INTO _dropped_values (record, dropped, value) SELECT id, ?, ${column} FROM ${identifier(tableName(collection))} WHERE ${isSetSql(field, column)}`,
    n,
  );
  if (kept > 0) await put(tx, { n, collection, field: field.name, definition: JSON.stringify(field), kept, ...by });
}

/** Keeps the table of a collection that goes; drops a table without records. The table has no triggers any more. */
export async function keepTable(tx: SlowTransactor, definition: CollectionDefinition, by: DropCause): Promise<void> {
  const { name: collection } = definition;
  const table = identifier(tableName(collection));
  const { kept } = (await tx.get<{ kept: number }>(`SELECT count(*) AS kept FROM ${table}`)) ?? { kept: 0 };
  if (kept === 0) {
    await tx.run(`DROP TABLE ${table}`);
    return;
  }
  const n = await nextNumber(tx, by.at);
  await tx.run(`ALTER TABLE ${table} RENAME TO ${identifier(keptTable({ n }))}`);
  await put(tx, { n, collection, field: null, definition: JSON.stringify(definition), kept, ...by });
}

/** Follows the rename of a collection. */
export async function followRename(tx: SlowTransactor, from: string, to: string): Promise<void> {
  await tx.run("UPDATE _dropped SET collection = ? WHERE collection = ? AND field IS NOT NULL", to, from);
}

/** Makes the trigger by which the kept values of a record go with the record. */
export async function watchDeletions(tx: SlowTransactor, collection: string): Promise<void> {
  const sql = "SELECT 1 FROM _dropped WHERE collection = ? AND field IS NOT NULL";
  if ((await tx.get(sql, collection)) === null) return;
  const table = tableName(collection);
  await tx.run(
    `CREATE TRIGGER ${identifier(`_dropped_${table}.delete`)} AFTER DELETE ON ${identifier(table)} BEGIN
       UPDATE _dropped SET kept = kept - 1 WHERE n IN (SELECT dropped FROM _dropped_values WHERE record = old.id);
       DELETE FROM _dropped_values WHERE record = old.id; END`,
  );
}

/** The value of a field after values have gone back, as SQL. @param table quoted. */
export function restoredSql(field: FieldDefinition, { table, n }: { table: string; n: number }): string {
  const column = `${table}.${identifier(plainColumn(field.name))}`;
  const value = `(SELECT value FROM _dropped_values WHERE record = ${table}.id AND dropped = ${n})`;
  return `CASE WHEN ${isSetSql(field, column)} THEN ${column} ELSE coalesce(${value}, ${column}) END`;
}

/** Gives values back to the records that have no value. A value that another record has in a unique field is left. */
export async function giveBack(
  tx: SlowTransactor,
  collection: string,
  at: { field: FieldDefinition; n: number },
): Promise<void> {
  const { field, n } = at;
  const table = identifier(tableName(collection));
  const column = `${table}.${identifier(plainColumn(field.name))}`;
  const ofDrop = "SELECT record FROM _dropped_values WHERE dropped = ?1";
  const folded = foldedSql("value");
  // The table of folded texts is made afterwards, so that the first record with a folding gets the value.
  const first = `SELECT record FROM (SELECT record, ${folded} AS folded, row_number() OVER (PARTITION BY ${folded} ORDER BY record) AS place FROM _dropped_values WHERE dropped = ?1) WHERE place = 1 AND folded NOT IN (SELECT ${foldedSql(column)} FROM ${table} WHERE ${column} IS NOT NULL)`;
  await tx.run(
    `UPDATE OR IGNORE ${table} SET ${identifier(plainColumn(field.name))} = ${restoredSql(field, { table, n })} WHERE NOT ${isSetSql(field, column)} AND id IN (${field.unique === "nocase" ? first : ofDrop})`,
    n,
  );
  const left = `SELECT count(*) FROM _dropped_values WHERE dropped = ${n}`;
  await tx.run(
    `DELETE FROM _dropped_values WHERE dropped = ? AND EXISTS (SELECT 1 FROM ${table} WHERE id = record AND ${column} IS value)`,
    n,
  );
  await tx.run(`UPDATE _dropped SET kept = (${left}) WHERE n = ?`, n);
}

/** The drops that are over: older than a time, or without values. */
export function endedRows(reader: Reader, before: string): DroppedRow[] {
  return reader.all<DroppedRow>("SELECT * FROM _dropped WHERE at < ? OR kept <= 0", before);
}

/** From now on, a drop cannot be restored. Answers whether the drop is still there. */
export function endDrop(tx: Transactor, { n }: DroppedRow): boolean {
  return tx.run("UPDATE _dropped SET kept = 0 WHERE n = ?", n) > 0;
}

/** Deletes some values of a drop that has ended. Answers the number. */
export function deleteValues(tx: Transactor, row: DroppedRow, limit: number): number {
  if (row.field === null) {
    const table = identifier(keptTable(row));
    return tx.run(`DELETE FROM ${table} WHERE _seq IN (SELECT _seq FROM ${table} ORDER BY _seq LIMIT ?)`, limit);
  }
  const some = "SELECT record FROM _dropped_values WHERE dropped = ? ORDER BY record LIMIT ?";
  return tx.run(`DELETE FROM _dropped_values WHERE dropped = ? AND record IN (${some})`, row.n, row.n, limit);
}

/** Forgets a drop, with the empty table. */
export async function forgetDrop(tx: SlowTransactor, row: DroppedRow): Promise<void> {
  if (row.field === null) await tx.run(`DROP TABLE ${identifier(keptTable(row))}`);
  await tx.run("DELETE FROM _dropped WHERE n = ?", row.n);
}
