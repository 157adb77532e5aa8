import type { FieldDefinition, JsonValue } from "@socle/protocol";
import { ownerColumn } from "../collections/index.ts";
import { identifier } from "../database/index.ts";
import { decode, needsDecoding, typeOf } from "../fields/index.ts";
import type { Model } from "./model.ts";
import type { Access, UserTable } from "./reach.ts";

/** A row as it was read, and is being turned into a record. */
export interface Row {
  [field: string]: JsonValue;
}

/** Where records are read from when only some of their fields are wanted, or when a relation leads there. */
export interface Source {
  /** The collection, or "users". */
  readonly name: string;
  /** The SQL name of the table, quoted. */
  readonly table: string;
  /** The names that a record has, in their order. */
  readonly names: readonly string[];
  readonly access: Access;
  /** A condition for what the caller may see; its `?` is the caller's id. Null where that is everything. */
  readonly ownCondition: string | null;
  /** Null for users, and for a name that is no field. */
  field(name: string): FieldDefinition | null;
  /** The column of a name. */
  column(name: string): string;
  /** What is selected for these names, with each value under its name. */
  columns(names: readonly string[]): string;
  /** The bytes that the values of these names take in a row, at least, as SQL. */
  weight(names: readonly string[]): string;
  /** Turns the stored values of these names into those of a record, in place. */
  decoder(names: readonly string[]): (rows: readonly Row[]) => void;
}

const sources = new WeakMap<Model, Map<Access, Source>>();

/** @param access what the caller may see of it. */
export function recordSource(model: Model, access: Access): Source {
  const known = sources.get(model) ?? new Map<Access, Source>();
  sources.set(model, known);
  const source = known.get(access) ?? makeRecordSource(model, access);
  known.set(access, source);
  return source;
}

function makeRecordSource(model: Model, access: Access): Source {
  const { collection } = model;
  const table = identifier(collection.table);
  const fields = new Map(model.fields.map((field) => [field.name, field]));
  return {
    name: collection.name,
    table,
    names: ["id", "createdAt", "updatedAt", ...fields.keys()],
    access,
    ownCondition: access === "own" ? `${table}.${ownerColumn} = ?` : null,
    field: (name) => fields.get(name) ?? null,
    column: (name) => model.column(name),
    columns: (names) => names.map((name) => `${model.column(name)} AS ${identifier(name)}`).join(", "),
    weight(names) {
      const measured = names.filter((name) => !isNumber(fields.get(name)));
      const columns = measured.map((name) => model.column(name));
      return weightOf(columns, names.length - measured.length);
    },
    decoder(names) {
      const decoded = names.flatMap((name) => {
        const field = fields.get(name);
        return field !== undefined && needsDecoding(field) ? [field] : [];
      });
      return (rows) => {
        for (const field of decoded)
          for (const row of rows) {
            const value = row[field.name];
            if (typeof value === "number" || typeof value === "string") row[field.name] = decode(field, value);
          }
      };
    },
  };
}

/** @param access what the caller may see of them. */
export function userSource({ table, fields }: UserTable, access: Access): Source {
  const quoted = identifier(table);
  const column = (name: string): string => `${quoted}.${identifier(name)}`;
  return {
    name: "users",
    table: quoted,
    names: fields,
    access,
    ownCondition: access === "own" ? `${quoted}.id = ?` : null,
    field: () => null,
    column,
    columns: (names) => names.map((name) => `${column(name)} AS ${identifier(name)}`).join(", "),
    weight: (names) => weightOf(names.map(column)),
    decoder: () => () => undefined,
  };
}

/** What null, a number or a boolean weighs, about. */
const shortWeight = 4;

function isNumber(field: FieldDefinition | undefined): boolean {
  return field !== undefined && typeOf(field).column !== "TEXT";
}

/**
 * SQLite knows the length of a text without reading it. That of a number it takes from the value, and reads all that
 * stands before it in the row: megabytes, where that is a long text. So numbers are not measured.
 */
function weightOf(columns: readonly string[], numbers = 0): string {
  const texts = columns.map((column) => `coalesce(octet_length(${column}), ${shortWeight})`);
  return [...texts, numbers * shortWeight].join(" + ");
}
