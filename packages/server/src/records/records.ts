import type { FieldDefinition, Operation, RecordPage, StoredRecord } from "@socle/protocol";
import type { Collection, Collections } from "../collections/index.ts";
import { type Database, hasMetDamage, type Transactor, type Value } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import { decode } from "../fields/index.ts";
import {
  AppError,
  type Clock,
  JsonText,
  messageOf,
  newId,
  type Principal,
  quote,
  toTimestamp,
} from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { RecordCounts } from "./counts.ts";
import { fileUses } from "./file-uses.ts";
import { listRecords, type RecordPages } from "./list.ts";
import { type Model, modelOf, type OwnedRow } from "./model.ts";
import { ownerOfChanged, ownerOfNew } from "./ownership.ts";
import { authorize, authorizeOwner, mayRead, onlyOwn } from "./permissions.ts";
import { type OneRequest, type PageRequest, type PreparedList, Queries } from "./queries.ts";
import { readQueryText, selectionParameters } from "./query-text.ts";
import type { Access, UserTable } from "./reach.ts";
import { type Lookups, References } from "./references.ts";
import { answerOf, changesOf, type SavedRecord } from "./saved-record.ts";
import type { Row } from "./source.ts";
import { type ValidatedBody, validateBody } from "./validate.ts";
import { Versions } from "./versions.ts";

/** A request's body, or why it is none: the body's turn comes after the caller's rights and the record's existence. */
export type RecordBody = Record<string, unknown> | AppError;

/** What can be said of a list before it is read. */
export interface ListState {
  /** Changes when the list may have; null where nothing tells that. */
  readonly version: string | null;
  /** Whether everybody who may read it gets the same. */
  readonly isShared: boolean;
}

/** Ids are made by the service; what has another form is not worth a look. */
const idPattern = /^rec_[0-9a-f-]{36}$/;

/**
 * Records of every collection: create, read, update, delete and list, each with the caller's permissions, the
 * definition's rules and the event of the change. Every method throws AppError: `not_found`, `unauthorized`,
 * `forbidden`, `bad_request`, `validation_error`, `unavailable`, in this order of checks.
 */
export class Records {
  readonly #database: Database;
  readonly #collections: Collections;
  readonly #events: EventLog;
  readonly #clock: Clock;
  readonly #references: References;
  readonly #counts: RecordCounts;
  readonly #queries: Queries;
  readonly #versions = new Versions();
  readonly #logger: Logger;

  constructor(options: {
    database: Database;
    collections: Collections;
    events: EventLog;
    clock: Clock;
    lookups: Lookups;
    users: UserTable;
    /** The secret that signs cursors; asked for when it is needed. */
    cursorKey: () => string;
    logger: Logger;
    /** Queries that take longer, in milliseconds, are logged with advice. */
    slowQueryMs: number;
  }) {
    this.#database = options.database;
    this.#collections = options.collections;
    this.#events = options.events;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#counts = new RecordCounts(options);
    this.#queries = new Queries(options);
    this.#references = new References({ collections: options.collections, lookups: options.lookups });
  }

  /** Makes sure that no time is given that is older than one that is stored. */
  async start(): Promise<void> {
    for (const collection of this.#collections.all()) {
      const newest = await this.#newest(collection);
      if (newest !== null) this.#clock.atLeast(Date.parse(newest.createdAt));
    }
  }

  /** A collection that is damaged costs its own requests, and not the start. */
  async #newest(collection: Collection): Promise<{ createdAt: string } | null> {
    try {
      return await this.#database.reader.get<{ createdAt: string }>(modelOf(collection).newest);
    } catch (thrown) {
      if (!hasMetDamage(thrown)) throw thrown;
      this.#logger.error(`The collection ${collection.name} cannot be read: ${messageOf(thrown)}`);
      return null;
    }
  }

  /** The collection of a path. */
  collection(name: string): Collection {
    const collection = this.#collections.get(name);
    if (collection === undefined) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
    return collection;
  }

  /** What can be said before the record and the body are looked at. */
  authorize(collection: Collection, operation: Operation, principal: Principal): void {
    authorize(collection, operation, principal);
  }

  async list(collection: Collection, principal: Principal): Promise<RecordPages> {
    authorize(collection, "read", principal);
    const owner = onlyOwn(collection, "read", principal) ? (principal?.userId ?? "") : null;
    const mayGoOn = async (): Promise<void> => {
      const current = this.collection(collection.name);
      const caller = await this.#database.recheck(principal);
      authorize(current, "read", caller);
      // Under another rule, or with another role, the caller is owed another list.
      const isOther = onlyOwn(current, "read", caller) !== (owner !== null);
      if (isOther || current.createdAt !== collection.createdAt) throw listChanged();
    };
    return listRecords(this.#database, modelOf(collection), { owner, mayGoOn });
  }

  /**
   * What somebody asks for of a list, with the parameters as they were sent.
   * @throws AppError `bad_request` for parameters that are wrong.
   */
  prepareList(collection: Collection, principal: Principal, search: string): PreparedList {
    return this.#queries.prepare(collection, principal, search);
  }

  /** A page of a list that is filtered, sorted, or shows more or less of its records. */
  page(
    list: PreparedList,
    request: Pick<PageRequest, "name" | "principal" | "caller" | "signal">,
  ): Promise<RecordPage<Row>> {
    return this.#queries.page(list, {
      ...request,
      collectionOf: (name) => this.#readable(name, request.principal),
      countAll: (collection) => this.count(collection),
    });
  }

  /** The records that hold the id of a file, for admins: no rule is asked. It throws what `fileUses` throws. */
  fileUses(fileId: string, page: Parameters<typeof fileUses>[2]): ReturnType<typeof fileUses> {
    return fileUses({ database: this.#database, collections: this.#collections }, fileId, page);
  }

  listState(collection: Collection, principal: Principal, { query }: PreparedList): ListState {
    const userId = principal?.userId ?? null;
    if (query === null) {
      const access: Access = onlyOwn(collection, "read", principal) ? "own" : "all";
      const version = this.#versions.of(new Map([[collection, access]]), userId);
      return { version, isShared: collection.rules.read === "public" };
    }
    const version = query.isFleeting ? null : this.#versions.of(query.reached, userId);
    return { version, isShared: query.isOpen };
  }

  /**
   * A record with what was asked for of it, and beside it.
   * @param search the parameters as they were sent; those that are not for one record are ignored.
   */
  async getSelected(collection: Collection, search: string, request: OneRequest): Promise<Row> {
    const { principal, id } = request;
    authorize(collection, "read", principal);
    const row = await this.#database.reader.get<{ owner: string | null }>(modelOf(collection).owner, id);
    if (row === null) throw missing(collection, id);
    authorizeOwner(collection, "read", principal, row.owner);
    const text = readQueryText(new URLSearchParams(search), selectionParameters);
    if (text === null) return this.get(collection, principal, id);
    const readable = (): Collection => this.#readable(collection.name, principal);
    const selected = await this.#queries.one(text, request, readable);
    if (selected === null) throw missing(collection, id);
    return selected;
  }

  #readable(name: string, principal: Principal): Collection {
    const collection = this.collection(name);
    authorize(collection, "read", principal);
    return collection;
  }

  /** How many records a collection has. */
  count(collection: Collection): Promise<number> {
    return this.#counts.of(collection);
  }

  async get(collection: Collection, principal: Principal, id: string): Promise<StoredRecord> {
    authorize(collection, "read", principal);
    const model = modelOf(collection);
    if (onlyOwn(collection, "read", principal)) {
      const row = await this.#database.reader.get<StoredRecord>(model.byIdWithOwner, id);
      if (row === null) throw missing(collection, id);
      const { record, owner } = model.toOwned(row);
      authorizeOwner(collection, "read", principal, owner);
      return record;
    }
    const row = await this.#database.reader.get<StoredRecord>(model.byId, id);
    if (row === null) throw missing(collection, id);
    return model.toRecord(row);
  }

  /** Whether somebody may read a record that is there. */
  async isReadable(collection: Collection, principal: Principal, id: string): Promise<boolean> {
    const row = await this.#database.reader.get<{ owner: string | null }>(modelOf(collection).owner, id);
    return row !== null && mayRead(collection, principal, row.owner);
  }

  async create(name: string, principal: Principal, body: RecordBody): Promise<SavedRecord> {
    authorize(this.collection(name), "create", principal);
    if (body instanceof AppError) throw body;
    return this.#database.transactFor(principal, (tx, caller) => this.#create(tx, name, caller, body));
  }

  async update(name: string, principal: Principal, id: string, body: RecordBody): Promise<SavedRecord> {
    this.#admit(name, "update", { principal, id });
    return this.#database.transactFor(principal, async (tx, caller) => {
      const { model, row } = await this.#find(tx, name, caller, "update", id);
      if (body instanceof AppError) throw body;
      return this.#update(tx, model, caller, row, body);
    });
  }

  async delete(name: string, principal: Principal, id: string): Promise<void> {
    this.#admit(name, "delete", { principal, id });
    await this.#database.transactFor(principal, async (tx, caller) => {
      const { model, row } = await this.#find(tx, name, caller, "delete", id);
      await tx.run(model.delete, id);
      tx.whenVisible(() => this.#changed(model.collection, -1, row.owner));
      await this.#events.append(tx, {
        type: `${name}.deleted`,
        source: "collections",
        payload: { id },
        principal,
        owner: row.owner,
        previous: row.record,
      });
    });
  }

  async #create(
    tx: Transactor,
    name: string,
    principal: Principal,
    body: Record<string, unknown>,
  ): Promise<SavedRecord> {
    // The definition may have changed while the request waited for its turn.
    const model = modelOf(this.collection(name));
    authorize(model.collection, "create", principal);
    const { values, problems } = validateBody(model, body, "create");
    const owner = ownerOfNew(model, principal, values, problems);
    const now = this.#clock.now();
    const id = newId("rec", now);
    const timestamp = toTimestamp(now);
    if (problems.length > 0 || model.references.length > 0) await this.#refuse(tx, model, { values, problems }, id);
    const stored: Value[] = [];
    const record: StoredRecord = { id, createdAt: timestamp, updatedAt: timestamp };
    for (const [position, field] of model.fields.entries()) {
      const value = values[position] ?? null;
      if (field.owner !== true) stored.push(value);
      record[field.name] = decode(field, value);
    }
    await this.#references.write(
      () => tx.run(model.insert, id, timestamp, timestamp, owner, ...stored),
      () => this.#references.duplicates(tx, model, { id, values, createdAt: timestamp, updatedAt: timestamp }),
    );
    tx.whenVisible(() => this.#changed(model.collection, 1, owner));
    const type = `${name}.created`;
    const json = JsonText.of(record);
    await this.#events.append(tx, { type, source: "collections", payload: json, principal, owner }, now);
    return { record, json: answerOf(model.collection, principal, { record, json, owner, body }) };
  }

  async #update(
    tx: Transactor,
    model: Model,
    principal: Principal,
    row: OwnedRow,
    body: Record<string, unknown>,
  ): Promise<SavedRecord> {
    const { values, problems } = validateBody(model, body, "update");
    const owner = ownerOfChanged(model, principal, values, problems, row.owner);
    const id = row.record.id;
    await this.#refuse(tx, model, { values: changedReferences(model, values, row.record), problems }, id);
    const changed: FieldDefinition[] = [];
    const stored: Value[] = [];
    for (const [position, field] of model.fields.entries()) {
      const value = values[position];
      if (value === undefined) continue;
      changed.push(field);
      stored.push(value);
    }
    if (changed.length === 0) {
      const { record } = row;
      const json = JsonText.of(record);
      return { record, json: answerOf(model.collection, principal, { record, json, owner: row.owner, body }) };
    }
    const now = this.#clock.now();
    // Strictly later than before, also within one millisecond.
    const updatedAt = toTimestamp(Math.max(now, Date.parse(row.record.updatedAt) + 1));
    const updated = await this.#references.write(
      () => tx.get<StoredRecord>(model.update(changed), ...stored, updatedAt, id),
      () => this.#references.duplicates(tx, model, { id, values, updatedAt }),
    );
    if (updated === null) throw missing(model.collection, id);
    const record = model.toRecord(updated);
    tx.whenVisible(() => this.#versions.changed(model.collection.name, owner, row.owner));
    const type = `${model.collection.name}.updated`;
    const json = JsonText.of(record);
    const previous = row.record;
    const changes = (): object => changesOf(record, previous);
    const event = { type, source: "collections", payload: json, changes, principal, owner, previous } as const;
    await this.#events.append(tx, event, now);
    return { record, json: answerOf(model.collection, principal, { record, json, owner, body }) };
  }

  /** In the moment of the commit: there is one record more or less. */
  #changed(collection: Collection, by: 1 | -1, owner: string | null): void {
    this.#versions.changed(collection.name, owner);
    this.#counts.changed(collection, by);
  }

  /** Before a change waits for its turn: an id that no record can have is answered at once. */
  #admit(name: string, operation: Operation, { principal, id }: { principal: Principal; id: string }): void {
    const collection = this.collection(name);
    authorize(collection, operation, principal);
    if (!idPattern.test(id)) throw missing(collection, id);
  }

  /** The record that an update or delete is about, once the caller may do that. */
  async #find(
    tx: Transactor,
    name: string,
    principal: Principal,
    operation: Operation,
    id: string,
  ): Promise<{ model: Model; row: OwnedRow }> {
    const collection = this.collection(name);
    authorize(collection, operation, principal);
    const model = modelOf(collection);
    const found = await tx.get<StoredRecord>(model.byIdWithOwner, id);
    if (found === null) throw missing(collection, id);
    const row = model.toOwned(found);
    authorizeOwner(collection, operation, principal, row.owner);
    return { model, row };
  }

  /** Throws everything that is wrong with a body, at once. */
  async #refuse(tx: Transactor, model: Model, body: ValidatedBody, id: string): Promise<void> {
    const { values, problems } = body;
    await this.#references.check(tx, model, values, problems);
    if (problems.length === 0) return;
    problems.push(...(await this.#references.duplicates(tx, model, { id, values, problems })));
    throw AppError.validation(problems);
  }
}

/**
 * The values without the references that stay as they are: what they point to may be gone, and what GET returned can be
 * PUT all the same.
 */
function changedReferences(
  model: Model,
  values: readonly (Value | undefined)[],
  record: StoredRecord,
): (Value | undefined)[] {
  return values.map((value, position) => {
    const field = model.fields[position];
    const isSame = field !== undefined && value === record[field.name];
    return isSame && model.references.includes(position) ? undefined : value;
  });
}

function listChanged(): AppError {
  return new AppError("unavailable", "What you may read of the collection has changed while the list was read.");
}

function missing(collection: Collection, id: string): AppError {
  return new AppError("not_found", `There is no record ${quote(id)} in "${collection.name}".`);
}
