/** The entry of a slow query in the log: the proposed indexes, and the parameters of the list. */
import type { LogEntry } from "@socle/protocol";

export interface Proposal {
  readonly collection: string;
  readonly fields: readonly string[];
}

/** The indexes in the advice of the log: `add ["status", "views"] to "indexes" of "posts"; …`. */
export function proposalsOf(advice: string | null): Proposal[] {
  const found = (advice ?? "").matchAll(/add (\[[^\]]*\]) to "indexes" of "([^"]+)"/g);
  return [...found].map(([, fields = "[]", collection = ""]) => ({
    collection,
    fields: JSON.parse(fields) as string[],
  }));
}

const parameters = ["filter", "sort", "search", "group", "aggregate", "fields", "expand", "zone", "limit"] as const;

/** The parameters of the list of an entry, as in an address. */
export function parametersOf({ fields = {} }: LogEntry): { [name: string]: string } {
  const given = parameters.filter((name) => fields[name] !== undefined).map((name) => [name, String(fields[name])]);
  return Object.fromEntries(given);
}
