/**
 * Rights on single records and on their fields: the policies decide whether a caller is allowed an operation; the database
 * checks conditions on the record.
 */
import type { ErrorDetail, Operation, StoredRecord } from "@socle/protocol";
import { AppError, allOf, type Principal } from "../../base/kernel/index.ts";
import type { Reader, Value } from "../../store/database/index.ts";
import { bind, type EvaluationContext, type Expression, toSql } from "../expressions/index.ts";
import { decode } from "../fields/index.ts";
import { callerOf, type Decision, type FieldLimits, isOwnRecord, type Policy } from "../permissions/index.ts";
import { isSameValue } from "./record-effects.ts";
import { fieldLimits, type RecordTable, withoutFields } from "./record-table.ts";

export interface RightsTarget {
  readonly table: RecordTable;
  readonly principal: Principal;
  readonly id: string;
  readonly owner: string | null;
}

/** A caller and the values of a record that are not in the table: before or after a write. */
export interface RecordState extends Omit<RightsTarget, "id"> {
  readonly record: Readonly<Record<string, unknown>>;
}

/** The state of a whole record, with the system fields. */
export type WholeState = RecordState & { readonly record: StoredRecord };

/** A body that is to be written, with the stored values by the positions of the fields. */
interface WrittenBody {
  readonly body: Readonly<Record<string, unknown>>;
  readonly values: (Value | undefined)[];
}

type Sql = ReturnType<typeof toSql>;

/** The statements that find a row if a record fulfils a condition. The values of the condition are the last parameters. */
interface Statements {
  /** The record of an id. Parameter: the id. */
  readonly exists: string;
  /** The ids in a JSON array whose records do not exist or do not fulfil the condition, as `value`. Parameter: the array. */
  readonly missing: string;
  /** The values of a record. Parameters: `RecordTable.stateValues`. */
  readonly ofState: string;
  readonly values: Sql["values"];
}

const stateAlias = "_record";
const none: ReadonlySet<string> = new Set();

export class Rights {
  /** The table of users: see `SqlOptions`. */
  readonly #users: string;
  /** The statements by table and condition: all tables share the condition of the owner. */
  readonly #statements = new WeakMap<RecordTable, WeakMap<Expression, Statements>>();
  readonly #stateConditions = new WeakMap<Expression, Sql>();

  constructor(users: string) {
    this.#users = users;
  }

  #statementsOf(table: RecordTable, condition: Expression): Statements {
    const known = this.#statements.getOrInsertComputed(table, () => new WeakMap());
    return known.getOrInsertComputed(condition, () => {
      const { text, values } = this.#compile(condition, table.sqlName);
      const ofState = table.stateFulfils(stateAlias, this.#stateCondition(condition).text);
      return { exists: table.fulfils(text), missing: table.missingOf(text), ofState, values };
    });
  }

  /** A condition over a row of `RecordTable.state`, as SQL. */
  #stateCondition(condition: Expression): Sql {
    return this.#stateConditions.getOrInsertComputed(condition, () => this.#compile(condition, stateAlias));
  }

  #compile(condition: Expression, table: string): Sql {
    return toSql(condition, table, { users: this.#users, isOfOneRecord: true });
  }

  /** Whether a caller is allowed an operation on a stored record. */
  allows(reader: Reader, operation: Operation, target: RightsTarget): boolean {
    return this.isAllowed(reader, target.table.collection.policies[operation], target);
  }

  /** Whether a policy allows a caller to use a stored record. */
  isAllowed(reader: Reader, policy: Policy, target: RightsTarget): boolean {
    const { table, principal, id } = target;
    const decision = policy.decide(principal);
    if (decision.access !== "where") return allowsInMemory(decision, target);
    const { exists, values } = this.#statementsOf(table, decision.condition);
    return reader.get(exists, id, ...bind(values, contextOf(principal))) !== null;
  }

  /** The ids of records that do not exist or are not readable by the caller. A single statement finds these ids. */
  unreadable(
    reader: Reader,
    { table, principal, ids }: { table: RecordTable; principal: Principal; ids: readonly string[] },
  ): readonly string[] {
    const decision = table.collection.policies.read.decide(principal);
    if (decision.access === "none") return ids;
    const statements = decision.access === "all" ? null : this.#statementsOf(table, decision.condition);
    const bound = statements === null ? [] : bind(statements.values, contextOf(principal));
    const { exists, missing } = statements ?? table;
    const [id = ""] = ids;
    if (ids.length === 1) return reader.get(exists, id, ...bound) === null ? ids : [];
    return reader.all<{ value: string }>(missing, JSON.stringify(ids), ...bound).map(({ value }) => value);
  }

  /**
   * Whether a caller is allowed an operation on the values of a record, beside the stored other records. So a new record
   * gives no right: a caller cannot join a team by the membership that the caller is creating.
   */
  allowsState(reader: Reader, operation: Operation, state: RecordState): boolean {
    return this.permitsState(reader, state.table.collection.policies[operation], state);
  }

  /** As `allowsState`, by a policy. */
  permitsState(reader: Reader, policy: Policy, state: RecordState): boolean {
    const { table, principal, record, owner } = state;
    const decision = policy.decide(principal);
    if (decision.access !== "where") return allowsInMemory(decision, state);
    const { ofState, values } = this.#statementsOf(table, decision.condition);
    const bound = bind(values, contextOf(principal));
    return reader.get(ofState, ...table.stateValues(record, owner), ...bound) !== null;
  }

  /** The outcome of each condition on the values of a record; null if a compared value is missing. */
  stateOutcomes(
    reader: Reader,
    conditions: readonly Expression[],
    { table, principal, record, owner }: RecordState,
  ): (boolean | null)[] {
    if (conditions.length === 0) return [];
    const parts = conditions.map((condition) => this.#stateCondition(condition));
    const columns = parts.map(({ text }, i) => `(${text}) AS _c${i}`);
    const context = contextOf(principal);
    const bound = parts.flatMap(({ values }) => bind(values, context));
    const sql = table.selectState(stateAlias, columns);
    const row = reader.get<Record<string, number | null>>(sql, ...bound, ...table.stateValues(record, owner));
    return conditions.map((_, i) => {
      const value = row?.[`_c${i}`] ?? null;
      return value === null ? null : value !== 0;
    });
  }

  /**
   * Refuses a caller that is not allowed an operation on a record.
   * @throws AppError `missing` if an expression hides the record, otherwise `forbidden` or `unauthorized`.
   */
  admit(reader: Reader, operation: Operation, target: RightsTarget & { missing: () => AppError }): void {
    if (this.allows(reader, operation, target)) return;
    const { policies } = target.table.collection;
    const mayBeHidden = policies.read.audience === "condition";
    if (mayBeHidden && (operation === "read" || !this.allows(reader, "read", target))) throw target.missing();
    throw policies[operation].refusal(target.principal);
  }

  hidden(reader: Reader, state: RecordState): ReadonlySet<string> {
    const limits = fieldLimits(state.table.collection, state.principal);
    return limits === null ? none : this.#closed(reader, limits, state);
  }

  shown(reader: Reader, state: WholeState): StoredRecord {
    return withoutFields(state.record, this.hidden(reader, state));
  }

  /**
   * Refuses a new record if the body names fields that the caller may not write.
   * @param state the record after the create.
   * @throws AppError `forbidden` with the fields.
   */
  admitNew(reader: Reader, state: RecordState, body: WrittenBody["body"]): void {
    const limits = limitsOf(state, body);
    if (limits !== null) refuse(this.#closed(reader, limits, state));
  }

  /**
   * Refuses an update that changes fields which the caller may not write, before the update or after. A readable value that
   * is sent back unchanged is no change, and is removed from the values.
   * @throws AppError `forbidden` with the fields.
   */
  admitChange(reader: Reader, before: WholeState, { body, values }: WrittenBody): void {
    const limits = limitsOf(before, body);
    if (limits === null) return;
    const after = before.table.changed(before.record, values);
    const closed = this.#closed(reader, limits, before).union(
      this.#closed(reader, limits, { ...before, record: after }),
    );
    const hidden = closed.size === 0 ? none : this.hidden(reader, before);
    for (const field of closed) {
      if (hidden.has(field) || !isUnchanged(before, field, values)) continue;
      values[before.table.positions.get(field) ?? -1] = undefined;
      closed.delete(field);
    }
    refuse(closed);
  }

  /**
   * Refuses operators on values that the caller may not read: the outcome of an operator tells about the present value.
   * @throws AppError `forbidden` with the fields.
   */
  admitOperators(reader: Reader, before: WholeState, fields: readonly string[]): void {
    const isReadable = this.allows(reader, "read", { ...before, id: before.record.id });
    const hidden = isReadable ? this.hidden(reader, before) : new Set(fields);
    const refused = fields.filter((field) => hidden.has(field));
    if (refused.length > 0) throw forbidden(refused, "read", "; an operator starts from the present value");
  }

  /** The fields that limits close in a record. */
  #closed(reader: Reader, limits: FieldLimits, state: RecordState): Set<string> {
    const closed = new Set(limits.closed);
    const asked = new Map<Expression, string[]>();
    for (const [field, { access, condition }] of limits.conditional) {
      if (access === "where") asked.getOrInsertComputed(condition, () => []).push(field);
      else if (!isOwnRecord(state.principal, state.owner)) closed.add(field);
    }
    const outcomes = this.stateOutcomes(reader, [...asked.keys()], state);
    for (const [i, fields] of [...asked.values()].entries())
      if (outcomes[i] !== true) for (const field of fields) closed.add(field);
    return closed;
  }
}

/** A decision that needs no more of the record than the owner. */
function allowsInMemory({ access }: Decision, { principal, owner }: Omit<RightsTarget, "id">): boolean {
  return access === "own" ? isOwnRecord(principal, owner) : access === "all";
}

function contextOf(principal: Principal): EvaluationContext {
  return { now: Date.now(), user: callerOf(principal) };
}

/** The limits of writing for the fields that a body names; null if the body names no limited field. */
function limitsOf({ table, principal }: RecordState, body: WrittenBody["body"]): FieldLimits | null {
  const limits = table.collection.fieldPolicies?.limits("update", principal) ?? null;
  if (limits === null) return null;
  const closed = new Set([...limits.closed].filter((field) => Object.hasOwn(body, field)));
  const conditional = new Map([...limits.conditional].filter(([field]) => Object.hasOwn(body, field)));
  return closed.size === 0 && conditional.size === 0 ? null : { closed, conditional };
}

function isUnchanged({ table, record }: WholeState, name: string, values: WrittenBody["values"]): boolean {
  const value = values[table.positions.get(name) ?? -1];
  const field = table.field(name);
  return value !== undefined && field !== null && isSameValue(decode(field, value), record[name]);
}

function refuse(fields: ReadonlySet<string>): void {
  if (fields.size > 0) throw forbidden([...fields], "write");
}

/** @param why the end of the sentences. */
function forbidden(fields: readonly string[], right: "read" | "write", why = ""): AppError {
  const details = fields.map(
    (field): ErrorDetail => ({ field, rule: "readonly", message: `You may not ${right} ${field}${why}` }),
  );
  const names = allOf(fields.map((name) => `"${name}"`));
  return new AppError("forbidden", `You may not ${right} ${names}${why}.`, { details });
}
