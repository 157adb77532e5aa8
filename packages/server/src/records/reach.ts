import type { FieldDefinition } from "@socle/protocol";
import { type Collection, type Collections, columnName, ownerColumn } from "../collections/index.ts";
import type { Kind, NamedField, Shape } from "../expressions/index.ts";
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

const kinds: { readonly [type in FieldDefinition["type"]]: Kind } = {
  string: "text",
  text: "text",
  integer: "number",
  float: "number",
  boolean: "boolean",
  datetime: "datetime",
  json: "json",
  relation: "text",
  file: "text",
};

/** The fields that a query may name, with those that every record has. */
function fieldsOf(collection: Collection): ReadonlyMap<string, NamedField> {
  const system: NamedField[] = [
    { name: "id", kind: "text", column: "id", isLong: false, isRelation: false },
    { name: "createdAt", kind: "datetime", column: "createdAt", isLong: false, isRelation: false },
    { name: "updatedAt", kind: "datetime", column: "updatedAt", isLong: false, isRelation: false },
  ];
  const own = collection.definition.fields.map(
    (field): NamedField => ({
      name: field.name,
      kind: kinds[field.type],
      column: columnName(field),
      isLong: ["string", "text", "json"].includes(field.type),
      isRelation: field.type === "relation",
    }),
  );
  return new Map([...system, ...own].map((field) => [field.name, field]));
}

const namedFields = new WeakMap<Collection, ReadonlyMap<string, NamedField>>();

function namedFieldsOf(collection: Collection): ReadonlyMap<string, NamedField> {
  let fields = namedFields.get(collection);
  if (fields === undefined) {
    fields = fieldsOf(collection);
    namedFields.set(collection, fields);
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
  shape(collection: Collection): Shape {
    const fields = namedFieldsOf(collection);
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

  #follow(collection: Collection, { name }: NamedField): Shape {
    const definition = collection.definition.fields.find((field) => field.name === name);
    if (definition === undefined) throw new Error(`There is no field ${name} to follow`);
    const target = this.target(definition);
    if (target === null) return this.#userShape();
    authorize(target, "read", this.principal);
    return this.shape(target);
  }

  #userShape(): Shape {
    const access = this.accessToUsers();
    if (access === "none") throw new AppError("unauthorized", "To look into users, sign in.");
    const { table, fields } = this.#users;
    const named = (name: string): NamedField | undefined =>
      fields.includes(name)
        ? { name, kind: name === "createdAt" ? "datetime" : "text", column: name, isLong: false, isRelation: false }
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
