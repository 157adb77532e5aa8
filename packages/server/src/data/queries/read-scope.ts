/**
 * The rights of a query: a source is a collection, or the users, for a class of callers. The read scope is the collections that a
 * query enters, with the decision for the caller. A cached answer depends on the collections that the scope notes.
 */
import { type CollectionDefinition, type FieldDefinition, isView, USERS } from "@socle/protocol";
import { AppError, isAdmin, isNobody, type Principal } from "../../base/kernel/index.ts";
import { identifier } from "../../store/database/index.ts";
import {
  type Collection,
  type Collections,
  expressionSchema,
  type SchemaSource,
  systemField,
  type UserTable,
} from "../collections/index.ts";
import {
  collectionsIn,
  type Expression,
  type ExpressionSchema,
  isCaller,
  namesCaller,
  operandsIn,
  parseExpression,
  plain,
  type SqlOptions,
  type SqlPart,
  separated,
  sqlPart,
  toSql,
} from "../expressions/index.ts";
import { needsDecoding } from "../fields/index.ts";
import { type ConditionalDecision, type Decision, hasScope, lacking, scopesOf } from "../permissions/index.ts";
import { fieldLimits, recordTableOf } from "../records/index.ts";
import type { SelectionPlan } from "./plan.ts";

export interface Source {
  /** The collection, or `users`. */
  readonly name: string;
  /** The quoted SQL name of the table. */
  readonly table: string;
  /** See `RecordTable`. */
  readonly newestFirst: string;
  /** The names of a record's fields, in order. */
  readonly names: readonly string[];
  readonly decision: Decision;
  /** The condition under which records may be read; null for all. */
  readonly condition: Expression | null;
  /** The fields of `names` that callers may read in some records alone, with the conditions. */
  readonly conditional: ReadonlyMap<string, Expression>;
  /** The fields that callers may not read in every record: no query searches or sorts by these fields. */
  readonly closed: ReadonlySet<string>;
  /** Whether the version of the collection tells each change of the part that a caller of the class may read. */
  readonly hasVersion: boolean;
  /** Whether the names of the fields are hidden from the caller, too. Without a definition, the fields of users are known. */
  readonly hidesNames: boolean;
  /** The fields of records that are answered unless a query says otherwise. */
  readonly whole: SelectionPlan;
  /** Null for a field of users, and for a name that callers know no field of. */
  field(name: string): FieldDefinition | null;
  column(name: string): string;
}

/** Whether all callers get the same of a collection. */
export function isForEverybody({ policies, fieldPolicies }: Collection): boolean {
  return policies.read.isOpen && fieldPolicies?.hidesValues !== true;
}

/** The class of a caller: all callers of a class have the same decisions and conditions. */
export function classOf(principal: Principal): string {
  const scopes = scopesOf(principal);
  return scopes === null ? roleClassOf(principal) : `key ${scopes.join()}`;
}

function roleClassOf(principal: Principal): "admin" | "user" | "nobody" {
  return isAdmin(principal) ? "admin" : isNobody(principal) ? "nobody" : "user";
}

/** The condition under which records may be read; null for all. */
export function conditionOf(decision: Decision): Expression | null {
  return "condition" in decision ? decision.condition : null;
}

/** Whether a condition asks for more than the record and the id of the caller: for other records, the time, or the caller's role. */
function asksForMore(condition: Expression): boolean {
  const operands = operandsIn(condition);
  const isFleeting = operands.some((operand) => operand.type === "macro" && operand.name !== "user.id");
  return isFleeting || collectionsIn(condition).size > 0;
}

/** The sources of the definitions that are in force: by collection and class of callers. */
const known = new WeakMap<Collections, { readonly epoch: number; readonly sources: Map<string, Source> }>();

/** A collection for the class of a caller. */
function sourceOf(collections: Collections, collection: Collection, principal: Principal): Source {
  const { epoch, users } = collections;
  let all = known.get(collections);
  if (all?.epoch !== epoch) {
    all = { epoch, sources: new Map() };
    known.set(collections, all);
  }
  // Keys share the source of users, or the source without records, whatever the other scopes.
  const key = `${collection.name} ${hasScope(principal, collection.name, "read") ? roleClassOf(principal) : "closed"}`;
  let source = all.sources.get(key);
  if (source === undefined) {
    source = recordSource(collection, principal, users.table);
    all.sources.set(key, source);
  }
  return source;
}

const none = { closed: new Set<string>(), conditional: new Map<string, ConditionalDecision>() } as const;

function recordSource(collection: Collection, principal: Principal, users: string): Source {
  const table = recordTableOf(collection);
  const decision = collection.policies.read.decide(principal);
  const limits = fieldLimits(collection, principal) ?? none;
  const conditional = new Map([...limits.conditional].map(([name, { condition }]) => [name, condition]));
  const condition = conditionOf(decision);
  return withWhole(
    {
      name: collection.name,
      table: table.sqlName,
      newestFirst: table.newestFirst,
      names: table.names.filter((name) => !limits.closed.has(name)),
      decision,
      condition,
      conditional,
      closed: new Set([...limits.closed, ...conditional.keys()]),
      // The version of a view would be that of the collections that the view reads.
      hasVersion:
        !isView(collection.definition) && decision.access !== "where" && ![...conditional.values()].some(asksForMore),
      hidesNames: decision.access === "none",
      field: (name) => (limits.closed.has(name) ? null : table.field(name)),
      column: (name) => table.column(name),
    },
    users,
  );
}

function userSource({ table, fields }: UserTable, decision: Decision): Source {
  const quoted = identifier(table);
  return withWhole(
    {
      name: USERS,
      table: quoted,
      newestFirst: `${quoted}._seq DESC`,
      names: fields,
      decision,
      condition: conditionOf(decision),
      conditional: new Map(),
      closed: none.closed,
      hasVersion: false,
      hidesNames: false,
      field: () => null,
      column: (name) => `${quoted}.${identifier(name)}`,
    },
    table,
  );
}

type SourceFields = Omit<Source, "whole">;

function withWhole(source: SourceFields, users: string): Source {
  return { ...source, whole: { ...readingOf(source, source.names, users), answered: null, expansions: [] } };
}

/**
 * The part of a plan that reads some names: each value under the name of the field, and a column for each guard. @param
 * users see `SqlOptions`.
 */
export function readingOf(
  source: SourceFields,
  names: readonly string[],
  users: string,
): Omit<SelectionPlan, "answered" | "expansions"> {
  const { table, conditional } = source;
  const columns = names.map((name) => plain(`${source.column(name)} AS ${identifier(name)}`));
  const guarded = names.filter((name) => conditional.has(name));
  const guards: { column: string; fields: readonly string[] }[] = [];
  for (const [condition, fields] of Map.groupBy(guarded, (name) => conditional.get(name))) {
    if (condition === undefined) continue;
    // No field begins with an underscore.
    const column = `_guard${guards.length}`;
    // A condition may look at many records: the statement can be stopped.
    columns.push(sqlPart`(${toSql(condition, table, { isProbed: true, users })}) IS TRUE AS ${column}`);
    guards.push({ column, fields });
  }
  const fields = names.flatMap((name) => source.field(name) ?? []);
  return { table, columns: separated(columns, ", "), guards, decoded: fields.filter(needsDecoding) };
}

/** The records for which all conditions hold, as SQL; null for all records. */
export function whereOf(conditions: readonly Expression[], table: string, options: SqlOptions): SqlPart | null {
  return conditions.length === 0 ? null : toSql({ type: "and", items: conditions }, table, options);
}

/** The data by which an answer can become another answer. */
export interface Dependencies {
  /** The collections, `users` included: a change of any record counts, or a change of a record of the caller alone. */
  readonly collections: ReadonlyMap<string, "any" | "own">;
  /** Whether callers of a class get different answers. */
  readonly onCaller: boolean;
  /** Whether the passing of time changes the answer. */
  readonly onTime: boolean;
}

/** A user's own row. */
const isSelf = isCaller(systemField("id", true));

export class ReadScope implements SchemaSource {
  readonly collections: Collections;
  readonly principal: Principal;
  readonly #entered = new Map<Collection, Decision>();
  readonly #filters: Expression[] = [];
  #readsUsers = false;
  #hasVersion = true;

  constructor(collections: Collections, principal: Principal) {
    this.collections = collections;
    this.principal = principal;
  }

  get users(): UserTable {
    return this.collections.users;
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
    this.#filters.push(filter);
    if (asksForMore(filter)) this.#hasVersion = false;
  }

  /** The data that the answer depends on, once everything is entered. */
  dependencies(): Dependencies {
    const found = new Map<string, "any" | "own">();
    const conditions = [...this.#filters];
    let onCaller = this.#readsUsers && !isAdmin(this.principal);
    for (const [collection, { access }] of this.#entered) {
      const { condition, conditional } = this.source(collection);
      // A view changes with each collection that its query reads.
      const { reads } = collection.definition;
      if (access !== "none" && reads !== undefined) for (const name of reads) found.set(name, "any");
      else if (access !== "none") found.set(collection.name, access === "own" ? "own" : "any");
      onCaller ||= access === "own";
      if (access === "where" && condition !== null) conditions.push(condition);
      conditions.push(...conditional.values());
    }
    const macros = conditions.flatMap(operandsIn).filter((operand) => operand.type === "macro");
    const ofUser = macros.filter(({ name }) => name.startsWith("user."));
    // Role and email of the caller are in the table of users.
    const readsUsers = this.#readsUsers || ofUser.some(({ name }) => name !== "user.id");
    for (const name of conditions.flatMap((each) => [...collectionsIn(each)])) found.set(name, "any");
    if (readsUsers) found.set(USERS, "any");
    onCaller ||= conditions.some(namesCaller);
    return { collections: found, onCaller, onTime: macros.length > ofUser.length };
  }

  /** Enters a collection, and answers the part that the caller may read. */
  source(collection: Collection): Source {
    const source = sourceOf(this.collections, collection, this.principal);
    if (!this.#entered.has(collection)) {
      this.#entered.set(collection, source.decision);
      if (!source.hasVersion) this.#hasVersion = false;
    }
    return source;
  }

  /** Enters the target of a relation, and answers the part that the caller may read. */
  target(name: string): Source {
    const collection = this.collections.get(name);
    if (collection !== undefined) return this.source(collection);
    // Definitions with relations to nowhere are refused.
    if (name !== USERS) throw new Error(`A relation leads to ${name}, which is not there`);
    return userSource(this.users, this.#decideOnUsers());
  }

  /** Whether the caller may read anything of a collection; the collection is not entered. */
  canRead(collection: Collection): boolean {
    return collection.policies.read.decide(this.principal).access !== "none";
  }

  /** The collections that the caller may read something of. */
  readable(): Collection[] {
    return this.collections.all().filter((collection) => this.canRead(collection));
  }

  schema(collection: Collection): ExpressionSchema {
    return expressionSchema(collection.definition, this);
  }

  definition(name: string): CollectionDefinition | undefined {
    return this.collections.get(name)?.definition;
  }

  enter(name: string): Expression | null {
    const collection = this.collections.get(name);
    if (collection === undefined) throw new Error(`There is no collection ${name} to enter`);
    collection.policies.read.admit(this.principal);
    return this.source(collection).condition;
  }

  enterUsers(): Expression | null {
    const decision = this.#decideOnUsers();
    if (decision.access === "none") throw decision.refusal;
    return conditionOf(decision);
  }

  /** The fields of a collection that the caller cannot search or sort by, or follow; see `Source.closed`. */
  closed(name: string): ReadonlySet<string> {
    const collection = this.collections.get(name);
    return collection === undefined ? none.closed : sourceOf(this.collections, collection, this.principal).closed;
  }

  #decideOnUsers(): Decision {
    this.#readsUsers = true;
    this.#hasVersion = false;
    if (!hasScope(this.principal, "users", "read")) return { access: "none", refusal: lacking("users:read") };
    if (isAdmin(this.principal)) return { access: "all" };
    if (!isNobody(this.principal)) return { access: "own", condition: isSelf };
    return { access: "none", refusal: new AppError("unauthorized", "To query users, sign in.") };
  }
}

/**
 * The filter of a subscription, parsed as the filter of a list: over the records of a collection, the same for all callers of a class.
 * @throws ExpressionError; AppError `unauthorized` or `forbidden` for a filter that leads to something that the caller may not read.
 */
export function parseSubscriptionFilter(
  { collections, collection }: { collections: Collections; collection: Collection },
  principal: Principal,
  text: string,
): Expression {
  return parseExpression(text, new ReadScope(collections, principal).schema(collection));
}
