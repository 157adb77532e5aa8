/** Renames of a migration: the old field of each renamed field, and the attributes that follow. */
import type { CollectionDefinition, FieldDefinition, IndexDefinition } from "@socle/protocol";
import { AppError, quote } from "../../base/kernel/index.ts";

const howToTell = `give each renamed field "renamedFrom": its old name, and each new one "renamedFrom": null`;

/** A definition as sent: with its renames, which are not stored. */
export interface ParsedDefinition {
  definition: CollectionDefinition;
  /** New name → old name, or null for a field that is new on purpose. */
  renamedFrom: ReadonlyMap<string, string | null>;
}

/** Which old field a new field continues under another name: new name → old name. */
type Renames = ReadonlyMap<string, string>;

/**
 * The renames from one definition to another (contract, "Admin"): the renames by `renamedFrom`, or, in a definition without
 * any `renamedFrom`, a single rename that is unambiguous. Beside a `renamedFrom` nothing is guessed: a field that is not
 * named as an origin is dropped, so that no field gets data by mistake.
 * @throws AppError `bad_request` for an unknown origin, and for an ambiguous rename.
 */
export function findRenames(before: CollectionDefinition, parsed: ParsedDefinition): Renames {
  const { definition: after, renamedFrom } = parsed;
  const oldNames = new Set(before.fields.map((field) => field.name));
  const renames = new Map<string, string>();
  for (const [name, oldName] of renamedFrom) {
    // A repeated request: the old name is gone, the new name exists.
    if (oldName === null || oldName === name || (!oldNames.has(oldName) && oldNames.has(name))) continue;
    if (!oldNames.has(oldName))
      throw new AppError("bad_request", `field "${name}": there is no field ${quote(oldName)} to rename`);
    if ([...renames.values()].includes(oldName))
      throw new AppError("bad_request", `two fields have "renamedFrom": ${quote(oldName)}`);
    renames.set(name, oldName);
  }
  if (renamedFrom.size > 0) return renames;
  const newNames = new Set(after.fields.map((field) => field.name));
  const removed = before.fields.filter((field) => !newNames.has(field.name));
  const added = after.fields.filter((field) => !oldNames.has(field.name));
  const isLikely = added.some((field) => removed.some((old) => old.type === field.type));
  if (!isLikely && (added.length < 2 || removed.length < 2)) return renames;
  const [onlyAdded, onlyRemoved] = [added[0], removed[0]];
  if (added.length > 1 || removed.length > 1 || onlyAdded === undefined || onlyRemoved === undefined) {
    const names = (fields: FieldDefinition[]): string => fields.map((field) => `"${field.name}"`).join(", ");
    throw new AppError(
      "bad_request",
      `fields ${names(removed)} are gone and ${names(added)} are new, so a rename cannot be told from a loss: ${howToTell}`,
    );
  }
  renames.set(onlyAdded.name, onlyRemoved.name);
  return renames;
}

/** The new name of an old field: null for a dropped field, the name itself for an unknown field. */
export type NewName = (name: string) => string | null;

export function newNames(before: CollectionDefinition, after: CollectionDefinition, renames: Renames): NewName {
  const names = new Map<string, string | null>(before.fields.map(({ name }) => [name, null]));
  for (const { name } of after.fields) if (names.has(name) && !renames.has(name)) names.set(name, name);
  for (const [name, oldName] of renames) names.set(oldName, name);
  return (name) => {
    const found = names.get(name);
    return found === undefined ? name : found;
  };
}

/**
 * A definition with the stored indexes and the stored search in place of the attributes that were not sent, under the new
 * names of the fields.
 * @throws AppError `bad_request` when a field of an index or of the search is gone.
 */
export function keepUnsent(
  before: CollectionDefinition,
  parsed: ParsedDefinition,
  sent: { readonly indexes: unknown; readonly search: unknown },
): ParsedDefinition {
  const indexes = sent.indexes === undefined ? before.indexes : undefined;
  const search = sent.search === undefined ? before.search : undefined;
  if (indexes === undefined && search === undefined) return parsed;
  const newName = newNames(before, parsed.definition, findRenames(before, parsed));
  const definition = { ...parsed.definition };
  if (indexes !== undefined) definition.indexes = keptIndexes(indexes, newName);
  if (search !== undefined) definition.search = keptSearch(search, newName);
  return { ...parsed, definition };
}

function keptIndexes(indexes: readonly IndexDefinition[], newName: NewName): IndexDefinition[] {
  const problems: string[] = [];
  const kept = indexes.map((index) => {
    const old = Array.isArray(index) ? index : index.fields;
    const fields = old.map((name) => newName(name) ?? name);
    for (const name of old)
      if (newName(name) === null) problems.push(`field ${quote(name)} is gone, and the index ${quote(old)} needs it`);
    return Array.isArray(index) ? fields : { ...index, fields };
  });
  if (problems.length > 0)
    throw new AppError("bad_request", `${problems.join("; ")}: send "indexes", too, with the indexes that stay`);
  return kept;
}

function keptSearch(search: readonly string[], newName: NewName): string[] {
  return search.map((old) => {
    const name = newName(old);
    if (name !== null) return name;
    throw new AppError(
      "bad_request",
      `field ${quote(old)} is gone, and it is searched: send "search", too, with the fields that are searched from now on`,
    );
  });
}
