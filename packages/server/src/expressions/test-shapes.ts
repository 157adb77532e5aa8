/** For the tests of expressions: two collections, their tables and records. */
import type { Database, Value } from "../database/index.ts";
import { AppError } from "../kernel/index.ts";
import type { Fields } from "./predicate.ts";
import type { Kind, NamedField, Shape } from "./shape.ts";

interface FieldSpec {
  readonly kind: Kind;
  readonly target?: string;
}

const fields: { readonly [collection: string]: { readonly [field: string]: FieldSpec } } = {
  posts: {
    id: { kind: "text" },
    title: { kind: "text" },
    slug: { kind: "text" },
    count: { kind: "number" },
    score: { kind: "number" },
    published: { kind: "boolean" },
    createdAt: { kind: "datetime" },
    due: { kind: "datetime" },
    meta: { kind: "json" },
    author: { kind: "text", target: "authors" },
    parent: { kind: "text", target: "posts" },
    vault: { kind: "text", target: "vault" },
  },
  authors: {
    id: { kind: "text" },
    name: { kind: "text" },
    age: { kind: "number" },
    notes: { kind: "json" },
    boss: { kind: "text", target: "authors" },
  },
};

/** What a caller sees of authors is their own; of the vault, nothing. */
const owned = new Set(["authors"]);

export function shapeOf(name: string): Shape {
  const specs = fields[name] ?? {};
  return {
    name,
    table: name,
    ownColumn: owned.has(name) ? "_owner" : null,
    field(fieldName): NamedField | undefined {
      const spec = Object.hasOwn(specs, fieldName) ? specs[fieldName] : undefined;
      if (spec === undefined) return undefined;
      return {
        name: fieldName,
        kind: spec.kind,
        column: fieldName,
        isLong: true,
        isRelation: spec.target !== undefined,
      };
    },
    fieldNames: () => Object.keys(specs),
    follow(field) {
      const target = specs[field.name]?.target ?? "";
      if (target === "vault") throw new AppError("forbidden", 'Only an admin may read records of "vault".');
      return shapeOf(target);
    },
  };
}

const columnTypes: { readonly [kind in Kind]: string } = {
  text: "TEXT",
  number: "REAL",
  boolean: "INTEGER",
  datetime: "TEXT",
  json: "TEXT",
};

function stored(kind: Kind, value: Fields[string]): Value {
  if (kind === "json") return value === null || value === undefined ? null : JSON.stringify(value);
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "string" || typeof value === "number" ? value : null;
}

/** Fills the tables anew. A record of `authors` may say whose it is with `_owner`. */
export async function fill(
  database: Database,
  records: { posts: readonly Fields[]; authors: readonly Fields[] },
): Promise<void> {
  await database.transact(async (tx) => {
    for (const name of ["posts", "authors"] as const) {
      const specs = Object.entries(fields[name] ?? {});
      const columns = specs.map(([field, { kind }]) => `"${field}" ${columnTypes[kind]}`);
      await tx.run(`DROP TABLE IF EXISTS ${name}`);
      await tx.run(`CREATE TABLE ${name} (_seq INTEGER PRIMARY KEY, _owner TEXT, ${columns.join(", ")}) STRICT`);
      const names = ["_owner", ...specs.map(([field]) => `"${field}"`)];
      const sql = `INSERT INTO ${name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
      for (const record of records[name]) {
        const owner = record["_owner"];
        const values = specs.map(([field, { kind }]) => stored(kind, record[field] ?? null));
        await tx.run(sql, typeof owner === "string" ? owner : null, ...values);
      }
    }
  });
}
