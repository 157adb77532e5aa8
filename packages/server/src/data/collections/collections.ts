/** The collections in force, and their migrations. */
import type { CollectionDefinition, Operation, Rule } from "@socle/protocol";
import { AppError, type Clock, type Principal, quote, toTimestamp } from "../../base/kernel/index.ts";
import {
  asSlowReader,
  type Database,
  type Migration,
  type MigrationSite,
  noteKind,
  type QueryTable,
  type SlowReader,
  type Transactor,
} from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { type Expression, type ExpressionPart, parseParts } from "../expressions/index.ts";
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
import { ruleAt } from "./rule-sites.ts";
import { parseRule, ruleSource } from "./rules.ts";
import { DataCheck } from "./sql/data-check.ts";
import { lacksIndexes, lastNumber, Table, touchesRecords } from "./table.ts";

/** A migration that reads more records runs on a thread. */
const manyRecords = 10_000;
/** In a database with more bytes, records may be large, so the bound is `fewRecords`. */
const manyBytes = 16 * 1024 ** 2;
const fewRecords = 100;

/** A migration has stored and dropped definitions. */
const definitionsChanged = noteKind<{ readonly rows: readonly DefinitionRow[]; readonly dropped: readonly string[] }>(
  "definitions.changed",
);

/** A migration that ran: its plans, and the collections in force after the commit, by name. */
interface Migrated {
  readonly plans: CollectionPlan[];
  readonly after: ReadonlyMap<string, Collection>;
}

/** All collections in force, and their migrations. */
export class Collections {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #clock: Clock;
  readonly #users: UserTable;
  readonly #byName = new Map<string, Collection>();
  /** Parsed rules, by definition and text; valid until a definition changes. */
  #expressions = new Map<CollectionDefinition, Map<Rule, Expression>>();
  #epoch = 0;
  #queryTables: { readonly epoch: number; readonly tables: readonly QueryTable[] } | null = null;

  constructor(options: { database: Database; events: EventLog; clock: Clock; users: UserTable }) {
    this.#users = options.users;
    this.#database = options.database;
    this.#events = options.events;
    this.#clock = options.clock;
    options.database.projection.on(definitionsChanged, ({ rows, dropped }) => {
      this.#epoch += 1;
      this.#expressions = new Map();
      for (const name of dropped) this.#byName.delete(name);
      for (const row of rows) put(this.#byName, toCollection(row, this.#expressionOf));
    });
  }

  /** Reads the definitions from the database. Call `start` once. */
  async start(): Promise<void> {
    await this.#markOlder();
    for (const row of definitionRows(this.#database.reader)) put(this.#byName, toCollection(row, this.#expressionOf));
  }

  /**
   * Adds marks to collections that were stored before marks existed. The former rules and fields are unknown, so all events
   * so far count as written under every narrower rule, and with other fields.
   */
  async #markOlder(): Promise<void> {
    if (definitionsWithoutMarks(this.#database.reader).length === 0) return;
    await this.#database.transact((tx) => {
      const seq = this.#events.lastSeq(tx);
      for (const { name, permissions } of definitionsWithoutMarks(tx)) {
        const narrower = narrowerThan(resolveRules(permissions).read);
        const widened = Object.fromEntries(narrower.map((rule) => [rule, seq]));
        const marks: LogMarks = { created: 0, fields: seq, widened };
        updateMarks(tx, name, JSON.stringify(marks));
      }
    });
  }

  /** Makes the indexes that earlier versions did not make. Called at the start. Answers whether an index was missing. */
  async completeIndexes({ name, definition }: Collection): Promise<boolean> {
    if (!(await lacksIndexes(asSlowReader(this.#database.reader), definition))) return false;
    const complete = (tx: Migration): Promise<void> =>
      new Table(tx.slow, name, this.#now()).completeIndexes(definition);
    await this.#database.migrate(complete, "event-loop");
    return true;
  }

  /** Rises with each migration: a value derived from definitions is valid for a single epoch. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * The tables with fields whose column has another name. The same array until a definition changes.
   */
  queryTables(): readonly QueryTable[] {
    if (this.#queryTables?.epoch !== this.#epoch) {
      const tables = this.all().flatMap((collection) => queryTableOf(collection) ?? []);
      this.#queryTables = { epoch: this.#epoch, tables };
    }
    return this.#queryTables.tables;
  }

  get users(): UserTable {
    return this.#users;
  }

  get(name: string): Collection | undefined {
    return this.#byName.get(name);
  }

  /** @throws AppError `not_found`. */
  named(name: string): Collection {
    const collection = this.#byName.get(name);
    if (collection === undefined) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
    return collection;
  }

  /** The definitions of collections, sorted by name. @param collections default: the collections in force. */
  definitions(collections: ReadonlyMap<string, Collection> = this.#byName): Definitions {
    return new Map(sorted(collections).map(({ name, definition }) => [name, definition]));
  }

  /** The definitions of the tables in a reader's view. */
  async read(reader: SlowReader): Promise<Definitions> {
    const definitions = await storedDefinitions(reader);
    return new Map(definitions.sort(byName).map((definition) => [definition.name, definition]));
  }

  /** In the order of their names. */
  all(): Collection[] {
    return sorted(this.#byName);
  }

  /**
   * The plans of a change, before any record is read: from the definitions in force, or from other definitions.
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

  /** The rule of an operation in its parts; null for a rule word. */
  partsOfRule(collection: Collection, operation: Operation): ExpressionPart | null {
    const { definition, policies } = collection;
    const { rule } = policies[operation];
    if (isWord(rule)) return null;
    const source = ruleSource(this.#users, (name) => this.#byName.get(name)?.definition);
    return parseParts(rule, expressionSchema(definition, source));
  }

  /** @throws MigrationError with the number of records that contradict a plan, and some of their ids. */
  async check(reader: SlowReader, plans: readonly CollectionPlan[]): Promise<void> {
    for (const plan of plans)
      await new DataCheck(reader, plan).refuse().catch((thrown) => rethrow(plan.after.name, thrown));
  }

  /** The number of records with a value in a field that a plan drops. */
  dropped(reader: SlowReader, plan: CollectionPlan, field: string): Promise<number> {
    return new DataCheck(reader, plan).dropped(field);
  }

  /**
   * Applies definitions, and drops collections with their records, in the caller's transaction, which is a migration.
   * Requests see the new collections after the commit. Relations may point among the new collections, in any order.
   * @returns the plans, and the collections in force after the commit, by name.
   * @throws AppError `bad_request` when data or another definition contradicts, `not_found`; the transaction has then changed nothing.
   */
  async migrate(tx: Migration, change: SchemaChange, principal: Principal): Promise<Migrated> {
    const plans = this.plan(change);
    await this.check(tx.slow, plans);
    const now = this.#now();
    const rows: DefinitionRow[] = [];
    const after = new Map(this.#byName);
    for (const name of change.drop) await this.#drop(tx, name, principal);
    for (const plan of plans) {
      const before = this.#byName.get(plan.after.name) ?? null;
      if (plan.steps.length === 0) continue;
      await new Table(tx.slow, plan.after.name, now).apply(plan);
      rows.push(this.#store(tx, { before, plan }, principal));
    }
    for (const name of change.drop) after.delete(name);
    for (const row of rows) put(after, toCollection(row, this.#expressionOf));
    tx.note(definitionsChanged.of({ rows, dropped: change.drop }));
    return { plans, after };
  }

  /** The site of a change: a thread for a change that visits many records. */
  async siteOf({ drop }: SchemaChange, plans: readonly CollectionPlan[]): Promise<MigrationSite> {
    const { database, log } = this.#database.sizes();
    const limit = database + log > manyBytes ? fewRecords : manyRecords;
    for (const name of [...drop, ...plans.filter(touchesRecords).map(({ after }) => after.name)]) {
      if ((await lastNumber(asSlowReader(this.#database.reader), name)) > limit) return "thread";
    }
    return "event-loop";
  }

  async #drop(tx: Migration, name: string, principal: Principal): Promise<void> {
    await new Table(tx.slow, name, this.#now()).drop(this.#byName.get(name)?.definition);
    deleteDefinition(tx, name);
    this.#announce(tx, { type: "deleted", name }, principal);
  }

  #store(
    tx: Transactor,
    { before, plan }: { before: Collection | null; plan: CollectionPlan },
    principal: Principal,
  ): DefinitionRow {
    const { after } = plan;
    this.#announce(tx, { type: before === null ? "created" : "updated", name: after.name }, principal);
    const marks = marksAfter(plan, before, this.#events.lastSeq(tx));
    const now = this.#now();
    const row: DefinitionRow = {
      definition: JSON.stringify(after),
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
      places: JSON.stringify(marks),
    };
    putDefinition(tx, after.name, row);
    return row;
  }

  #now(): string {
    return toTimestamp(this.#clock.now());
  }

  #announce(tx: Transactor, change: { type: string; name: string }, principal: Principal): void {
    const type = `system.collection.${change.type}`;
    const { name } = change;
    this.#events.append(tx, { type, source: "collections", payload: { name }, principal });
  }
}

function sorted(collections: ReadonlyMap<string, Collection>): Collection[] {
  return [...collections.values()].sort(byName);
}

function put(collections: Map<string, Collection>, collection: Collection): void {
  collections.set(collection.name, collection);
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}
