/** Readers of an address's parameters, for each page's `search.ts`: a parameter without a meaning is left out, never an error. */

export type RawSearch = Record<string, unknown>;

/** A text that is not empty. The router parses parameters as JSON, so digits arrive as a number. */
export function textParam(search: RawSearch, name: string): string | undefined {
  const value = search[name];
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function choiceParam<const T extends string>(
  search: RawSearch,
  name: string,
  allowed: readonly T[],
): T | undefined {
  return allowed.find((choice) => choice === search[name]);
}

/** A whole number from 1 on. */
export function countParam(search: RawSearch, name: string): number | undefined {
  const value = Number(search[name]);
  return search[name] !== undefined && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** Several choices of a closed set, with commas between the choices. */
export function choicesParam<const T extends string>(
  search: RawSearch,
  name: string,
  allowed: readonly T[],
): readonly T[] | undefined {
  const words = textParam(search, name)?.split(",") ?? [];
  const chosen = allowed.filter((choice) => words.includes(choice));
  return chosen.length === 0 ? undefined : chosen;
}
