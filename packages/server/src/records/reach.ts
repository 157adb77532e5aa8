import type { FieldDefinition } from "@socle/protocol";
import { type Collection, type Collections, columnName, ownerColumn } from "../collections/index.ts";
import type { ExpressionSchema, SchemaField } from "../expressions/index.ts";
import { typeOf } from "../fields/index.ts";
import { AppError, isAdmin, type Principal } from "../kernel/index.ts";
import { authorize } from "./permissions.ts";

/** Where users are kept, for relations that lead to them. Each sees themself; admins see all. */
export interface UserTable {
  readonly table: string;
  /** Its public columns, which are the fields of a user. */
  readonly fields: readonly string[];
}

/** What a caller may see of a collection, or of the users: everything, what is their own, or nothing. */
export type Access = "all" | "own" | "none";

/** The fields that a query may name, with those that every record has. */
function fieldsOf(collection: Collection): ReadonlyMap<string, SchemaField> {
  const system: SchemaField[] = [
    { name: "id", valueType: "text", column: "id", isLong: false, isRelation: false },
    { name: "createdAt", valueType: "datetime", column: "createdAt", isLong: false, isRelation: false },
    { name: "updatedAt", valueType: "datetime", column: "updatedAt", isLong: false, isRelation: false },
  ];
  const own = collection.definition.fields.map(
    (field): SchemaField => ({
      name: field.name,
      valueType: typeOf(field).valueType,
      column: columnName(field),
      isLong: typeOf(field).mayBeLong(field),
      isRelation: typeOf(field).reference === "record",
    }),
  );
  return new Map([...system, ...own].map((field) => [field.name, field]));
}

const schemaFields = new WeakMap<Collection, ReadonlyMap<string, SchemaField>>();

function schemaFieldsOf(collection: Collection): ReadonlyMap<string, SchemaField> {
  let fields = schemaFields.get(collection);
  if (fields === undefined) {
    fields = fieldsOf(collection);
    schemaFields.set(collection, fields);
  }
  return fields;
}

/**
 * What one query of one caller can reach: the collection, and those that its relations lead to. It notes what was
 * reached, so that whoever keeps a result knows what it depends on.
 */
export class Reach {
  readonly principal: Principal;
  readonly #collections: Collections;
  readonly #users: UserTable;
  readonly #reached = new Map<Collection, Access>();
  #hasReachedUsers = false;

  constructor(options: { collections: Collections; users: UserTable; principal: Principal }) {
    this.#collections = options.collections;
    this.#users = options.users;
    this.principal = options.principal;
  }

  /** The collections that were reached, and what the caller may see of each. */
  get reached(): ReadonlyMap<Collection, Access> {
    return this.#reached;
  }

  get hasReachedUsers(): boolean {
    return this.#hasReachedUsers;
  }

  get users(): UserTable {
    return this.#users;
  }

  /** What the caller may see of a collection, which is reached with that. */
  accessTo(collection: Collection): Access {
    const access = this.#access(collection);
    this.#reached.set(collection, access);
    return access;
  }

  accessToUsers(): Access {
    this.#hasReachedUsers = true;
    if (isAdmin(this.principal)) return "all";
    return this.principal === null ? "none" : "own";
  }

  /** The collection that a relation leads to; null for the users. */
  target(field: FieldDefinition): Collection | null {
    if (field.collection === "users") return null;
    const target = this.#collections.get(field.collection ?? "");
    // Definitions whose relations lead nowhere are refused.
    if (target === undefined) throw new Error(`The relation ${field.name} leads nowhere`);
    return target;
  }

  /** The collection of a name. */
  named(name: string): Collection | undefined {
    return this.#collections.get(name);
  }

  /** Whether the caller may read anything of a collection; asking does not reach it. */
  isOpen(collection: Collection): boolean {
    return this.#access(collection) !== "none";
  }

  /** The names of collections that the caller may read something of. */
  openNames(): string[] {
    return this.#collections
      .all()
      .filter((collection) => this.isOpen(collection))
      .map(({ name }) => name);
  }

  /** The collection as expressions see it. */
  schema(collection: Collection): ExpressionSchema {
    const fields = schemaFieldsOf(collection);
    return {
      name: collection.name,
      table: collection.table,
      ownColumn: this.accessTo(collection) === "own" ? ownerColumn : null,
      field: (name) => fields.get(name),
      fieldNames: () => [...fields.keys()],
      follow: (field) => this.#follow(collection, field),
    };
  }

  #access(collection: Collection): Access {
    const { read } = collection.rules;
    if (isAdmin(this.principal) || read === "public") return "all";
    if (this.principal === null || read === "admin") return "none";
    return read === "owner" ? "own" : "all";
  }

  #follow(collection: Collection, { name }: SchemaField): ExpressionSchema {
    const definition = collection.definition.fields.find((field) => field.name === name);
    if (definition === undefined) throw new Error(`There is no field ${name} to follow`);
    const target = this.target(definition);
    if (target === null) return this.#userSchema();
    authorize(target, "read", this.principal);
    return this.schema(target);
  }

  #userSchema(): ExpressionSchema {
    const access = this.accessToUsers();
    if (access === "none") throw new AppError("unauthorized", "To look into users, sign in.");
    const { table, fields } = this.#users;
    const named = (name: string): SchemaField | undefined =>
      fields.includes(name)
        ? {
            name,
            valueType: name === "createdAt" ? "datetime" : "text",
            column: name,
            isLong: false,
            isRelation: false,
          }
        : undefined;
    return {
      name: "users",
      table,
      ownColumn: access === "own" ? "id" : null,
      field: named,
      fieldNames: () => fields,
      follow: () => {
        throw new Error("Users have no relations");
      },
    };
  }
}
