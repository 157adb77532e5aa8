/** Indexes of a collection's table: those that its definition asks for, and those that the service makes unasked. */
import type { CollectionDefinition } from "@socle/protocol";
import { typeOf } from "../fields/index.ts";
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

/**
 * What is indexed without asking (unique fields, relations, and the owner where it is searched by), and what the
 * definition asks for. None is there twice, and a unique one serves as the other kind, too.
 */
export function tableIndexes(definition: CollectionDefinition): TableIndex[] {
  const wanted: TableIndex[] = definition.fields
    .filter((field) => field.unique === true || typeOf(field).reference === "record")
    .map((field) => ({ columns: [indexColumn(field)], unique: field.unique === true }));
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
