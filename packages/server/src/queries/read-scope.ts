/**
 * The read scope of a query: the collections that it enters, and what the caller may read of each. A scope notes what was
 * entered, so that a cached answer knows what it depends on.
 */
import type { FieldDefinition } from "@socle/protocol";
import { type Collection, type Collections, columnName } from "../collections/index.ts";
import type { Expression, ExpressionSchema, SchemaField } from "../expressions/index.ts";
import { typeOf } from "../fields/index.ts";
import { AppError, isAdmin, type Principal } from "../kernel/index.ts";
import type { Decision } from "../permissions/index.ts";

/** Where users are kept, for relations that lead to them. Each may read themself; admins read all. */
export interface UserTable {
  readonly table: string;
  /** Its public columns, which are the fields of a user. */
  readonly fields: readonly string[];
}

function systemField(name: string, valueType: "text" | "datetime"): SchemaField {
  return { name, valueType, column: name, isRelation: false };
}

/** The fields that a query may name, with those that every record has. */
function fieldsOf({ definition }: Collection): ReadonlyMap<string, SchemaField> {
  const system = [
    systemField("id", "text"),
    systemField("createdAt", "datetime"),
    systemField("updatedAt", "datetime"),
  ];
  const own = definition.fields.map((field): SchemaField => {
    const { valueType, reference } = typeOf(field);
    return { name: field.name, valueType, column: columnName(field), isRelation: reference === "record" };
  });
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

/** A user's own row. */
const isSelf: Expression = {
  type: "compare",
  operator: "=",
  left: { type: "path", hops: [], field: systemField("id", "text"), members: [], valueType: "text" },
  right: { type: "macro", name: "user.id", valueType: "text" },
};

/** The condition under which records may be read; null for all. */
export function conditionOf(decision: Decision): Expression | null {
  return decision.access === "own" ? decision.condition : null;
}

export class ReadScope {
  readonly principal: Principal;
  readonly users: UserTable;
  readonly #collections: Collections;
  readonly #entered = new Map<Collection, Decision>();
  #hasEnteredUsers = false;

  constructor(options: { collections: Collections; users: UserTable; principal: Principal }) {
    this.#collections = options.collections;
    this.users = options.users;
    this.principal = options.principal;
  }

  /** The collections that were entered, and what the caller may read of each. */
  get entered(): ReadonlyMap<Collection, Decision> {
    return this.#entered;
  }

  get hasEnteredUsers(): boolean {
    return this.#hasEnteredUsers;
  }

  /** What the caller may read of a collection, which is entered with that. */
  enter(collection: Collection): Decision {
    const decision = collection.policies.read.decide(this.principal);
    this.#entered.set(collection, decision);
    return decision;
  }

  enterUsers(): Decision {
    this.#hasEnteredUsers = true;
    if (isAdmin(this.principal)) return { access: "all" };
    if (this.principal !== null) return { access: "own", condition: isSelf };
    return { access: "none", refusal: new AppError("unauthorized", "To look into users, sign in.") };
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

  /** Whether the caller may read anything of a collection; asking does not enter it. */
  canRead(collection: Collection): boolean {
    return collection.policies.read.decide(this.principal).access !== "none";
  }

  /** The names of the collections that the caller may read something of. */
  readableNames(): string[] {
    return this.#collections
      .all()
      .filter((collection) => this.canRead(collection))
      .map(({ name }) => name);
  }

  /** The collection as expressions see it. */
  schema(collection: Collection): ExpressionSchema {
    const fields = schemaFieldsOf(collection);
    return {
      name: collection.name,
      table: collection.table,
      condition: conditionOf(this.enter(collection)),
      field: (name) => fields.get(name),
      fieldNames: () => [...fields.keys()],
      follow: (field) => this.#follow(collection, field),
    };
  }

  #follow(collection: Collection, { name }: SchemaField): ExpressionSchema {
    const definition = collection.definition.fields.find((field) => field.name === name);
    if (definition === undefined) throw new Error(`There is no field ${name} to follow`);
    const target = this.target(definition);
    if (target === null) return this.#userSchema();
    target.policies.read.admit(this.principal);
    return this.schema(target);
  }

  #userSchema(): ExpressionSchema {
    const decision = this.enterUsers();
    if (decision.access === "none") throw decision.refusal;
    const { table, fields } = this.users;
    return {
      name: "users",
      table,
      condition: conditionOf(decision),
      field: (name) =>
        fields.includes(name) ? systemField(name, name === "createdAt" ? "datetime" : "text") : undefined,
      fieldNames: () => fields,
      follow: () => {
        throw new Error("Users have no relations");
      },
    };
  }
}
