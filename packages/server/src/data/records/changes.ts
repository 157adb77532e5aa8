/**
 * Changes of records inside a transaction: create, update and delete one record, each with permission, rules
 * and event.
 */
import { type ErrorDetail, type FieldDefinition, type StoredRecord, versionOf } from "@socle/protocol";
import { AppError, type Clock, JsonText, newId, type Principal, toTimestamp } from "../../base/kernel/index.ts";
import { isUniqueViolation, type Transactor, type Value } from "../../store/database/index.ts";
import { admitOperation } from "../permissions/index.ts";
import { CreationOrder, type CreationOrderOptions } from "./creation-order.ts";
import type { Deletions } from "./deletions.ts";
import { type AccountValues, type GivenFields, type Observe, Preparation } from "./preparation.ts";
import { isSameValue, type RecordEffects } from "./record-effects.ts";
import { missingRecord, type OwnedRow, type RecordTable, recordTableOf, recordTag } from "./record-table.ts";
import { addedItems, type Body, type Lookups, longArray, References, type TakesTarget } from "./references.ts";
import type { Rights, RightsTarget } from "./rights.ts";
import { keepNumbers, withNumbersOf, withoutNumbers } from "./sequences.ts";
import { finderOf, isTaken, keyIn } from "./upsert.ts";
import type { WriteHooks } from "./write-hooks.ts";

/** A record after its write. */
export interface SavedRecord {
  readonly record: StoredRecord;
  /** The whole record, or the caller's part of the record. */
  readonly json: JsonText;
  /** Makes the `ETag`; a batch has no tags. */
  readonly tag: () => string;
  /** About the bytes of the record, before and after, that wait in memory for the flush. */
  readonly weight: number;
}

export interface NewRecord {
  readonly collection: string;
  readonly body: Body;
  /** The id of the record; by default, the create makes the id. */
  readonly id?: string;
  /** The time of the change, in milliseconds; by default, the present. */
  readonly now?: number;
  readonly given?: GivenFields;
  /** Null for a write without hooks, and for a write that goes around hooks. */
  readonly hooks: WriteHooks | null;
  readonly observe?: Observe;
  /** Absent: the targets of relations and files exist already. */
  readonly takes?: TakesTarget | undefined;
  /** Whether the body may have operators, which then start from the defaults. */
  readonly hasOperators?: boolean;
}

/** A record and the version that `If-Match` names; null for any version. */
export interface RecordVersion {
  readonly id: string;
  readonly ifMatch: string | null;
}

export interface RecordTarget extends RecordVersion, Pick<NewRecord, "collection" | "hooks"> {
  /** The ids of the records that the transaction has written: `ifMatch` is a version before the transaction. */
  readonly own?: ReadonlySet<string>;
}

/** A body for the record with the same value of a unique field, or for a new record. */
export interface Upsert
  extends Pick<NewRecord, "collection" | "body" | "id" | "now" | "hooks" | "takes">,
    Pick<RecordTarget, "ifMatch" | "own"> {
  /** The name of the unique field. */
  readonly by: string;
}

export interface UpsertedRecord extends SavedRecord {
  readonly isNew: boolean;
}

interface ChangesOptions extends CreationOrderOptions {
  readonly clock: Clock;
  readonly lookups: Lookups;
  readonly rights: Rights;
  readonly effects: RecordEffects;
  readonly deletions: Deletions;
}

/** The unique values of an update that other records still have: the record keeps the former values until the end of the batch. */
export interface HeldValues {
  /** The problems at the time of the update. */
  readonly problems: readonly ErrorDetail[];
  /** Empties the fields, so that records can exchange values. */
  empty(): void;
  /** Puts the values into the fields. Answers a problem for each value that another record has. */
  settle(): readonly ErrorDetail[];
}

interface ChangedRecord extends RecordTarget, Pick<NewRecord, "body" | "observe" | "now" | "takes"> {
  readonly account?: AccountValues;
  /** The numbers that the record takes back, by field. */
  readonly numbers?: ReadonlyMap<string, number>;
  /** The time of the change at its source, for `updatedAt`; by default, `now`. */
  readonly changedAt?: string | undefined;
  /** Takes unique values that other records have; answers false for values that the update may not hold back. Absent for a single update. */
  readonly holds?: ((held: HeldValues) => boolean) | undefined;
}

/**
 * Every method runs in the given transaction, checks the caller's right inside the transaction, and throws as `Records`
 * does. The transaction must be taken back after an error, and while hooks are pending.
 */
export class RecordChanges {
  readonly #options: ChangesOptions;
  readonly #references: References;
  readonly #preparation: Preparation;
  readonly #order: CreationOrder;

  constructor(options: ChangesOptions) {
    this.#options = options;
    this.#references = new References(options);
    this.#preparation = new Preparation({ ...options, references: this.#references });
    this.#order = new CreationOrder(options);
  }

  /** To be awaited before a create or an update with a body that `mayNameManyFiles`, in the same transaction. */
  async lookAhead(
    tx: Transactor,
    principal: Principal,
    { collection, id, body }: { collection: string; id: string | null; body: Body },
  ): Promise<void> {
    const table = recordTableOf(this.#options.collections.named(collection));
    const row = id === null ? null : tx.get<StoredRecord>(table.byIdWithOwner, id);
    const before = row === null ? null : table.toOwned(row).record;
    await this.#references.lookAhead(tx, { table, principal }, { body, before });
  }

  /** A create that throws `validation_error` has written nothing: the transaction may go on. */
  create(
    tx: Transactor,
    principal: Principal,
    { collection: name, body, id: chosenId, now = this.#options.clock.now(), given, hooks, ...others }: NewRecord,
  ): SavedRecord {
    const table = recordTableOf(this.#options.collections.named(name));
    const { collection } = table;
    if (given?.account === undefined) collection.policies.create.admit(principal);
    const id = given?.id ?? chosenId ?? (hooks === null ? newId("rec", now) : hooks.newId(now));
    const createdAt = given?.createdAt ?? toTimestamp(now);
    const updatedAt = given?.updatedAt ?? createdAt;
    const isHooked = hooks?.has(name, "create") === true;
    const defaultsAt = isHooked ? hooks.now(createdAt) : createdAt;
    const first = { ...others, table, principal, body, given, id, createdAt, updatedAt, defaultsAt };
    let made = this.#preparation.create(tx, first);
    if (isHooked) {
      const { createdAt: _, updatedAt: __, ...record } = withoutNumbers(table, made.record);
      const returned = otherValues(
        hooks.valuesFor({ table, operation: "create", principal, record, previous: null }),
        record,
      );
      if (Object.keys(returned).length > 0 || table.defaults.length > 0)
        made = this.#preparation.create(tx, {
          ...first,
          body: { ...body, ...returned },
          returned,
          defaultsAt: createdAt,
        });
    }
    const { values, record, owner, stored } = made;
    if (hooks?.waitsAlone === true)
      return this.#pendingAlone(record, this.#references.duplicates(tx, table, { id, values, createdAt, updatedAt }));
    try {
      tx.run(table.insert, id, createdAt, updatedAt, owner, ...stored);
    } catch (thrown) {
      throw this.#refusalOf(thrown, () => this.#references.duplicates(tx, table, { id, values, createdAt, updatedAt }));
    }
    this.#order.follow(tx, table, createdAt);
    // Also while hooks are pending: the next record of the same write gets the next number.
    if (table.sequences.length > 0) keepNumbers(tx, table, { values, record });
    hooks?.wrote(name, id, record);
    if (hooks?.isPending === true) return pendingAnswer(record);
    const json = JsonText.of(record);
    this.#options.effects.created(tx, { table, row: { record, owner }, principal, now, json });
    return this.#answer(tx, { table, principal, id, record, owner }, { json, body, weight: json.text.length });
  }

  update(tx: Transactor, principal: Principal, change: ChangedRecord): SavedRecord {
    const { body, observe, hooks, id, account, takes, numbers, changedAt } = change;
    const { table, row, weight } = this.#find(tx, principal, { operation: "update", target: change });
    const { collection } = table;
    const { now = this.#options.clock.now() } = change;
    // Strictly later than before, also within one millisecond.
    const at = changedAt === undefined ? now : Date.parse(changedAt);
    const updatedAt = toTimestamp(Math.max(at, Date.parse(row.record.updatedAt) + 1));
    const given = { table, principal, body, observe, takes, row, updatedAt, account, numbers };
    let made = this.#preparation.change(tx, given);
    if (hooks?.has(collection.name, "update") === true && made.values.some((value) => value !== undefined)) {
      const record = withNumbersOf(table, row.record, table.changed(row.record, made.values));
      const about = { table, operation: "update", principal, record, previous: row.record } as const;
      const returned = otherValues(hooks.valuesFor(about), record);
      if (Object.keys(returned).length > 0)
        made = this.#preparation.change(tx, { ...given, body: { ...body, ...returned }, returned });
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
    if (hooks?.waitsAlone === true)
      return this.#pendingAlone(row.record, this.#references.duplicates(tx, table, { id, values, updatedAt }));
    try {
      tx.run(table.update(changed), ...stored, updatedAt, id);
    } catch (thrown) {
      const refusal = this.#refusalOf(thrown, () => this.#references.duplicates(tx, table, { id, values, updatedAt }));
      const problems = refusal instanceof AppError ? (refusal.details ?? []) : [];
      const taken = problems.map(({ field }) => field);
      const held = changed.filter(({ name }) => taken.includes(name));
      const heldValues = held.map((field) => stored[changed.indexOf(field)] ?? null);
      const later: HeldValues = {
        problems,
        empty: () => void tx.run(table.settle(held), ...held.map(() => null), id),
        settle: () =>
          this.#settled(tx, { table, id, values, updatedAt }, () => tx.run(table.settle(held), ...heldValues, id)),
      };
      if (held.length === 0 || change.holds?.(later) !== true) throw refusal;
      const others = changed.filter((field) => !held.includes(field));
      const otherValues = others.map((field) => stored[changed.indexOf(field)] ?? null);
      tx.run(table.update(others), ...otherValues, updatedAt, id);
    }
    const record = table.changed(row.record, values);
    record.updatedAt = updatedAt;
    if (table.sequences.length > 0) keepNumbers(tx, table, { values, record });
    hooks?.wrote(collection.name, id, record);
    if (hooks?.isPending === true) return pendingAnswer(record);
    const json = JsonText.of(record);
    this.#options.effects.updated(tx, { table, row: { record, owner }, principal, now, json }, row);
    const answer = { json, body, weight: json.text.length + weight };
    return this.#answer(tx, { table, principal, id, record, owner }, answer);
  }

  /**
   * Changes the record that has the body's value of a unique field, or creates a record. Of a record that the caller may not read, the
   * caller learns as much as from a create: whether the value is taken, if the create would be admitted.
   * @throws AppError also as `keyIn`.
   */
  upsert(tx: Transactor, principal: Principal, upsert: Upsert): UpsertedRecord {
    const { collection: name, by, ifMatch } = upsert;
    const table = recordTableOf(this.#options.collections.named(name));
    const { policies } = table.collection;
    // Users are created by a registration. A refused caller does not learn which fields are unique.
    admitOperation(policies, table.accountFields.size > 0 ? "create" : "upsert", principal);
    const found = tx.get<StoredRecord>(table.rowBy(by), keyIn(table, principal, upsert));
    const create = (hooks: WriteHooks | null): SavedRecord => {
      if (ifMatch !== null) throw otherVersion();
      return this.create(tx, principal, { ...upsert, hooks, hasOperators: true });
    };
    if (found === null) return { ...create(upsert.hooks), isNew: true };
    const { id } = found;
    const { rights } = this.#options;
    const row = table.toOwned(found);
    const finder = { table, principal: finderOf(principal, name), id, ...row };
    if (!rights.allows(tx, "read", finder) || rights.hidden(tx, finder).has(by)) {
      try {
        create(null);
      } catch (refusal) {
        if (!isTaken(refusal, by)) throw refusal;
      }
      const missing = (): AppError =>
        new AppError("not_found", `There is no record with this ${by} in "${name}" that you may change.`);
      policies.update.admit(principal);
      rights.admit(tx, "update", { table, principal, id, owner: row.owner, missing });
      throw missing();
    }
    return { ...this.update(tx, principal, { ...upsert, id }), isNew: false };
  }

  /** The end of a single write that waits for hooks, which writes nothing: a rollback would cost more. */
  #pendingAlone(record: StoredRecord, duplicates: ErrorDetail[]): SavedRecord {
    if (duplicates.length > 0) throw AppError.validation(duplicates);
    return pendingAnswer(record);
  }

  /** The problems of values that were held back; empty once the values are in place. */
  #settled(
    tx: Transactor,
    {
      table,
      ...candidate
    }: { table: RecordTable; id: string; values: readonly (Value | undefined)[]; updatedAt: string },
    write: () => void,
  ): readonly ErrorDetail[] {
    try {
      write();
      return [];
    } catch (thrown) {
      const problems = isUniqueViolation(thrown) ? this.#references.duplicates(tx, table, candidate) : [];
      if (problems.length === 0) throw thrown;
      return problems;
    }
  }

  /** The error of a refused write: a unique index becomes the problems of the fields. */
  #refusalOf(thrown: unknown, duplicates: () => ErrorDetail[]): unknown {
    const problems = isUniqueViolation(thrown) ? duplicates() : [];
    return problems.length === 0 ? thrown : AppError.validation(problems);
  }

  /** Answers about the bytes of the records that are gone or were cleared, which wait in memory for the flush. */
  async delete(tx: Transactor, principal: Principal, target: RecordTarget): Promise<number> {
    const found = this.#find(tx, principal, { operation: "delete", target });
    return found.weight + (await this.#options.deletions.delete(tx, principal, { ...found, hooks: target.hooks }));
  }

  /** Deletes a record that no other record points to. @returns false, with nothing changed, for any other record. */
  deleteAlone(tx: Transactor, principal: Principal, target: RecordTarget): boolean {
    return this.#options.deletions.deleteAlone(
      tx,
      principal,
      this.#find(tx, principal, { operation: "delete", target }),
    );
  }

  /** The record that an update or delete is about, once the caller may do that, with its approximate bytes. */
  #find(
    tx: Transactor,
    principal: Principal,
    { operation, target }: { operation: "update" | "delete"; target: RecordTarget },
  ): { table: RecordTable; row: OwnedRow; weight: number } {
    const collection = this.#options.collections.named(target.collection);
    const { access } = collection.policies[operation].admit(principal);
    const table = recordTableOf(collection);
    const { id, ifMatch, own } = target;
    const missing = (): AppError => missingRecord(collection, id);
    const found = tx.get<StoredRecord>(table.byIdWithOwner, id);
    if (found === null) throw missing();
    const weight = table.weightOf(found);
    const row = table.toOwned(found);
    if (access !== "all")
      this.#options.rights.admit(tx, operation, { table, principal, id, owner: row.owner, missing });
    if (!own?.has(id)) checkVersion(row.record, ifMatch);
    return { table, row, weight };
  }

  /** The answer to a create or update: the whole record, or the caller's part of the record. */
  #answer(
    tx: Transactor,
    target: RightsTarget & { record: StoredRecord },
    whole: Pick<SavedRecord, "json" | "weight"> & { body: Body },
  ): SavedRecord {
    const { table, record, principal } = target;
    const { collection } = table;
    const { json, body, weight } = whole;
    const isOpen = collection.policies.read.decide(principal).access === "all";
    if (isOpen && collection.fieldPolicies === null)
      return { record, tag: () => recordTag(collection, record), weight, json };
    const shown = this.#options.rights.shown(tx, target);
    const tag = (): string => recordTag(collection, shown);
    if (!isOpen && !this.#options.rights.allows(tx, "read", target))
      return { record, tag, weight, json: answerWithout(shown, body) };
    return { record, tag, weight, json: shown === record ? json : JsonText.of(shown) };
  }
}

/** Whether a body may name many files, of which each lookup may ask read rules. */
export function mayNameManyFiles(body: Body): boolean {
  return Object.values(body).some((value) => addedItems(value).length > longArray);
}

/** The values that a hook changed. A hook may return the whole record, with fields that the caller may not write. */
function otherValues(returned: Body, record: Body): Body {
  return Object.fromEntries(Object.entries(returned).filter(([name, value]) => !isSameValue(value, record[name])));
}

/**
 * Refuses a change of a record that has another version than the caller names.
 * @param ifMatch tags with commas between tags, or `*`; null without a condition. A proxy that compresses marks tags as weak.
 * @throws AppError `conflict`, with the status 412.
 */
function checkVersion(record: StoredRecord, ifMatch: string | null): void {
  if (ifMatch === null || ifMatch.trim() === "*") return;
  const versions = ifMatch.split(",").map((tag) => tag.trim().replace(/^W\/|;[^;"]*(?="$)/g, ""));
  if (!versions.includes(versionOf(record))) throw otherVersion();
}

function otherVersion(): AppError {
  return new AppError("conflict", "The record has changed since the version that If-Match names.", { status: 412 });
}

/** For a caller that may not read the record: fields of the body, and the system fields (contract, "HTTP in general"). */
function answerWithout(record: StoredRecord, body: Body): JsonText {
  const { id, createdAt, updatedAt } = record;
  const named = Object.entries(record).filter(([name]) => Object.hasOwn(body, name));
  return JsonText.of({ id, createdAt, updatedAt, ...Object.fromEntries(named) });
}

/** The answer of a transaction that is taken back: never sent. */
function pendingAnswer(record: StoredRecord): SavedRecord {
  return { record, tag: () => "", json: JsonText.of({}), weight: 0 };
}
