/** Changes of records inside a transaction: create, update and delete one, each with its permission, its rules and its event. */
import type { ErrorDetail, FieldDefinition, StoredRecord } from "@socle/protocol";
import type { Collections } from "../collections/index.ts";
import type { Transactor, Value } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import { decode } from "../fields/index.ts";
import { AppError, type Clock, JsonText, newId, type Principal, toTimestamp } from "../kernel/index.ts";
import type { RecordCounts } from "./counts.ts";
import { fillDefaults } from "./defaults.ts";
import { Deletions } from "./deletions.ts";
import type { FieldRights } from "./field-rights.ts";
import { collectionNamed, missingRecord } from "./missing.ts";
import { ownerOfChanged, ownerOfNew } from "./ownership.ts";
import { RecordEffects } from "./record-effects.ts";
import { type OwnedRow, type RecordTable, recordTableOf } from "./record-table.ts";
import { checkVersion, recordTag } from "./record-tag.ts";
import { type Lookups, References } from "./references.ts";
import type { RecordState, Rights, RightsTarget } from "./rights.ts";
import { answerWithout, type SavedRecord } from "./saved-record.ts";
import { keepNumbers, numberChanged, numberNew, withoutNumbers } from "./sequences.ts";
import { type ValidatedBody, validateBody } from "./validate.ts";
import type { Versions } from "./versions.ts";
import type { WriteHooks } from "./write-hooks.ts";

export type Body = Record<string, unknown>;

/** A part of a write: `hooks` are those of the write, null where there are none at all, or where it goes around them. */
interface Hooked {
  readonly hooks: WriteHooks | null;
}

interface Observed {
  /** Called with the record as it is to be, before its rule looks at it; not for a body that is not valid. */
  readonly observe?: (state: RecordState) => Promise<void>;
}

/** A record to create. */
export interface NewRecord extends Hooked, Observed {
  /** The name of its collection. */
  readonly collection: string;
  readonly body: Body;
  /** Of a record that is imported. */
  readonly given?: GivenFields;
}

/** The system fields that an imported record brings, and what is wrong with them and with its other values already. */
export interface GivenFields {
  readonly id?: string;
  readonly createdAt?: string;
  readonly updatedAt?: string;
  readonly problems: readonly ErrorDetail[];
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

/** Valid values by the positions of the fields, which the caller may write, and the owner of the record with them. */
interface Prepared {
  readonly values: readonly (Value | undefined)[];
  readonly owner: string | null;
}

interface PreparedRecord extends Prepared {
  readonly record: StoredRecord;
  /** The values that have columns of their own. */
  readonly stored: readonly Value[];
}

interface Preparation {
  readonly table: RecordTable;
  readonly principal: Principal;
  readonly body: Body;
  readonly observe: Observed["observe"] | undefined;
}

/** `defaultsAt` is the time of the creation for defaults. */
interface FirstPreparation extends Preparation {
  readonly given: NewRecord["given"] | undefined;
  readonly id: string;
  readonly times: Pick<StoredRecord, "createdAt" | "updatedAt">;
  readonly defaultsAt: string;
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
    let made = await this.#prepareNew(tx, { ...first, defaultsAt: isHooked ? hooks.now(createdAt) : createdAt });
    if (isHooked) {
      const { createdAt: _, updatedAt: __, ...record } = withoutNumbers(table, made.record);
      const returned = otherValues(
        hooks.valuesFor({ table, operation: "create", principal, record, previous: null }),
        record,
      );
      if (Object.keys(returned).length > 0 || table.defaults.length > 0)
        made = await this.#prepareNew(tx, { ...first, body: { ...body, ...returned }, defaultsAt: createdAt });
    }
    const { values, record, owner, stored } = made;
    await this.#references.write(
      () => tx.run(table.insert, id, createdAt, updatedAt, owner, ...stored),
      () => this.#references.duplicates(tx, table, { id, values, createdAt, updatedAt }),
    );
    if (hooks?.isPending === true) return pendingAnswer(record);
    if (table.sequences.length > 0) await keepNumbers(tx, table, { values, record });
    const state = { table, principal, record, owner };
    const json = await this.#effects.created(tx, { table, row: { record, owner }, principal, now });
    return this.#answer(tx, { ...state, id }, { json, body, weight: json.text.length });
  }

  async update(
    tx: Transactor,
    principal: Principal,
    { body, observe, hooks, ...target }: ChangedRecord,
  ): Promise<SavedRecord> {
    const { table, row, weight } = await this.#find(tx, principal, { operation: "update", hooks, ...target });
    const { collection } = table;
    const id = row.record.id;
    const before = { table, principal, id, ...row };
    const now = this.#clock.now();
    // Strictly later than before, also within one millisecond.
    const updatedAt = toTimestamp(Math.max(now, Date.parse(row.record.updatedAt) + 1));
    const given = { table, principal, body, observe, row, updatedAt };
    let made = await this.#prepareChange(tx, given);
    if (hooks?.has(collection.name, "update") === true && made.values.some((value) => value !== undefined)) {
      const record = withoutNumbers(table, stateAfter(table, row.record, made.values));
      const about = { table, operation: "update", principal, record, previous: row.record } as const;
      const returned = otherValues(hooks.valuesFor(about), record);
      if (Object.keys(returned).length > 0)
        made = await this.#prepareChange(tx, { ...given, body: { ...body, ...returned } });
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
    if (changed.length === 0) return this.#answer(tx, before, { json: JsonText.of(row.record), body, weight });
    const updated = await this.#references.write(
      () => tx.get<StoredRecord>(table.update(changed), ...stored, updatedAt, id),
      () => this.#references.duplicates(tx, table, { id, values, updatedAt }),
    );
    if (updated === null) throw missingRecord(collection, id);
    const record = table.toRecord(updated);
    if (hooks?.isPending === true) return pendingAnswer(record);
    if (table.sequences.length > 0) await keepNumbers(tx, table, { values, record });
    const json = await this.#effects.updated(tx, { table, row: { record, owner }, principal, now }, row);
    const answer = { json, body, weight: json.text.length + weight };
    return this.#answer(tx, { table, principal, id, record, owner }, answer);
  }

  /** Answers about the bytes of the records that are gone or were cleared, which wait in memory for the flush. */
  async delete(tx: Transactor, principal: Principal, target: RecordTarget): Promise<number> {
    const found = await this.#find(tx, principal, { operation: "delete", ...target });
    return found.weight + (await this.#deletions.delete(tx, principal, { ...found, hooks: target.hooks }));
  }

  /** An id that another record has. */
  async #idProblems(tx: Transactor, table: RecordTable, { id }: GivenFields): Promise<ErrorDetail[]> {
    if (id === undefined || (await tx.get(table.exists, id)) === null) return [];
    return [{ field: "id", rule: "unique", message: "id is taken by another record" }];
  }

  /** Changes the records that point to a user who goes, as their relations ask for. @throws AppError `bad_request` where one refuses it. */
  async followUser(tx: Transactor, principal: Principal, id: string): Promise<void> {
    await this.#deletions.followUser(tx, principal, id);
  }

  /** The record that an update or delete is about, once the caller may do that. */
  async #find(
    tx: Transactor,
    principal: Principal,
    { operation, collection: name, id, ifMatch }: RecordTarget & { operation: "update" | "delete" },
  ): Promise<Found> {
    const collection = collectionNamed(this.#collections, name);
    collection.policies[operation].admit(principal);
    const table = recordTableOf(collection);
    const found = await tx.get<StoredRecord>(table.byIdWithOwner, id);
    const missing = missingRecord(collection, id);
    if (found === null) throw missing;
    const weight = table.weightOf(found);
    const row = table.toOwned(found);
    await this.#rights.admit(tx, operation, { table, principal, id, owner: row.owner, missing });
    checkVersion(row.record, ifMatch);
    return { table, row, weight };
  }

  /** A record that is to be created, with every check but those of the insertion. @throws AppError. */
  async #prepareNew(
    tx: Transactor,
    { table, principal, body, observe, ...first }: FirstPreparation,
  ): Promise<PreparedRecord> {
    const { id, given, times, defaultsAt } = first;
    const { collection } = table;
    const { values, problems } = validateBody(table, body, given === undefined ? "create" : "import");
    const owner = ownerOfNew(table, principal, { values, problems });
    if (given !== undefined) problems.push(...given.problems, ...(await this.#idProblems(tx, table, given)));
    const creation = { now: defaultsAt, userId: principal?.userId ?? null };
    if (table.defaults.length > 0) fillDefaults(table, { sent: body, values, problems }, creation);
    if (table.sequences.length > 0) await numberNew(tx, table, values);
    const stored: Value[] = [];
    const record: StoredRecord = { id, ...times };
    for (const [position, field] of table.fields.entries()) {
      const value = values[position] ?? null;
      if (field.owner !== true) stored.push(value);
      record[field.name] = decode(field, value);
    }
    const state = { table, principal, record, owner };
    if (observe !== undefined && problems.length === 0) await observe(state);
    if (collection.policies.create.audience === "condition")
      await this.#admitState(tx, "create", { ...state, problems });
    if (collection.fieldPolicies !== null) await this.#fieldRights.admitNew(tx, state, body);
    if (problems.length > 0 || table.references.length > 0)
      await this.#refuse(tx, { table, principal }, { id, values, problems, before: null });
    return { values, record, owner, stored };
  }

  /** The values of an update, with every check but those of the statement. @throws AppError. */
  async #prepareChange(
    tx: Transactor,
    { table, principal, body, observe, row, updatedAt }: Preparation & { row: OwnedRow; updatedAt: string },
  ): Promise<Prepared> {
    const { collection } = table;
    const { id } = row.record;
    const { values, problems } = validateBody(table, body, "update");
    if (table.sequences.length > 0) await numberChanged(tx, table, { values, record: row.record, problems });
    if (collection.fieldPolicies !== null) {
      const after = (): StoredRecord => stateAfter(table, row.record, values);
      await this.#fieldRights.admitChange(tx, { table, principal, ...row }, { body, values, after });
    }
    const owner = ownerOfChanged(table, { principal, owner: row.owner }, { values, problems });
    if (observe !== undefined || collection.policies.update.audience === "condition") {
      const record = { ...stateAfter(table, row.record, values), updatedAt };
      const state = { table, principal, record, owner };
      if (problems.length === 0) await observe?.(state);
      await this.#admitState(tx, "update", { ...state, problems });
    }
    await this.#refuse(tx, { table, principal }, { id, values, problems, before: row.record });
    return { values, owner };
  }

  /**
   * Looks whether a rule that is an expression lets the caller write a record as it is to be. To a caller whom it does not let,
   * only those problems of the body are told that need no database: not whether a value is taken, or a record is there.
   * @throws AppError `validation_error`, `forbidden`, `unauthorized`.
   */
  async #admitState(
    tx: Transactor,
    operation: "create" | "update",
    { problems, ...state }: RecordState & { problems: readonly ErrorDetail[] },
  ): Promise<void> {
    const policy = state.table.collection.policies[operation];
    if (policy.audience !== "condition" || (await this.#rights.allowsState(tx, operation, state))) return;
    if (problems.length > 0) throw AppError.validation([...problems]);
    throw policy.refusal(state.principal);
  }

  /** The answer to a create or update: the whole record, or the part of it that the caller gets. @param json of the whole. */
  async #answer(
    tx: Transactor,
    target: RightsTarget & { record: StoredRecord },
    { json, body, weight }: Pick<SavedRecord, "json" | "weight"> & { body: Body },
  ): Promise<SavedRecord> {
    const { table, record } = target;
    const { collection } = table;
    const isReadable = await this.#rights.allows(tx, "read", target);
    const shown = collection.fieldPolicies === null ? record : await this.#fieldRights.shown(tx, target);
    const whole = shown === record ? json : JsonText.of(shown);
    return { record, tag: recordTag(collection, shown), weight, json: isReadable ? whole : answerWithout(shown, body) };
  }

  /** Throws every problem of a body at once. */
  async #refuse(
    tx: Transactor,
    by: { table: RecordTable; principal: Principal },
    body: ValidatedBody & { id: string; before: StoredRecord | null },
  ): Promise<void> {
    const { id, values, problems } = body;
    await this.#references.check(tx, by, body);
    if (problems.length === 0) return;
    problems.push(...(await this.#references.duplicates(tx, by.table, { id, values, problems })));
    throw AppError.validation(problems);
  }
}

/** The values of a hook that differ from the record as it saw it: a hook may return the whole record, also fields that the caller may not write. */
function otherValues(returned: Body, record: Body): Body {
  const isOther = (value: unknown, name: string): boolean => JSON.stringify(value) !== JSON.stringify(record[name]);
  return Object.fromEntries(Object.entries(returned).filter(([name, value]) => isOther(value, name)));
}

/** A record with the values of an update. */
function stateAfter(table: RecordTable, before: StoredRecord, values: readonly (Value | undefined)[]): StoredRecord {
  return { ...before, ...table.decoded(values) };
}

/** Of a transaction that is taken back, nobody gets the answer. */
function pendingAnswer(record: StoredRecord): SavedRecord {
  return { record, tag: "", json: JsonText.of({}), weight: 0 };
}
