/** For the tests of expressions: two collections, their tables and records. */

import { AppError } from "../src/base/kernel/index.ts";
import type { ExpressionSchema, SchemaField } from "../src/data/expressions/expression.ts";
import { isCaller } from "../src/data/expressions/expression.ts";
import type { Fields } from "../src/data/expressions/predicate.ts";
import { derivedOf, positionSql, type ValueType } from "../src/data/fields/index.ts";
import type { Database, Transactor, Value } from "../src/store/database/index.ts";

interface FieldSpec {
  readonly valueType: ValueType;
  readonly target?: string;
  readonly values?: readonly string[];
  readonly multiple?: true;
}

/** The order is deliberately not alphabetical. */
export const statuses = ["todo", "doing", "done"];

const fields: { readonly [collection: string]: { readonly [field: string]: FieldSpec } } = {
  posts: {
    id: { valueType: "text" },
    title: { valueType: "text" },
    slug: { valueType: "text" },
    count: { valueType: "number" },
    score: { valueType: "number" },
    published: { valueType: "boolean" },
    createdAt: { valueType: "datetime" },
    due: { valueType: "datetime" },
    status: { valueType: "text", values: statuses },
    before: { valueType: "text", values: statuses },
    meta: { valueType: "json" },
    place: { valueType: "geo" },
    author: { valueType: "text", target: "authors" },
    parent: { valueType: "text", target: "posts" },
    vault: { valueType: "text", target: "vault" },
    tags: { valueType: "text", multiple: true },
    kinds: { valueType: "text", multiple: true, values: statuses },
    links: { valueType: "text", target: "posts", multiple: true },
    fans: { valueType: "text", target: "authors", multiple: true },
  },
  authors: {
    id: { valueType: "text" },
    name: { valueType: "text" },
    age: { valueType: "number" },
    notes: { valueType: "json" },
    home: { valueType: "geo" },
    boss: { valueType: "text", target: "authors" },
  },
};

/** The record's owner is the caller. */
const isOwn = isCaller({ name: "_owner", valueType: "text", column: "_owner", isRelation: false, isIndexed: false });

/** A caller may read only own authors, and no record of the vault. */
const owned = new Set(["authors"]);

export function schemaOf(name: string): ExpressionSchema {
  const specs = fields[name] ?? {};
  return {
    name,
    table: name,
    condition: owned.has(name) ? isOwn : null,
    field(fieldName): SchemaField | undefined {
      const spec = Object.hasOwn(specs, fieldName) ? specs[fieldName] : undefined;
      if (spec === undefined) return undefined;
      return {
        name: fieldName,
        valueType: spec.valueType,
        column: fieldName,
        isRelation: spec.target !== undefined,
        // The tests need both ways to compile a backward step: with an index and without an index.
        isIndexed: spec.target !== undefined || fieldName === "slug" || fieldName === "id",
        ...(spec.multiple && { items: { table: itemTable(name, fieldName), values: spec.values ?? null } }),
        ...(spec.valueType === "geo" && { place: { lat: `_lat_${fieldName}`, lon: `_lon_${fieldName}` } }),
        ...(spec.values && !spec.multiple && { order: { values: spec.values, column: `_order_${fieldName}` } }),
      };
    },
    fieldNames: () => Object.keys(specs),
    follow(field) {
      const target = specs[field.name]?.target ?? "";
      if (target === "vault") throw new AppError("forbidden", 'Only an admin may read records of "vault".');
      return schemaOf(target);
    },
    back(collection, fieldName) {
      const spec = Object.hasOwn(fields, collection) ? fields[collection]?.[fieldName] : undefined;
      const target = schemaOf(collection);
      const pointer = target.field(fieldName);
      if (spec?.target !== name || pointer === undefined)
        return `"${collection}(${fieldName})" does not point to "${name}"`;
      return { target, pointer };
    },
  };
}

function itemTable(collection: string, field: string): string {
  return `_items_${collection}.${field}`;
}

const columnTypes: { readonly [valueType in ValueType]: string } = {
  text: "TEXT",
  number: "REAL",
  boolean: "INTEGER",
  datetime: "TEXT",
  json: "TEXT",
  geo: "TEXT",
  vector: "TEXT",
};

function stored({ valueType, multiple }: FieldSpec, value: Fields[string]): Value {
  if (multiple === true) return JSON.stringify(value ?? []);
  if (valueType === "json" || valueType === "geo")
    return value === null || value === undefined ? null : JSON.stringify(value);
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "string" || typeof value === "number" ? value : null;
}

function fillItems(tx: Transactor, collection: string, field: string): void {
  const table = `"${itemTable(collection, field)}"`;
  tx.run(`DROP TABLE IF EXISTS ${table}`);
  tx.run(`CREATE TABLE ${table} (value TEXT, record INTEGER, PRIMARY KEY (value, record)) STRICT, WITHOUT ROWID`);
  tx.run(`INSERT INTO ${table} SELECT item.value, _seq FROM ${collection}, json_each("${field}") item`);
}

/** Fills the tables anew. A record of `authors` may name its owner with `_owner`. */
export async function fill(
  database: Database,
  records: { posts: readonly Fields[]; authors: readonly Fields[] },
): Promise<void> {
  await database.transact((tx) => {
    for (const name of ["posts", "authors"] as const) {
      const specs = Object.entries(fields[name] ?? {});
      const columns = specs.map(([field, { valueType }]) => `"${field}" ${columnTypes[valueType]}`);
      for (const [field, { values, multiple }] of specs)
        if (values !== undefined && multiple !== true)
          columns.push(`"_order_${field}" INTEGER GENERATED ALWAYS AS (${positionSql(values, `"${field}"`)}) VIRTUAL`);
      for (const [field, { valueType }] of specs)
        for (const { kind, type, sql } of valueType === "geo" ? derivedOf({ name: field, type: "geo" }) : [])
          columns.push(`"_${kind}_${field}" ${type} GENERATED ALWAYS AS (${sql(`"${field}"`)}) VIRTUAL`);
      tx.run(`DROP TABLE IF EXISTS ${name}`);
      tx.run(`CREATE TABLE ${name} (_seq INTEGER PRIMARY KEY, _owner TEXT, ${columns.join(", ")}) STRICT`);
      const names = ["_owner", ...specs.map(([field]) => `"${field}"`)];
      const sql = `INSERT INTO ${name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
      for (const record of records[name]) {
        const owner = record["_owner"];
        const values = specs.map(([field, spec]) => stored(spec, record[field] ?? null));
        tx.run(sql, typeof owner === "string" ? owner : null, ...values);
      }
      for (const [field, { multiple }] of specs) if (multiple === true) fillItems(tx, name, field);
    }
  });
}

/** Few texts, so that equal values meet; some of the texts are easily confused. */
export const texts = [
  "",
  "a",
  "A",
  "ab",
  "b",
  "é",
  "É",
  "straße",
  "STRASSE",
  "ς",
  "Σ",
  "ﬁ",
  "\u{1f600}",
  "\uffee",
  "K",
  "K",
  "0",
  "1",
  "true",
  "null",
  "%",
  "_",
  "a%b",
  "*",
  "[a]",
  "'",
  '"',
  "\\",
  "ä\u0301",
];
