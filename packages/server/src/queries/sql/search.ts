/** Searches as SQL: the rank of a record, and the records that are found. */
import { stopProbe } from "../../database/index.ts";
import type { SearchPlan, SqlPart } from "../plan.ts";
import type { KeyPlan } from "./keyset.ts";

/** The best matches have the least rank. */
export function rankOf({ table }: SearchPlan): KeyPlan {
  return { text: `${table}.rank`, values: [], isDescending: false, isNullable: false, valueType: "number" };
}

/**
 * The place of a record for a caller who may not know the rank: first the records whose first searched field has all the words. It
 * depends on the record alone. @param seq the record's number, as SQL.
 */
export function placeOf({ table, firstMatch }: SearchPlan, seq: string): KeyPlan[] {
  if (firstMatch === null) return [];
  const text = `${seq} NOT IN (SELECT rowid FROM ${table} WHERE ${stopProbe(table)} AND ${table} MATCH ?)`;
  return [{ text, values: [firstMatch], isDescending: false, isNullable: false, valueType: "number" }];
}

/** The records of a table that a search finds, as a condition. */
export function foundIn({ table, match }: SearchPlan, records: string): SqlPart {
  return { text: `${records}._seq IN (SELECT rowid FROM ${table} WHERE ${table} MATCH ?)`, values: [match] };
}

export function bothOf(a: SqlPart | null, b: SqlPart): SqlPart {
  if (a === null) return b;
  return { text: `(${a.text}) AND ${b.text}`, values: [...a.values, ...b.values] };
}
