/** Readers of an address's parameters, for each page's `search.ts`: a parameter without a meaning is left out, never an error. */

export type RawSearch = Record<string, unknown>;

/** The reader of a parameter; undefined for a parameter without a meaning. */
type Param<T> = (search: RawSearch, name: string) => T | undefined;

type SearchBy<P extends { readonly [name: string]: Param<unknown> }> = {
  -readonly [name in keyof P]?: ReturnType<P[name]>;
};

/** A text that is not empty. The router parses parameters as JSON, so digits arrive as a number. */
export function textParam(search: RawSearch, name: string): string | undefined {
  const value = search[name];
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A choice of a closed set. */
export function choiceOf<const T extends string>(allowed: readonly T[]): Param<T> {
  return (search, name) => allowed.find((choice) => choice === search[name]);
}

/** A whole number from 1 on. */
export function countParam(search: RawSearch, name: string): number | undefined {
  const value = Number(search[name]);
  return search[name] !== undefined && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/**
 * The reader of the parameters of a page, each by its own reader. The answer names every parameter, also a parameter without a
 * value: the router passes on each parameter that a reader leaves out.
 */
export function searchOf<P extends { readonly [name: string]: Param<unknown> }>(params: P) {
  return (search: RawSearch): SearchBy<P> =>
    // The entries have the names of the readers, and their values.
    Object.fromEntries(Object.entries(params).map(([name, read]) => [name, read(search, name)])) as SearchBy<P>;
}
