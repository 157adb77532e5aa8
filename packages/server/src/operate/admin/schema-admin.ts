/** The schema as admins change it: definitions, their plans, and the whole schema of an installation. */
import {
  type CollectionEntry,
  FIELD_OPERATIONS,
  type MigrationPlan,
  type MigrationStep,
  OPERATIONS,
  type Schema,
} from "@socle/protocol";
import { AppError, type SignedIn } from "../../base/kernel/index.ts";
import {
  type Collection,
  type CollectionPlan,
  type Collections,
  type Definitions,
  MigrationError,
  type RuleSite,
  rulesAt,
  type SchemaChange,
} from "../../data/collections/index.ts";
import type { Records } from "../../data/records/index.ts";
import {
  asSlowReader,
  type Database,
  type Migration,
  type SlowReader,
  type Waiter,
} from "../../store/database/index.ts";
import type { AdminChanges, AuditEntry } from "./admin-changes.ts";
import {
  type ChangeBuilder,
  type CollectionChange,
  type Expected,
  fingerprintOf,
  parseSchema,
  wholeChange,
} from "./schema-change.ts";

/** The plan of a change, and the schema before the change. */
interface PlannedSchema {
  readonly changes: MigrationPlan[];
  readonly fingerprint: string;
}

/** Called in the transaction of a change, before anything is changed. */
type Before = (tx: Migration, change: SchemaChange) => Promise<void> | void;

/** Collections for admins: every change is a migration, with its events and its audit entries. */
export class SchemaAdmin {
  readonly #database: Database;
  readonly #changes: AdminChanges;
  readonly #collections: Collections;
  readonly #records: Records;

  constructor(options: {
    database: Database;
    changes: AdminChanges;
    collections: Collections;
    records: Records;
  }) {
    this.#database = options.database;
    this.#changes = options.changes;
    this.#collections = options.collections;
    this.#records = options.records;
  }

  /** In the order of their names. */
  list(page: { limit: number; offset: number }): { items: CollectionEntry[]; total: number } {
    const all = this.#collections.all();
    const shown = all.slice(page.offset, page.offset + page.limit);
    return { items: shown.map((collection) => this.#entryOf(collection)), total: all.length };
  }

  /** @throws AppError `not_found`. */
  get(name: string): CollectionEntry {
    return this.#entryOf(this.#records.collection(name));
  }

  /** Migrates a collection. Answers the collection as of the moment of the commit. */
  async migrate({ name, build }: CollectionChange, admin: SignedIn): Promise<CollectionEntry> {
    let records = 0;
    const after = await this.#migrate(admin, build, () => {
      records = this.#recordsOf(name);
    });
    const collection = after.get(name);
    if (collection === undefined) throw new Error("A migration without its collection");
    return entryOf(collection, records);
  }

  /** Migrates to a schema without a collection. */
  async drop({ build }: CollectionChange, admin: SignedIn): Promise<void> {
    await this.#migrate(admin, build);
  }

  /** The migration that `migrate` or `drop` would run. Throws as `migrate` and `drop` do. */
  async plan({ build }: CollectionChange, waiter: Waiter): Promise<MigrationPlan> {
    const { changes } = await this.#plan(build, waiter);
    const [plan] = changes;
    if (plan === undefined) throw new Error("A change without a plan");
    return plan;
  }

  /** All definitions, and their fingerprint. */
  schema(): { schema: Schema; fingerprint: string } {
    const definitions = this.#collections.definitions();
    return { schema: { collections: [...definitions.values()] }, fingerprint: fingerprintOf(definitions) };
  }

  /**
   * Brings all collections to a schema, in a single migration; collections that the schema does not name are dropped.
   * @throws AppError `bad_request`, or `conflict` when the schema has changed meanwhile.
   */
  async updateSchema(body: Record<string, unknown>, expected: Expected, admin: SignedIn): Promise<PlannedSchema> {
    const define = await parseSchema(body);
    const build = wholeChange(define, expected);
    let changes: MigrationPlan[] = [];
    const after = await this.#migrate(admin, build, async (tx, change) => {
      changes = await this.#tell(tx.slow, change, this.#collections.plan(change));
    }).catch(namingCollection);
    return { changes, fingerprint: fingerprintOf(this.#collections.definitions(after)) };
  }

  /** The migrations that `updateSchema` would run on the schema of the fingerprint. Throws as `updateSchema` does. */
  async planSchema(body: Record<string, unknown>, expected: Expected, waiter: Waiter): Promise<PlannedSchema> {
    return this.#plan(wholeChange(await parseSchema(body), expected), waiter).catch(namingCollection);
  }

  /**
   * @param build makes the change from the stored definitions. The function is called again in the transaction, when
   * nothing can change any more.
   * @returns the collections in force after the commit, by name.
   */
  async #migrate(admin: SignedIn, build: ChangeBuilder, before?: Before): Promise<ReadonlyMap<string, Collection>> {
    const expected = await build(this.#collections.definitions());
    const site = await this.#collections.siteOf(expected, this.#collections.plan(expected));
    const migrate = async (
      tx: Migration,
      audit: (entry: AuditEntry) => void,
    ): Promise<ReadonlyMap<string, Collection>> => {
      const change = await build(this.#collections.definitions());
      await before?.(tx, change);
      const dropped = change.drop.map((name) => this.#records.collection(name));
      const { plans, after } = await this.#collections.migrate(tx, change, admin);
      for (const { name, definition } of dropped)
        audit({ action: "collection.deleted", target: name, before: definition });
      for (const plan of plans) {
        if (plan.steps.length === 0) continue;
        const action = plan.before === null ? "collection.created" : "collection.updated";
        const { name } = plan.after;
        audit({ action, target: name, before: plan.before, after: plan.after });
      }
      return after;
    };
    return this.#changes.migrate(admin, migrate, site);
  }

  /** Definitions and records are read as of the same moment, whatever is migrated meanwhile. */
  async #plan(build: ChangeBuilder, waiter: Waiter): Promise<PlannedSchema> {
    const definitions = this.#collections.definitions();
    const reader = this.#database.longRead();
    try {
      const change = await build(definitions);
      const site = await this.#collections.siteOf(change, this.#collections.plan(change, definitions));
      if (site === "event-loop") return await this.#planWith(asSlowReader(reader), definitions, build);
    } finally {
      reader.end();
    }
    return this.#database.readOnThread(
      async (thread) => this.#planWith(thread, await this.#collections.read(thread), build),
      waiter,
    );
  }

  async #planWith(reader: SlowReader, definitions: Definitions, build: ChangeBuilder): Promise<PlannedSchema> {
    const change = await build(definitions);
    const plans = this.#collections.plan(change, definitions);
    await this.#collections.check(reader, plans);
    return { changes: await this.#tell(reader, change, plans), fingerprint: fingerprintOf(definitions) };
  }

  /** A change for a caller, with the records that each step concerns. */
  async #tell(reader: SlowReader, change: SchemaChange, plans: readonly CollectionPlan[]): Promise<MigrationPlan[]> {
    const told: MigrationPlan[] = [];
    for (const name of change.drop) {
      const records = this.#recordsOf(name);
      told.push({ collection: name, action: "delete", steps: [{ step: "delete", records }], records });
    }
    for (const plan of plans) {
      const records = this.#recordsOf(plan.after.name);
      const steps: MigrationStep[] = [];
      for (const step of plan.steps) {
        const { stricter: _, ...shown } = { stricter: null, ...step };
        const isDrop = step.step === "drop";
        const all = "field" in step || step.step === "index" || step.step === "search" ? records : 0;
        const rules = step.step === "permissions" ? { rules: changedRules(plan, step.field ?? null) } : {};
        steps.push({
          ...shown,
          ...rules,
          records: isDrop ? await this.#collections.dropped(reader, plan, step.field) : all,
        });
      }
      told.push({ collection: plan.after.name, action: plan.before === null ? "create" : "update", steps, records });
    }
    return told;
  }

  #recordsOf(name: string): number {
    const collection = this.#collections.get(name);
    return collection === undefined ? 0 : this.#records.count(collection);
  }

  #entryOf(collection: Collection): CollectionEntry {
    return entryOf(collection, this.#records.count(collection));
  }
}

function entryOf({ name, definition, createdAt, updatedAt }: Collection, records: number): CollectionEntry {
  const { fields, permissions = null, indexes = [] } = definition;
  return { name, fields, permissions, indexes, definition, createdAt, updatedAt, records };
}

/**
 * The rules of a collection, or of a field, that a plan changes, with the default rules filled in: a field without a
 * rule is `public` to readers of the record.
 */
function changedRules(plan: CollectionPlan, field: string | null): NonNullable<MigrationStep["rules"]> {
  const sites: RuleSite[] =
    field === null
      ? OPERATIONS.map((operation) => ({ field, operation }))
      : FIELD_OPERATIONS.map((operation) => ({ field, operation }));
  return sites.flatMap((site) => {
    const { from, to } = rulesAt(plan, site);
    return from === to ? [] : [{ operation: site.operation, from, to }];
  });
}

/** A message about several collections names the collection. */
function namingCollection(thrown: unknown): never {
  if (!(thrown instanceof MigrationError)) throw thrown;
  const { collection, message, details } = thrown;
  const named = message.includes(`"${collection}"`) ? message : `collection "${collection}": ${message}`;
  throw new AppError("bad_request", named, details === undefined ? {} : { details });
}
