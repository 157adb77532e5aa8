/** Collections in force, and the one way to change them: migrations. */
import type { CollectionDefinition, ErrorDetail, FieldOperation, Operation, Rule } from "@socle/protocol";
import { type Database, identifier, type MigrationSite, type Reader, type Transactor } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import { type Expression, type ExpressionPart, parseParts } from "../expressions/index.ts";
import { AppError, type Clock, nearest, type Principal, quote, toTimestamp } from "../kernel/index.ts";
import {
  FieldPolicies,
  type FieldPolicy,
  isWider,
  isWord,
  narrowerThan,
  Policy,
  resolveFieldRules,
  resolveRules,
  wordOf,
} from "../permissions/index.ts";
import { type Collection, type Places, tableName } from "./collection.ts";
import { DataCheck } from "./data-check.ts";
import type { ParsedDefinition } from "./definition.ts";
import {
  type DefinitionRow,
  definitionRows,
  definitionsWithoutPlaces,
  deleteDefinition,
  putDefinition,
  storedDefinitions,
  updatePlaces,
} from "./definition-table.ts";
import { expressionSchema, type SchemaSource, type UserTable } from "./expression-schema.ts";
import { compilePattern, type Pattern } from "./pattern.ts";
import { type Plan, type PlanStep, planMigration, successorOf } from "./plan.ts";
import { givenRuleAt, type RuleSite, ruleAt, withRule } from "./rule-sites.ts";
import {
  checkRules,
  type FieldRenames,
  parseRule,
  type RenamedRule,
  RuleError,
  renamedRules,
  ruleSource,
} from "./rules.ts";
import { Table, touchesRecords } from "./table.ts";

/** The expression of a rule of a definition, by all definitions in force. */
type ExpressionOf = (definition: CollectionDefinition, site: RuleSite) => Expression;

function fieldPoliciesOf(definition: CollectionDefinition, expressionOf: ExpressionOf): FieldPolicies | null {
  const policies = new Map<string, FieldPolicy>();
  for (const { name, permissions } of definition.fields) {
    if (permissions === undefined) continue;
    const rules = resolveFieldRules(permissions);
    const policy = (operation: FieldOperation): Policy => {
      const site = { field: name, operation };
      const expression = (): Expression => expressionOf(definition, site);
      return new Policy({ collection: definition.name, operation, rule: rules[operation], expression });
    };
    policies.set(name, { read: policy("read"), update: policy("update") });
  }
  return policies.size === 0 ? null : new FieldPolicies(policies);
}

function policiesOf(definition: CollectionDefinition, expressionOf: ExpressionOf): Collection["policies"] {
  const { name: collection, permissions } = definition;
  const rules = resolveRules(permissions);
  const policy = (operation: Operation): Policy =>
    new Policy({
      collection,
      operation,
      rule: rules[operation],
      expression: () => expressionOf(definition, { field: null, operation }),
    });
  return { read: policy("read"), create: policy("create"), update: policy("update"), delete: policy("delete") };
}

async function toCollection(row: DefinitionRow, expressionOf: ExpressionOf): Promise<Collection> {
  // The definition was validated when it was stored.
  const definition = JSON.parse(row.definition) as CollectionDefinition;
  const patterns = new Map<string, Pattern>();
  for (const field of definition.fields)
    if (field.regex !== undefined) patterns.set(field.name, await compilePattern(field.regex));
  return {
    name: definition.name,
    definition,
    table: tableName(definition.name),
    policies: policiesOf(definition, expressionOf),
    fieldPolicies: fieldPoliciesOf(definition, expressionOf),
    patterns,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    // The text was written from a `Places`.
    places: JSON.parse(row.places) as Places,
  };
}

/** The places of a collection after a migration whose event lies at `place`. */
function placesAfter({ after, steps }: Plan, before: Collection | null, place: number): Places {
  if (before === null) return { created: place, fields: place, widened: {} };
  const { created, fields, widened } = before.places;
  // The values of events from before another rule of a field were not for those who may read it now.
  const movesFields = steps.some(
    (each) =>
      each.step === "drop" || each.step === "rename" || (each.step === "permissions" && each.field !== undefined),
  );
  const { rule } = before.policies.read;
  const isWidened = isWider(resolveRules(after.permissions).read, rule);
  const word = wordOf(rule);
  return {
    created,
    fields: movesFields ? place : fields,
    widened: isWidened ? { ...widened, [word]: place } : widened,
  };
}

/** Definitions by name. */
export type Definitions = ReadonlyMap<string, CollectionDefinition>;

/** A change of collections, in one migration. */
export interface SchemaChange {
  readonly define: readonly ParsedDefinition[];
  /** Names of those that are to go with their records. */
  readonly drop: readonly string[];
}

/** A migration that was refused, and whose definition was the reason. */
export class MigrationError extends AppError {
  readonly collection: string;

  constructor(collection: string, message: string, details?: ErrorDetail[]) {
    super("bad_request", message, details === undefined ? {} : { details });
    this.collection = collection;
  }
}

/** Names the collection in a problem of its definition; a failed disk concerns none. */
function rethrow(collection: string, thrown: unknown): never {
  const isRefusal = thrown instanceof AppError && thrown.code === "bad_request";
  throw isRefusal ? new MigrationError(collection, thrown.message, thrown.details) : thrown;
}

function naming<T>(collection: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    return rethrow(collection, thrown);
  }
}

/** A rule of a definition that nobody has sent is told with its collection: another change has broken it. */
function checkRulesOf(definition: CollectionDefinition, source: SchemaSource, isAsked: boolean): void {
  try {
    checkRules(definition, source);
  } catch (thrown) {
    if (!(thrown instanceof RuleError)) throw thrown;
    const { name } = definition;
    throw new MigrationError(name, isAsked ? thrown.message : `collection "${name}": ${thrown.message}`);
  }
}

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

  constructor(options: { database: Database; events: EventLog; clock: Clock; users: UserTable }) {
    this.#users = options.users;
    this.#database = options.database;
    this.#events = options.events;
    this.#clock = options.clock;
  }

  /** Reads the definitions from the database. Called once, at the start. */
  async start(): Promise<void> {
    await this.#placeOlder();
    for (const row of await definitionRows(this.#database.reader)) {
      const collection = await toCollection(row, this.#expressionOf);
      this.#byName.set(collection.name, collection);
    }
  }

  /**
   * Gives their places to collections that were stored before there were any. Which rules and fields they had is not
   * known: all events so far count as written under every narrower rule, and with other fields.
   */
  async #placeOlder(): Promise<void> {
    if ((await definitionsWithoutPlaces(this.#database.reader)).length === 0) return;
    await this.#database.transact(async (tx) => {
      const place = await this.#events.lastPlace(tx);
      for (const { name, permissions } of await definitionsWithoutPlaces(tx)) {
        const narrower = narrowerThan(resolveRules(permissions).read);
        const widened = Object.fromEntries(narrower.map((rule) => [rule, place]));
        const places: Places = { created: 0, fields: place, widened };
        await updatePlaces(tx, name, JSON.stringify(places));
      }
    });
  }

  /** Rises with each migration: values derived from definitions are valid while it stays the same. */
  get epoch(): number {
    return this.#epoch;
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
   * @throws AppError `bad_request` when a definition, or another one, contradicts; `not_found` for what is to be
   * dropped.
   */
  plan({ define, drop }: SchemaChange, current: Definitions = this.definitions()): Plan[] {
    const plans = this.#planDefinitions({ define, drop }, current);
    const following = this.#followRenames(plans, current);
    const future = new Map(current);
    for (const name of drop) future.delete(name);
    for (const { after } of [...plans, ...following]) future.set(after.name, after);
    const source = ruleSource(this.#users, (name) => future.get(name));
    const asked = new Set(define.map(({ definition }) => definition.name));
    for (const definition of future.values()) checkRulesOf(definition, source, asked.has(definition.name));
    return [...plans, ...following];
  }

  /** Fields that are renamed get their new names in every rule that names them, also in rules of other collections. */
  #followRenames(plans: Plan[], current: Definitions): Plan[] {
    const renames = renamesOf(plans);
    if (renames.size === 0) return [];
    const source = ruleSource(this.#users, (name) => current.get(name));
    const following: Plan[] = [];
    for (const definition of current.values()) {
      const renamed = renamedRules(definition, source, renames);
      if (renamed.length === 0) continue;
      const at = plans.findIndex(({ after }) => after.name === definition.name);
      const plan = plans[at];
      const next = withRenamed(plan ?? { before: definition, after: definition, steps: [] }, renamed);
      if (plan === undefined) following.push(next);
      else plans[at] = next;
    }
    return following;
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

  #planDefinitions({ define, drop }: SchemaChange, current: Definitions): Plan[] {
    const future = new Map(current);
    for (const name of drop)
      if (!future.delete(name)) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
    const plans: Plan[] = [];
    for (const item of define) {
      const { definition } = item;
      if (!future.has(definition.name)) refuseTwin(definition.name, future.keys());
      future.set(definition.name, definition);
      const before = current.get(definition.name) ?? null;
      plans.push(naming(definition.name, () => planMigration(before, item)));
    }
    for (const definition of future.values()) refuseDanglingRelations(definition, future, drop);
    return plans;
  }

  /** @throws MigrationError with the number of records that contradict a plan, and some of their ids. */
  async check(reader: Reader, plans: readonly Plan[]): Promise<void> {
    for (const plan of plans)
      await new DataCheck(reader, plan).refuse().catch((thrown) => rethrow(plan.after.name, thrown));
  }

  /** How many records have a value in a field that a plan drops. */
  dropped(reader: Reader, plan: Plan, field: string): Promise<number> {
    return new DataCheck(reader, plan).dropped(field);
  }

  /**
   * Brings collections to these definitions, and drops others with their records, inside the caller's transaction,
   * which is a migration; requests see the new ones from its commit. Relations may point among them, in any order.
   * Answers the plans.
   * @throws AppError `bad_request` when data or another definition contradicts, `not_found`; nothing has changed then.
   */
  async migrate(tx: Transactor, change: SchemaChange, principal: Principal): Promise<Plan[]> {
    const plans = this.plan(change);
    await this.check(tx, plans);
    const now = this.#now();
    const changed = new Map<string, Collection>();
    for (const name of change.drop) await this.#drop(tx, name, principal);
    for (const plan of plans) {
      const before = this.#byName.get(plan.after.name) ?? null;
      if (plan.steps.length === 0) continue;
      await new Table(tx, plan.after.name, now).apply(plan);
      changed.set(plan.after.name, await this.#store(tx, before, plan, principal));
    }
    tx.onCommit(() => {
      this.#epoch += 1;
      this.#expressions = new Map();
      for (const name of change.drop) this.#byName.delete(name);
      for (const [name, collection] of changed) this.#byName.set(name, collection);
    });
    return plans;
  }

  /** Where a change is to run: on a thread when it reads or writes many records. */
  async siteOf({ drop }: SchemaChange, plans: readonly Plan[]): Promise<MigrationSite> {
    const { database, log } = this.#database.sizes();
    const limit = database + log > manyBytes ? fewRecords : manyRecords;
    for (const name of [...drop, ...plans.filter(touchesRecords).map(({ after }) => after.name)]) {
      const last = await this.#database.reader.get<{ seq: number | null }>(
        `SELECT max(_seq) AS seq FROM ${identifier(tableName(name))}`,
      );
      if ((last?.seq ?? 0) > limit) return "thread";
    }
    return "event-loop";
  }

  async #drop(tx: Transactor, name: string, principal: Principal): Promise<void> {
    await new Table(tx, name, this.#now()).drop();
    await deleteDefinition(tx, name);
    await this.#announce(tx, "deleted", name, principal);
  }

  async #store(tx: Transactor, before: Collection | null, plan: Plan, principal: Principal): Promise<Collection> {
    const { after } = plan;
    await this.#announce(tx, before === null ? "created" : "updated", after.name, principal);
    const places = placesAfter(plan, before, await this.#events.lastPlace(tx));
    const now = this.#now();
    const row: DefinitionRow = {
      definition: JSON.stringify(after),
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
      places: JSON.stringify(places),
    };
    await putDefinition(tx, after.name, row);
    return toCollection(row, this.#expressionOf);
  }

  #now(): string {
    return toTimestamp(this.#clock.now());
  }

  async #announce(tx: Transactor, change: string, name: string, principal: Principal): Promise<void> {
    const type = `system.collection.${change}`;
    await this.#events.append(tx, { type, source: "collections", payload: { name }, principal });
  }
}

/** The renames of plans, by collection: old name → new name. */
function renamesOf(plans: readonly Plan[]): FieldRenames {
  const renames = new Map<string, Map<string, string>>();
  for (const { after, steps } of plans)
    for (const step of steps)
      if (step.step === "rename")
        renames.set(after.name, (renames.get(after.name) ?? new Map<string, string>()).set(step.from, step.field));
  return renames;
}

/** A rule that the new definition has as it was follows the renames; one that it brings has the new names already. */
function withRenamed(plan: Plan, renamed: readonly RenamedRule[]): Plan {
  let { after, steps } = plan;
  for (const { site, from, to } of renamed) {
    const newSite = site.field === null ? site : { ...site, field: successorOf(plan, site.field) };
    const { field } = newSite;
    if (givenRuleAt(after, newSite) !== from) continue;
    after = withRule(after, newSite, to);
    const step: PlanStep = field === null ? { step: "permissions" } : { step: "permissions", field };
    if (!steps.some((each) => each.step === "permissions" && (each.field ?? null) === field)) steps = [...steps, step];
  }
  return { ...plan, after, steps };
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}

function refuseTwin(name: string, names: Iterable<string>): void {
  for (const other of names)
    if (other.toLowerCase() === name.toLowerCase())
      throw new MigrationError(name, `collections "${other}" and "${name}" differ only in case`);
}

function refuseDanglingRelations(
  definition: CollectionDefinition,
  future: ReadonlyMap<string, CollectionDefinition>,
  dropped: readonly string[],
): void {
  for (const { name, collection: target } of definition.fields) {
    if (target === undefined || target === "users" || future.has(target)) continue;
    if (dropped.includes(target)) {
      const pointing = [...future.values()].flatMap((other) =>
        other.fields.filter((field) => field.collection === target).map((field) => `${other.name}.${field.name}`),
      );
      const verb = pointing.length === 1 ? "points" : "point";
      throw new MigrationError(
        target,
        `collection "${target}" cannot be deleted: ${pointing.join(", ")} ${verb} to it`,
      );
    }
    const near = nearest(target, [...future.keys(), "users"]);
    throw new MigrationError(
      definition.name,
      `field "${name}": there is no collection ${quote(target)} to point to${near === null ? "" : `; did you mean "${near}"?`}`,
    );
  }
}
