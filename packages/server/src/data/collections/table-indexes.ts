/** Indexes of a collection's table: the indexes of the definition, and the automatic indexes. */
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { scopeOf, typeOf } from "../fields/index.ts";
import { ownerColumn, resolveRules, selectsByOwner } from "../permissions/index.ts";
import { columnsOf, indexColumn } from "./collection.ts";
import { indexesOf } from "./indexes.ts";

/** An index of a collection's table. */
export interface TableIndex {
  readonly columns: readonly string[];
  readonly unique: boolean;
}

/** SQLite compares the names of columns without regard to case. */
export function isSameColumn(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function hasSameColumns(a: TableIndex, b: TableIndex): boolean {
  return a.columns.join().toLowerCase() === b.columns.join().toLowerCase();
}

export function isSameIndex(a: TableIndex, b: TableIndex): boolean {
  return a.unique === b.unique && hasSameColumns(a, b);
}

/** A multiple field has a table of its items. */
function isReference(field: FieldDefinition): boolean {
  return typeOf(field).reference !== null && field.multiple !== true;
}

/**
 * The indexes of a collection's table: for unique fields, relations and files, for the owner if a rule searches by the
 * owner, and the indexes of the definition. No two have the same columns; a unique index serves both purposes.
 */
export function tableIndexes(definition: CollectionDefinition): TableIndex[] {
  const wanted: TableIndex[] = definition.fields
    .filter((field) => field.unique === true || isReference(field))
    .map((field) => ({ columns: [indexColumn(field)], unique: field.unique === true }));
  // A sequence gives each number once, and records are looked up by number.
  for (const field of definition.fields)
    if (field.sequence !== undefined)
      wanted.push({ columns: columnsOf(definition, [...scopeOf(field), field.name]), unique: true });
  const hasOwner = wanted.some(({ columns }) => columns[0] === ownerColumn);
  if (!hasOwner && selectsByOwner(resolveRules(definition.permissions).read))
    wanted.push({ columns: [ownerColumn], unique: false });
  for (const { fields, unique } of indexesOf(definition)) {
    const index = { columns: columnsOf(definition, fields), unique };
    const twin = wanted.findIndex((other) => hasSameColumns(index, other));
    if (twin === -1) wanted.push(index);
    else if (unique) wanted[twin] = index;
  }
  return wanted;
}
