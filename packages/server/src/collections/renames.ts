/** Renames of a migration: which new field continues which old one. */
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { AppError, quote } from "../kernel/index.ts";
import type { ParsedDefinition } from "./definition.ts";

const howToTell = `give each renamed field "renamedFrom": its old name, and each new one "renamedFrom": null`;

/** Which old field a new field continues under another name: new name → old name. */
export type Renames = ReadonlyMap<string, string>;

/**
 * The renames from one definition to another (contract, "Admin"): those that the new one asks for with `renamedFrom`,
 * or, where no field of it carries one, the single rename that can be guessed. Beside a `renamedFrom` nothing is
 * guessed: a field that is not named as the origin of another is dropped, so that no field gets the data of one it has
 * not named.
 * @throws AppError `bad_request` for one of nothing, and where a rename cannot be told from a loss.
 */
export function findRenames(before: CollectionDefinition, parsed: ParsedDefinition): Renames {
  const { definition: after, renamedFrom } = parsed;
  const oldNames = new Set(before.fields.map((field) => field.name));
  const renames = new Map<string, string>();
  for (const [name, oldName] of renamedFrom) {
    // Asked for again, as by a request that is sent twice: the old name is gone, the new one is there.
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

/** Maps an old name to the new one: null for a field that is gone, the name itself if it is no field. */
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
