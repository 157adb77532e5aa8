/**
 * Rows in their stored form, each cell with its problem: all checks that are possible before the first request. The preview and
 * the check of the whole file share the check of a row.
 */
import { type FieldDefinition, foldCase, isUnique, type JsonValue } from "@socle/protocol";
import { text } from "../../texts/index.ts";
import type { FieldMapping } from "./mapping/mapping.ts";
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

export function isBad({ problem, cells }: PreviewRow): boolean {
  return problem !== null || cells.some((cell) => cell.problem !== null);
}

/** The search for the records that a value names, or collides with; null assumes the best of the records. */
type Search = Resolve | null;

const known = async (): Promise<string> => "known";

/** The check of rows, one after the other: values of unique fields are compared with the rows before. */
export class RowCheck {
  readonly #plan: ImportPlan;
  readonly #search: Search;
  readonly #mapped: readonly FieldMapping[];
  readonly #seen = new Map<string, Set<JsonValue>>();

  constructor(plan: ImportPlan, search: Search) {
    this.#plan = plan;
    this.#search = search;
    this.#mapped = plan.mappings.filter(({ source }) => source.kind !== "skip");
  }

  /** @throws errors of the search. */
  async read(row: SourceRow): Promise<PreviewRow> {
    const { values, problems } = await prepareRow(row, this.#plan, this.#search ?? known);
    const cells = await Promise.all(
      this.#mapped.map(async (mapping): Promise<PreviewCell> => {
        const { field, source } = mapping;
        const value = values[field.name];
        const told = problems.find((each) => each.field === field.name)?.message ?? null;
        const isMissing = value === undefined && this.#plan.match === null;
        const rule = told === null && (isMissing || value !== undefined) ? brokenRule(field, value) : null;
        const problem = told ?? rule ?? (value === undefined ? null : await this.#conflict(mapping, value));
        const cell = source.kind === "column" ? row.cells[source.column] : undefined;
        const isDefault = isMissing && isGiven(field);
        return { value: isMissing && told === null && !isDefault ? null : value, isDefault, cell, problem };
      }),
    );
    const names = this.#mapped.map(({ field }) => field.name);
    const whole = problems.find((each) => each.field === null || !names.includes(each.field));
    return { number: row.number, cells: row.problem === null ? cells : [], problem: whole?.message ?? null };
  }

  /** The conflict of a value with other records or other rows. */
  async #conflict({ field, conversion }: FieldMapping, value: JsonValue): Promise<string | null> {
    if (value === null || typeof value === "boolean") return null;
    if (field.type === "relation" && conversion.relationBy === "id" && this.#search !== null)
      for (const id of [value].flat()) {
        const key = { collection: field.collection ?? "", field: "id", value: String(id) };
        if ((await this.#search(key)) === null) return text.import.notFound(key.collection, "id", key.value);
      }
    if (!isUnique(field) || this.#plan.match !== null) return null;
    if (this.#isTwice(field, value)) return text.import.twice;
    if (this.#search === null || (typeof value !== "string" && typeof value !== "number")) return null;
    const found = await this.#search({ collection: this.#plan.collection, field: field.name, value });
    return found === null ? null : text.import.taken;
  }

  #isTwice({ name, unique }: FieldDefinition, given: JsonValue): boolean {
    const value = unique === "nocase" && typeof given === "string" ? foldCase(given) : given;
    const values = this.#seen.get(name) ?? new Set();
    this.#seen.set(name, values);
    const isTwice = values.has(value);
    values.add(value);
    return isTwice;
  }
}

/** @throws errors of the search. */
export function previewOf(rows: readonly SourceRow[], plan: ImportPlan, search: Resolve): Promise<PreviewRow[]> {
  const check = new RowCheck(plan, search);
  return Promise.all(rows.map((row) => check.read(row)));
}

const longest = 120;

export function cellText(value: Cell): string {
  if (value === undefined || value === null) return "";
  // A long text is cut at once, without a copy of the whole text.
  const written = typeof value === "string" ? value.slice(0, longest + 1) : JSON.stringify(value).slice(0, longest + 1);
  return written.length > longest ? `${written.slice(0, longest)}…` : written;
}
