/**
 * Sequences: the numbers that the service gives to records. A counter for each field and scope says the last one: it never falls, so
 * that no number is given twice, also not that of a deleted record. Counters change in the transaction of the record.
 */
import type { ErrorDetail, FieldDefinition, StoredRecord } from "@socle/protocol";
import { type Counter, counterKey, keepNumber, lastNumber } from "../collections/index.ts";
import type { Reader, Transactor, Value } from "../database/index.ts";
import { scopeOf, typeOf } from "../fields/index.ts";
import type { RecordTable } from "./record-table.ts";

/** By the positions of the fields; undefined for a value that stays as it is. */
type Values = readonly (Value | undefined)[];

/** A record with the values that are to be written; `record` is null, or as it stands. */
interface NumberedRecord {
  readonly table: RecordTable;
  readonly values: Values;
  readonly record: StoredRecord | null;
}

/** The stored value of a field: the new one, else that of the record. */
function storedValue({ table, values, record }: NumberedRecord, position: number): Value {
  const value = values[position];
  if (value !== undefined || record === null) return value ?? null;
  const field = table.fields[position];
  const before = field === undefined ? null : (record[field.name] ?? null);
  return before === null || field === undefined ? null : (typeOf(field).encode(before) ?? null);
}

/** The counter of a field for a record. */
function counterOf(field: FieldDefinition, numbered: NumberedRecord): Counter {
  const { table } = numbered;
  const scope = scopeOf(field).map((name) => storedValue(numbered, table.positions.get(name) ?? -1));
  return { collection: table.collection.name, field: field.name, scope: counterKey(scope) };
}

/** Gives a new record its numbers. An imported one may bring them. `keepNumbers` follows when the record is written. */
export async function numberNew(reader: Reader, table: RecordTable, values: (Value | undefined)[]): Promise<void> {
  for (const position of table.sequences) {
    const field = table.fields[position];
    if (field === undefined || typeof values[position] === "number") continue;
    values[position] = (await lastNumber(reader, counterOf(field, { table, values, record: null }))) + 1;
  }
}

/**
 * Gives a record the next number of the scope that it comes to; it keeps those of its other scopes. A number that the body brings
 * is refused unless it is the one that the record has.
 */
export async function numberChanged(
  reader: Reader,
  table: RecordTable,
  { values, record, problems }: { values: (Value | undefined)[]; record: StoredRecord; problems: ErrorDetail[] },
): Promise<void> {
  for (const position of table.sequences) {
    const field = table.fields[position];
    if (field === undefined) continue;
    const given = values[position];
    values[position] = undefined;
    if (given !== undefined && given !== record[field.name]) problems.push(readonlyProblem(field.name));
    const counter = counterOf(field, { table, values, record });
    if (counter.scope === counterOf(field, { table, values: [], record }).scope) continue;
    values[position] = (await lastNumber(reader, counter)) + 1;
  }
}

/** Keeps the numbers of a record that was written, so that they are given to no other. */
export async function keepNumbers(
  tx: Transactor,
  table: RecordTable,
  { values, record }: { values: Values; record: StoredRecord },
): Promise<void> {
  for (const position of table.sequences) {
    const [field, number] = [table.fields[position], values[position]];
    if (field === undefined || typeof number !== "number") continue;
    await keepNumber(tx, counterOf(field, { table, values, record }), number);
  }
}

/** A record as hooks see it: they run before its numbers are certain. */
export function withoutNumbers(table: RecordTable, record: StoredRecord): StoredRecord {
  if (table.sequences.length === 0) return record;
  const seen = { ...record };
  for (const position of table.sequences) delete seen[table.fields[position]?.name ?? ""];
  return seen;
}

/** A number is given by the service alone. */
export function readonlyProblem(field: string): ErrorDetail {
  return { field, rule: "readonly", message: `${field} is numbered by the service` };
}
