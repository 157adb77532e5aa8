/**
 * Effects of rules that are not stored: the records on which callers may do an operation by the definition in force, and by
 * a planned definition. The newest records are looked at first, slice by slice, for all callers alike, until the time is
 * over. Nothing is changed, and no plan of a query is kept.
 */
import type {
  CallerEffects,
  ChangedRecords,
  CollectionDefinition,
  Operation,
  RuleEffects,
  RuleReach,
  User,
} from "@socle/protocol";
import type { Principal } from "../../../base/kernel/index.ts";
import { identifier, type SlowReader, stopProbe } from "../../../store/database/index.ts";
import {
  type Collection,
  type CollectionPlan,
  type Definitions,
  originOf,
  partsAt,
  plannedTables,
  ruleSource,
  rulesAt,
  type SchemaSource,
  trialCollection,
  type UserTable,
  unknownFields,
} from "../../collections/index.ts";
import {
  bind,
  type EvaluationContext,
  type Expression,
  type ExpressionPart,
  operandsIn,
  plain,
  type SqlPart,
  separated,
  sqlPart,
  toSql,
} from "../../expressions/index.ts";
import { callerOf } from "../../permissions/index.ts";

/** The most records that are named of those that a caller gains, or loses. */
const maxNamed = 5;
/** Records of the first slice and of the largest; a slice should take about so many milliseconds. */
const [firstSlice, largestSlice, sliceMs] = [10, 20_000, 100];
/** The operations whose records are counted: the records of `create` are not there yet. */
const counted = ["read", "update", "delete"] as const;

type Outcome = CallerEffects["operations"][number];

/** A definition, in force or planned, for conditions on a row of the present table with the alias `_present`. */
class Side {
  readonly collection: Collection;
  readonly #source: SchemaSource;
  readonly #tables: string;
  readonly #known = new Map<Expression, SqlPart>();

  /** @param tables parts of a WITH that the conditions need; empty for the present tables. */
  constructor(definition: CollectionDefinition, source: SchemaSource, tables: string) {
    this.#source = source;
    this.#tables = tables;
    this.collection = trialCollection(definition, source);
  }

  holds(condition: Expression): SqlPart {
    return this.#known.getOrInsertComputed(condition, () => {
      const isPlanned = this.#tables !== "";
      // A lookup serves all records of a slice; a subquery for each record would make the lookup again.
      const options = { users: this.#source.users.table, isProbed: true, isOfOneRecord: isPlanned };
      const outcome = sqlPart`(${toSql(condition, isPlanned ? "_planned" : "_present", options)}) IS TRUE`;
      if (!isPlanned) return outcome;
      const row = `FROM ${identifier(this.collection.table)} AS _planned WHERE _planned._seq = _present._seq`;
      return sqlPart`(WITH ${this.#tables} SELECT ${outcome} ${row})`;
    });
  }

  allows(operation: Operation, principal: Principal): SqlPart {
    const decision = this.collection.policies[operation].decide(principal);
    return "condition" in decision ? this.holds(decision.condition) : plain(decision.access === "all" ? "1" : "0");
  }

  creates(principal: Principal): RuleReach {
    const { access } = this.collection.policies.create.decide(principal);
    return access === "where" || access === "own" ? "some" : access;
  }

  shows(field: string, principal: Principal): RuleReach {
    const limits = this.collection.fieldPolicies?.limits("read", principal);
    return limits?.closed.has(field) === true ? "none" : limits?.conditional.has(field) === true ? "some" : "all";
  }

  parts(operation: Operation): ExpressionPart | null {
    return partsAt(this.collection.definition, { field: null, operation }, this.#source);
  }
}

/** The callers for whom the conditions have the same values. */
interface CallerClass {
  readonly context: EvaluationContext;
  /** The outcomes of an operation for a row: `b0` by the definition in force, `a0` by the planned one, then `b1`, …. */
  readonly columns: SqlPart;
  /** Null before the first slice. */
  outcomes: readonly Outcome[] | null;
}

/** The outcomes with the records of a slice. */
interface Slice {
  readonly outcomes: readonly Outcome[];
  readonly rows: number;
  readonly last: number;
}

interface TriedChange {
  readonly plans: readonly CollectionPlan[];
  readonly current: Definitions;
  readonly users: UserTable;
  /** By default, `read`, and the operations with another rule. */
  readonly operation?: Operation | null;
}

/** A caller of a trial. */
interface TriedCaller extends Pick<CallerEffects, "isSample"> {
  readonly as: User | null;
  readonly principal: Principal;
}

export class EffectTrial {
  readonly #plan: CollectionPlan;
  readonly #before: Side;
  readonly #after: Side;
  readonly #operations: readonly Operation[];
  readonly #unjudged: RuleEffects["unjudged"] = [];
  #classes = new Map<Principal, CallerClass>();
  #looked = 0;
  #isWhole = false;

  /** @param name the present name of the collection, which has a plan. */
  constructor(name: string, { plans, current, users, operation = null }: TriedChange) {
    const plan = plans.find(({ before }) => before?.name === name);
    if (!plan?.before) throw new Error("A trial without the plan of its collection");
    this.#plan = plan;
    const future = new Map(current);
    for (const { before } of plans) future.delete(before?.name ?? "");
    for (const { after } of plans) future.set(after.name, after);
    const sourceOf = (all: Definitions): SchemaSource => ruleSource(users, (each) => all.get(each));
    const tables = plannedTables(plans, new Date().toISOString());
    this.#before = new Side(plan.before, sourceOf(current), "");
    this.#after = new Side(plan.after, sourceOf(future), tables);
    const isAsked = (each: Operation): boolean =>
      operation === null ? each === "read" || tables !== "" || this.#isChanged(each) : each === operation;
    const unknown = unknownFields(plans);
    this.#operations = counted.filter(isAsked).filter((each) => {
      const condition = this.#after.parts(each)?.condition;
      const [field] = condition === undefined ? [] : namesIn(condition).intersection(unknown);
      const reason = `the rule names "${field}", whose values only the change makes`;
      if (field !== undefined) this.#unjudged.push({ operation: each, reason });
      return field === undefined;
    });
  }

  #isChanged(operation: Operation): boolean {
    const { from, to } = rulesAt(this.#plan, { field: null, operation });
    return from !== to;
  }

  /** Counts from the beginning. Callers whose first slice does not begin in time are left out. @param budgetMs of the statements. */
  async judge(reader: SlowReader, principals: readonly Principal[], budgetMs: number): Promise<void> {
    const end = performance.now() + budgetMs;
    this.#classes = this.#classesOf(principals);
    const all = new Set(this.#classes.values());
    this.#looked = 0;
    this.#isWhole = this.#operations.length === 0;
    let [from, size] = [Number.MAX_SAFE_INTEGER, firstSlice];
    while (!this.#isWhole && (this.#looked === 0 || performance.now() < end)) {
      const start = performance.now();
      const found = new Map<CallerClass, Slice>();
      for (const each of all)
        if (found.size === 0 || performance.now() < end)
          found.set(each, await this.#slice(reader, each, { from, size }));
        else if (this.#looked === 0) all.delete(each);
      // A slice counts for all callers, or for none.
      if (found.size < all.size) return;
      const [{ rows, last } = { rows: 0, last: 0 }] = found.values();
      for (const [each, { outcomes }] of found) each.outcomes = outcomes;
      this.#looked += rows;
      this.#isWhole = rows < size;
      from = last;
      size = Math.ceil(Math.min(largestSlice, size * Math.min(4, sliceMs / (performance.now() - start))));
    }
  }

  #classesOf(principals: readonly Principal[]): Map<Principal, CallerClass> {
    const now = Date.now();
    const classes = new Map<string, CallerClass>();
    const classOf = (principal: Principal): CallerClass => {
      const pairs = this.#operations.map((operation, i) => {
        const [before, after] = [this.#before.allows(operation, principal), this.#after.allows(operation, principal)];
        return sqlPart`, ${before} AS b${i}, ${after} AS a${i}`;
      });
      const columns = separated(pairs, "");
      const context = { now, user: callerOf(principal) };
      const key = JSON.stringify([columns.text, bind(columns.values, context)]);
      return classes.getOrInsertComputed(key, () => ({ context, columns, outcomes: null }));
    };
    return new Map(principals.map((principal) => [principal, classOf(principal)]));
  }

  /** Counts the records before the place `from`, at most `size`, the last first. */
  async #slice(reader: SlowReader, of: CallerClass, { from, size }: { from: number; size: number }): Promise<Slice> {
    const where = sqlPart`${stopProbe("_present")} AND _present._seq < ${{ text: "?", values: [from] }}`;
    const rows = sqlPart`SELECT _present._seq AS _seq, _present.id AS id${of.columns} FROM ${this.#table} WHERE ${where} ORDER BY _present._seq DESC LIMIT ${size}`;
    const sums = this.#operations.map(
      (_, i) => `, sum(b${i}) AS b${i}, sum(a${i}) AS a${i}, sum(a${i} > b${i}) AS g${i}, sum(b${i} > a${i}) AS l${i}`,
    );
    const totals = sqlPart`SELECT count(*) AS n, min(_seq) AS last${sums.join("")} FROM (${rows})`;
    const [row = {}] = await this.#read<{ [column: string]: number | null }>(reader, totals, of);
    const outcomes: Outcome[] = [];
    for (const [i, operation] of this.#operations.entries()) {
      const known = of.outcomes?.[i];
      const [before = 0, after = 0, gains = 0, losses = 0] = ["b", "a", "g", "l"].map(
        (name) => row[`${name}${i}`] ?? 0,
      );
      const changed = async (now: number, was: ChangedRecords | undefined, decider: Side): Promise<ChangedRecords> => {
        const { count = 0, records = [] } = was ?? {};
        const side = decider === this.#before ? `a${i} > b${i}` : `b${i} > a${i}`;
        const wanted = Math.min(maxNamed - records.length, now);
        const ids = sqlPart`SELECT id FROM (${rows}) WHERE ${side} LIMIT ${wanted}`;
        const found = wanted === 0 ? [] : await this.#read<{ id: string }>(reader, ids, of);
        const named = [...records, ...(await this.#decided(reader, of, { ids: found, decider, operation }))];
        return { count: count + now, rest: count + now - named.length, records: named };
      };
      outcomes.push({
        operation,
        before: (known?.before ?? 0) + before,
        after: (known?.after ?? 0) + after,
        // The rule that does not allow the record decides.
        gained: await changed(gains, known?.gained, this.#before),
        lost: await changed(losses, known?.lost, this.#after),
      });
    }
    return { outcomes, rows: row["n"] ?? 0, last: row["last"] ?? 0 };
  }

  /** Records with the part of a rule that does not hold. */
  async #decided(
    reader: SlowReader,
    of: CallerClass,
    { ids, decider, operation }: { ids: readonly { id: string }[]; decider: Side; operation: Operation },
  ): Promise<ChangedRecords["records"]> {
    const { rule } = decider.collection.policies[operation];
    const tree = decider.parts(operation);
    const records: ChangedRecords["records"] = [];
    for (const { id } of ids) {
      const holds = async ({ condition }: ExpressionPart): Promise<boolean> => {
        const row = sqlPart`FROM ${this.#table} WHERE _present.id = ${{ text: "?", values: [id] }}`;
        const [found] = await this.#read<{ holds: number }>(
          reader,
          sqlPart`SELECT ${decider.holds(condition)} AS holds ${row}`,
          of,
        );
        return found?.holds === 1;
      };
      const { start, end } = tree === null ? { start: 0, end: rule.length } : await failedIn(tree, holds);
      records.push({ id, part: rule.slice(start, end) });
    }
    return records;
  }

  get #table(): string {
    return `${identifier(this.#before.collection.table)} AS _present`;
  }

  #read<T>(reader: SlowReader, { text, values }: SqlPart, { context }: CallerClass): Promise<T[]> {
    return reader.all<T>(text, ...bind(values, context));
  }

  /** The effects so far; null before the first slice. @param records of the collection. */
  effects(callers: readonly TriedCaller[], records: number): RuleEffects | null {
    const { after, steps } = this.#plan;
    const judged = callers.flatMap(({ principal, ...caller }): CallerEffects[] => {
      const { outcomes } = this.#classes.get(principal) ?? { outcomes: null };
      if (outcomes === null && this.#operations.length > 0) return [];
      const create = { before: this.#before.creates(principal), after: this.#after.creates(principal) };
      const fields = this.#changedFields.map((field) => ({
        field,
        before: this.#before.shows(originOf(this.#plan, field), principal),
        after: this.#after.shows(field, principal),
      }));
      const others = { create: this.#isChanged("create") ? create : null, fields: fields.filter(isOther) };
      return [{ ...caller, operations: [...(outcomes ?? [])], ...others }];
    });
    const named = (["read", "create", "update", "delete"] as const).filter(
      (each) => this.#operations.includes(each) || this.#isChanged(each),
    );
    const rules = named.map((operation) => ({ operation, ...rulesAt(this.#plan, { field: null, operation }) }));
    const notes = steps.flatMap((step): string[] => {
      if (step.step === "drop") return [`the field "${step.field}" is dropped with its values`];
      if (step.step === "rename") return [`the field "${step.field}" has the values of "${step.from}"`];
      const given = step.step === "add" && step.default !== undefined ? "the default" : "no value";
      return step.step === "add" ? [`the field "${step.field}" is new: stored records have ${given}`] : [];
    });
    const extent = { collection: after.name, records, looked: this.#looked, isExact: this.#isWhole };
    return judged.length === 0 ? null : { ...extent, rules, unjudged: this.#unjudged, notes, callers: judged };
  }

  /** The fields that stay, with another read rule. */
  get #changedFields(): string[] {
    const { after, steps } = this.#plan;
    const added = new Set(steps.flatMap((step) => (step.step === "add" ? [step.field] : [])));
    return after.fields.flatMap(({ name: field }) => {
      const { from, to } = rulesAt(this.#plan, { field, operation: "read" });
      return from === to || added.has(field) ? [] : [field];
    });
  }
}

/** Whether other records show a field: some may be other records than some. */
function isOther({ before, after }: { before: RuleReach; after: RuleReach }): boolean {
  return before !== after || after === "some";
}

/** The names of the fields that a condition compares. */
function namesIn(condition: Expression): Set<string> {
  const paths = operandsIn(condition).map((operand) => (operand.type === "call" ? operand.argument : operand));
  return new Set(paths.flatMap((path) => (path.type === "path" ? [path.field.name] : [])));
}

/** The smallest part by which a rule does not hold; all alternatives of an `or` that fails. */
async function failedIn(
  part: ExpressionPart,
  holds: (part: ExpressionPart) => Promise<boolean>,
): Promise<ExpressionPart> {
  if (part.kind === "or" || part.kind === "not") return part;
  for (const each of part.parts) if (!(await holds(each))) return failedIn(each, holds);
  return part;
}
