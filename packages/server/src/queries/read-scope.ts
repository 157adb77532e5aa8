/**
 * The read scope of a query: the collections that it enters, and what the caller may read of each. A scope notes what
 * was entered, so that a cached answer knows what it depends on.
 */
import type { FieldDefinition } from "@socle/protocol";
import {
  type Collection,
  type Collections,
  expressionSchema,
  type SchemaSource,
  systemField,
  type UserTable,
} from "../collections/index.ts";
import { collectionsIn, type Expression, type ExpressionSchema, eachOperand, isCaller } from "../expressions/index.ts";
import { AppError, isAdmin, type Principal } from "../kernel/index.ts";
import type { Decision } from "../permissions/index.ts";
import { fieldLimits, recordTableOf } from "../records/index.ts";
import { recordSource, type Source } from "./source.ts";

const nothing: ReadonlySet<string> = new Set();

/** A user's own row. */
const isSelf = isCaller(systemField("id", true));

/** The condition under which records may be read; null for all. */
export function conditionOf(decision: Decision): Expression | null {
  return "condition" in decision ? decision.condition : null;
}

export class ReadScope {
  readonly principal: Principal;
  readonly #collections: Collections;
  readonly #source: SchemaSource;
  readonly #entered = new Map<Collection, Decision>();
  readonly #asked = new Set<string>();
  #isFleeting = false;

  constructor(collections: Collections, principal: Principal) {
    this.#collections = collections;
    this.principal = principal;
    this.#source = {
      users: collections.users,
      definition: (name) => collections.get(name)?.definition,
      enter: (name) => this.#enterNamed(name),
      enterUsers: () => this.#conditionOfUsers(),
      closed: (name) => this.closed(name),
    };
  }

  get users(): UserTable {
    return this.#collections.users;
  }

  /** The collections that were entered, each with the caller's decision. */
  get entered(): ReadonlyMap<Collection, Decision> {
    return this.#entered;
  }

  /** The names of the collections that the rules of those ask about. */
  get asked(): ReadonlySet<string> {
    return this.#asked;
  }

  /** Whether the answer depends on something that has no version: the users, the time, the caller's role. */
  get isFleeting(): boolean {
    return this.#isFleeting;
  }

  /** Notes the collections that a condition depends on. */
  note(condition: Expression): void {
    for (const name of collectionsIn(condition)) {
      if (name === "users") this.#isFleeting = true;
      else this.#asked.add(name);
    }
    eachOperand(condition, (operand) => {
      if (operand.type === "macro" && operand.name !== "user.id") this.#isFleeting = true;
    });
  }

  /** Enters a collection, and answers the part of it that the caller may read. */
  enter(collection: Collection): Decision {
    const decision = collection.policies.read.decide(this.principal);
    this.#entered.set(collection, decision);
    if (decision.access === "where") this.note(decision.condition);
    const limits = fieldLimits(collection, this.principal);
    if (limits !== null) for (const { condition } of limits.conditional.values()) this.note(condition);
    return decision;
  }

  /** Enters a collection whose records are answered. */
  source(collection: Collection): Source {
    return recordSource(recordTableOf(collection), this.enter(collection), fieldLimits(collection, this.principal));
  }

  /**
   * The fields of a collection that the caller cannot search or sort by, or follow: those that they may not read in
   * every record. An order by values that are hidden in some records would tell them.
   */
  closed(name: string): ReadonlySet<string> {
    const collection = this.#collections.get(name);
    const limits = collection === undefined ? null : fieldLimits(collection, this.principal);
    return limits === null ? nothing : new Set([...limits.closed, ...limits.conditional.keys()]);
  }

  enterUsers(): Decision {
    this.#isFleeting = true;
    if (isAdmin(this.principal)) return { access: "all" };
    if (this.principal !== null) return { access: "own", condition: isSelf };
    return { access: "none", refusal: new AppError("unauthorized", "To query users, sign in.") };
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
    return expressionSchema(collection.definition, this.#source);
  }

  #enterNamed(name: string): Expression | null {
    const collection = this.#collections.get(name);
    if (collection === undefined) throw new Error(`There is no collection ${name} to enter`);
    collection.policies.read.admit(this.principal);
    return conditionOf(this.enter(collection));
  }

  #conditionOfUsers(): Expression | null {
    const decision = this.enterUsers();
    if (decision.access === "none") throw decision.refusal;
    return conditionOf(decision);
  }
}
