/** Records of every collection: create, read, update and delete one, each with its permission, its rules and its event. */
import type { Operation as RecordOperation, StoredRecord } from "@socle/protocol";
import type { Collection, Collections } from "../collections/index.ts";
import {
  type CallersWork,
  type Database,
  hasMetDamage,
  type Reader,
  type TransactOptions,
  type Transactor,
} from "../database/index.ts";
import type { EventBasis, EventLog, LoggedEvent } from "../events/index.ts";
import { typeOf } from "../fields/index.ts";
import { type AppError, type Clock, type JsonText, messageOf, type Principal } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { Batch, hookRefusal } from "./batch.ts";
import type { Operation } from "./batch-operations.ts";
import { type NewRecord, RecordChanges, type RecordTarget, type RecordVersion } from "./changes.ts";
import { RecordCounts } from "./counts.ts";
import { FieldRights, fieldLimits } from "./field-rights.ts";
import { createAll, type ImportedRecord, type Rejection } from "./import.ts";
import { collectionNamed, missingRecord } from "./missing.ts";
import type { Body } from "./preparation.ts";
import { isRecordId } from "./record-id.ts";
import { recordTableOf } from "./record-table.ts";
import type { Lookups } from "./references.ts";
import { Rights } from "./rights.ts";
import type { SavedRecord } from "./saved-record.ts";
import { Trials } from "./trials.ts";
import { Versions } from "./versions.ts";
import { type HookedOperation, type RecordHooks, WriteHooks } from "./write-hooks.ts";

/** A record that an event tells, with its owner after the change. */
type ToldRecord = Pick<LoggedEvent, "payload" | "owner">;
/** The hooks of a write, null where there are none, and the options of its transaction. */
interface WriteOptions {
  readonly hooks: WriteHooks | null;
  readonly options?: TransactOptions;
}

/** A create or an update: all that it refuses, it refuses before it writes. */
const single: TransactOptions = { isRepeatable: true };
/** Takes back a transaction whose hooks have to be asked first. One for all: nobody reads it. */
const hooksPending = new Error("Hooks have to be asked first");

/**
 * Every method throws AppError: `not_found`, `unauthorized`, `forbidden`, `bad_request`, `validation_error`, `unavailable`, in
 * this order of checks. A change looks at the caller's right inside its transaction, by the definition of that moment.
 */
export class Records {
  readonly #database: Database;
  readonly #collections: Collections;
  readonly #clock: Clock;
  readonly #changes: RecordChanges;
  readonly #counts: RecordCounts;
  readonly #logger: Logger;
  #hooks: RecordHooks | null = null;
  /** When the records of each collection changed last. */
  readonly versions = new Versions();
  readonly rights: Rights;
  readonly trials: Trials;
  readonly #fieldRights: FieldRights;

  constructor(options: {
    database: Database;
    collections: Collections;
    events: EventLog;
    clock: Clock;
    lookups: Lookups;
    logger: Logger;
    /** See `RecordChanges`. */
    maxCascade: number;
  }) {
    this.#database = options.database;
    this.#collections = options.collections;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.rights = new Rights(options.collections.users.table);
    this.#fieldRights = new FieldRights(this.rights);
    this.#counts = new RecordCounts(options);
    const { versions, rights } = this;
    const fieldRights = this.#fieldRights;
    this.#changes = new RecordChanges({ ...options, counts: this.#counts, versions, rights, fieldRights });
    this.trials = new Trials({ ...options, rights, changes: this.#changes });
  }

  /** Makes sure that no time is given that is older than one that is stored, and that every table has its indexes. */
  async start(): Promise<void> {
    for (const collection of this.#collections.all()) {
      const newest = await this.#newest(collection);
      if (newest !== null) this.#clock.atLeast(Date.parse(newest.createdAt));
    }
  }

  /** A collection that is damaged costs its own requests, and not the start. */
  async #newest(collection: Collection): Promise<{ createdAt: string } | null> {
    try {
      if (hasFiles(collection) && (await this.#collections.completeIndexes(collection)))
        this.#logger.info(`The files of the collection ${collection.name} are indexed now`);
      return await this.#database.reader.get<{ createdAt: string }>(recordTableOf(collection).newest);
    } catch (thrown) {
      if (!hasMetDamage(thrown)) throw thrown;
      this.#logger.error(`The collection ${collection.name} cannot be read: ${messageOf(thrown)}`);
      return null;
    }
  }

  /** The collection of a path. @throws AppError `not_found`. */
  collection(name: string): Collection {
    return collectionNamed(this.#collections, name);
  }

  /** How many records a collection has. */
  count(collection: Collection): Promise<number> {
    return this.#counts.of(collection);
  }

  /** @throws AppError; a record that an expression keeps the caller from reading is `not_found`. */
  async get(collection: Collection, principal: Principal, id: string): Promise<StoredRecord> {
    const { access } = collection.policies.read.admit(principal);
    const table = recordTableOf(collection);
    const { reader } = this.#database;
    if (access === "all" && fieldLimits(collection, principal) === null) {
      const row = await reader.get<StoredRecord>(table.byId, id);
      if (row === null) throw missingRecord(collection, id);
      return table.toRecord(row);
    }
    const row = await reader.get<StoredRecord>(table.byIdWithOwner, id);
    if (row === null) throw missingRecord(collection, id);
    const { record, owner } = table.toOwned(row);
    const missing = (): AppError => missingRecord(collection, id);
    await this.rights.admit(reader, "read", { table, principal, id, owner, missing });
    return this.#fieldRights.shown(reader, { table, principal, record, owner });
  }

  /** Whether a caller may read a record that is there. */
  async isReadable(collection: Collection, principal: Principal, id: string): Promise<boolean> {
    const table = recordTableOf(collection);
    const { reader } = this.#database;
    const row = await reader.get<{ owner: string | null }>(table.owner, id);
    return row !== null && this.rights.allows(reader, "read", { table, principal, id, owner: row.owner });
  }

  /** Whether the rule of this moment lets a caller read a record as it was at an event. */
  async wasReadable(collection: Collection, principal: Principal, { fields, owner }: EventBasis): Promise<boolean> {
    const state = { table: recordTableOf(collection), principal, record: fields, owner };
    return this.rights.allowsState(this.#database.reader, "read", state);
  }

  /** The fields of a record as an event tells it that the rules of this moment keep a caller from. */
  async hiddenAt(collection: Collection, principal: Principal, { payload, owner }: ToldRecord): Promise<Set<string>> {
    const state = { table: recordTableOf(collection), principal, record: payload, owner };
    return new Set(await this.#fieldRights.hidden(this.#database.reader, state));
  }

  /** Looks whether a record is there and the caller is allowed the operation on it, without doing it. */
  async admit(
    name: string,
    operation: Exclude<RecordOperation, "create">,
    target: { principal: Principal; id: string },
  ): Promise<void> {
    const { principal, id } = target;
    const collection = this.collection(name);
    collection.policies[operation].admit(principal);
    const missing = (): AppError => missingRecord(collection, id);
    if (!isRecordId(id)) throw missing();
    const table = recordTableOf(collection);
    const { reader } = this.#database;
    const row = await reader.get<{ owner: string | null }>(table.owner, id);
    if (row === null) throw missing();
    await this.rights.admit(reader, operation, { table, principal, id, owner: row.owner, missing });
  }

  /** From now on, writes ask these hooks. */
  hookWith(hooks: RecordHooks): void {
    this.#hooks = hooks;
  }

  create(collection: string, principal: Principal, body: Body): Promise<SavedRecord> {
    const hooks = this.#hooksBefore(collection, "create");
    return this.#write(principal, { hooks, options: single }, (tx, caller) =>
      this.#changes.create(tx, caller, { collection, body, hooks }),
    );
  }

  /** @param change `record`: its id, or the version that it must have; with another it is `conflict`. */
  async update(
    collection: string,
    principal: Principal,
    { record, body }: { record: string | RecordVersion; body: Body },
  ): Promise<SavedRecord> {
    const target = this.#target(collection, record);
    const hooks = this.#hooksBefore(collection, "update");
    return this.#write(principal, { hooks, options: single }, (tx, caller) =>
      this.#changes.update(tx, caller, { ...target, body, hooks }),
    );
  }

  /** @param record as for `update`. */
  async delete(collection: string, principal: Principal, record: string | RecordVersion): Promise<void> {
    const target = this.#target(collection, record);
    const hooks = this.#hooksBefore(collection, "delete");
    await this.#write(principal, { hooks, options: { makesRoom: true } }, (tx, caller) =>
      this.#changes.delete(tx, caller, { ...target, hooks }),
    );
  }

  #hooksBefore(collection: string, operation: HookedOperation): WriteHooks | null {
    return this.#hooks !== null && this.#isHooked(collection, operation) ? new WriteHooks(this.#hooks) : null;
  }

  /** A deletion may take records of other collections along. */
  #isHooked(collection: string, operation: HookedOperation): boolean {
    if (this.#hooks === null || !this.#hooks.hasAny(operation)) return false;
    return operation === "delete" || this.#hooks.has(collection, operation);
  }

  /** Makes a write in one transaction, once its hooks have seen it. @throws AppError also of hooks, and `conflict`. */
  #write<T>(principal: Principal, { hooks, options = {} }: WriteOptions, work: CallersWork<T>): Promise<T> {
    return hooks === null
      ? this.#database.transactFor(principal, work, options)
      : this.#writeWithHooks(principal, { hooks, options: { ...options, isRepeatable: false } }, work);
  }

  async #writeWithHooks<T>(
    principal: Principal,
    { hooks, options }: { hooks: WriteHooks; options: TransactOptions },
    work: CallersWork<T>,
  ): Promise<T> {
    const database = this.#database;
    for (;;) {
      const pending = Promise.withResolvers<null>();
      let isPending = false;
      const saving = database.transactFor(
        principal,
        async (tx, caller) => {
          // The writer may try a transaction again.
          if (isPending) throw hooksPending;
          hooks.begin();
          const saved = await work(tx, caller);
          if (!hooks.isPending) return { saved };
          isPending = true;
          // The rejection comes after the flush of the others, which hooks need not wait for.
          pending.resolve(null);
          throw hooksPending;
        },
        options,
      );
      const outcome = await Promise.race([pending.promise, saving]);
      if (outcome !== null) return outcome.saved;
      await hooks.ask();
    }
  }

  /**
   * Does many changes in one transaction, all or none.
   * @param after more work of the transaction, with the ids of the records.
   * @returns the JSON of an array of `BatchResult`. @throws AppError: see `Batch`.
   */
  async batch(
    principal: Principal,
    operations: readonly Operation[],
    after?: (tx: Transactor, ids: readonly string[]) => Promise<void>,
  ): Promise<JsonText> {
    const isHooked = operations.some(({ collection, method }) => this.#isHooked(collection, method));
    const hooks =
      this.#hooks === null || !isHooked
        ? null
        : new WriteHooks(this.#hooks, (failures) => hookRefusal(operations, failures));
    const makesRoom = operations.every(({ method }) => method === "delete");
    const changes = this.#changes;
    return this.#write(principal, { hooks, options: { makesRoom, weight: operations.length } }, async (tx, caller) => {
      const batch = new Batch({ operations, changes, hooks });
      const results = await batch.run(tx, caller);
      await after?.(tx, batch.ids);
      return results;
    });
  }

  /** Creates a record in a transaction of the caller, which must be taken back when it throws. No hook is asked. */
  async createIn(
    tx: Transactor,
    principal: Principal,
    { collection, body }: Pick<NewRecord, "collection" | "body">,
  ): Promise<SavedRecord> {
    return this.#changes.create(tx, principal, { collection, body, hooks: null });
  }

  /** The newest record of a collection, as a reader sees it; null where there is none. */
  async newest(reader: Reader, collection: string): Promise<{ createdAt: string } | null> {
    return reader.get<{ createdAt: string }>(recordTableOf(this.collection(collection)).newest);
  }

  /**
   * Creates records in one transaction. Those whose values are refused are left out, and told by their places.
   * @throws AppError for whoever is no admin.
   */
  async importAll(principal: Principal, collection: string, records: readonly ImportedRecord[]): Promise<Rejection[]> {
    const run = (tx: Transactor, caller: Principal): Promise<Rejection[]> =>
      createAll(tx, caller, { collection, records, changes: this.#changes });
    return this.#database.transactFor(principal, run, { weight: records.length });
  }

  /** Changes the records that point to a user who is about to go, as their relations ask for, in the transaction of that. @throws AppError `bad_request`. */
  followUser(tx: Transactor, principal: Principal, id: string): Promise<void> {
    return this.#changes.followUser(tx, principal, id);
  }

  /** An id that no record can have is answered without waiting for the writer. */
  #target(name: string, record: string | RecordVersion): Omit<RecordTarget, "hooks"> {
    const { id, ifMatch } = typeof record === "string" ? { id: record, ifMatch: null } : record;
    const collection = this.collection(name);
    if (!isRecordId(id)) throw missingRecord(collection, id);
    return { collection: name, id, ifMatch };
  }
}

/** Earlier versions made no index of a field of files. */
function hasFiles({ definition }: Collection): boolean {
  return definition.fields.some((field) => typeOf(field).reference === "file");
}
