/** Sources: the tables that a selection reads, each with the fields of its records and what the caller may read of them. */
import type { FieldDefinition } from "@socle/protocol";
import type { UserTable } from "../collections/index.ts";
import { identifier } from "../database/index.ts";
import { type Expression, type SqlOptions, toSql } from "../expressions/index.ts";
import { needsDecoding } from "../fields/index.ts";
import type { ConditionalDecision, Decision, FieldLimits } from "../permissions/index.ts";
import type { RecordTable } from "../records/index.ts";
import type { SelectionPlan, SqlPart } from "./plan.ts";

export interface Source {
  /** The collection, or "users". */
  readonly name: string;
  /** The quoted SQL name of the table. */
  readonly table: string;
  /** The names of a record's fields, in their order. */
  readonly names: readonly string[];
  readonly decision: Decision;
  /** The fields of `names` that the caller may read in some records alone, with the conditions. */
  readonly conditional: ReadonlyMap<string, Expression>;
  /** Null for a field of users, and for a name that is no field, or none for the caller. */
  field(name: string): FieldDefinition | null;
  /** The column of a name, as SQL. */
  column(name: string): string;
}

const none = { closed: new Set<string>(), conditional: new Map<string, ConditionalDecision>() } as const;

/** @param limits the fields that the caller may not read in every record; null for none. */
export function recordSource(table: RecordTable, decision: Decision, limits: FieldLimits | null): Source {
  const { closed, conditional } = limits ?? none;
  const fields = table.fields.map(({ name }) => name).filter((name) => !closed.has(name));
  return {
    name: table.collection.name,
    table: table.sqlName,
    names: ["id", "createdAt", "updatedAt", ...fields],
    decision,
    conditional: new Map([...conditional].map(([name, { condition }]) => [name, condition])),
    field: (name) => (closed.has(name) ? null : table.field(name)),
    column: (name) => table.column(name),
  };
}

export function userSource({ table, fields }: UserTable, decision: Decision): Source {
  const quoted = identifier(table);
  return {
    name: "users",
    table: quoted,
    names: fields,
    decision,
    conditional: new Map(),
    field: () => null,
    column: (name) => `${quoted}.${identifier(name)}`,
  };
}

/** The SELECT list for some names, each value under its name, and a column for each guard. @param options see `toSql`. */
export function columnsSql(
  source: Source,
  names: readonly string[],
  options: SqlOptions,
): { readonly columns: SqlPart; readonly guards: SelectionPlan["guards"] } {
  const columns = names.map((name) => `${source.column(name)} AS ${identifier(name)}`);
  if (source.conditional.size === 0) return { columns: { text: columns.join(", "), values: [] }, guards: [] };
  const guarded = names.filter((name) => source.conditional.has(name));
  const byCondition = Map.groupBy(guarded, (name) => source.conditional.get(name));
  const values: SqlPart["values"][number][] = [];
  const guards: { column: string; fields: readonly string[] }[] = [];
  for (const [condition, fields] of byCondition) {
    if (condition === undefined) continue;
    const sql = toSql(condition, source.table, options);
    // No field has such a name.
    const column = `_guard${guards.length}`;
    columns.push(`(${sql.text}) IS TRUE AS ${column}`);
    values.push(...sql.values);
    guards.push({ column, fields });
  }
  return { columns: { text: columns.join(", "), values }, guards };
}

/** The fields among some names whose stored values are decoded. */
export function decodedFields(source: Source, names: readonly string[]): FieldDefinition[] {
  return names.flatMap((name) => {
    const field = source.field(name);
    return field !== null && needsDecoding(field) ? [field] : [];
  });
}
