/** Converts a row of a file to the values for the service, or to the problems that forbid the request. */
import type { JsonValue } from "@socle/protocol";
import { text } from "../../../texts/index.ts";
import { type CellKind, convert, convertCell, type LookupKey, unprotect } from "../mapping/convert.ts";
import type { FieldMapping, Match } from "../mapping/mapping.ts";
import type { Cell, SourceRow } from "../source/source.ts";

/** The plan of an import: the conversion of rows to records. */
export interface ImportPlan extends CellKind {
  readonly collection: string;
  readonly mappings: readonly FieldMapping[];
  /** The field and the column that identify the records to update; null creates records. */
  readonly match: Match | null;
}

export interface RowProblem {
  /** Null for a problem of the row as a whole. */
  readonly field: string | null;
  readonly message: string;
}

export interface Prepared {
  /** The record to update; null for a new record. */
  readonly id: string | null;
  readonly values: { readonly [field: string]: JsonValue };
  readonly problems: readonly RowProblem[];
}

export type Resolve = (key: LookupKey) => Promise<string | null>;

/** @throws errors of `resolve`. */
export async function prepareRow(
  row: Pick<SourceRow, "cells" | "problem">,
  plan: ImportPlan,
  resolve: Resolve,
): Promise<Prepared> {
  if (row.problem !== null) return { id: null, values: {}, problems: [{ field: null, message: row.problem }] };
  const values: { [field: string]: JsonValue } = {};
  const problems: RowProblem[] = [];
  for (const mapping of plan.mappings) {
    const { name } = mapping.field;
    const found = convertCell(mapping, row.cells, plan);
    if (found.kind === "value") values[name] = found.value;
    else if (found.kind === "problem") problems.push({ field: name, message: found.message });
    else if (found.kind === "lookup") {
      const id = await resolve(found.key);
      if (id === null) problems.push({ field: name, message: notFound(found.key) });
      else values[name] = id;
    } else if (found.kind === "lookups") {
      const ids = await Promise.all(found.keys.map(resolve));
      const missing = found.keys.filter((_, at) => ids[at] === null);
      for (const key of missing) problems.push({ field: name, message: notFound(key) });
      // Two keys may name the same record.
      if (missing.length === 0) values[name] = [...new Set(ids.filter((id) => id !== null))];
    }
  }
  const { match } = plan;
  if (match === null) return { id: null, values, problems };
  const key = matchKey(plan, match, row.cells);
  if (key === null)
    return { id: null, values, problems: [{ field: match.field, message: text.import.noKey }, ...problems] };
  const id = key.field === "id" ? String(key.value) : await resolve(key);
  if (id === null) problems.unshift({ field: match.field, message: notFound(key) });
  return { id, values, problems };
}

/** The operation of a batch that stores a row without problems. */
export function operationOf({ id, values }: Prepared, collection: string) {
  return id === null
    ? ({ method: "create", collection, body: values } as const)
    : ({ method: "update", collection, id, body: values } as const);
}

/** Whether rows point to records that earlier rows create: a parent by its name. */
export function looksUpItself({ collection, mappings, match }: ImportPlan): boolean {
  return (
    match === null &&
    mappings.some(
      ({ field, source, conversion }) =>
        source.kind !== "skip" &&
        field.type === "relation" &&
        field.collection === collection &&
        conversion.relationBy !== "id",
    )
  );
}

function notFound({ collection, field, value }: LookupKey): string {
  return text.import.notFound(collection, field, String(value));
}

/** The value that identifies the record; null when the row has no value. */
function matchKey(plan: ImportPlan, match: Match, cells: readonly Cell[]): LookupKey | null {
  const cell = cells[match.column];
  const mapping = plan.mappings.find(({ field }) => field.name === match.field);
  const clean = typeof cell === "string" && plan.isProtected ? unprotect(cell) : cell;
  const found =
    mapping === undefined
      ? { kind: "value" as const, value: typeof clean === "string" ? clean.trim() : null }
      : convert(clean, mapping.field, mapping.conversion);
  if (found.kind !== "value" || found.value === "") return null;
  const { value } = found;
  return typeof value === "string" || typeof value === "number"
    ? { collection: plan.collection, field: match.field, value }
    : null;
}
