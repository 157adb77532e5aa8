/** Searches as SQL: the order of the matches, and the records that are found. */
import type { SqlPart } from "../../expressions/index.ts";
import type { KeyPlan, SearchPlan } from "../plan.ts";

/** The best matches first: by the rank of FTS5, least for the best, or by the weight of the texts that the caller may read. */
export function matchOrder({ table, weighed, terms }: SearchPlan): KeyPlan {
  const key = { isNullable: false, valueType: "number" } as const;
  if (weighed === null) return { ...key, text: `${table}.rank`, values: [], isDescending: false };
  const sought = JSON.stringify(terms);
  return {
    ...key,
    text: `(${weighed.map((column) => `_match_weight(${column}, ?)`).join(" + ")})`,
    values: weighed.map(() => sought),
    isDescending: true,
  };
}

/** The records of a table that a search finds, as a condition. */
export function foundIn({ table, match }: SearchPlan, records: string): SqlPart {
  return { text: `${records}._seq IN (SELECT rowid FROM ${table} WHERE ${table} MATCH ?)`, values: [match] };
}
