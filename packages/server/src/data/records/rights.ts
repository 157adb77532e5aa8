/** Rights on single records: the policy decides whether a caller is allowed an operation; the database checks conditions. */
import type { Operation } from "@socle/protocol";
import type { AppError, Principal } from "../../base/kernel/index.ts";
import type { Reader, Value } from "../../store/database/index.ts";
import { bind, type EvaluationContext, type Expression, toSql } from "../expressions/index.ts";
import { callerOf, isOwnRecord } from "../permissions/index.ts";
import type { RecordTable } from "./record-table.ts";

/** A caller and a stored record. */
export interface RightsTarget {
  readonly table: RecordTable;
  readonly principal: Principal;
  readonly id: string;
  readonly owner: string | null;
}

/** A caller and the values of a record that are not in its table: before or after a write. */
export interface RecordState {
  readonly table: RecordTable;
  readonly principal: Principal;
  readonly record: Readonly<Record<string, unknown>>;
  readonly owner: string | null;
}

type Sql = ReturnType<typeof toSql>;

/** The statements that find a row if a record fulfils a condition. The values of the condition are the last parameters. */
interface Statements {
  /** The record of an id. Parameter: the id. */
  readonly ofId: string;
  /** The ids of a JSON array whose records do not exist or do not fulfil the condition, as `value`. Parameter: the array. */
  readonly missing: string;
  /** The values of a record. Parameters: `RecordTable.stateValues`. */
  readonly ofState: string;
  readonly values: Sql["values"];
}

const stateAlias = "_record";

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
    let known = this.#statements.get(table);
    if (known === undefined) {
      known = new WeakMap();
      this.#statements.set(table, known);
    }
    let statements = known.get(condition);
    if (statements === undefined) {
      const { text, values } = this.#compile(condition, table.sqlName);
      const ofState = table.stateFulfils(stateAlias, this.#stateCondition(condition).text);
      statements = { ofId: table.fulfils(text), missing: table.missingOf(text), ofState, values };
      known.set(condition, statements);
    }
    return statements;
  }

  /** A condition over a row of `RecordTable.state`, as SQL. */
  #stateCondition(condition: Expression): Sql {
    let sql = this.#stateConditions.get(condition);
    if (sql === undefined) {
      sql = this.#compile(condition, stateAlias);
      this.#stateConditions.set(condition, sql);
    }
    return sql;
  }

  #compile(condition: Expression, table: string): Sql {
    return toSql(condition, table, { users: this.#users, isOfOneRecord: true });
  }

  /** Whether a caller is allowed an operation on a stored record. */
  allows(reader: Reader, operation: Operation, target: RightsTarget): boolean {
    const { table, principal, id, owner } = target;
    const decision = table.collection.policies[operation].decide(principal);
    switch (decision.access) {
      case "all":
        return true;
      case "none":
        return false;
      case "own":
        return isOwnRecord(principal, owner);
      case "where": {
        const { ofId, values } = this.#statementsOf(table, decision.condition);
        return reader.get(ofId, id, ...bind(values, contextOf(principal))) !== null;
      }
    }
  }

  /** The ids whose records do not exist or are not readable by the caller. A single statement finds these ids. */
  unreadable(
    reader: Reader,
    { table, principal, ids }: { table: RecordTable; principal: Principal; ids: readonly string[] },
  ): readonly string[] {
    const decision = table.collection.policies.read.decide(principal);
    if (decision.access === "none") return ids;
    const [id = ""] = ids;
    if (decision.access === "all") {
      if (ids.length > 1) return this.#missing(reader, table.missing, [JSON.stringify(ids)]);
      return reader.get(table.exists, id) === null ? ids : [];
    }
    const { ofId, missing, values } = this.#statementsOf(table, decision.condition);
    const bound = bind(values, contextOf(principal));
    if (ids.length > 1) return this.#missing(reader, missing, [JSON.stringify(ids), ...bound]);
    return reader.get(ofId, id, ...bound) === null ? ids : [];
  }

  #missing(reader: Reader, sql: string, values: readonly Value[]): string[] {
    return reader.all<{ value: string }>(sql, ...values).map(({ value }) => value);
  }

  /**
   * Whether a caller is allowed an operation on the values of a record, beside the stored other records. So a new record
   * gives no right: a caller cannot join a team by the membership that the caller is creating.
   */
  allowsState(reader: Reader, operation: Operation, { table, principal, record, owner }: RecordState): boolean {
    const decision = table.collection.policies[operation].decide(principal);
    if (decision.access === "own") return isOwnRecord(principal, owner);
    if (decision.access !== "where") return decision.access === "all";
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
   * Refuses a caller who is not allowed an operation on a record.
   * @throws AppError `missing` if an expression hides the record, otherwise `forbidden` or `unauthorized`.
   */
  admit(reader: Reader, operation: Operation, target: RightsTarget & { missing: () => AppError }): void {
    if (this.allows(reader, operation, target)) return;
    const { missing } = target;
    const { policies } = target.table.collection;
    const isHidden = operation === "read" && policies.read.audience === "condition";
    if (isHidden) throw missing();
    if (operation !== "read" && policies.read.audience === "condition" && !this.allows(reader, "read", target))
      throw missing();
    throw policies[operation].refusal(target.principal);
  }
}

function contextOf(principal: Principal): EvaluationContext {
  return { now: Date.now(), user: callerOf(principal) };
}
