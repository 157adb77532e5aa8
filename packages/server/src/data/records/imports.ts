/** Imports: records that another source has checked, created or changed in one transaction. */
import { type ErrorDetail, type FieldDefinition, foldCase, type JsonValue } from "@socle/protocol";
import { AppError, LoopTurns, type Principal, quote } from "../../base/kernel/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import { typeOf } from "../fields/index.ts";
import type { NewRecord, RecordChanges, SavedRecord } from "./changes.ts";
import type { RecordTable } from "./record-table.ts";
import type { WriteHooks } from "./write-hooks.ts";

export type ImportedRecord = Required<Pick<NewRecord, "body" | "given">>;

/** A refused record, by the position among the given records. */
interface Rejection {
  readonly position: number;
  readonly details: readonly ErrorDetail[];
}

/** The field by which a row finds the record that the row changes. */
export interface RecordMatch {
  /** `id`, or a unique field. */
  readonly field: string;
  /** Whether a row that finds no record creates a record. */
  readonly creates: boolean;
  /** Whether `updatedAt` of a row is the time of the change of its record. */
  readonly keepsTimes?: boolean;
}

export interface ImportedRows {
  readonly collection: string;
  readonly records: readonly ImportedRecord[];
  /** Null if each row creates a record. */
  readonly match: RecordMatch | null;
  /** Whether other rows of the import create the record of an id. */
  readonly isPromised: (id: string) => boolean;
  /** Called for each unique key of a record of a rehearsal; answers whether an earlier row has the key. Null for an import. */
  readonly isTaken: ((key: string) => boolean) | null;
}

export interface ImportOutcome {
  readonly rejections: readonly Rejection[];
  readonly updated: number;
  /** Targets of relations and files that do not exist, of records with an id: the export lacked the targets, too. */
  readonly unresolved: number;
}

interface RowsToImport extends ImportedRows {
  readonly changes: RecordChanges;
  readonly table: RecordTable;
  /** Null if the collection has no hooks. */
  readonly hooks: WriteHooks | null;
}

/** Writes records, in the given transaction. Records that are refused, also by hooks, are left out and reported by the positions. */
export async function importIn(tx: Transactor, caller: Principal, rows: RowsToImport): Promise<ImportOutcome> {
  const turns = new LoopTurns();
  const rejections: Rejection[] = [];
  let updated = 0;
  let unresolved = 0;
  for (const [position, record] of rows.records.entries()) {
    rows.hooks?.startPart(position);
    try {
      const done = importRow(tx, caller, { ...rows, record });
      updated += done.isUpdate ? 1 : 0;
      unresolved += done.unresolved;
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== "validation_error") throw thrown;
      rejections.push({ position, details: thrown.details ?? [] });
    }
    if (turns.isDue()) await turns.next();
  }
  return { rejections, updated, unresolved };
}

function importRow(
  tx: Transactor,
  caller: Principal,
  { record, ...rows }: RowsToImport & { record: ImportedRecord },
): { isUpdate: boolean; unresolved: number } {
  const { changes, collection, hooks, match, isPromised, isTaken, table } = rows;
  const { body, given } = record;
  const lost = new Set<string>();
  const takes = (id: string): boolean => {
    if (isPromised(id)) return true;
    if (given.id !== undefined) lost.add(id);
    return given.id !== undefined;
  };
  const id = match === null ? null : matching(tx, table, { ...match, record });
  if (id !== null && given.problems.length > 0) throw AppError.validation([...given.problems]);
  const saved =
    id === null
      ? changes.create(tx, caller, { collection, ...record, hooks, takes })
      : changes.update(tx, caller, {
          ...{ collection, id, ifMatch: null, body, hooks, takes },
          changedAt: match?.keepsTimes === true ? given.updatedAt : undefined,
        });
  if (id === null && isTaken !== null) refuseTaken(table, saved, isTaken);
  return { isUpdate: id !== null, unresolved: lost.size };
}

/** The id of the record that a row changes; null for a row that creates a record. @throws AppError `validation_error`. */
function matching(
  tx: Transactor,
  table: RecordTable,
  { field: name, creates, record: { body, given } }: RecordMatch & { record: ImportedRecord },
): string | null {
  const field: FieldDefinition = table.field(name) ?? { name: "id", type: "string" };
  const value = name === "id" ? (given.id ?? null) : (body[name] ?? null);
  const stored = value === null ? null : (typeOf(field).encode(value) ?? null);
  const found = stored === null ? null : tx.get<{ id: string }>(table.rowBy(name), stored);
  if (found !== null) return found.id;
  if (creates && (value !== null || name === "id")) return null;
  const message = value === null ? `${name} must name a record` : `no record has the ${name} ${quote(value)}`;
  throw AppError.validation([...given.problems, { field: name, rule: "refused", message }]);
}

/** A value in a key: texts that differ in case alone are one value of a field that is unique without regard to case. */
function keyValue(field: FieldDefinition | null, value: JsonValue): JsonValue {
  return field?.unique === "nocase" && typeof value === "string" ? foldCase(value) : value;
}

/** A rehearsal takes the records of earlier transactions back: the keys of the records are kept instead. */
function refuseTaken(table: RecordTable, { record }: SavedRecord, isTaken: (key: string) => boolean): void {
  const keys = [["id"], ...table.uniqueKeys.map(({ fields }) => fields)];
  const taken = keys.filter((fields) => {
    const values = fields.map((name) => keyValue(table.field(name), record[name] ?? null));
    return !values.includes(null) && isTaken(JSON.stringify([fields, values]));
  });
  const details = taken
    .flat()
    .map((field) => ({ field, rule: "unique" as const, message: `${field} is taken by another row` }));
  if (details.length > 0) throw AppError.validation(details);
}
