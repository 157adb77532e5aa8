/**
 * Indexes: the indexes of a definition in both forms, the steps of a migration, and the indexes of the collection's table,
 * some of which are automatic.
 */
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { scopeOf, typeOf } from "../fields/index.ts";
import { ownerColumn, resolveRules, selectsByOwner } from "../permissions/index.ts";
import { columnsOf, indexColumn } from "./collection.ts";
import type { NewName } from "./renames.ts";

/** An index, of either form. */
interface Index {
  readonly fields: readonly string[];
  readonly unique: boolean;
}

/** An index comes, named by the new names of its fields, or goes, named by the old ones. */
export interface IndexStep {
  step: "index";
  fields: string[];
  unique: boolean;
  on: boolean;
}

/** The indexes that a definition asks for. The service makes others unasked. */
export function indexesOf({ indexes = [] }: CollectionDefinition): Index[] {
  return indexes.map((index) =>
    Array.isArray(index) ? { fields: index, unique: false } : { fields: index.fields, unique: index.unique === true },
  );
}

/**
 * The indexes that go, and the indexes that come. A field that takes over the owner changes its values, so a unique index
 * of the field comes again.
 */
export function compareIndexes(
  before: CollectionDefinition,
  after: CollectionDefinition,
  newName: NewName,
): IndexStep[] {
  const ownerOf = ({ fields }: CollectionDefinition) => fields.find((field) => field.owner === true)?.name;
  const [oldOwner, owner] = [ownerOf(before), ownerOf(after)];
  const takesOwner = owner !== undefined && (oldOwner === undefined || newName(oldOwner) !== owner);
  const keyOf = (fields: readonly (string | null)[], unique: boolean): string => JSON.stringify([fields, unique]);
  const old = new Map(indexesOf(before).map((index) => [keyOf(index.fields.map(newName), index.unique), index]));
  const steps: IndexStep[] = [];
  for (const { fields, unique } of indexesOf(after)) {
    const isKept = old.delete(keyOf(fields, unique));
    if (isKept && !(unique && takesOwner && fields.includes(owner))) continue;
    steps.push({ step: "index", fields: [...fields], unique, on: true });
  }
  const gone = [...old.values()].map(({ fields, unique }): IndexStep => {
    return { step: "index", fields: [...fields], unique, on: false };
  });
  return [...gone, ...steps];
}

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
