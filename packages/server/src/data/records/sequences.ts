/**
 * Sequences: the numbers that the service gives to records. A counter for each field and scope has the last number and
 * never falls, so that each number is given once, also after a deletion. Counters change in the transaction of the record.
 */
import type { ErrorDetail, FieldDefinition, StoredRecord } from "@socle/protocol";
import type { Reader, Transactor, Value } from "../../store/database/index.ts";
import { type Counter, counterKey, keepNumber, lastNumber } from "../collections/index.ts";
import { scopeOf, typeOf } from "../fields/index.ts";
import { type RecordTable, withoutFields } from "./record-table.ts";

/** Values by the positions of the fields; an undefined value stays unchanged. */
type FieldValues = readonly (Value | undefined)[];

/** The values of a write, and the record before; null for a new record. */
interface NumberedRecord {
  readonly table: RecordTable;
  readonly values: FieldValues;
  readonly record: StoredRecord | null;
}

/** The counter of a field for a record: for the new values, or the values of the record. */
function counterOf(field: FieldDefinition, { table, values, record }: NumberedRecord): Counter {
  const scope = scopeOf(field).map((name): Value => {
    const value = values[table.positions.get(name) ?? -1];
    if (value !== undefined) return value;
    const [by, before] = [table.field(name), record?.[name] ?? null];
    return by === null || before === null ? null : (typeOf(by).encode(before) ?? null);
  });
  return { collection: table.collection.name, field: field.name, scope: counterKey(scope) };
}

/** Gives a new record its numbers; an imported record may bring numbers. `keepNumbers` follows after the write. */
export function numberNew(reader: Reader, table: RecordTable, values: (Value | undefined)[]): void {
  for (const [position, field] of table.sequences) {
    if (typeof values[position] === "number") continue;
    values[position] = lastNumber(reader, counterOf(field, { table, values, record: null })) + 1;
  }
}

/**
 * Gives a record that changes its scope the next number of the new scope, or the number that the record takes back. A number in the
 * body is refused unless the number is unchanged.
 */
export function numberChanged(
  reader: Reader,
  table: RecordTable,
  {
    values,
    record,
    problems,
    numbers,
  }: {
    values: (Value | undefined)[];
    record: StoredRecord;
    problems: ErrorDetail[];
    numbers?: ReadonlyMap<string, number> | undefined;
  },
): void {
  for (const [position, field] of table.sequences) {
    const given = values[position];
    values[position] = undefined;
    if (given !== undefined && given !== record[field.name]) problems.push(readonlyProblem(field.name));
    const counter = counterOf(field, { table, values, record });
    if (counter.scope === counterOf(field, { table, values: [], record }).scope) continue;
    values[position] = numbers?.get(field.name) ?? lastNumber(reader, counter) + 1;
  }
}

/** Raises the counters to the numbers of a written record. */
export function keepNumbers(
  tx: Transactor,
  table: RecordTable,
  { values, record }: { values: FieldValues; record: StoredRecord },
): void {
  for (const [position, field] of table.sequences) {
    const number = values[position];
    if (typeof number === "number") keepNumber(tx, counterOf(field, { table, values, record }), number);
  }
}

/** A changed record with the present numbers, as hooks see the record: the numbers of another scope are not certain before the commit. */
export function withNumbersOf(table: RecordTable, present: StoredRecord, changed: StoredRecord): StoredRecord {
  const record = { ...changed };
  for (const [, { name }] of table.sequences) record[name] = present[name] ?? null;
  return record;
}

/** A new record without numbers, as hooks see the record: the numbers are not certain before the commit. */
export function withoutNumbers(table: RecordTable, record: StoredRecord): StoredRecord {
  return withoutFields(record, new Set(table.sequences.map(([, { name }]) => name)));
}

export function readonlyProblem(field: string): ErrorDetail {
  return { field, rule: "readonly", message: `${field} is numbered by the service` };
}
