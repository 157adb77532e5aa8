import type { CollectionEntry, MigrationPlan, Schema } from "@socle/protocol";
import {
  type Collection,
  type Collections,
  MigrationError,
  type ParsedDefinition,
  type Plan,
  parseDefinition,
  type SchemaChange,
} from "../collections/index.ts";
import type { Database, Reader } from "../database/index.ts";
import { AppError, isObject, nearest, oneOf, quote, type SignedIn } from "../kernel/index.ts";
import type { Records } from "../records/index.ts";
import type { Audit } from "./audit.ts";

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

  /** @throws AppError `bad_request` for what is no definition, or one of a name that is taken. */
  async create(body: unknown, admin: SignedIn): Promise<CollectionEntry> {
    const parsed = await parseDefinition(body);
    const { name } = parsed.definition;
    await this.#migrate(async () => {
      if (this.#collections.get(name) !== undefined)
        throw new AppError("bad_request", `There is a collection "${name}" already; PUT changes it.`);
      return { define: [parsed], drop: [] };
    }, admin);
    return this.get(name);
  }

  /**
   * Migrates a collection. What the body leaves out stays as it is.
   * @throws AppError `not_found`, `bad_request`.
   */
  async update(name: string, body: Record<string, unknown>, admin: SignedIn): Promise<CollectionEntry> {
    await this.#migrate(() => this.#changeOf(name, body), admin);
    return this.get(name);
  }

  /** What `update` would do. It throws what `update` would throw. */
  async planUpdate(name: string, body: Record<string, unknown>): Promise<MigrationPlan> {
    const [plan] = await this.#plan(await this.#changeOf(name, body));
    if (plan === undefined) throw new Error("A change without a plan");
    return plan;
  }

  /** @throws AppError `not_found`, or `bad_request` while another collection points to it. */
  async delete(name: string, admin: SignedIn): Promise<void> {
    await this.#migrate(async () => ({ define: [], drop: [this.#records.collection(name).name] }), admin);
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
   * @param expected the fingerprint of the schema that the caller has seen; null for any.
   * @throws AppError `bad_request`, or `conflict` when the schema has changed meanwhile.
   */
  async updateSchema(
    body: Record<string, unknown>,
    expected: string | null,
    admin: SignedIn,
  ): Promise<MigrationPlan[]> {
    const plans = await this.planSchema(body, expected);
    const define = await parseSchema(body);
    await this.#migrate(async () => {
      this.#refuseOther(expected);
      return this.#wholeChange(define);
    }, admin).catch(namingCollection);
    return plans;
  }

  /** What `updateSchema` would do. It throws what `updateSchema` would throw. */
  async planSchema(body: Record<string, unknown>, expected: string | null): Promise<MigrationPlan[]> {
    return this.#plan(this.#wholeChange(await parseSchema(body)), expected).catch(namingCollection);
  }

  async #changeOf(name: string, body: Record<string, unknown>): Promise<SchemaChange> {
    const { definition } = this.#records.collection(name);
    refuseUnknown(body);
    if (body["name"] !== undefined && body["name"] !== name)
      throw new AppError("bad_request", `"name" must be "${name}" or left out: a collection cannot be renamed.`);
    const permissions = body["permissions"] === undefined ? definition.permissions : body["permissions"];
    const parsed = await parseDefinition({
      name,
      fields: body["fields"] ?? definition.fields,
      ...(permissions === undefined ? {} : { permissions }),
    });
    return { define: [parsed], drop: [] };
  }

  #wholeChange(define: ParsedDefinition[]): SchemaChange {
    const names = new Set(define.map(({ definition }) => definition.name));
    const drop = this.#collections.all().flatMap(({ name }) => (names.has(name) ? [] : [name]));
    return { define, drop };
  }

  #refuseOther(expected: string | null): void {
    if (expected !== null && expected !== this.fingerprint())
      throw new AppError("conflict", "The schema has changed since it was looked at.");
  }

  /** @param build tells the change by what is stored; asked again in the transaction, when nothing else changes any more. */
  async #migrate(build: () => Promise<SchemaChange>, admin: SignedIn): Promise<void> {
    const expected = await build();
    const place = await this.#collections.placeOf(expected, this.#collections.plan(expected));
    await this.#database.migrate(async (tx) => {
      const change = await build();
      const dropped = change.drop.map((name) => this.#records.collection(name));
      const plans = await this.#collections.migrate(tx, change, admin);
      for (const { name, definition } of dropped)
        await this.#audit.record(tx, admin, {
          action: "collection.deleted",
          target: name,
          before: definition,
          after: null,
        });
      for (const { before, after, steps } of plans) {
        if (steps.length === 0 && JSON.stringify(before) === JSON.stringify(after)) continue;
        const action = before === null ? "collection.created" : "collection.updated";
        await this.#audit.record(tx, admin, { action, target: after.name, before, after });
      }
    }, place);
  }

  async #plan(change: SchemaChange, expected: string | null = null): Promise<MigrationPlan[]> {
    this.#refuseOther(expected);
    const plans = this.#collections.plan(change);
    const place = await this.#collections.placeOf(change, plans);
    const read = (reader: Reader): Promise<MigrationPlan[]> => this.#planWith(reader, change, plans);
    return place === "here" ? read(this.#database.reader) : this.#database.readOnThread(read);
  }

  async #planWith(reader: Reader, change: SchemaChange, plans: readonly Plan[]): Promise<MigrationPlan[]> {
    await this.#collections.check(reader, plans);
    const told: MigrationPlan[] = [];
    for (const name of change.drop) {
      const records = await this.#records.count(this.#records.collection(name));
      told.push({ collection: name, action: "delete", steps: [{ step: "delete", records }], records });
    }
    for (const plan of plans) {
      const collection = this.#collections.get(plan.after.name);
      const records = collection === undefined ? 0 : await this.#records.count(collection);
      const concerned = await this.#collections.concerned(reader, plan);
      const steps = plan.steps.map((step, i) => {
        const { stricter: _, ...shown } = { stricter: null, ...step };
        return { ...shown, records: concerned[i] ?? 0 };
      });
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

function refuseUnknown(body: Record<string, unknown>): void {
  for (const key of Object.keys(body)) {
    if (attributes.includes(key)) continue;
    const near = nearest(key, attributes);
    const advice = near === null ? `allowed: ${oneOf(attributes.slice(0, 3))}` : `did you mean "${near}"?`;
    throw new AppError("bad_request", `Unknown attribute ${quote(key)}; ${advice}`);
  }
}

async function parseSchema(body: Record<string, unknown>): Promise<ParsedDefinition[]> {
  const { collections } = body;
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
