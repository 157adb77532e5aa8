/** Sources: the tables that a selection reads, each with the fields of its records and what the caller may read of them. */
import type { FieldDefinition } from "@socle/protocol";
import type { UserTable } from "../collections/index.ts";
import { identifier } from "../database/index.ts";
import { needsDecoding } from "../fields/index.ts";
import type { Decision } from "../permissions/index.ts";
import type { RecordTable } from "../records/index.ts";

export interface Source {
  /** The collection, or "users". */
  readonly name: string;
  /** The quoted SQL name of the table. */
  readonly table: string;
  /** The names of a record's fields, in their order. */
  readonly names: readonly string[];
  readonly decision: Decision;
  /** Null for a field of users, and for a name that is no field. */
  field(name: string): FieldDefinition | null;
  /** The column of a name, as SQL. */
  column(name: string): string;
}

export function recordSource(table: RecordTable, decision: Decision): Source {
  return {
    name: table.collection.name,
    table: table.sqlName,
    names: ["id", "createdAt", "updatedAt", ...table.fields.map(({ name }) => name)],
    decision,
    field: (name) => table.field(name),
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
    field: () => null,
    column: (name) => `${quoted}.${identifier(name)}`,
  };
}

/** The SELECT list for some names, each value under its name. */
export function columnsSql(source: Source, names: readonly string[]): string {
  return names.map((name) => `${source.column(name)} AS ${identifier(name)}`).join(", ");
}

/** The fields among some names whose stored values are decoded. */
export function decodedFields(source: Source, names: readonly string[]): FieldDefinition[] {
  return names.flatMap((name) => {
    const field = source.field(name);
    return field !== null && needsDecoding(field) ? [field] : [];
  });
}
