import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import type { Database, ModuleSchema, Transactor } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import { AppError, type Clock, nearest, type Principal, quote, toTimestamp } from "../kernel/index.ts";
import { type Collection, resolveRules, tableName } from "./collection.ts";
import type { ParsedDefinition } from "./definition.ts";
import { compilePattern, type Pattern } from "./pattern.ts";
import { type Plan, planMigration } from "./plan.ts";
import { Table } from "./table.ts";

export const collectionSchema: ModuleSchema = {
  module: "collections",
  steps: [
    "CREATE TABLE _collections (name TEXT PRIMARY KEY COLLATE NOCASE, definition TEXT NOT NULL, createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL) STRICT",
    // `renames` are those that the file asked for when it was applied: a file may keep them, and they are done.
    "CREATE TABLE _definition_files (file TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, renames TEXT NOT NULL) STRICT",
  ],
};

interface Row {
  definition: string;
  createdAt: string;
  updatedAt: string;
}

async function toCollection(row: Row): Promise<Collection> {
  // It was checked when it was stored.
  const definition = JSON.parse(row.definition) as CollectionDefinition;
  const patterns = new Map<string, Pattern>();
  for (const field of definition.fields)
    if (field.regex !== undefined) patterns.set(field.name, await compilePattern(field.regex));
  return {
    name: definition.name,
    definition,
    table: tableName(definition.name),
    rules: resolveRules(definition),
    patterns,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

function relationsTo(name: string, definition: CollectionDefinition): FieldDefinition[] {
  return definition.fields.filter((field) => field.collection === name);
}

/** A migration that was refused, and whose definition was the reason. */
export class MigrationError extends AppError {
  readonly collection: string;

  constructor(collection: string, message: string) {
    super("bad_request", message);
    this.collection = collection;
  }
}

async function naming<T>(collection: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw thrown instanceof AppError ? new MigrationError(collection, thrown.message) : thrown;
  }
}

/** All collections in force, and the one way to change them: migrations. */
export class Collections {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #clock: Clock;
  readonly #byName = new Map<string, Collection>();

  constructor(options: { database: Database; events: EventLog; clock: Clock }) {
    this.#database = options.database;
    this.#events = options.events;
    this.#clock = options.clock;
  }

  /** Reads what the database holds. To be called once, at start. */
  async start(): Promise<void> {
    const rows = await this.#database.reader.all<Row>("SELECT definition, createdAt, updatedAt FROM _collections");
    for (const row of rows) {
      const collection = await toCollection(row);
      this.#byName.set(collection.name, collection);
    }
  }

  get(name: string): Collection | undefined {
    return this.#byName.get(name);
  }

  /** In the order of their names. */
  all(): Collection[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Brings collections to these definitions, inside the caller's transaction; requests see the new ones from its commit.
   * Relations may point among them, in any order. Answers what was done.
   * @throws AppError `bad_request` when data or another definition contradicts; nothing has changed then.
   */
  async migrate(tx: Transactor, parsed: readonly ParsedDefinition[], principal: Principal): Promise<Plan[]> {
    const future = new Map(this.#byName);
    const changed = new Set<string>();
    const plans: Plan[] = [];
    for (const item of parsed) {
      const { definition } = item;
      const before = this.#byName.get(definition.name) ?? null;
      if (before === null) this.#refuseTwin(definition.name, future.keys());
      const plan = await naming(definition.name, async () => {
        const made = planMigration(before?.definition ?? null, item);
        if (made.steps.length > 0) await new Table(tx, definition.name).apply(made);
        return made;
      });
      plans.push(plan);
      const unchanged = JSON.stringify(before?.definition) === JSON.stringify(definition);
      if (unchanged) continue;
      changed.add(definition.name);
      future.set(definition.name, await this.#store(tx, before, plan, principal));
    }
    for (const { definition } of parsed)
      await naming(definition.name, () => this.#refuseDanglingRelations(definition, future));
    tx.afterCommit(() => {
      for (const name of changed) {
        const collection = future.get(name);
        if (collection !== undefined) this.#byName.set(name, collection);
      }
    });
    return plans;
  }

  /**
   * Drops a collection and its records.
   * @throws AppError `not_found`, or `bad_request` while another collection points to it.
   */
  async drop(tx: Transactor, name: string, principal: Principal): Promise<void> {
    if (!this.#byName.has(name)) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
    const pointing = this.all().flatMap((other) =>
      other.name === name ? [] : relationsTo(name, other.definition).map((field) => `${other.name}.${field.name}`),
    );
    if (pointing.length > 0)
      throw new AppError("bad_request", `Collection "${name}" cannot be deleted: ${pointing.join(", ")} points to it.`);
    await new Table(tx, name).drop();
    await tx.run("DELETE FROM _collections WHERE name = ?", name);
    await this.#announce(tx, "deleted", name, principal);
    tx.afterCommit(() => {
      this.#byName.delete(name);
      // A collection of the same name that comes after is younger than every event of this one.
      this.#clock.atLeast(this.#clock.now() + 1);
    });
  }

  async #store(tx: Transactor, before: Collection | null, plan: Plan, principal: Principal): Promise<Collection> {
    const { after } = plan;
    const now = toTimestamp(this.#clock.now());
    const row: Row = {
      definition: JSON.stringify(after),
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
    };
    await tx.run(
      "INSERT OR REPLACE INTO _collections (name, definition, createdAt, updatedAt) VALUES (?, ?, ?, ?)",
      after.name,
      row.definition,
      row.createdAt,
      row.updatedAt,
    );
    await this.#announce(tx, before === null ? "created" : "updated", after.name, principal);
    return toCollection(row);
  }

  async #announce(tx: Transactor, change: string, name: string, principal: Principal): Promise<void> {
    const type = `system.collection.${change}`;
    await this.#events.append(tx, { type, source: "collections", payload: { name }, principal });
  }

  #refuseTwin(name: string, names: Iterable<string>): void {
    for (const other of names)
      if (other.toLowerCase() === name.toLowerCase())
        throw new MigrationError(name, `collections "${other}" and "${name}" differ only in case`);
  }

  #refuseDanglingRelations(definition: CollectionDefinition, future: ReadonlyMap<string, Collection>): void {
    for (const field of definition.fields) {
      const target = field.collection;
      if (target === undefined || target === "users" || future.has(target)) continue;
      const near = nearest(target, [...future.keys(), "users"]);
      throw new AppError(
        "bad_request",
        `field "${field.name}": there is no collection ${quote(target)} to point to${near === null ? "" : `; did you mean "${near}"?`}`,
      );
    }
  }
}
