import type { CollectionEntry, MigrationPlan, MigrationStep, Schema } from "@socle/protocol";
import {
  type Collection,
  type Collections,
  MigrationError,
  type ParsedDefinition,
  type Plan,
  parseDefinition,
  type SchemaChange,
} from "../collections/index.ts";
import type { Database, Reader, Transactor } from "../database/index.ts";
import { AppError, isObject, nearest, oneOf, quote, type SignedIn } from "../kernel/index.ts";
import type { Records } from "../records/index.ts";
import type { Audit } from "./audit.ts";

/** What a change would do, and the schema that it would do it to. */
interface PlannedSchema {
  readonly changes: MigrationPlan[];
  readonly fingerprint: string;
}

interface MigrationHooks {
  /** Called in the transaction, before anything is changed. */
  readonly before?: (tx: Transactor, change: SchemaChange) => Promise<void>;
  /** Called in the moment of the commit, when the new definitions are in force. */
  readonly onCommit?: () => void;
}

/** The fingerprints of the schemas that the caller is ready to change; null for any. */
type Expected = readonly string[] | null;

/** What PUT of a collection may hold. */
const attributes = ["name", "fields", "permissions", "$schema"];

/** Collections as admins change them: every change is one migration, with its events and its audit entries. */
export class SchemaAdmin {
  readonly #database: Database;
  readonly #collections: Collections;
  readonly #records: Records;
  readonly #audit: Audit;

  constructor(options: { database: Database; collections: Collections; records: Records; audit: Audit }) {
    this.#database = options.database;
    this.#collections = options.collections;
    this.#records = options.records;
    this.#audit = options.audit;
  }

  /** In the order of their names. */
  async list(page: { limit: number; offset: number }): Promise<{ items: CollectionEntry[]; total: number }> {
    const all = this.#collections.all();
    const items: CollectionEntry[] = [];
    for (const collection of all.slice(page.offset, page.offset + page.limit))
      items.push(await this.#entryOf(collection));
    return { items, total: all.length };
  }

  /** @throws AppError `not_found`. */
  async get(name: string): Promise<CollectionEntry> {
    return this.#entryOf(this.#records.collection(name));
  }

  /** @throws AppError `not_found`. */
  refuseMissing(name: string): void {
    this.#records.collection(name);
  }

  /** @throws AppError `bad_request` for what is no definition, or one of a name that is taken. */
  async create(body: unknown, admin: SignedIn): Promise<CollectionEntry> {
    const parsed = await parseDefinition(body);
    const { name } = parsed.definition;
    return this.#migrateOne(name, admin, async () => {
      if (this.#collections.get(name) !== undefined)
        throw new AppError("bad_request", `There is a collection "${name}" already; PUT changes it.`);
      return { define: [parsed], drop: [] };
    });
  }

  /**
   * Migrates a collection. What the body leaves out stays as it is.
   * @throws AppError `not_found`, `bad_request`.
   */
  update(name: string, body: Record<string, unknown>, admin: SignedIn): Promise<CollectionEntry> {
    return this.#migrateOne(name, admin, () => this.#changeOf(name, body));
  }

  /** What `update` would do. It throws what `update` would throw. */
  async planUpdate(name: string, body: Record<string, unknown>): Promise<MigrationPlan> {
    const { changes } = await this.#plan(() => this.#changeOf(name, body), null);
    const [plan] = changes;
    if (plan === undefined) throw new Error("A change without a plan");
    return plan;
  }

  /** @throws AppError `not_found`, or `bad_request` while another collection points to it. */
  async delete(name: string, admin: SignedIn): Promise<void> {
    await this.#migrate(admin, async () => ({ define: [], drop: [this.#records.collection(name).name] }));
  }

  schema(): Schema {
    return { collections: this.#collections.all().map(({ definition }) => definition) };
  }

  /** Tells one state of all definitions from another. */
  fingerprint(): string {
    return Bun.SHA256.hash(JSON.stringify(this.schema()), "hex").slice(0, 32);
  }

  /**
   * Brings all collections to a schema, in one migration; those that it does not name are dropped.
   * @throws AppError `bad_request`, or `conflict` when the schema has changed meanwhile.
   */
  async updateSchema(body: Record<string, unknown>, expected: Expected, admin: SignedIn): Promise<PlannedSchema> {
    const define = await parseSchema(body);
    const build = async (): Promise<SchemaChange> => {
      this.#refuseOther(expected);
      return this.#wholeChange(define);
    };
    let [changes, fingerprint]: [MigrationPlan[], string] = [[], ""];
    await this.#migrate(admin, build, {
      before: async (tx, change) => {
        changes = await this.#tell(tx, change, this.#collections.plan(change));
      },
      onCommit: () => {
        fingerprint = this.fingerprint();
      },
    }).catch(namingCollection);
    return { changes, fingerprint };
  }

  /** What `updateSchema` would do to the schema of the fingerprint. It throws what `updateSchema` would throw. */
  async planSchema(body: Record<string, unknown>, expected: Expected): Promise<PlannedSchema> {
    const define = await parseSchema(body);
    return this.#plan(async () => this.#wholeChange(define), expected).catch(namingCollection);
  }

  async #changeOf(name: string, body: Record<string, unknown>): Promise<SchemaChange> {
    const { definition } = this.#records.collection(name);
    refuseUnknown(body, attributes);
    if (body["name"] !== undefined && body["name"] !== name)
      throw new AppError("bad_request", `"name" must be "${name}" or left out: a collection cannot be renamed.`);
    const permissions = body["permissions"] === undefined ? definition.permissions : body["permissions"];
    const parsed = await parseDefinition({
      name,
      fields: body["fields"] === undefined ? definition.fields : body["fields"],
      ...(permissions === undefined ? {} : { permissions }),
    });
    return { define: [parsed], drop: [] };
  }

  #wholeChange(define: ParsedDefinition[]): SchemaChange {
    const names = new Set(define.map(({ definition }) => definition.name));
    const drop = this.#collections.all().flatMap(({ name }) => (names.has(name) ? [] : [name]));
    return { define, drop };
  }

  #refuseOther(expected: Expected): void {
    if (expected !== null && !expected.includes(this.fingerprint()))
      throw new AppError("conflict", "The schema has changed since it was looked at.");
  }

  /** Answers the collection as it is in the moment of the commit. */
  async #migrateOne(name: string, admin: SignedIn, build: () => Promise<SchemaChange>): Promise<CollectionEntry> {
    const entry = Promise.withResolvers<CollectionEntry>();
    await this.#migrate(admin, build, {
      onCommit: () => entry.resolve(this.#entryOf(this.#records.collection(name))),
    });
    return entry.promise;
  }

  /** @param build tells the change by what is stored; asked again in the transaction, when nothing else changes any more. */
  async #migrate(
    admin: SignedIn,
    build: () => Promise<SchemaChange>,
    { before, onCommit }: MigrationHooks = {},
  ): Promise<void> {
    const expected = await build();
    const place = await this.#collections.placeOf(expected, this.#collections.plan(expected));
    await this.#database.migrate(async (tx) => {
      const change = await build();
      await before?.(tx, change);
      const dropped = change.drop.map((name) => this.#records.collection(name));
      const plans = await this.#collections.migrate(tx, change, admin);
      if (onCommit !== undefined) tx.afterCommit(onCommit);
      for (const { name, definition } of dropped)
        await this.#audit.record(tx, admin, {
          action: "collection.deleted",
          target: name,
          before: definition,
          after: null,
        });
      for (const plan of plans) {
        if (plan.steps.length === 0) continue;
        const action = plan.before === null ? "collection.created" : "collection.updated";
        const { name } = plan.after;
        await this.#audit.record(tx, admin, { action, target: name, before: plan.before, after: plan.after });
      }
    }, place);
  }

  /** Planned anew when the schema changes while the records are looked at: what they say is about its tables. */
  async #plan(build: () => Promise<SchemaChange>, expected: Expected): Promise<PlannedSchema> {
    while (true) {
      const fingerprint = this.fingerprint();
      try {
        this.#refuseOther(expected);
        const change = await build();
        const plans = this.#collections.plan(change);
        const place = await this.#collections.placeOf(change, plans);
        const read = async (reader: Reader): Promise<MigrationPlan[]> => {
          await this.#collections.check(reader, plans);
          return this.#tell(reader, change, plans);
        };
        const changes = await (place === "here" ? read(this.#database.reader) : this.#database.readOnThread(read));
        if (fingerprint === this.fingerprint()) return { changes, fingerprint };
      } catch (thrown) {
        if (fingerprint === this.fingerprint()) throw thrown;
      }
    }
  }

  /** A change as it is told, with the records that each step concerns. */
  async #tell(reader: Reader, change: SchemaChange, plans: readonly Plan[]): Promise<MigrationPlan[]> {
    const told: MigrationPlan[] = [];
    for (const name of change.drop) {
      const records = await this.#records.count(this.#records.collection(name));
      told.push({ collection: name, action: "delete", steps: [{ step: "delete", records }], records });
    }
    for (const plan of plans) {
      const collection = this.#collections.get(plan.after.name);
      const records = collection === undefined ? 0 : await this.#records.count(collection);
      const steps: MigrationStep[] = [];
      for (const step of plan.steps) {
        const { stricter: _, ...shown } = { stricter: null, ...step };
        const isDrop = step.step === "drop";
        const all = "field" in step ? records : 0;
        steps.push({ ...shown, records: isDrop ? await this.#collections.dropped(reader, plan, step.field) : all });
      }
      told.push({ collection: plan.after.name, action: plan.before === null ? "create" : "update", steps, records });
    }
    return told;
  }

  async #entryOf(collection: Collection): Promise<CollectionEntry> {
    const { name, definition, createdAt, updatedAt } = collection;
    const { fields, permissions = null } = definition;
    const records = await this.#records.count(collection);
    return { name, fields, permissions, definition, createdAt, updatedAt, records };
  }
}

function refuseUnknown(body: Record<string, unknown>, allowed: readonly string[]): void {
  for (const key of Object.keys(body)) {
    if (allowed.includes(key)) continue;
    const near = nearest(key, allowed);
    const advice = near === null ? `allowed: ${oneOf(allowed)}` : `did you mean "${near}"?`;
    throw new AppError("bad_request", `Unknown attribute ${quote(key)}; ${advice}`);
  }
}

async function parseSchema(body: Record<string, unknown>): Promise<ParsedDefinition[]> {
  const { collections } = body;
  refuseUnknown(body, ["collections", "$schema"]);
  if (!Array.isArray(collections))
    throw new AppError(
      "bad_request",
      `"collections" must be an array of collection definitions, not ${quote(collections)}.`,
    );
  const parsed: ParsedDefinition[] = [];
  const seen = new Set<string>();
  for (const [i, item] of collections.entries()) {
    const name =
      isObject(item) && typeof item["name"] === "string" ? `collection ${quote(item["name"])}` : `collection ${i + 1}`;
    const one = await parseDefinition(item).catch((thrown: unknown) => {
      throw thrown instanceof AppError ? new AppError("bad_request", `${name}: ${thrown.message}`) : thrown;
    });
    const key = one.definition.name.toLowerCase();
    if (seen.has(key)) throw new AppError("bad_request", `${name} is there twice, also without regard to case.`);
    seen.add(key);
    parsed.push(one);
  }
  return parsed;
}

/** Among several collections it must be said which one is meant. */
function namingCollection(thrown: unknown): never {
  if (!(thrown instanceof MigrationError)) throw thrown;
  const { collection, message, details } = thrown;
  const named = message.includes(`"${collection}"`) ? message : `collection "${collection}": ${message}`;
  throw new AppError("bad_request", named, details === undefined ? {} : { details });
}
