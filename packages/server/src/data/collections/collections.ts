/** The collections in force, and the migrations of definitions. */
import { type CollectionDefinition, type DroppedEntry, isView, type Operation, type Rule } from "@socle/protocol";
import { AppError, type Clock, count, type Principal, quote, toTimestamp } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import {
  asSlowReader,
  type Database,
  hasMetDamage,
  type Migration,
  type MigrationSite,
  noteKind,
  type QueryTable,
  type SlowReader,
  type Transactor,
} from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { Expression, ExpressionPart } from "../expressions/index.ts";
import { type Collection, queryTableOf, type SchemaSource, tableName, type UserTable } from "./collection.ts";
import {
  type DefinitionRow,
  definitionRows,
  definitionsOfFormerWords,
  definitionsWithoutMarks,
  deleteDefinition,
  namesWithoutOrder,
  putDefinition,
  putView,
  putWords,
  renameInFiles,
  storedDefinitions,
  updateMarks,
  updateOrder,
} from "./definition-table.ts";
import { type DropCause, type DroppedRow, droppedRows, entryOf } from "./dropped-table.ts";
import { nameFormerRules } from "./former-rules.ts";
import { marksAfter, marksOfOlder } from "./log-marks.ts";
import type { CollectionPlan, Definitions } from "./plan.ts";
import { planChange, type SchemaChange } from "./plan-change.ts";
import { parseRule, partsAt, ruleAt, ruleSource } from "./rules.ts";
import { forgetSavedViews, renameInSavedViews } from "./saved-view-table.ts";
import { SearchTable } from "./side-table.ts";
import { checkRecords } from "./sql/data-check.ts";
import { type ExpressionOf, readOnlyView, toCollection } from "./stored-collection.ts";
import { lacksIndexes, lastNumber, Table, touchesRecords } from "./table.ts";

/** A migration that reads more records runs on a thread. */
const manyRecords = 10_000;
/** In a database with more bytes, records may be large, so the bound is `fewRecords`. */
const manyBytes = 16 * 1024 ** 2;
const fewRecords = 100;

/** A migration that was run. */
interface Migrated {
  readonly plans: readonly CollectionPlan[];
  /** The collections in force after the commit, by name. */
  readonly after: ReadonlyMap<string, Collection>;
  /** Kept values of fields and collections that the change adds. */
  readonly restorable: readonly DroppedEntry[];
}

interface DefinitionChange {
  readonly rows: readonly DefinitionRow[];
  readonly dropped: readonly string[];
  /** The collections with records that have other values in the same fields. */
  readonly rewritten?: readonly string[];
}

/** Definitions have changed; `dropped` has the former names of renamed collections, too. */
export const definitionsChanged = noteKind<DefinitionChange>("definitions.changed");

export class Collections {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #renamed: (tx: Transactor, names: { from: string; to: string }) => void;
  readonly users: UserTable;
  readonly #source: SchemaSource;
  /** Views, too. */
  readonly #byName = new Map<string, Collection>();
  /** Parsed rules, by definition and text; valid until a definition changes. */
  #expressions = new Map<CollectionDefinition, Map<Rule, Expression>>();
  #epoch = 0;
  #queryTables: readonly QueryTable[] | null = null;

  constructor(options: {
    database: Database;
    events: EventLog;
    clock: Clock;
    logger: Logger;
    users: UserTable;
    /** Called in the transaction that renames a collection. */
    renamed: (tx: Transactor, names: { from: string; to: string }) => void;
  }) {
    this.#renamed = options.renamed;
    this.users = options.users;
    this.#source = ruleSource(options.users, (name) => this.get(name)?.definition);
    this.#database = options.database;
    this.#events = options.events;
    this.#clock = options.clock;
    this.#logger = options.logger;
    options.database.projection.on(definitionsChanged, (change) => {
      this.#epoch += 1;
      this.#expressions = new Map();
      this.#queryTables = null;
      this.#apply(change, this.#byName);
    });
  }

  /** Reads the definitions from the database. Call `start` once. */
  async start(): Promise<void> {
    await this.#markOlder();
    await nameFormerRules(this.#database, this.#logger);
    this.#apply({ rows: definitionRows(this.#database.reader), dropped: [] }, this.#byName);
  }

  #apply({ rows, dropped }: DefinitionChange, collections: Map<string, Collection>): void {
    for (const name of dropped) collections.delete(name);
    for (const row of rows) {
      const collection = toCollection(row, this.#expressionOf);
      collections.set(collection.name, collection);
    }
  }

  /** Adds marks to collections that were stored before marks existed. */
  async #markOlder(): Promise<void> {
    if (definitionsWithoutMarks(this.#database.reader).length === 0) return;
    await this.#database.upkeep((tx) => {
      const seq = this.#events.lastSeq(tx);
      for (const definition of definitionsWithoutMarks(tx))
        updateMarks(tx, definition.name, JSON.stringify(marksOfOlder(definition, seq)));
    });
  }

  /** Makes the indexes that a table lacks. Answers whether an index was missing. @throws AppError `not_found`. */
  async completeIndexes({ name }: Pick<Collection, "name">): Promise<boolean> {
    if (!(await lacksIndexes(asSlowReader(this.#database.reader), this.named(name)))) return false;
    const complete = (tx: Migration): Promise<void> =>
      new Table(tx.slow, name, this.#byService()).reconcileIndexes(this.named(name));
    await this.#database.migrate(complete, await this.siteOf({ drop: [name] }, []), { whileReadOnly: true });
    return true;
  }

  /** Finds out which collections of earlier versions are chronological. A damaged table stays unknown. */
  async lookAtOrder(): Promise<void> {
    const own = { whileReadOnly: true };
    for (const { name } of namesWithoutOrder(this.#database.reader)) {
      const look = async (tx: Migration): Promise<boolean> =>
        this.noteOrder(tx, name, await new Table(tx.slow, name, this.#byService()).isChronological());
      await this.#database.migrate(look, await this.siteOf({ drop: [name] }, []), own).catch((thrown) => {
        if (!hasMetDamage(thrown)) throw thrown;
      });
    }
  }

  /** Folds the words of searched collections anew that an earlier version has folded otherwise. A damaged table stays unchanged. */
  async foldWords(): Promise<void> {
    for (const { name, search = [] } of definitionsOfFormerWords(this.#database.reader)) {
      const fold = async (tx: Migration): Promise<void> => {
        await new SearchTable(tx.slow, name).refill(search);
        putWords(tx, name);
      };
      const site = await this.siteOf({ drop: [name] }, []);
      await this.#database.migrate(fold, site, { whileReadOnly: true }).catch((thrown) => {
        if (!hasMetDamage(thrown)) throw thrown;
      });
    }
  }

  /** Keeps whether a collection is chronological. Answers false if that was known. */
  noteOrder(tx: Transactor, name: string, isChronological: boolean): boolean {
    const row = updateOrder(tx, name, Number(isChronological));
    if (row === null) return false;
    tx.note(definitionsChanged.of({ rows: [row], dropped: [] }));
    tx.endBatch();
    return true;
  }

  /** Rises with each migration: a value derived from definitions is valid for a single epoch. */
  get epoch(): number {
    return this.#epoch;
  }

  /** The tables with fields and columns of different names. The same array until a definition changes. */
  queryTables(): readonly QueryTable[] {
    this.#queryTables ??= this.all().flatMap((collection) => queryTableOf(collection) ?? []);
    return this.#queryTables;
  }

  /** A collection with records of its own; undefined for a view. */
  get(name: string): Collection | undefined {
    const collection = this.#byName.get(name);
    return collection === undefined || isView(collection.definition) ? undefined : collection;
  }

  /** A collection with records of its own. @throws AppError `not_found`, `method_not_allowed` for a view. */
  named(name: string): Collection {
    const collection = this.listed(name);
    if (isView(collection.definition)) throw readOnlyView(name);
    return collection;
  }

  /** A collection or a view; undefined for an unknown name. */
  getListed(name: string): Collection | undefined {
    return this.#byName.get(name);
  }

  /** A collection or a view, which can be listed and read. @throws AppError `not_found`. */
  listed(name: string): Collection {
    const collection = this.#byName.get(name);
    if (collection === undefined) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
    return collection;
  }

  /** The definitions of collections and views, sorted by name. @param collections default: the collections in force. */
  definitions(collections: ReadonlyMap<string, Collection> = this.#byName): Definitions {
    return new Map(sorted(collections).map(({ name, definition }) => [name, definition]));
  }

  /** The definitions of the tables in a reader's view. */
  async read(reader: SlowReader): Promise<Definitions> {
    const definitions = await storedDefinitions(reader);
    return new Map(definitions.sort(byName).map((definition) => [definition.name, definition]));
  }

  /** The collections with records of their own, in the order of names. */
  all(): Collection[] {
    return this.allListed().filter(({ definition }) => !isView(definition));
  }

  /** Collections and views, in the order of names. */
  allListed(): Collection[] {
    return sorted(this.#byName);
  }

  /** The names of the collections that had a name before; none while a collection has the name. */
  successorsOf(name: string): string[] {
    if (this.#byName.has(name)) return [];
    return this.all().flatMap((each) => (each.logMarks.formerNames?.includes(name) === true ? [each.name] : []));
  }

  /**
   * The plans of a change, before any record is read: from the definitions in force, or from other definitions.
   * @throws AppError as `planChange`.
   */
  plan(change: SchemaChange, current: Definitions = this.definitions()): CollectionPlan[] {
    const successorsOf = (name: string): string[] => this.successorsOf(name);
    return planChange(change, current, { users: this.users, successorsOf });
  }

  readonly #expressionOf: ExpressionOf = (definition, site) =>
    this.#expressions
      .getOrInsertComputed(definition, () => new Map())
      .getOrInsertComputed(ruleAt(definition, site), () => parseRule(definition, site, this.#source));

  /** The rules of an operation in parts, with places in the text of the policy's rule; null for a rule word. */
  partsOfRule(collection: Collection, operation: Operation): ExpressionPart | null {
    return partsAt(collection.definition, { field: null, operation }, this.#source);
  }

  /** @throws MigrationError with the number of records that contradict a plan, and some ids. */
  async check(reader: SlowReader, plans: readonly CollectionPlan[]): Promise<void> {
    await checkRecords(reader, plans);
  }

  /**
   * Applies definitions, and drops collections with the records, in the caller's transaction, which is a migration.
   * Requests see the new collections after the commit. Relations may point among the new collections, in any order.
   * @throws AppError `bad_request` when data or another definition contradicts, `not_found`; the transaction has then changed nothing.
   */
  async migrate(tx: Migration, change: SchemaChange, principal: Principal): Promise<Migrated> {
    const plans = this.plan(change);
    await this.check(tx.slow, plans);
    tx.onDurable(() => this.#warn(change));
    const by = { ...this.#byService(), ...(change.cause && { cause: change.cause }) };
    const rows: DefinitionRow[] = [];
    const after = new Map(this.#byName);
    const restorable = restorableBy(plans, droppedRows(tx));
    for (const name of change.drop) {
      const { definition } = this.listed(name);
      if (!isView(definition)) await new Table(tx.slow, name, by).drop(definition);
      deleteDefinition(tx, name);
      forgetSavedViews(tx, name);
      this.#announce(tx, { type: "deleted", name }, principal);
    }
    const renamed: string[] = [];
    for (const plan of plans) {
      const before = this.#byName.get(plan.before?.name ?? "") ?? null;
      if (plan.steps.length === 0) continue;
      const { name } = plan.after;
      const table = new Table(tx.slow, name, by);
      const isChronological = !isView(plan.after) && (await table.apply(plan, before?.isChronological ?? true));
      if (before !== null && before.name !== name) {
        deleteDefinition(tx, before.name);
        renameInFiles(tx, { from: before.name, to: name });
        renameInSavedViews(tx, { from: before.name, to: name });
        this.#renamed(tx, { from: before.name, to: name });
        renamed.push(before.name);
      }
      rows.push(this.#store(tx, { before, plan, isChronological }, principal));
    }
    const rewritten = plans.filter(movesValues).map(({ after: { name } }) => name);
    const changed = { rows, dropped: [...change.drop, ...renamed], rewritten };
    tx.onDurable(() => this.#tellRestorable(restorable));
    this.#apply(changed, after);
    tx.note(definitionsChanged.of(changed));
    return { plans, after, restorable };
  }

  #tellRestorable(restorable: readonly DroppedEntry[]): void {
    for (const { id, collection, field, at, values } of restorable) {
      const lost = field === null ? `collection "${collection}"` : `field "${collection}.${field}"`;
      const what = count(values, field === null ? "record" : "value");
      this.#logger.info(
        `The ${lost} had ${what} that were dropped at ${at}: socle schema restore ${id} brings them back`,
      );
    }
  }

  #warn({ define }: SchemaChange): void {
    for (const { definition, warnings = [] } of define)
      for (const warning of warnings)
        this.#logger.warn(`Definition of "${definition.name}": ${warning}`, { collection: definition.name });
  }

  /** The site of a change: a thread for a change that visits many records. */
  async siteOf({ drop }: Pick<SchemaChange, "drop">, plans: readonly CollectionPlan[]): Promise<MigrationSite> {
    const { database, log } = this.#database.sizes();
    const limit = database + log > manyBytes ? fewRecords : manyRecords;
    const touched = plans
      .filter(touchesRecords)
      .flatMap(({ before, base }) => (before === null ? (base?.table ?? []) : tableName(before.name)));
    const tables = drop.filter((name) => this.get(name) !== undefined).map(tableName);
    for (const table of [...tables, ...touched]) {
      if ((await lastNumber(asSlowReader(this.#database.reader), table)) > limit) return "thread";
    }
    return "event-loop";
  }

  #store(
    tx: Transactor,
    { before, plan, isChronological }: { before: Collection | null; plan: CollectionPlan; isChronological: boolean },
    principal: Principal,
  ): DefinitionRow {
    const { after } = plan;
    const isRenamed = before !== null && before.name !== after.name;
    const type = before === null ? "created" : "updated";
    this.#announce(tx, { type, name: after.name, ...(isRenamed && { renamedFrom: before.name }) }, principal);
    const marks = marksAfter(plan, before, this.#events.lastSeq(tx));
    const now = this.#now();
    if (isView(after)) return putView(tx, after, { createdAt: before?.createdAt ?? now, updatedAt: now });
    const row: DefinitionRow = {
      definition: JSON.stringify(after),
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
      places: JSON.stringify(marks),
      isChronological: Number(isChronological),
    };
    putDefinition(tx, after.name, row);
    return row;
  }

  /** Of changes that drop nothing. */
  #byService(): DropCause {
    return { at: this.#now(), cause: "file" };
  }

  #now(): string {
    return toTimestamp(this.#clock.now());
  }

  #announce(
    tx: Transactor,
    { type, ...payload }: { type: string; name: string; renamedFrom?: string },
    principal: Principal,
  ): void {
    this.#events.append(tx, { type: `system.collection.${type}`, source: "collections", payload, principal });
  }
}

function sorted(collections: ReadonlyMap<string, Collection>): Collection[] {
  return [...collections.values()].sort(byName);
}

/** Whether records have other values in fields that may look as before. */
function movesValues({ steps }: CollectionPlan): boolean {
  return steps.some(({ step }) => step === "rename" || step === "drop" || step === "restore");
}

/** The kept values of the fields and collections that plans add. */
function restorableBy(plans: readonly CollectionPlan[], rows: readonly DroppedRow[]): DroppedEntry[] {
  const isAdded = ({ collection, field }: DroppedRow): boolean =>
    plans.some(
      ({ base, after, steps }) =>
        after.name === collection &&
        steps.some((each) => (each.step === "add" ? each.field === field : each.step === "create" && !base && !field)),
    );
  return rows.filter(isAdded).map(entryOf);
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}
