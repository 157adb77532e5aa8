/**
 * The read scope of a query: the collections that the query enters, each with the decision for the caller. A cached answer depends
 * on the collections that the scope notes.
 */
import type { FieldDefinition } from "@socle/protocol";
import { AppError, isAdmin, type Principal } from "../../base/kernel/index.ts";
import {
  type Collection,
  type Collections,
  expressionSchema,
  type SchemaSource,
  systemField,
  type UserTable,
} from "../collections/index.ts";
import { type Expression, type ExpressionSchema, isCaller } from "../expressions/index.ts";
import type { Decision } from "../permissions/index.ts";
import { type Asks, asksOf, conditionOf, type Source, sourceOf } from "./source.ts";

const nothing: ReadonlySet<string> = new Set();

/** A user's own row. */
const isSelf = isCaller(systemField("id", true));

export class ReadScope {
  readonly principal: Principal;
  readonly #collections: Collections;
  readonly #schemaSource: SchemaSource;
  readonly #entered = new Map<Collection, Decision>();
  #hasVersion = true;

  constructor(collections: Collections, principal: Principal) {
    this.#collections = collections;
    this.principal = principal;
    this.#schemaSource = {
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

  /**
   * Whether the versions of the entered collections tell that an answer has changed, and nothing beyond that. The version of a
   * collection counts the records that a rule by expression hides from the caller, too; users and the time have no version.
   */
  get hasVersion(): boolean {
    return this.#hasVersion;
  }

  /** Notes the collections and the values that a filter depends on. */
  note(filter: Expression): void {
    this.#note(asksOf([filter]));
  }

  /** Enters a collection, and answers the part that the caller may read. */
  source(collection: Collection): Source {
    const source = this.#sourceOf(collection);
    if (!this.#entered.has(collection)) {
      this.#entered.set(collection, source.decision);
      if (source.decision.access === "where") this.#hasVersion = false;
      this.#note(source.asks);
    }
    return source;
  }

  /** The fields of a collection that the caller cannot search or sort by, or follow; see `Source.closed`. */
  closed(name: string): ReadonlySet<string> {
    const collection = this.#collections.get(name);
    return collection === undefined ? nothing : this.#sourceOf(collection).closed;
  }

  enterUsers(): Decision {
    this.#hasVersion = false;
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

  /** Whether the caller may read anything of a collection; the collection is not entered. */
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

  /** The schema of a collection for expressions. */
  schema(collection: Collection): ExpressionSchema {
    return expressionSchema(collection.definition, this.#schemaSource);
  }

  #enterNamed(name: string): Expression | null {
    const collection = this.#collections.get(name);
    if (collection === undefined) throw new Error(`There is no collection ${name} to enter`);
    collection.policies.read.admit(this.principal);
    return this.source(collection).condition;
  }

  #conditionOfUsers(): Expression | null {
    const decision = this.enterUsers();
    if (decision.access === "none") throw decision.refusal;
    return conditionOf(decision);
  }

  #sourceOf(collection: Collection): Source {
    return sourceOf(this.#collections, collection, this.principal);
  }

  #note({ names, isFleeting }: Asks): void {
    if (isFleeting || names.size > 0) this.#hasVersion = false;
  }
}
