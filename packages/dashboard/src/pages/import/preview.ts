/**
 * The first rows in their stored form, each cell with its problem: all checks that are possible before the first
 * request.
 */
import type { JsonValue } from "@socle/protocol";
import { text } from "../../texts/index.ts";
import { brokenRule, isGiven } from "./mapping/rules.ts";
import { type ImportPlan, prepareRow, type Resolve } from "./run/prepare.ts";
import type { Cell, SourceRow } from "./source/source.ts";

export interface PreviewCell {
  /** Undefined when the row gives no value. */
  readonly value: JsonValue | undefined;
  /** Whether the service gives the value. */
  readonly isDefault: boolean;
  /** The cell as written in the file, for an unreadable cell. */
  readonly cell: Cell;
  readonly problem: string | null;
}

export interface PreviewRow {
  readonly number: number;
  readonly cells: readonly PreviewCell[];
  /** A problem of the row as a whole. */
  readonly problem: string | null;
}

/** @throws errors of `resolve`. */
export async function previewOf(
  rows: readonly SourceRow[],
  plan: ImportPlan,
  resolve: Resolve,
): Promise<readonly PreviewRow[]> {
  const mapped = plan.mappings.filter(({ source }) => source.kind !== "skip");
  const seen = new Map<string, Set<JsonValue>>();

  /** The conflict of a value with other records or other rows. */
  const conflict = async (at: number, value: JsonValue): Promise<string | null> => {
    const mapping = mapped[at];
    if (mapping === undefined || value === null || typeof value === "boolean") return null;
    const { field, conversion } = mapping;
    if (field.type === "relation" && conversion.relationBy === "id")
      for (const id of [value].flat()) {
        const key = { collection: field.collection ?? "", field: "id", value: String(id) };
        if ((await resolve(key)) === null) return text.import.notFound(key.collection, "id", key.value);
      }
    if (field.unique !== true || plan.match !== null) return null;
    const values = seen.get(field.name) ?? new Set();
    seen.set(field.name, values);
    if (values.has(value)) return text.import.twice;
    values.add(value);
    if (typeof value !== "string" && typeof value !== "number") return null;
    return (await resolve({ collection: plan.collection, field: field.name, value })) === null
      ? null
      : text.import.taken;
  };

  return Promise.all(
    rows.map(async (row) => {
      const { values, problems } = await prepareRow(row, plan, resolve);
      const cells = await Promise.all(
        mapped.map(async ({ field, source }, at): Promise<PreviewCell> => {
          const value = values[field.name];
          const told = problems.find((each) => each.field === field.name)?.message ?? null;
          const isMissing = value === undefined && plan.match === null;
          const rule = told === null && (isMissing || value !== undefined) ? brokenRule(field, value) : null;
          const problem = told ?? rule ?? (value === undefined ? null : await conflict(at, value));
          const cell = source.kind === "column" ? row.cells[source.column] : undefined;
          const isDefault = isMissing && isGiven(field);
          return { value: isMissing && told === null && !isDefault ? null : value, isDefault, cell, problem };
        }),
      );
      const names = mapped.map(({ field }) => field.name);
      const whole = problems.find((each) => each.field === null || !names.includes(each.field));
      return { number: row.number, cells: row.problem === null ? cells : [], problem: whole?.message ?? null };
    }),
  );
}
