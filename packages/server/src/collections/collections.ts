/** Collections in force, and the one way to change them: migrations. */
import type { CollectionDefinition, Operation, Rule } from "@socle/protocol";
import type { Database, MigrationSite, QueryTable, Reader, Transactor } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import { type Expression, type ExpressionPart, parseParts } from "../expressions/index.ts";
import { type Clock, type Principal, toTimestamp } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { isWord, narrowerThan, resolveRules } from "../permissions/index.ts";
import { type ExpressionOf, marksAfter, toCollection } from "./build-collection.ts";
import { type Collection, type LogMarks, queryTableOf } from "./collection.ts";
import {
  type DefinitionRow,
  definitionRows,
  definitionsWithoutMarks,
  deleteDefinition,
  putDefinition,
  storedDefinitions,
  updateMarks,
} from "./definition-table.ts";
import { expressionSchema, type UserTable } from "./expression-schema.ts";
import type { CollectionPlan } from "./plan.ts";
import { type Definitions, planChange, rethrow, type SchemaChange } from "./plan-change.ts";
import { readRuleAdvice } from "./rule-advice.ts";
import { ruleAt } from "./rule-sites.ts";
import { parseRule, ruleSource } from "./rules.ts";
import { DataCheck } from "./sql/data-check.ts";
import { lacksIndexes, lastNumber, Table, touchesRecords } from "./table.ts";

/** With more records than these, a migration that looks at each of them runs on a thread. */
const manyRecords = 10_000;
/** In a database that is larger than these bytes, records may be large, and fewer of them will do. */
const manyBytes = 16 * 1024 ** 2;
const fewRecords = 100;

/** All collections in force, and the one way to change them: migrations. */
export class Collections {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #clock: Clock;
  readonly #users: UserTable;
  readonly #byName = new Map<string, Collection>();
  /** Rules as expressions, by definition and text, as long as no definition changes. */
  #expressions = new Map<CollectionDefinition, Map<Rule, Expression>>();
  #epoch = 0;
  #queryTables: { readonly epoch: number; readonly tables: readonly QueryTable[] } | null = null;

  readonly #logger: Logger;

  constructor(options: { database: Database; events: EventLog; clock: Clock; users: UserTable; logger: Logger }) {
    this.#logger = options.logger;
    this.#users = options.users;
    this.#database = options.database;
    this.#events = options.events;
    this.#clock = options.clock;
  }

  /** Reads the definitions from the database. Called once, at the start. */
  async start(): Promise<void> {
    await this.#markOlder();
    for (const row of await definitionRows(this.#database.reader)) {
      const collection = await toCollection(row, this.#expressionOf);
      this.#byName.set(collection.name, collection);
    }
  }

  /**
   * Gives their marks to collections that were stored before there were any. Which rules and fields they had is not
   * known: all events so far count as written under every narrower rule, and with other fields.
   */
  async #markOlder(): Promise<void> {
    if ((await definitionsWithoutMarks(this.#database.reader)).length === 0) return;
    await this.#database.transact(async (tx) => {
      const seq = await this.#events.lastSeq(tx);
      for (const { name, permissions } of await definitionsWithoutMarks(tx)) {
        const narrower = narrowerThan(resolveRules(permissions).read);
        const widened = Object.fromEntries(narrower.map((rule) => [rule, seq]));
        const marks: LogMarks = { created: 0, fields: seq, widened };
        await updateMarks(tx, name, JSON.stringify(marks));
      }
    });
  }

  /**
   * Makes the indexes of a collection that earlier versions did not make. To be called at start. Answers whether there were
   * any.
   */
  async completeIndexes({ name, definition }: Collection): Promise<boolean> {
    if (!(await lacksIndexes(this.#database.reader, definition))) return false;
    await this.#database.transact((tx) => new Table(tx, name, this.#now()).completeIndexes(definition));
    return true;
  }

  /** Logs the indexes that lists under the read rule of a new or changed collection need and do not have. */
  #advise(collection: Collection): void {
    const advice = readRuleAdvice(collection);
    if (advice.length === 0) return;
    const { name: own, policies } = collection;
    const context = { collection: own, rule: policies.read.rule, index: advice.join("; ") };
    this.#logger.warn("A read rule compares a field that has no index: lists look at every record", context);
  }

  /** Rises with each migration: values derived from definitions are valid while it stays the same. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * The tables whose fields are not all columns of the same name. The same array as long as no definition changes.
   */
  queryTables(): readonly QueryTable[] {
    if (this.#queryTables?.epoch !== this.#epoch) {
      const tables = this.all().flatMap((collection) => queryTableOf(collection) ?? []);
      this.#queryTables = { epoch: this.#epoch, tables };
    }
    return this.#queryTables.tables;
  }

  /** The users, as expressions enter them. */
  get users(): UserTable {
    return this.#users;
  }

  get(name: string): Collection | undefined {
    return this.#byName.get(name);
  }

  /** The definitions in force, in the order of their names. */
  definitions(): Definitions {
    return new Map(this.all().map(({ name, definition }) => [name, definition]));
  }

  /** The definitions that a reader sees: those that belong to the tables that it sees. */
  async read(reader: Reader): Promise<Definitions> {
    const definitions = await storedDefinitions(reader);
    return new Map(definitions.sort(byName).map((definition) => [definition.name, definition]));
  }

  /** In the order of their names. */
  all(): Collection[] {
    return [...this.#byName.values()].sort(byName);
  }

  /**
   * The plans of a change, before any record is read: from the definitions in force, or from others.
   * @throws AppError as `planChange`.
   */
  plan(change: SchemaChange, current: Definitions = this.definitions()): CollectionPlan[] {
    return planChange(change, current, this.#users);
  }

  readonly #expressionOf: ExpressionOf = (definition, site) => {
    let byRule = this.#expressions.get(definition);
    if (byRule === undefined) {
      byRule = new Map();
      this.#expressions.set(definition, byRule);
    }
    const rule = ruleAt(definition, site);
    let expression = byRule.get(rule);
    if (expression === undefined) {
      const source = ruleSource(this.#users, (name) => this.#byName.get(name)?.definition);
      expression = parseRule(definition, site, source);
      byRule.set(rule, expression);
    }
    return expression;
  };

  /** The rule of an operation in its parts; null for a word. */
  partsOfRule(collection: Collection, operation: Operation): ExpressionPart | null {
    const { definition, policies } = collection;
    const { rule } = policies[operation];
    if (isWord(rule)) return null;
    const source = ruleSource(this.#users, (name) => this.#byName.get(name)?.definition);
    return parseParts(rule, expressionSchema(definition, source));
  }

  /** @throws MigrationError with the number of records that contradict a plan, and some of their ids. */
  async check(reader: Reader, plans: readonly CollectionPlan[]): Promise<void> {
    for (const plan of plans)
      await new DataCheck(reader, plan).refuse().catch((thrown) => rethrow(plan.after.name, thrown));
  }

  /** How many records have a value in a field that a plan drops. */
  dropped(reader: Reader, plan: CollectionPlan, field: string): Promise<number> {
    return new DataCheck(reader, plan).dropped(field);
  }

  /**
   * Brings collections to these definitions, and drops others with their records, inside the caller's transaction,
   * which is a migration; requests see the new ones from its commit. Relations may point among them, in any order.
   * Answers the plans.
   * @throws AppError `bad_request` when data or another definition contradicts, `not_found`; nothing has changed then.
   */
  async migrate(tx: Transactor, change: SchemaChange, principal: Principal): Promise<CollectionPlan[]> {
    const plans = this.plan(change);
    await this.check(tx, plans);
    const now = this.#now();
    const changed = new Map<string, Collection>();
    for (const name of change.drop) await this.#drop(tx, name, principal);
    for (const plan of plans) {
      const before = this.#byName.get(plan.after.name) ?? null;
      if (plan.steps.length === 0) continue;
      await new Table(tx, plan.after.name, now).apply(plan);
      changed.set(plan.after.name, await this.#store(tx, { before, plan }, principal));
    }
    tx.onCommit(() => {
      this.#epoch += 1;
      this.#expressions = new Map();
      for (const name of change.drop) this.#byName.delete(name);
      for (const [name, collection] of changed) this.#byName.set(name, collection);
      for (const collection of changed.values()) this.#advise(collection);
    });
    return plans;
  }

  /** Where a change is to run: on a thread when it reads or writes many records. */
  async siteOf({ drop }: SchemaChange, plans: readonly CollectionPlan[]): Promise<MigrationSite> {
    const { database, log } = this.#database.sizes();
    const limit = database + log > manyBytes ? fewRecords : manyRecords;
    for (const name of [...drop, ...plans.filter(touchesRecords).map(({ after }) => after.name)]) {
      if ((await lastNumber(this.#database.reader, name)) > limit) return "thread";
    }
    return "event-loop";
  }

  async #drop(tx: Transactor, name: string, principal: Principal): Promise<void> {
    await new Table(tx, name, this.#now()).drop(this.#byName.get(name)?.definition);
    await deleteDefinition(tx, name);
    await this.#announce(tx, { type: "deleted", name }, principal);
  }

  async #store(
    tx: Transactor,
    { before, plan }: { before: Collection | null; plan: CollectionPlan },
    principal: Principal,
  ): Promise<Collection> {
    const { after } = plan;
    await this.#announce(tx, { type: before === null ? "created" : "updated", name: after.name }, principal);
    const marks = marksAfter(plan, before, await this.#events.lastSeq(tx));
    const now = this.#now();
    const row: DefinitionRow = {
      definition: JSON.stringify(after),
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
      places: JSON.stringify(marks),
    };
    await putDefinition(tx, after.name, row);
    return toCollection(row, this.#expressionOf);
  }

  #now(): string {
    return toTimestamp(this.#clock.now());
  }

  async #announce(tx: Transactor, change: { type: string; name: string }, principal: Principal): Promise<void> {
    const type = `system.collection.${change.type}`;
    const { name } = change;
    await this.#events.append(tx, { type, source: "collections", payload: { name }, principal });
  }
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}
