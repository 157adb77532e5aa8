/** Records of every collection: create, read, update, delete, batches and imports, with permissions, rules, hooks and events. */
import type { Operation as RecordOperation, StoredRecord } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError, type Clock, isAdmin, type JsonText, messageOf, type Principal } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import {
  type CallersWork,
  type Database,
  hasMetDamage,
  type Reader,
  type TransactOptions,
  type Transactor,
} from "../../store/database/index.ts";
import type { EventBasis, EventLog, LoggedEvent } from "../../store/events/index.ts";
import type { Collection, Collections } from "../collections/index.ts";
import type { Policy } from "../permissions/index.ts";
import { Batch, type BatchOptions, hookRefusal, type Operation, type WorkBeside } from "./batch.ts";
import {
  mayNameManyFiles,
  type NewRecord,
  RecordChanges,
  type RecordTarget,
  type RecordVersion,
  type SavedRecord,
  type Upsert,
  type UpsertedRecord,
} from "./changes.ts";
import { Deletions } from "./deletions.ts";
import { type LongWrite, writeHooked } from "./hooked-write.ts";
import { type ImportedRows, type ImportOutcome, importIn } from "./imports.ts";
import { RecordCounts, RecordEffects, recordsChanged, Versions } from "./record-effects.ts";
import { fieldLimits, isAnyRecordId, isRecordId, missingRecord, recordTableOf } from "./record-table.ts";
import type { Body, Lookups } from "./references.ts";
import { Reversals } from "./reversals.ts";
import { Rights } from "./rights.ts";
import { Trash } from "./trash.ts";
import { Trials } from "./trials.ts";
import { ConflictTurns } from "./turns.ts";
import { UserRecords } from "./user-records.ts";
import { type HookedOperation, type RecordHooks, WriteHooks } from "./write-hooks.ts";

type ByCaller = Pick<LongWrite<unknown>, "callerOf">;
type AfterCreate = (tx: Transactor, saved: SavedRecord) => void;

interface RecordsOptions {
  readonly database: Database;
  readonly collections: Collections;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly lookups: Lookups;
  readonly logger: Logger;
  /** See `Deletions`. */
  readonly maxCascade: number;
  /** See `RecordEffects` and `Trash`. */
  readonly config: Pick<Config, "events.before" | "limits.trash">;
}

/** A create and an update refuse before the first write, so a second call is safe. */
const single: TransactOptions = { isRepeatable: true };
/** Takes the transaction of a rehearsal back. */
const takenBack = new Error("The transaction of a rehearsal is taken back");

/**
 * Every method throws AppError: `not_found`, `unauthorized`, `forbidden`, `bad_request`, `validation_error`, `unavailable`, in
 * this order of checks. A change checks the caller's right inside the transaction, by the definition of that moment.
 */
export class Records {
  readonly #options: RecordsOptions;
  readonly #changes: RecordChanges;
  readonly #counts: RecordCounts;
  #hooks: RecordHooks | null = null;
  readonly versions: Versions;
  readonly rights: Rights;
  /** The turns of transactions and hooks whose reads were changed. */
  readonly turns = new ConflictTurns();
  readonly trials: Trials;
  readonly reversals: Reversals;
  readonly trash: Trash;
  /** Only for the accounts of users. */
  readonly users: UserRecords;
  /** Only for the deletion of a user. */
  readonly deletions: Pick<Deletions, "isPointedTo" | "followUser">;

  constructor(options: RecordsOptions) {
    this.#options = options;
    this.rights = new Rights(options.collections.users.table);
    this.#counts = new RecordCounts(options);
    this.versions = new Versions(options.database.projection);
    const { rights } = this;
    const effects = new RecordEffects(options.events, options.config);
    const deletions = new Deletions({ ...options, effects });
    this.deletions = deletions;
    this.#changes = new RecordChanges({ ...options, rights, effects, deletions });
    this.users = new UserRecords({ ...options, deletions, effects, changes: this.#changes });
    this.trials = new Trials({ ...options, rights, changes: this.#changes });
    this.reversals = new Reversals({ ...options, changes: this.#changes });
    this.trash = new Trash({ ...options, rights, reversals: this.reversals });
  }

  /**
   * Sets the clock after every stored time, and completes the indexes of every table. A damaged collection fails requests
   * for this collection, and not the start.
   */
  async start(): Promise<void> {
    const { collections, database, clock, logger } = this.#options;
    for (const collection of collections.all()) {
      const { name } = collection;
      try {
        // Earlier versions made no index for fields of files.
        const mayLack = recordTableOf(collection).hasFiles || !collection.isChronological;
        if (mayLack && (await collections.completeIndexes(collection)))
          logger.info(`The collection ${name} has all its indexes now`);
        const newest = this.newest(database.reader, name);
        if (newest !== null) clock.atLeast(Date.parse(newest.createdAt));
      } catch (thrown) {
        if (!hasMetDamage(thrown)) throw thrown;
        logger.error(`The collection ${name} cannot be read: ${messageOf(thrown)}`);
      }
    }
  }

  /** The collection of a path. @throws AppError `not_found`, `method_not_allowed` for a view. */
  collection(name: string): Collection {
    return this.#options.collections.named(name);
  }

  /** The collection or the view of a path of reads. @throws AppError `not_found`. */
  listed(name: string): Collection {
    return this.#options.collections.listed(name);
  }

  count(collection: Collection): number {
    return this.#counts.of(collection);
  }

  /** @throws AppError; a record that an expression keeps the caller from reading is `not_found`. */
  get(collection: Collection, principal: Principal, id: string): StoredRecord {
    return this.getIn(this.#options.database.reader, collection, { principal, id });
  }

  /** The name of the collection of a record, whoever may read the record; null for an id without a record. */
  collectionOf(id: string): string | null {
    if (!isRecordId(id)) return null;
    const { collections, database } = this.#options;
    const found = collections.all().find((each) => database.reader.get(recordTableOf(each).exists, id) !== null);
    return found?.name ?? null;
  }

  /** As `get`, in a reader's view. */
  getIn(
    reader: Reader,
    collection: Collection,
    { principal, id }: { readonly principal: Principal; readonly id: string },
  ): StoredRecord {
    const { access } = collection.policies.read.admit(principal);
    const table = recordTableOf(collection);
    if (access === "all" && fieldLimits(collection, principal) === null) {
      const row = reader.get<StoredRecord>(table.byId, id);
      if (row === null) throw missingRecord(collection, id);
      return table.toRecord(row);
    }
    const row = reader.get<StoredRecord>(table.byIdWithOwner, id);
    if (row === null) throw missingRecord(collection, id);
    const { record, owner } = table.toOwned(row);
    const missing = (): AppError => missingRecord(collection, id);
    this.rights.admit(reader, "read", { table, principal, id, owner, missing });
    return this.rights.shown(reader, { table, principal, record, owner });
  }

  isReadable(collection: Collection, principal: Principal, id: string): boolean {
    const table = recordTableOf(collection);
    const { reader } = this.#options.database;
    const row = reader.get<{ owner: string | null }>(table.owner, id);
    return row !== null && this.rights.allows(reader, "read", { table, principal, id, owner: row.owner });
  }

  /** Whether a policy beside the collection's own policies lets a caller use a record. False without the record. */
  isAllowed(
    policy: Policy,
    { collection, principal, id }: { collection: Collection; principal: Principal; id: string },
  ): boolean {
    const table = recordTableOf(collection);
    const { reader } = this.#options.database;
    const row = reader.get<{ owner: string | null }>(table.owner, id);
    return row !== null && this.rights.isAllowed(reader, policy, { table, principal, id, owner: row.owner });
  }

  /** Whether the present rule lets a caller read the record of a past event. */
  wasReadable(collection: Collection, principal: Principal, { fields, owner }: EventBasis): boolean {
    const state = { table: recordTableOf(collection), principal, record: fields, owner };
    return this.rights.allowsState(this.#options.database.reader, "read", state);
  }

  /** The fields of the record of an event that the present rules hide from a caller. */
  hiddenAt(collection: Collection, principal: Principal, { payload, owner }: LoggedEvent): Set<string> {
    const state = { table: recordTableOf(collection), principal, record: payload, owner };
    return new Set(this.rights.hidden(this.#options.database.reader, state));
  }

  /** Checks that a record exists and that the caller has the right to the operation. */
  admit(
    name: string,
    operation: Exclude<RecordOperation, "create">,
    target: { principal: Principal; id: string },
  ): void {
    const { principal, id } = target;
    const collection = this.collection(name);
    collection.policies[operation].admit(principal);
    const missing = (): AppError => missingRecord(collection, id);
    if (!isAnyRecordId(id)) throw missing();
    const table = recordTableOf(collection);
    const { reader } = this.#options.database;
    const row = reader.get<{ owner: string | null }>(table.owner, id);
    if (row === null) throw missing();
    this.rights.admit(reader, operation, { table, principal, id, owner: row.owner, missing });
  }

  hookWith(hooks: RecordHooks): void {
    this.#hooks = hooks;
  }

  create(collection: string, principal: Principal, body: Body): Promise<SavedRecord> {
    return this.createWith(principal, { collection, body, after: null });
  }

  /** @param after more work of the transaction, with the record. */
  createWith(
    principal: Principal,
    {
      collection,
      body,
      after,
      callerOf,
    }: Pick<NewRecord, "collection" | "body"> & { after: AfterCreate | null } & ByCaller,
  ): Promise<SavedRecord> {
    const hooks = this.#hooksBefore(collection, "create");
    const work: CallersWork<SavedRecord> = (tx, current) => {
      const saved = this.#changes.create(tx, current, { collection, body, hooks });
      if (after !== null && hooks?.isPending !== true) after(tx, saved);
      return saved;
    };
    return this.#save(principal, { hooks, callerOf, change: { collection, id: null, body } }, work);
  }

  /** @param change `record`: the id, or the version that `If-Match` requires; another version is `conflict`. */
  async update(
    collection: string,
    principal: Principal,
    { record, body, callerOf }: { record: string | RecordVersion; body: Body } & ByCaller,
  ): Promise<SavedRecord> {
    const target = this.#target(collection, record);
    const hooks = this.#hooksBefore(collection, "update");
    const work: CallersWork<SavedRecord> = (tx, current) =>
      this.#changes.update(tx, current, { ...target, body, hooks });
    return this.#save(principal, { hooks, callerOf, change: { ...target, body } }, work);
  }

  /**
   * Changes the record that has the body's value of a unique field, or creates a record: see `RecordChanges.upsert`.
   * @param after as for `createWith`.
   */
  upsert(
    principal: Principal,
    {
      after,
      callerOf,
      ...upsert
    }: Pick<Upsert, "collection" | "by" | "body" | "ifMatch"> & {
      after: ((tx: Transactor, saved: UpsertedRecord) => void) | null;
    } & ByCaller,
  ): Promise<UpsertedRecord> {
    const { collection, body } = upsert;
    const hooks = this.#hooksBefore(collection, "create") ?? this.#hooksBefore(collection, "update");
    const work: CallersWork<UpsertedRecord> = (tx, current) => {
      const saved = this.#changes.upsert(tx, current, { ...upsert, hooks });
      if (after !== null && hooks?.isPending !== true) after(tx, saved);
      return saved;
    };
    return this.#save(principal, { hooks, callerOf, change: { collection, id: null, body } }, work);
  }

  /** @param record as for `update`. */
  async delete(collection: string, principal: Principal, record: string | (RecordVersion & ByCaller)): Promise<void> {
    const target = this.#target(collection, record);
    const hooks = this.#hooksBefore(collection, "delete");
    if (hooks === null) {
      const alone: CallersWork<boolean> = (tx, caller) => this.#changes.deleteAlone(tx, caller, { ...target, hooks });
      if (await this.#options.database.transactFor(principal, alone, { ...single, makesRoom: true })) return;
    }
    const callerOf = typeof record === "string" ? undefined : record.callerOf;
    await this.#writeLong(principal, { hooks, callerOf, makesRoom: true }, (tx, current) =>
      this.#changes.delete(tx, current, { ...target, hooks }),
    );
  }

  /** Runs a create or an update: in a short transaction, unless many files must be looked up before. */
  #save<T extends SavedRecord>(
    principal: Principal,
    {
      hooks,
      callerOf,
      change,
    }: { hooks: WriteHooks | null; change: Parameters<RecordChanges["lookAhead"]>[2] } & ByCaller,
    work: CallersWork<T>,
  ): Promise<T> {
    const looksAhead = mayNameManyFiles(change.body);
    if (!looksAhead && hooks === null) return this.#options.database.transactFor(principal, work, single);
    const quick: CallersWork<T> | null = looksAhead ? null : work;
    return this.#writeLong(principal, { hooks, callerOf, makesRoom: false, quick }, async (tx, current) => {
      if (looksAhead) await this.#changes.lookAhead(tx, current, change);
      return work(tx, current);
    });
  }

  #hooksBefore(
    collection: string,
    operation: HookedOperation,
    kind: "single" | "import" = "single",
  ): WriteHooks | null {
    return this.#hooks !== null && this.#isHooked(collection, operation) ? new WriteHooks(this.#hooks, kind) : null;
  }

  /** Whether a change may need hooks. A deletion may delete records of other collections, too. */
  #isHooked(collection: string, operation: HookedOperation): boolean {
    const hooked = this.#hooks?.hooked[operation];
    if (hooked === undefined) return false;
    return operation === "delete" ? hooked.size > 0 : hooked.has(collection);
  }

  #areHooked(operations: readonly Operation[]): boolean {
    return operations.some(({ collection, method }) =>
      method === "upsert"
        ? this.#isHooked(collection, "create") || this.#isHooked(collection, "update")
        : this.#isHooked(collection, method),
    );
  }

  /** Runs a write in a long transaction; a write with hooks, as often as hooks must be asked. @throws as `writeHooked`. */
  #writeLong<T>(principal: Principal, write: LongWrite<T>, work: CallersWork<Promise<T>>): Promise<T> {
    const { database } = this.#options;
    const { hooks, makesRoom, whileReadOnly = false, callerOf } = write;
    if (hooks === null)
      return database.transactLongFor(principal, work, { makesRoom, whileReadOnly, caller: callerOf?.() });
    return writeHooked({ database, turns: this.turns, principal }, { ...write, hooks }, work);
  }

  /**
   * Runs many changes in one transaction: all of the changes or no change.
   * @returns the JSON of an array of `BatchResult`. @throws AppError: see `Batch`; the errors of `beside`.
   */
  async batch(principal: Principal, operations: readonly Operation[], beside: WorkBeside = {}): Promise<JsonText> {
    const isHooked = this.#areHooked(operations);
    const hooks =
      this.#hooks === null || !isHooked
        ? null
        : new WriteHooks(this.#hooks, "batch", (failures) => hookRefusal(operations, failures));
    const makesRoom = operations.every(({ method, as }) => method === "delete" && as === undefined);
    const hasTurns = beside.before === undefined;
    const { callerOf } = beside;
    return this.#writeLong(principal, { hooks, callerOf, makesRoom, hasTurns }, async (tx, current) => {
      await beside.before?.();
      const batch = this.#batchIn(tx, operations, { hooks, isTransaction: !hasTurns });
      const results = await batch.run(tx, current);
      beside.after?.(tx, batch.ids, results);
      return results;
    });
  }

  /**
   * Runs few changes as `batch`, together with other short transactions.
   * @returns false for changes that need a long transaction: with hooks, deletions or many files.
   */
  async batchShort(
    principal: Principal,
    operations: readonly Operation[],
    { before, after }: { before: (tx: Transactor) => void; after: (tx: Transactor) => void },
  ): Promise<boolean> {
    if (this.#areHooked(operations) || !Batch.isShort(operations)) return false;
    const work: CallersWork<void> = (tx, caller) => {
      before(tx);
      this.#batchIn(tx, operations, { hooks: null, isTransaction: true }).runShort(tx, caller);
      after(tx);
    };
    await this.#options.database.transactFor(principal, work, single);
    return true;
  }

  /** Whether earlier transactions of the same commit have changed records: versions do not tell of these changes yet. */
  hasChangedIn(tx: Transactor): boolean {
    return tx.lastNote(recordsChanged) !== null;
  }

  /**
   * Runs many changes as `batch`, without hooks, and takes the changes back.
   * @param at called before each operation and after the last, with the number of the operations so far.
   * @throws AppError: see `Batch`; the errors of `before` and `at`.
   */
  async rehearse(
    principal: Principal,
    operations: readonly Operation[],
    { before, at }: { before: () => Promise<void>; at: (tx: Transactor, done: number) => void },
  ): Promise<void> {
    const attempt: CallersWork<Promise<void>> = async (tx, caller) => {
      await before();
      const batch = this.#batchIn(tx, operations, { hooks: null, isTransaction: true });
      await batch.run(tx, caller, (done) => at(tx, done));
      throw takenBack;
    };
    await this.#options.database
      .transactLongFor(principal, attempt, { whileReadOnly: true })
      .catch((thrown: unknown) => {
        if (thrown !== takenBack) throw thrown;
      });
  }

  /** The batch, with the present roles of the users under whose rules the operations are. @throws AppError `unauthorized`. */
  #batchIn(
    tx: Transactor,
    operations: readonly Operation[],
    kind: Pick<BatchOptions, "hooks" | "isTransaction">,
  ): Batch {
    const { database } = this.#options;
    const recheck = (each: Operation): Operation =>
      each.as === undefined ? each : { ...each, as: database.callers.recheck(each.as, tx) };
    return new Batch({ operations: operations.map(recheck), changes: this.#changes, ...kind });
  }

  /** Creates a record, without hooks, in a transaction that must be rolled back after an error. */
  createIn(
    tx: Transactor,
    principal: Principal,
    record: Pick<NewRecord, "collection" | "body" | "id" | "takes">,
  ): SavedRecord {
    return this.#changes.create(tx, principal, { ...record, hooks: null });
  }

  /** The newest record of a collection, in a reader's view; null for an empty collection. */
  newest(reader: Reader, collection: string): { createdAt: string } | null {
    return reader.get<{ createdAt: string }>(recordTableOf(this.collection(collection)).newest);
  }

  /**
   * Writes the records of an import in one transaction, or takes the transaction of a rehearsal back. Refused records are left out and
   * reported by the positions.
   * @throws AppError `forbidden` unless the caller is an admin.
   */
  async importAll(principal: Principal, rows: ImportedRows): Promise<ImportOutcome> {
    const { collection, match, isTaken } = rows;
    const operation = this.#isHooked(collection, "create") || match === null ? "create" : "update";
    const hooks = this.#hooksBefore(collection, operation, "import");
    let outcome: ImportOutcome | null = null;
    const isRehearsal = isTaken !== null;
    const options = { hooks, makesRoom: false, whileReadOnly: isRehearsal };
    const written = this.#writeLong(principal, options, async (tx, caller) => {
      if (!isAdmin(caller)) throw new AppError("forbidden", "Only admins may import records.");
      const table = recordTableOf(this.collection(collection));
      outcome = await importIn(tx, caller, { ...rows, changes: this.#changes, table, hooks });
      if (isRehearsal && hooks?.isPending !== true) throw takenBack;
      return outcome;
    });
    return written.catch((thrown: unknown) => {
      if (thrown !== takenBack || outcome === null) throw thrown;
      return outcome;
    });
  }

  /** Checks the id: a malformed id is refused without a wait for the writer. */
  #target(name: string, record: string | RecordVersion): Omit<RecordTarget, "hooks"> {
    const { id, ifMatch } = typeof record === "string" ? { id: record, ifMatch: null } : record;
    const collection = this.collection(name);
    if (!isAnyRecordId(id)) throw missingRecord(collection, id);
    return { collection: name, id, ifMatch };
  }
}
