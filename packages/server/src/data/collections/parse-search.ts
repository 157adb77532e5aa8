/** The attribute `search` of a definition: the fields whose words are searched. */
import type { CollectionDefinition } from "@socle/protocol";
import { AppError, quote } from "../../base/kernel/index.ts";
import { findRenames, newNames, type ParsedDefinition } from "./renames.ts";

/** Each field makes changes dearer. */
const maxFields = 10;

/** @param types the types of the fields; null if the fields are not readable. @returns undefined without searched fields. */
export function parseSearch(
  input: unknown,
  types: ReadonlyMap<unknown, unknown> | null,
  problems: string[],
): string[] | undefined {
  if (input === undefined || input === null) return undefined;
  if (!Array.isArray(input) || input.some((name) => typeof name !== "string")) {
    problems.push(`"search" must be an array of names of fields, not ${quote(input)}`);
    return undefined;
  }
  const names = input.map(String);
  if (names.length > maxFields)
    problems.push(`"search" names ${names.length} fields; at most ${maxFields} are allowed`);
  for (const [i, name] of names.entries()) {
    if (names.indexOf(name) < i) problems.push(`"search" names ${quote(name)} twice`);
    const type = types?.get(name);
    if (types !== null && type === undefined) problems.push(`"search" names ${quote(name)}, which is no field`);
    else if (type !== undefined && type !== "string" && type !== "text")
      problems.push(`"search" names ${quote(name)}, which is of type ${String(type)}; only string and text have words`);
  }
  return names.length === 0 ? undefined : names;
}

/**
 * Adds the search of the stored definition to a definition without `search`, under the new names of the fields.
 * @throws AppError `bad_request` when a searched field is gone.
 */
export function keepSearch(before: CollectionDefinition, parsed: ParsedDefinition): ParsedDefinition {
  if (before.search === undefined) return parsed;
  const newName = newNames(before, parsed.definition, findRenames(before, parsed));
  const lost = before.search.filter((name) => newName(name) === null);
  if (lost.length > 0)
    throw new AppError(
      "bad_request",
      `field ${quote(lost[0])} is gone, and it is searched: send "search", too, with the fields that are searched from now on`,
    );
  const search = before.search.map((name) => newName(name) ?? name);
  return { ...parsed, definition: { ...parsed.definition, search } };
}
