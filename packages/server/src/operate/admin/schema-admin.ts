/**
 * The schema for admins: definitions, the plans, and the whole schema of an installation. A request (add, remove,
 * change, replace everything) becomes the definitions that the request asks for.
 */
import {
  type CollectionDefinition,
  type CollectionEntry,
  type DroppedEntry,
  isView,
  type MigrationPlan,
  type RestoredValues,
  type Schema,
  USERS,
} from "@socle/protocol";
import { AppError, isObject, quote, SetupError, type SignedIn } from "../../base/kernel/index.ts";
import type { CodeFile } from "../../code/script-host/index.ts";
import {
  type Collection,
  type CollectionPlan,
  type Collections,
  changeByFiles,
  collectionRenames,
  type Definitions,
  entryOf as droppedEntryOf,
  droppedRows,
  keepUnsent,
  MigrationError,
  type ParsedDefinition,
  parseDefinition,
  restoreDropped,
  type SchemaChange,
  siteOfRestore,
  withNewTargets,
} from "../../data/collections/index.ts";
import type { Records } from "../../data/records/index.ts";
import {
  asSlowReader,
  type Database,
  type Migration,
  type SlowReader,
  type Waiter,
} from "../../store/database/index.ts";
import type { AdminChanges } from "./admin-changes.ts";
import { filesNaming, tellChange } from "./schema-plan.ts";

/** Makes a change from the definitions before the change. */
type ChangeBuilder = (definitions: Definitions) => SchemaChange;

/** The fingerprints of the schemas that the caller is ready to change; null for any. */
type Expected = readonly string[] | null;

/**
 * Attributes that GET answers beside the attributes of a definition. PUT ignores the attributes, so that an answer can
 * be sent back.
 */
const answered = ["definition", "createdAt", "updatedAt", "records"];

/** The definition that PUT starts from before users have fields. */
const bareUsers: CollectionDefinition = { name: USERS, fields: [] };

interface CollectionChange {
  /** The name of the collection after the change. */
  readonly name: string;
  /** The former name of a collection that the change renames. Absent without a rename. */
  readonly from?: string;
  /** @throws AppError as the change says. */
  readonly build: ChangeBuilder;
}

/** A new collection. @throws AppError `bad_request` for a malformed definition; `build` for a name that is taken. */
export function additionOf(body: unknown): CollectionChange {
  const parsed = parseDefinition(body);
  const { name } = parsed.definition;
  if (name === USERS)
    throw new AppError(
      "bad_request",
      `"${USERS}" is reserved: PUT /api/admin/collections/${USERS} gives fields to users.`,
    );
  return {
    name,
    build(definitions) {
      if (definitions.has(name))
        throw new AppError("bad_request", `There is a collection "${name}" already; PUT changes it.`);
      for (const from of collectionRenames([parsed], definitions).keys())
        throw new AppError("bad_request", `PUT /api/admin/collections/${from} renames the collection "${from}".`);
      return { define: [parsed], drop: [] };
    },
  };
}

/**
 * Drops a collection. `build` throws `not_found`, the migration `bad_request` while another collection points to the collection.
 */
export function removalOf(name: string): CollectionChange {
  return { name, build: (definitions) => ({ define: [], drop: [existing(definitions, name).name], cause: "DELETE" }) };
}

/**
 * Attributes that the body leaves out are unchanged. A `name` beside `"renamedFrom"`, the present name, renames the
 * collection. `build` throws `not_found` and `bad_request`.
 */
export function changeOf(present: string, body: Record<string, unknown>): CollectionChange {
  const { renamedFrom, indexes, search } = body;
  const asked = body["name"] ?? present;
  const isRename = asked !== present;
  const name = String(asked);
  return {
    name,
    ...(isRename && { from: present }),
    build(definitions) {
      // Users are there without a definition, too.
      const stored = present === USERS ? (definitions.get(USERS) ?? bareUsers) : existing(definitions, present);
      if (isRename && renamedFrom !== present)
        throw new AppError(
          "bad_request",
          `"name" must be "${present}" or left out; to rename the collection, send "renamedFrom": "${present}" beside its new name.`,
        );
      const definition = isRename ? withNewTargets(stored, new Map([[present, name]])) : stored;
      const { permissions = definition.permissions, history = definition.history, trash = definition.trash } = body;
      const { query = definition.query } = body;
      const given = Object.entries(body).filter(([attribute]) => !answered.includes(attribute));
      const fields = body["fields"] ?? definition.fields;
      const parsed = parseDefinition({
        ...Object.fromEntries(given),
        name: asked,
        query,
        fields,
        permissions,
        history,
        trash,
      });
      const guessing = { ...parsed, mayGuess: true };
      return { define: [keepUnsent(definition, guessing, { indexes, search })], drop: [], cause: "PUT" };
    },
  };
}

/** A collection that is not defined is dropped. */
function wholeChange(define: ParsedDefinition[], expected: Expected): ChangeBuilder {
  const names = new Set(define.map(({ definition }) => definition.name));
  return (definitions) => {
    if (expected !== null && !expected.includes(fingerprintOf(definitions)))
      throw new AppError("conflict", "The schema has changed since the read.");
    const renames = collectionRenames(define, definitions);
    const drop = [...definitions.keys()].filter((name) => !names.has(name) && !renames.has(name));
    return { define, drop, cause: "schema.json" };
  };
}

function existing(definitions: Definitions, name: string): CollectionDefinition {
  const definition = definitions.get(name);
  if (definition === undefined) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
  return definition;
}

/** Definitions are kept in the order of names, so that the same definitions give the same text. */
function fingerprintOf(definitions: Definitions): string {
  return Bun.SHA256.hash(JSON.stringify([...definitions.values()]), "hex").slice(0, 32);
}

function parseSchema(body: Record<string, unknown>): ParsedDefinition[] {
  const { collections, $schema: _, ...others } = body;
  for (const key of Object.keys(others))
    throw new AppError("bad_request", `Unknown attribute ${quote(key)}; allowed: collections`);
  if (!Array.isArray(collections)) {
    const given = collections === undefined ? "; it is missing" : `, not ${quote(collections)}`;
    throw new AppError("bad_request", `"collections" must be an array of collection definitions${given}.`);
  }
  const parsed: ParsedDefinition[] = [];
  const seen = new Set<string>();
  for (const [i, item] of collections.entries()) {
    const name =
      isObject(item) && typeof item["name"] === "string" ? `collection ${quote(item["name"])}` : `collection ${i + 1}`;
    const one = parseNamed(name, item);
    const key = one.definition.name.toLowerCase();
    if (seen.has(key)) throw new AppError("bad_request", `${name} is there twice, also without regard to case.`);
    seen.add(key);
    parsed.push(one);
  }
  return parsed;
}

/** @throws AppError that names the collection. */
function parseNamed(name: string, input: unknown): ParsedDefinition {
  try {
    return parseDefinition(input);
  } catch (thrown) {
    throw thrown instanceof AppError ? new AppError("bad_request", `${name}: ${thrown.message}`) : thrown;
  }
}

/** The plan of a change, and the schema before the change. */
interface PlannedSchema {
  readonly changes: MigrationPlan[];
  readonly fingerprint: string;
}

/** Called in the transaction of a change, before anything is changed. */
type Before = (tx: Migration, change: SchemaChange) => Promise<void> | void;

interface SchemaAdminOptions {
  database: Database;
  changes: AdminChanges;
  collections: Collections;
  records: Records;
  /** The files of the user's code, as on the disk. */
  code: () => readonly CodeFile[];
}

/** Collections for admins: every change is a migration, with the events and the audit entries. */
export class SchemaAdmin {
  readonly #options: SchemaAdminOptions;
  readonly #collections: Collections;

  constructor(options: SchemaAdminOptions) {
    this.#options = options;
    this.#collections = options.collections;
  }

  /** In the order of names. */
  list(page: { limit: number; offset: number }): { items: CollectionEntry[]; total: number } {
    const all = this.#collections.allListed();
    const shown = all.slice(page.offset, page.offset + page.limit);
    return { items: shown.map((collection) => this.#entryOf(collection)), total: all.length };
  }

  /** @throws AppError `not_found`. */
  get(name: string): CollectionEntry {
    return this.#entryOf(this.#collections.listed(name));
  }

  /** Refuses a name that PUT cannot change. @throws AppError `not_found`. */
  refuseMissing(name: string): void {
    if (name !== USERS) this.#collections.listed(name);
  }

  /** Migrates a collection. Answers the collection as of the moment of the commit. */
  async migrate({ name, from = name, build }: CollectionChange, admin: SignedIn): Promise<CollectionEntry> {
    let records = 0;
    const { after, plans, change, restorable } = await this.#migrate(admin, build, () => {
      records = this.#recordsOf(from);
    });
    const collection = after.get(name);
    if (collection === undefined) throw new Error("A migration without its collection");
    const isAsked = change.define.some(({ mayGuess, renamedFrom }) => mayGuess !== true || renamedFrom.size > 0);
    const rename = isAsked ? undefined : plans[0]?.steps.find((step) => step.step === "rename");
    return {
      ...entryOf(collection, records),
      ...(rename?.step === "rename" && { renamed: { from: rename.from, to: rename.field } }),
      ...(restorable.length > 0 && { restorable: [...restorable] }),
    };
  }

  /** Migrates to a schema without a collection. */
  async drop({ build }: CollectionChange, admin: SignedIn): Promise<void> {
    await this.#migrate(admin, build);
  }

  /** The migration that `migrate` or `drop` would run. Throws as `migrate` and `drop` do. */
  async plan({ build }: CollectionChange, waiter: Waiter): Promise<MigrationPlan> {
    const [plan, ...others] = (await this.#plan(build, waiter)).changes;
    if (plan === undefined) throw new Error("A change without a plan");
    const following = others.map(({ collection, steps }) => ({ collection, steps }));
    const code = filesNaming(plan, this.#options.code);
    return { ...plan, ...(following.length > 0 && { following }), ...(code.length > 0 && { code }) };
  }

  /** The dropped values that can be restored, newest first. */
  dropped(): DroppedEntry[] {
    return droppedRows(this.#options.database.reader).map(droppedEntryOf);
  }

  /** Brings dropped values back. @throws AppError as `restoreDropped`. */
  async restore(id: string, admin: SignedIn): Promise<RestoredValues> {
    const { changes, database } = this.#options;
    const collections = this.#collections;
    const site = await siteOfRestore(database.reader, collections, id);
    return changes.migrate(admin, site, async (tx, audit) => {
      const target = this.dropped().find((entry) => entry.id === id);
      const restored = await restoreDropped(tx, { collections, id, principal: admin });
      audit({ action: "dropped.restored", target: id, before: target ?? null, after: restored });
      return restored;
    });
  }

  /** All definitions, and the fingerprint. */
  schema(): { schema: Schema; fingerprint: string } {
    const definitions = this.#collections.definitions();
    return { schema: { collections: [...definitions.values()] }, fingerprint: fingerprintOf(definitions) };
  }

  /**
   * Brings all collections to a schema, in a single migration; collections that the schema does not name are dropped.
   * @throws AppError `bad_request`, or `conflict` when the schema has changed meanwhile.
   */
  async updateSchema(body: Record<string, unknown>, expected: Expected, admin: SignedIn): Promise<PlannedSchema> {
    const define = parseSchema(body);
    const build = wholeChange(define, expected);
    let changes: MigrationPlan[] = [];
    const { after } = await this.#migrate(admin, build, async (tx, change) => {
      changes = await this.#tell(tx.slow, change, this.#collections.plan(change));
    }).catch(namingCollection);
    return { changes, fingerprint: fingerprintOf(this.#collections.definitions(after)) };
  }

  /** The migrations that `updateSchema` would run on the schema of the fingerprint. Throws as `updateSchema` does. */
  async planSchema(body: Record<string, unknown>, expected: Expected, waiter: Waiter): Promise<PlannedSchema> {
    return this.#plan(wholeChange(parseSchema(body), expected), waiter).catch(namingCollection);
  }

  /** The migrations that a start would run with the definitions as changed definition files. */
  async planFiles(body: Record<string, unknown>, waiter: Waiter): Promise<PlannedSchema> {
    const texts = parseSchema(body).map(({ definition }, i) => ({
      path: `${definition.name}.json`,
      content: Array.isArray(body["collections"]) ? body["collections"][i] : null,
    }));
    const build: ChangeBuilder = (definitions) => {
      try {
        return changeByFiles(texts, this.#options.database.reader, definitions);
      } catch (thrown) {
        throw thrown instanceof SetupError ? new AppError("bad_request", thrown.message) : thrown;
      }
    };
    return this.#plan(build, waiter).catch(namingCollection);
  }

  /**
   * @param build makes the change from the stored definitions. The function is called again in the transaction, when
   * nothing can change any more.
   * @returns the change, the plans, and the collections in force after the commit, by name.
   */
  async #migrate(admin: SignedIn, build: ChangeBuilder, before?: Before) {
    const expected = build(this.#collections.definitions());
    const site = await this.#collections.siteOf(expected, this.#collections.plan(expected));
    return this.#options.changes.migrate(admin, site, async (tx, audit) => {
      const change = build(this.#collections.definitions());
      await before?.(tx, change);
      const dropped = change.drop.map((name) => this.#collections.listed(name));
      const { plans, after, restorable } = await this.#collections.migrate(tx, change, admin);
      for (const { name, definition } of dropped)
        audit({ action: "collection.deleted", target: name, before: definition });
      for (const plan of plans) {
        if (plan.steps.length === 0) continue;
        const action = plan.before === null ? "collection.created" : "collection.updated";
        audit({ action, target: plan.after.name, before: plan.before, after: plan.after });
      }
      return { change, plans, after, restorable };
    });
  }

  /** Definitions and records are read as of the same moment, whatever is migrated meanwhile. */
  async #plan(build: ChangeBuilder, waiter: Waiter): Promise<PlannedSchema> {
    const definitions = this.#collections.definitions();
    const reader = this.#options.database.longRead();
    try {
      const change = build(definitions);
      const site = await this.#collections.siteOf(change, this.#collections.plan(change, definitions));
      if (site === "event-loop") return await this.#planWith(asSlowReader(reader), definitions, build);
    } finally {
      reader.end();
    }
    return this.#options.database.readOnThread(
      async (thread) => this.#planWith(thread, await this.#collections.read(thread), build),
      waiter,
    );
  }

  async #planWith(reader: SlowReader, definitions: Definitions, build: ChangeBuilder): Promise<PlannedSchema> {
    const change = build(definitions);
    const plans = this.#collections.plan(change, definitions);
    await this.#collections.check(reader, plans);
    return { changes: await this.#tell(reader, change, plans), fingerprint: fingerprintOf(definitions) };
  }

  #tell(reader: SlowReader, change: SchemaChange, plans: readonly CollectionPlan[]): Promise<MigrationPlan[]> {
    return tellChange({ change, plans, reader, recordsOf: async (name) => this.#recordsOf(name) });
  }

  #recordsOf(name: string): number {
    const collection = this.#collections.get(name);
    return collection === undefined ? 0 : this.#options.records.count(collection);
  }

  #entryOf(collection: Collection): CollectionEntry {
    // The rows of a view are not counted: a query may take long.
    return entryOf(collection, isView(collection.definition) ? 0 : this.#options.records.count(collection));
  }
}

function entryOf({ name, definition, createdAt, updatedAt }: Collection, records: number): CollectionEntry {
  const { fields, permissions = null, indexes = [] } = definition;
  return { name, fields, permissions, indexes, definition, createdAt, updatedAt, records };
}

/** A message about several collections names the collection. */
function namingCollection(thrown: unknown): never {
  if (!(thrown instanceof MigrationError)) throw thrown;
  const { collection, message, details } = thrown;
  const named = message.includes(`"${collection}"`) ? message : `collection "${collection}": ${message}`;
  throw new AppError("bad_request", named, details === undefined ? {} : { details });
}
