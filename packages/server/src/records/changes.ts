/** Changes of records inside a transaction: create, update and delete one, each with its permission, its rules and its event. */
import type { FieldDefinition, StoredRecord } from "@socle/protocol";
import type { Collections } from "../collections/index.ts";
import type { Transactor, Value } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import {
  type AppError,
  type Awaitable,
  type Clock,
  JsonText,
  newId,
  type Principal,
  toTimestamp,
} from "../kernel/index.ts";
import type { RecordCounts } from "./counts.ts";
import { Deletions } from "./deletions.ts";
import type { FieldRights } from "./field-rights.ts";
import { collectionNamed, missingRecord } from "./missing.ts";
import { type Body, type GivenFields, type Observe, Preparation } from "./preparation.ts";
import { RecordEffects } from "./record-effects.ts";
import { type OwnedRow, type RecordTable, recordTableOf } from "./record-table.ts";
import { checkVersion, recordTag } from "./record-tag.ts";
import { type Lookups, References } from "./references.ts";
import type { Rights, RightsTarget } from "./rights.ts";
import { answerWithout, type SavedRecord } from "./saved-record.ts";
import { keepNumbers, withoutNumbers } from "./sequences.ts";
import type { Versions } from "./versions.ts";
import type { WriteHooks } from "./write-hooks.ts";

/** A part of a write: `hooks` are those of the write, null where there are none at all, or where it goes around them. */
interface Hooked {
  readonly hooks: WriteHooks | null;
}

interface Observed {
  readonly observe?: Observe;
}

/** A record to create. */
export interface NewRecord extends Hooked, Observed {
  /** The name of its collection. */
  readonly collection: string;
  readonly body: Body;
  /** Of a record that is imported. */
  readonly given?: GivenFields;
}

/** A record, and the version that it must have, as `If-Match` names it; null for any. */
export interface RecordVersion {
  readonly id: string;
  readonly ifMatch: string | null;
}

/** A record to change or delete. */
export interface RecordTarget extends RecordVersion, Hooked {
  /** The name of its collection. */
  readonly collection: string;
}

export interface ChangedRecord extends RecordTarget, Observed {
  readonly body: Body;
}

/** A record that is to be changed, with its table. */
interface Found {
  readonly table: RecordTable;
  readonly row: OwnedRow;
  /** About its bytes. */
  readonly weight: number;
}

/**
 * Every method runs in the transaction that it is given, looks at the caller's right in it, and throws as `Records` does. The
 * transaction must be taken back when one throws, and when the hooks of a write are pending afterwards.
 */
export class RecordChanges {
  readonly #collections: Collections;
  readonly #clock: Clock;
  readonly #references: References;
  readonly #effects: RecordEffects;
  readonly #deletions: Deletions;
  readonly #rights: Rights;
  readonly #fieldRights: FieldRights;
  readonly #preparation: Preparation;

  constructor(options: {
    collections: Collections;
    events: EventLog;
    clock: Clock;
    lookups: Lookups;
    counts: RecordCounts;
    versions: Versions;
    rights: Rights;
    fieldRights: FieldRights;
    /** Records that a deletion may change beside its own (`limits.cascade`). */
    maxCascade: number;
  }) {
    this.#collections = options.collections;
    this.#clock = options.clock;
    this.#effects = new RecordEffects(options);
    this.#deletions = new Deletions({ ...options, effects: this.#effects, limit: options.maxCascade });
    this.#rights = options.rights;
    this.#fieldRights = options.fieldRights;
    this.#references = new References({ collections: options.collections, lookups: options.lookups });
    this.#preparation = new Preparation({ ...options, references: this.#references });
  }

  /** A create that throws `validation_error` has written nothing: the transaction may go on. */
  async create(
    tx: Transactor,
    principal: Principal,
    { collection: name, body, given, hooks, observe }: NewRecord,
  ): Promise<SavedRecord> {
    const table = recordTableOf(collectionNamed(this.#collections, name));
    const { collection } = table;
    collection.policies.create.admit(principal);
    const now = this.#clock.now();
    const id = given?.id ?? (hooks === null ? newId("rec", now) : hooks.newId(now));
    const createdAt = given?.createdAt ?? toTimestamp(now);
    const updatedAt = given?.updatedAt ?? createdAt;
    const times = { createdAt, updatedAt };
    const isHooked = hooks?.has(name, "create") === true;
    const first = { table, principal, body, given, observe, id, times };
    const preparing = this.#preparation.create(tx, {
      ...first,
      defaultsAt: isHooked ? hooks.now(createdAt) : createdAt,
    });
    let made = preparing instanceof Promise ? await preparing : preparing;
    if (isHooked) {
      const { createdAt: _, updatedAt: __, ...record } = withoutNumbers(table, made.record);
      const returned = otherValues(
        hooks.valuesFor({ table, operation: "create", principal, record, previous: null }),
        record,
      );
      if (Object.keys(returned).length > 0 || table.defaults.length > 0)
        made = await this.#preparation.create(tx, { ...first, body: { ...body, ...returned }, defaultsAt: createdAt });
    }
    const { values, record, owner, stored } = made;
    const writing = this.#references.write(
      () => tx.run(table.insert, id, createdAt, updatedAt, owner, ...stored),
      () => this.#references.duplicates(tx, table, { id, values, createdAt, updatedAt }),
    );
    if (writing instanceof Promise) await writing;
    // Also while hooks are pending: the next record of the same write gets the next number.
    if (table.sequences.length > 0) await keepNumbers(tx, table, { values, record });
    if (hooks?.isPending === true) return pendingAnswer(record);
    const json = JsonText.of(record);
    const following = this.#effects.created(tx, { table, row: { record, owner }, principal, now, json });
    if (following instanceof Promise) await following;
    return this.#answer(tx, { table, principal, id, record, owner }, { json, body, weight: json.text.length });
  }

  async update(tx: Transactor, principal: Principal, change: ChangedRecord): Promise<SavedRecord> {
    const { body, observe, hooks, id } = change;
    const finding = this.#find(tx, principal, { operation: "update", target: change });
    const { table, row, weight } = finding instanceof Promise ? await finding : finding;
    const { collection } = table;
    const now = this.#clock.now();
    // Strictly later than before, also within one millisecond.
    const updatedAt = toTimestamp(Math.max(now, Date.parse(row.record.updatedAt) + 1));
    const given = { table, principal, body, observe, row, updatedAt };
    const preparing = this.#preparation.change(tx, given);
    let made = preparing instanceof Promise ? await preparing : preparing;
    if (hooks?.has(collection.name, "update") === true && made.values.some((value) => value !== undefined)) {
      const record = withoutNumbers(table, table.changed(row.record, made.values));
      const about = { table, operation: "update", principal, record, previous: row.record } as const;
      const returned = otherValues(hooks.valuesFor(about), record);
      if (Object.keys(returned).length > 0)
        made = await this.#preparation.change(tx, { ...given, body: { ...body, ...returned } });
    }
    const { values, owner } = made;
    const changed: FieldDefinition[] = [];
    const stored: Value[] = [];
    for (const [position, field] of table.fields.entries()) {
      const value = values[position];
      if (value === undefined) continue;
      changed.push(field);
      stored.push(value);
    }
    if (changed.length === 0)
      return this.#answer(tx, { table, principal, id, ...row }, { json: JsonText.of(row.record), body, weight });
    const writing = this.#references.write(
      () => tx.run(table.update(changed), ...stored, updatedAt, id),
      () => this.#references.duplicates(tx, table, { id, values, updatedAt }),
    );
    if (writing instanceof Promise) await writing;
    const record = table.changed(row.record, values);
    record.updatedAt = updatedAt;
    if (table.sequences.length > 0) await keepNumbers(tx, table, { values, record });
    if (hooks?.isPending === true) return pendingAnswer(record);
    const json = JsonText.of(record);
    const following = this.#effects.updated(tx, { table, row: { record, owner }, principal, now, json }, row);
    if (following instanceof Promise) await following;
    const answer = { json, body, weight: json.text.length + weight };
    return this.#answer(tx, { table, principal, id, record, owner }, answer);
  }

  /** Answers about the bytes of the records that are gone or were cleared, which wait in memory for the flush. */
  async delete(tx: Transactor, principal: Principal, target: RecordTarget): Promise<number> {
    const found = await this.#find(tx, principal, { operation: "delete", target });
    return found.weight + (await this.#deletions.delete(tx, principal, { ...found, hooks: target.hooks }));
  }

  /** Changes the records that point to a user who goes, as their relations ask for. @throws AppError `bad_request` where one refuses it. */
  async followUser(tx: Transactor, principal: Principal, id: string): Promise<void> {
    await this.#deletions.followUser(tx, principal, id);
  }

  /** The record that an update or delete is about, once the caller may do that. */
  #find(
    tx: Transactor,
    principal: Principal,
    { operation, target }: { operation: "update" | "delete"; target: RecordTarget },
  ): Awaitable<Found> {
    const collection = collectionNamed(this.#collections, target.collection);
    collection.policies[operation].admit(principal);
    const table = recordTableOf(collection);
    const { id, ifMatch } = target;
    const missing = (): AppError => missingRecord(collection, id);
    const check = (found: StoredRecord | null): Awaitable<Found> => {
      if (found === null) throw missing();
      const weight = table.weightOf(found);
      const row = table.toOwned(found);
      const checked = (): Found => {
        checkVersion(row.record, ifMatch);
        return { table, row, weight };
      };
      const admitting = this.#rights.admit(tx, operation, { table, principal, id, owner: row.owner, missing });
      return admitting instanceof Promise ? admitting.then(checked) : checked();
    };
    const found = tx.get<StoredRecord>(table.byIdWithOwner, id);
    return found instanceof Promise ? found.then(check) : check(found);
  }

  /** The answer to a create or update: the whole record, or the part of it that the caller gets. @param whole its JSON. */
  #answer(
    tx: Transactor,
    target: RightsTarget & { record: StoredRecord },
    whole: Pick<SavedRecord, "json" | "weight"> & { body: Body },
  ): Awaitable<SavedRecord> {
    const { table, record } = target;
    const { collection } = table;
    const isReadable = this.#rights.allows(tx, "read", target);
    if (isReadable !== true || collection.fieldPolicies !== null)
      return this.#partAnswer(tx, target, { ...whole, isReadable });
    const { json, weight } = whole;
    return { record, tag: () => recordTag(collection, record), weight, json };
  }

  async #partAnswer(
    tx: Transactor,
    target: RightsTarget & { record: StoredRecord },
    {
      json,
      body,
      weight,
      isReadable,
    }: Pick<SavedRecord, "json" | "weight"> & { body: Body; isReadable: Awaitable<boolean> },
  ): Promise<SavedRecord> {
    const { table, record } = target;
    const hasAll = await isReadable;
    const shown = await this.#fieldRights.shown(tx, target);
    const whole = shown === record ? json : JsonText.of(shown);
    return {
      record,
      tag: () => recordTag(table.collection, shown),
      weight,
      json: hasAll ? whole : answerWithout(shown, body),
    };
  }
}

/** The values of a hook that differ from the record as it saw it: a hook may return the whole record, also fields that the caller may not write. */
function otherValues(returned: Body, record: Body): Body {
  const isOther = (value: unknown, name: string): boolean => JSON.stringify(value) !== JSON.stringify(record[name]);
  return Object.fromEntries(Object.entries(returned).filter(([name, value]) => isOther(value, name)));
}

/** Of a transaction that is taken back, nobody gets the answer. */
function pendingAnswer(record: StoredRecord): SavedRecord {
  return { record, tag: () => "", json: JsonText.of({}), weight: 0 };
}
