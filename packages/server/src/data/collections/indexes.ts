/** Indexes of a definition: both forms of an index, and the steps of a migration. */
import type { CollectionDefinition, IndexDefinition } from "@socle/protocol";
import { AppError, quote } from "../../base/kernel/index.ts";
import { findRenames, newNames, type ParsedDefinition, type Renames } from "./renames.ts";

/** An index, of either form. */
export interface Index {
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

function read(index: IndexDefinition): Index {
  if (Array.isArray(index)) return { fields: index, unique: false };
  return { fields: index.fields, unique: index.unique === true };
}

/** The indexes that a definition asks for. The service makes others unasked. */
export function indexesOf({ indexes = [] }: CollectionDefinition): Index[] {
  return indexes.map(read);
}

/** The same index of other names. */
function renamed(index: IndexDefinition, fields: string[]): IndexDefinition {
  return Array.isArray(index) ? fields : { ...index, fields };
}

/**
 * Adds the indexes of the stored definition to a definition without `indexes`, under the new names of the fields.
 * @throws AppError `bad_request` when a field of an index is gone.
 */
export function keepIndexes(before: CollectionDefinition, parsed: ParsedDefinition): ParsedDefinition {
  if (before.indexes === undefined) return parsed;
  const newName = newNames(before, parsed.definition, findRenames(before, parsed));
  const problems: string[] = [];
  const indexes = before.indexes.map((index) => {
    const { fields } = read(index);
    const lost = fields.filter((name) => newName(name) === null);
    for (const name of lost) problems.push(`field ${quote(name)} is gone, and the index ${quote(fields)} needs it`);
    return renamed(
      index,
      fields.map((name) => newName(name) ?? name),
    );
  });
  if (problems.length > 0)
    throw new AppError("bad_request", `${problems.join("; ")}: send "indexes", too, with the indexes that stay`);
  return { ...parsed, definition: { ...parsed.definition, indexes } };
}

/**
 * The indexes that go, and the indexes that come. A field that takes over the owner changes its values, so a unique index
 * of the field comes again.
 */
export function compareIndexes(
  before: CollectionDefinition,
  after: CollectionDefinition,
  renames: Renames,
): IndexStep[] {
  const newName = newNames(before, after, renames);
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
