/** Sources: a collection, or the users, for a class of callers: the table, its fields, and the rights to read. */
import type { FieldDefinition } from "@socle/protocol";
import { isAdmin, type Principal } from "../../base/kernel/index.ts";
import { identifier } from "../../store/database/index.ts";
import type { Collection, Collections, UserTable } from "../collections/index.ts";
import { collectionsIn, type Expression, operandsIn, type SqlOptions, toSql } from "../expressions/index.ts";
import { needsDecoding } from "../fields/index.ts";
import type { ConditionalDecision, Decision } from "../permissions/index.ts";
import { fieldLimits, recordTableOf } from "../records/index.ts";
import type { SelectionPlan, SqlPart } from "./plan.ts";

export interface Source {
  /** The collection, or "users". */
  readonly name: string;
  /** The quoted SQL name of the table. */
  readonly table: string;
  /** The names of a record's fields, in their order. */
  readonly names: readonly string[];
  readonly decision: Decision;
  /** The condition under which records may be read; null for all. */
  readonly condition: Expression | null;
  /** The fields of `names` that callers may read in some records alone, with the conditions. */
  readonly conditional: ReadonlyMap<string, Expression>;
  /** The fields that callers may not read in every record: no query searches or sorts by such a field. */
  readonly closed: ReadonlySet<string>;
  /** The collections that the rules of the collection and its fields ask about. */
  readonly asks: Asks;
  /** The fields of records that are answered unless a query says otherwise. */
  readonly whole: SelectionPlan;
  /** Null for a field of users, and for a name that callers know no field of. */
  field(name: string): FieldDefinition | null;
  /** The column of a name, as SQL. */
  column(name: string): string;
}

/** The things that conditions ask about, beside the record itself. */
export interface Asks {
  /** The names of collections. */
  readonly names: ReadonlySet<string>;
  /** Whether the outcome depends on something that has no version: the users, the time, the role of the caller. */
  readonly isFleeting: boolean;
}

/** The class of a caller: all callers of a class have the same decisions and conditions. */
export function classOf(principal: Principal): "admin" | "user" | "nobody" {
  return isAdmin(principal) ? "admin" : principal === null ? "nobody" : "user";
}

/** The condition under which records may be read; null for all. */
export function conditionOf(decision: Decision): Expression | null {
  return "condition" in decision ? decision.condition : null;
}

export function asksOf(conditions: readonly Expression[]): Asks {
  const names = new Set(conditions.flatMap((condition) => [...collectionsIn(condition)]));
  const asksUsers = names.delete("users");
  const operands = conditions.flatMap(operandsIn);
  const isFleeting = operands.some((operand) => operand.type === "macro" && operand.name !== "user.id");
  return { names, isFleeting: asksUsers || isFleeting };
}

/** The sources of the definitions that are in force: by collection and class of callers. */
const known = new WeakMap<Collections, { readonly epoch: number; readonly sources: Map<string, Source> }>();

/** A collection for the class of a caller. */
export function sourceOf(collections: Collections, collection: Collection, principal: Principal): Source {
  const { epoch, users } = collections;
  let all = known.get(collections);
  if (all?.epoch !== epoch) {
    all = { epoch, sources: new Map() };
    known.set(collections, all);
  }
  const key = `${collection.name} ${classOf(principal)}`;
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
  const fields = table.fields.map(({ name }) => name).filter((name) => !limits.closed.has(name));
  const conditional = new Map([...limits.conditional].map(([name, { condition }]) => [name, condition]));
  const condition = conditionOf(decision);
  // The word "owner" asks about the record alone.
  const asked = [...(decision.access === "where" ? [decision.condition] : []), ...conditional.values()];
  return withWhole(
    {
      name: collection.name,
      table: table.sqlName,
      names: ["id", "createdAt", "updatedAt", ...fields],
      decision,
      condition,
      conditional,
      closed: new Set([...limits.closed, ...conditional.keys()]),
      asks: asksOf(asked),
      field: (name) => (limits.closed.has(name) ? null : table.field(name)),
      column: (name) => table.column(name),
    },
    users,
  );
}

export function userSource({ table, fields }: UserTable, decision: Decision): Source {
  const quoted = identifier(table);
  return withWhole(
    {
      name: "users",
      table: quoted,
      names: fields,
      decision,
      condition: conditionOf(decision),
      conditional: new Map(),
      closed: none.closed,
      asks: { names: none.closed, isFleeting: true },
      field: () => null,
      column: (name) => `${quoted}.${identifier(name)}`,
    },
    table,
  );
}

/** A source without its plan. */
type SourceFields = Omit<Source, "whole">;

function withWhole(source: SourceFields, users: string): Source {
  // The conditions of fields may look at many records: the statement can be stopped.
  const selected = columnsSql(source, source.names, { isProbed: true, users });
  const decoded = decodedFields(source, source.names);
  return { ...source, whole: { table: source.table, ...selected, decoded, answered: null, expansions: [] } };
}

/** The SELECT list for some names, each value under its name, and a column for each guard. @param options see `toSql`. */
export function columnsSql(
  source: SourceFields,
  names: readonly string[],
  options: SqlOptions,
): { readonly columns: SqlPart; readonly guards: SelectionPlan["guards"] } {
  const columns = names.map((name) => `${source.column(name)} AS ${identifier(name)}`);
  if (source.conditional.size === 0) return { columns: { text: columns.join(", "), values: [] }, guards: [] };
  const guarded = names.filter((name) => source.conditional.has(name));
  const byCondition = Map.groupBy(guarded, (name) => source.conditional.get(name));
  const values: SqlPart["values"][number][] = [];
  const guards: { column: string; fields: readonly string[] }[] = [];
  for (const [condition, fields] of byCondition) {
    if (condition === undefined) continue;
    const sql = toSql(condition, source.table, options);
    // No field begins with an underscore.
    const column = `_guard${guards.length}`;
    columns.push(`(${sql.text}) IS TRUE AS ${column}`);
    values.push(...sql.values);
    guards.push({ column, fields });
  }
  return { columns: { text: columns.join(", "), values }, guards };
}

/** The fields among some names whose stored values are decoded. */
export function decodedFields(source: SourceFields, names: readonly string[]): FieldDefinition[] {
  return names.flatMap((name) => {
    const field = source.field(name);
    return field !== null && needsDecoding(field) ? [field] : [];
  });
}

/** The records for which all conditions hold, as SQL; null for all records. */
export function whereOf(conditions: readonly Expression[], table: string, options: SqlOptions): SqlPart | null {
  if (conditions.length === 0) return null;
  const parts = conditions.map((condition) => toSql(condition, table, options));
  const text = parts.map((part) => (parts.length > 1 ? `(${part.text})` : part.text)).join(" AND ");
  return { text, values: parts.flatMap(({ values }) => values) };
}
