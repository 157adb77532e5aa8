/** Records of every collection: create, read, update and delete one, each with its permission, its rules and its event. */
import type { FieldDefinition, Operation, StoredRecord } from "@socle/protocol";
import type { Collection, Collections } from "../collections/index.ts";
import { type Database, hasMetDamage, type Transactor, type Value } from "../database/index.ts";
import type { EventBasis, EventLog } from "../events/index.ts";
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
import { basisOf } from "./event-basis.ts";
import { ownerOfChanged, ownerOfNew } from "./ownership.ts";
import { type OwnedRow, type RecordTable, recordTableOf } from "./record-table.ts";
import { type Lookups, References } from "./references.ts";
import { Rights } from "./rights.ts";
import { answerWithout, changesOf, type SavedRecord } from "./saved-record.ts";
import { type ValidatedBody, validateBody } from "./validate.ts";
import { Versions } from "./versions.ts";

type Body = Record<string, unknown>;

/** Ids are made by the service; a text of another form is none. */
const idPattern = /^rec_[0-9a-f-]{36}$/;

/** A record that is to be changed, with its table. */
interface Found {
  readonly table: RecordTable;
  readonly row: OwnedRow;
}

/**
 * Every method throws AppError: `not_found`, `unauthorized`, `forbidden`, `bad_request`, `validation_error`, `unavailable`, in
 * this order of checks. A change looks at the caller's right inside its transaction, by the definition of that moment.
 */
export class Records {
  readonly #database: Database;
  readonly #collections: Collections;
  readonly #events: EventLog;
  readonly #clock: Clock;
  readonly #references: References;
  readonly #counts: RecordCounts;
  readonly #logger: Logger;
  /** When the records of each collection changed last. */
  readonly versions = new Versions();
  readonly rights: Rights;

  constructor(options: {
    database: Database;
    collections: Collections;
    events: EventLog;
    clock: Clock;
    lookups: Lookups;
    logger: Logger;
  }) {
    this.#database = options.database;
    this.#collections = options.collections;
    this.#events = options.events;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.rights = new Rights(options.collections.users.table);
    this.#counts = new RecordCounts(options);
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
      return await this.#database.reader.get<{ createdAt: string }>(recordTableOf(collection).newest);
    } catch (thrown) {
      if (!hasMetDamage(thrown)) throw thrown;
      this.#logger.error(`The collection ${collection.name} cannot be read: ${messageOf(thrown)}`);
      return null;
    }
  }

  /** The collection of a path. @throws AppError `not_found`. */
  collection(name: string): Collection {
    const collection = this.#collections.get(name);
    if (collection === undefined) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
    return collection;
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
    if (access === "all") {
      const row = await reader.get<StoredRecord>(table.byId, id);
      if (row === null) throw missingRecord(collection, id);
      return table.toRecord(row);
    }
    const row = await reader.get<StoredRecord>(table.byIdWithOwner, id);
    if (row === null) throw missingRecord(collection, id);
    const { record, owner } = table.toOwned(row);
    const missing = missingRecord(collection, id);
    await this.rights.admit(reader, "read", { table, principal, id, owner, missing });
    return record;
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
    return this.rights.allowsState(this.#database.reader, recordTableOf(collection), {
      principal,
      record: fields,
      owner,
    });
  }

  /** Looks whether a record is there and the caller is allowed the operation on it, without doing it. */
  async admit(
    name: string,
    operation: Exclude<Operation, "create">,
    target: { principal: Principal; id: string },
  ): Promise<void> {
    const { principal, id } = target;
    const collection = this.collection(name);
    collection.policies[operation].admit(principal);
    const missing = missingRecord(collection, id);
    if (!idPattern.test(id)) throw missing;
    const table = recordTableOf(collection);
    const { reader } = this.#database;
    const row = await reader.get<{ owner: string | null }>(table.owner, id);
    if (row === null) throw missing;
    await this.rights.admit(reader, operation, { table, principal, id, owner: row.owner, missing });
  }

  async create(name: string, principal: Principal, body: Body): Promise<SavedRecord> {
    return this.#database.transactFor(principal, (tx, caller) => this.#create(tx, name, caller, body));
  }

  async update(name: string, principal: Principal, id: string, body: Body): Promise<SavedRecord> {
    this.#precheck(name, id);
    return this.#database.transactFor(principal, async (tx, caller) => {
      const found = await this.#find(tx, name, caller, { operation: "update", id });
      return this.#update(tx, found, caller, body);
    });
  }

  async delete(name: string, principal: Principal, id: string): Promise<void> {
    this.#precheck(name, id);
    const remove = async (tx: Transactor, caller: Principal): Promise<void> => {
      const { table, row } = await this.#find(tx, name, caller, { operation: "delete", id });
      await tx.run(table.delete, id);
      tx.whenVisible(() => this.#changed(table.collection, -1, row.owner));
      await this.#events.append(tx, {
        type: `${name}.deleted`,
        source: "collections",
        payload: { id },
        principal: caller,
        owner: row.owner,
        previous: row.record,
        basis: basisOf(table, row, null),
      });
    };
    await this.#database.transactFor(principal, remove, { makesRoom: true });
  }

  async #create(tx: Transactor, name: string, principal: Principal, body: Body): Promise<SavedRecord> {
    const table = recordTableOf(this.collection(name));
    const { collection } = table;
    collection.policies.create.admit(principal);
    const { values, problems } = validateBody(table, body, "create");
    const owner = ownerOfNew(table, principal, values, problems);
    const now = this.#clock.now();
    const id = newId("rec", now);
    const timestamp = toTimestamp(now);
    if (problems.length > 0 || table.references.length > 0) await this.#refuse(tx, table, { values, problems }, id);
    const stored: Value[] = [];
    const record: StoredRecord = { id, createdAt: timestamp, updatedAt: timestamp };
    for (const [position, field] of table.fields.entries()) {
      const value = values[position] ?? null;
      if (field.owner !== true) stored.push(value);
      record[field.name] = decode(field, value);
    }
    await this.#references.write(
      () => tx.run(table.insert, id, timestamp, timestamp, owner, ...stored),
      () => this.#references.duplicates(tx, table, { id, values, createdAt: timestamp, updatedAt: timestamp }),
    );
    const right = { table, principal, id, owner };
    if (!(await this.rights.allows(tx, "create", right))) throw collection.policies.create.refusal(principal);
    tx.whenVisible(() => this.#changed(collection, 1, owner));
    const type = `${name}.created`;
    const json = JsonText.of(record);
    await this.#events.append(tx, { type, source: "collections", payload: json, principal, owner }, now);
    const isReadable = await this.rights.allows(tx, "read", right);
    return { record, json: isReadable ? json : answerWithout(record, body) };
  }

  async #update(tx: Transactor, { table, row }: Found, principal: Principal, body: Body): Promise<SavedRecord> {
    const { collection } = table;
    const { values, problems } = validateBody(table, body, "update");
    const owner = ownerOfChanged(table, principal, values, problems, row.owner);
    const id = row.record.id;
    await this.#refuse(tx, table, { values: changedReferences(table, values, row.record), problems }, id);
    const changed: FieldDefinition[] = [];
    const stored: Value[] = [];
    for (const [position, field] of table.fields.entries()) {
      const value = values[position];
      if (value === undefined) continue;
      changed.push(field);
      stored.push(value);
    }
    if (changed.length === 0) {
      const { record } = row;
      const isReadable = await this.rights.allows(tx, "read", { table, principal, id, owner: row.owner });
      return { record, json: isReadable ? JsonText.of(record) : answerWithout(record, body) };
    }
    const now = this.#clock.now();
    // Strictly later than before, also within one millisecond.
    const updatedAt = toTimestamp(Math.max(now, Date.parse(row.record.updatedAt) + 1));
    const updated = await this.#references.write(
      () => tx.get<StoredRecord>(table.update(changed), ...stored, updatedAt, id),
      () => this.#references.duplicates(tx, table, { id, values, updatedAt }),
    );
    if (updated === null) throw missingRecord(collection, id);
    const record = table.toRecord(updated);
    const right = { table, principal, id, owner };
    // The record as it stands now must be one that the caller may change, too.
    const isAllowed =
      collection.policies.update.audience !== "condition" || (await this.rights.allows(tx, "update", right));
    if (!isAllowed) throw collection.policies.update.refusal(principal);
    tx.whenVisible(() => this.versions.changed(collection.name, owner, row.owner));
    const type = `${collection.name}.updated`;
    const json = JsonText.of(record);
    const previous = row.record;
    const changes = (): object => changesOf(record, previous);
    const basis = basisOf(table, row, { record, owner });
    const event = { type, source: "collections", payload: json, changes, principal, owner, previous, basis } as const;
    await this.#events.append(tx, event, now);
    const isReadable = await this.rights.allows(tx, "read", right);
    return { record, json: isReadable ? json : answerWithout(record, body) };
  }

  /** In the moment of the commit: there is one record more or less. */
  #changed(collection: Collection, by: 1 | -1, owner: string | null): void {
    this.versions.changed(collection.name, owner);
    this.#counts.changed(collection, by);
  }

  /** An id that no record can have is answered without waiting for the writer. */
  #precheck(name: string, id: string): void {
    const collection = this.collection(name);
    if (!idPattern.test(id)) throw missingRecord(collection, id);
  }

  /** The record that an update or delete is about, once the caller may do that. */
  async #find(
    tx: Transactor,
    name: string,
    principal: Principal,
    { operation, id }: { operation: "update" | "delete"; id: string },
  ): Promise<Found> {
    const collection = this.collection(name);
    collection.policies[operation].admit(principal);
    const table = recordTableOf(collection);
    const found = await tx.get<StoredRecord>(table.byIdWithOwner, id);
    const missing = missingRecord(collection, id);
    if (found === null) throw missing;
    const row = table.toOwned(found);
    await this.rights.admit(tx, operation, { table, principal, id, owner: row.owner, missing });
    return { table, row };
  }

  /** Throws every problem of a body at once. */
  async #refuse(tx: Transactor, table: RecordTable, body: ValidatedBody, id: string): Promise<void> {
    const { values, problems } = body;
    await this.#references.check(tx, table, values, problems);
    if (problems.length === 0) return;
    problems.push(...(await this.#references.duplicates(tx, table, { id, values, problems })));
    throw AppError.validation(problems);
  }
}

/**
 * The values without the references that stay as they are: the record that one points to may be gone, and what GET returned
 * can be PUT all the same.
 */
function changedReferences(
  table: RecordTable,
  values: readonly (Value | undefined)[],
  record: StoredRecord,
): (Value | undefined)[] {
  return values.map((value, position) => {
    const field = table.fields[position];
    const isSame = field !== undefined && value === record[field.name];
    return isSame && table.references.includes(position) ? undefined : value;
  });
}

export function missingRecord(collection: Collection, id: string): AppError {
  return new AppError("not_found", `There is no record ${quote(id)} in "${collection.name}".`);
}
