/** Rights on single records: whether a caller is allowed an operation on one, by the policy and, where it asks, the database. */
import type { Operation } from "@socle/protocol";
import type { Reader } from "../database/index.ts";
import { bind, type Expression, toSql } from "../expressions/index.ts";
import type { AppError, Awaitable, Principal } from "../kernel/index.ts";
import { callerOf, isOwnRecord } from "../permissions/index.ts";
import type { RecordTable } from "./record-table.ts";

/** A caller and the record that they ask for. */
export interface RightsTarget {
  readonly table: RecordTable;
  readonly principal: Principal;
  readonly id: string;
  readonly owner: string | null;
}

/** A caller and a record that is not in its table as it is meant: as it was, or as it is to be. */
export interface RecordState {
  readonly table: RecordTable;
  readonly principal: Principal;
  readonly record: Readonly<Record<string, unknown>>;
  readonly owner: string | null;
}

type Sql = ReturnType<typeof toSql>;

const stateAlias = "_record";

export class Rights {
  /** The table of users: see `SqlOptions`. */
  readonly #users: string;
  /** The SQL of conditions. */
  readonly #texts = new WeakMap<Expression, Sql>();
  readonly #stateTexts = new WeakMap<Expression, Sql>();
  readonly #stateStatements = new WeakMap<Expression, Sql>();

  constructor(users: string) {
    this.#users = users;
  }

  /** A condition over the records of a table, as SQL. */
  condition(table: RecordTable, condition: Expression): Sql {
    let sql = this.#texts.get(condition);
    if (sql === undefined) {
      sql = toSql(condition, table.sqlName, { users: this.#users, isOfOneRecord: true });
      this.#texts.set(condition, sql);
    }
    return sql;
  }

  /** Whether a caller is allowed an operation on a record that is there. */
  allows(reader: Reader, operation: Operation, target: RightsTarget): Awaitable<boolean> {
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
        const { text, values } = this.condition(table, decision.condition);
        const sql = table.fulfils(text);
        const bound = bind(values, { now: Date.now(), user: callerOf(principal) });
        const found = reader.get(sql, id, ...bound);
        return found instanceof Promise ? found.then((row) => row !== null) : found !== null;
      }
    }
  }

  /** Which of some conditions a record fulfils for a caller; null where a value is missing that they compare. */
  async outcomes(
    reader: Reader,
    { table, principal, id }: Omit<RightsTarget, "owner">,
    conditions: readonly Expression[],
  ): Promise<(boolean | null)[]> {
    if (conditions.length === 0) return [];
    const context = { now: Date.now(), user: callerOf(principal) };
    const sql = conditions.map((condition) =>
      toSql(condition, table.sqlName, { users: this.#users, isOfOneRecord: true }),
    );
    const columns = sql.map(({ text }, i) => `(${text}) AS _${i}`);
    const values = sql.flatMap((each) => bind(each.values, context));
    const text = table.select(columns);
    const row = await reader.get<Record<string, number | null>>(text, ...values, id);
    return conditions.map((_, i) => {
      const value = row?.[`_${i}`] ?? null;
      return value === null ? null : value !== 0;
    });
  }

  /**
   * Whether a caller is allowed an operation on a record as it was or is to be, with all other records as they are in their
   * tables. So a record that is to be written vouches for nobody: nobody joins a team by the membership that they are making.
   */
  async allowsState(
    reader: Reader,
    operation: Operation,
    { table, principal, record, owner }: RecordState,
  ): Promise<boolean> {
    const decision = table.collection.policies[operation].decide(principal);
    if (decision.access === "own") return isOwnRecord(principal, owner);
    if (decision.access !== "where") return decision.access === "all";
    const { text, values } = this.#stateStatement(table, decision.condition);
    const bound = bind(values, { now: Date.now(), user: callerOf(principal) });
    return (await reader.get(text, ...table.stateValues(record, owner), ...bound)) !== null;
  }

  /** The outcomes of conditions on a record, as `allowsState` looks at it; null where a value is missing that they compare. */
  async stateOutcomes(
    reader: Reader,
    conditions: readonly Expression[],
    { table, principal, record, owner }: RecordState,
  ): Promise<(boolean | null)[]> {
    if (conditions.length === 0) return [];
    const parts = conditions.map((condition) => this.#stateCondition(condition));
    const columns = parts.map(({ text }, i) => `(${text}) AS _c${i}`);
    const context = { now: Date.now(), user: callerOf(principal) };
    const bound = parts.flatMap(({ values }) => bind(values, context));
    const sql = table.selectState(stateAlias, columns);
    const row = await reader.get<Record<string, number | null>>(sql, ...bound, ...table.stateValues(record, owner));
    return conditions.map((_, i) => {
      const value = row?.[`_c${i}`] ?? null;
      return value === null ? null : value !== 0;
    });
  }

  /** Finds a row where a record fulfils a condition, which is of this table alone. */
  #stateStatement(table: RecordTable, condition: Expression): Sql {
    let sql = this.#stateStatements.get(condition);
    if (sql === undefined) {
      const { text, values } = this.#stateCondition(condition);
      sql = { text: table.stateFulfils(stateAlias, text), values };
      this.#stateStatements.set(condition, sql);
    }
    return sql;
  }

  /** A condition over a row of `RecordTable.state`, as SQL. */
  #stateCondition(condition: Expression): Sql {
    let sql = this.#stateTexts.get(condition);
    if (sql === undefined) {
      sql = toSql(condition, stateAlias, { users: this.#users, isOfOneRecord: true });
      this.#stateTexts.set(condition, sql);
    }
    return sql;
  }

  /**
   * Refuses a caller who is not allowed an operation on a record.
   * @throws AppError `missing` where an expression keeps them from reading it, else `forbidden` or `unauthorized`.
   */
  admit(reader: Reader, operation: Operation, target: RightsTarget & { missing: () => AppError }): Awaitable<void> {
    const isAllowed = this.allows(reader, operation, target);
    return isAllowed === true ? undefined : this.#refuse(reader, operation, { ...target, isAllowed });
  }

  async #refuse(
    reader: Reader,
    operation: Operation,
    { missing, isAllowed, ...target }: RightsTarget & { missing: () => AppError; isAllowed: Awaitable<boolean> },
  ): Promise<void> {
    if (await isAllowed) return;
    const { policies } = target.table.collection;
    const isHidden = operation === "read" && policies.read.audience === "condition";
    if (isHidden) throw missing();
    if (operation !== "read" && policies.read.audience === "condition" && !(await this.allows(reader, "read", target)))
      throw missing();
    throw policies[operation].refusal(target.principal);
  }
}
