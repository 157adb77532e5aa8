/** Renames of a migration: the old field of each renamed field. */
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { AppError, quote } from "../../base/kernel/index.ts";

const howToTell = `give each renamed field "renamedFrom": its old name, and each new one "renamedFrom": null`;

/** A definition as sent: with its renames, which are not stored. */
export interface ParsedDefinition {
  definition: CollectionDefinition;
  /** New name → old name, or null for a field that is new on purpose. */
  renamedFrom: ReadonlyMap<string, string | null>;
}

/** Which old field a new field continues under another name: new name → old name. */
export type Renames = ReadonlyMap<string, string>;

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

/** Maps an old name to the new name: null for a dropped field, the name itself for an unknown field. */
export function newNames(
  before: CollectionDefinition,
  after: CollectionDefinition,
  renames: Renames,
): (name: string) => string | null {
  const names = new Map<string, string | null>(before.fields.map(({ name }) => [name, null]));
  for (const { name } of after.fields) if (names.has(name) && !renames.has(name)) names.set(name, name);
  for (const [name, oldName] of renames) names.set(oldName, name);
  return (name) => {
    const found = names.get(name);
    return found === undefined ? name : found;
  };
}
