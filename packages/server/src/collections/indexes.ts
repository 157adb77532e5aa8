/** Indexes that a definition asks for: their two forms, and the steps from one set of them to another. */
import type { CollectionDefinition, IndexDefinition } from "@socle/protocol";
import { AppError, quote } from "../kernel/index.ts";
import type { ParsedDefinition } from "./definition.ts";
import { findRenames, newNames, type Renames } from "./renames.ts";

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
 * A definition that says nothing about indexes, with those of the stored one, under the names that their fields have
 * now.
 * @throws AppError `bad_request` when a field of one is gone.
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
 * The indexes that go, and those that come. A field that takes over the owner has other values then, so a unique index
 * of it comes again.
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
