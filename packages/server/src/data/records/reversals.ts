/** Reversals: logged changes of records that are taken back, newest first, each by a change in the given transaction. */
import { type FieldDefinition, type StoredRecord, USERS } from "@socle/protocol";
import { AppError, type Clock, type System, system, toTimestamp } from "../../base/kernel/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import type { EventBasis, LoggedEvent } from "../../store/events/index.ts";
import { type Collection, type Collections, forgetTrash, isOfPredecessor } from "../collections/index.ts";
import { typeOf } from "../fields/index.ts";
import type { HeldValues, RecordChanges } from "./changes.ts";
import { keyOf, type Target } from "./deletions.ts";
import { isSameValue } from "./record-effects.ts";
import { type OwnedRow, type RecordTable, recordTableOf, systemFields } from "./record-table.ts";
import type { Lookups, TakesTarget } from "./references.ts";

/** A change that is taken back: an event of a collection that exists, and the present record; null without a record. */
interface LoggedChange {
  readonly tx: Transactor;
  readonly principal: System;
  readonly event: LoggedEvent;
  readonly table: RecordTable;
  readonly id: string;
  readonly row: OwnedRow | null;
  readonly later: LaterChanges;
}

/** Later reversals of the same transaction. */
export interface LaterChanges {
  /** Holds unique values of other records back until the end of the transaction; answers false if the change may not. */
  holds(held: HeldValues): boolean;
  /** Whether a deleted target comes back with a later change; `isThere` is to be asked after the last change. */
  bringBack(target: Target, isThere: () => boolean): boolean;
}

/** Whether a change was taken back; and why not, or what did not come back with the change. */
export interface Reversed {
  readonly isDone: boolean;
  readonly reason: string | null;
}

/** Why a change is left as it is. */
class Left extends Error {}

export class Reversals {
  readonly #collections: Collections;
  readonly #changes: RecordChanges;
  readonly #lookups: Lookups;
  readonly #clock: Clock;

  constructor(options: { clock: Clock; collections: Collections; changes: RecordChanges; lookups: Lookups }) {
    this.#clock = options.clock;
    this.#collections = options.collections;
    this.#changes = options.changes;
    this.#lookups = options.lookups;
  }

  /**
   * Takes a change back, without rights and hooks, and by the present definition. A change that is left has written nothing.
   * @param change `event`, of the log: the newer changes of the same undo are taken back already.
   */
  take(tx: Transactor, principal: System, change: { event: LoggedEvent; later: LaterChanges }): Reversed {
    try {
      return { isDone: true, reason: this.#take(tx, principal, change) };
    } catch (thrown) {
      if (thrown instanceof Left) return { isDone: false, reason: thrown.message };
      if (!(thrown instanceof AppError) || thrown.code !== "validation_error") throw thrown;
      const reason = thrown.details?.map(({ message }) => message).join("; ") ?? thrown.message;
      return { isDone: false, reason };
    }
  }

  /** Answers what did not come back with the change. @throws Left. */
  #take(
    tx: Transactor,
    principal: System,
    { event, later }: { event: LoggedEvent; later: LaterChanges },
  ): string | null {
    const at = event.type.lastIndexOf(".");
    const [name, kind] = [event.type.slice(0, at), event.type.slice(at + 1)];
    const collection = this.#collectionOf(event, name);
    if (event.source !== "collections" || event.subject === null) throw new Left("the event is no change of a record");
    if (event.isErased) throw new Left("the values were erased from the log");
    if (collection === undefined) throw new Left(`the collection ${name} is gone`);
    if (name === USERS && kind !== "updated") throw new Left("an undo makes and deletes no accounts");
    const table = recordTableOf(collection);
    const id = event.subject;
    const found = tx.get<StoredRecord>(table.byIdWithOwner, id);
    const row = found === null ? null : table.toOwned(found);
    const change = { tx, principal, event, table, id, row, later };
    if (kind === "deleted") return this.#takeDeletion(change);
    if (row === null) throw new Left("the record was deleted since");
    if (kind === "created") this.#takeCreation({ ...change, row });
    else this.#takeUpdate({ ...change, row });
    return null;
  }

  #takeCreation({ tx, principal, event, table, id, row }: LoggedChange & { row: OwnedRow }): void {
    for (const field of table.fields) refuseChanged(field, event, row);
    const { name: collection } = table.collection;
    if (!this.#changes.deleteAlone(tx, principal, { collection, id, ifMatch: null, hooks: null }))
      throw new Left("other records point to the record");
  }

  #takeUpdate({ tx, principal, event, table, id, row, later }: LoggedChange & { row: OwnedRow }): void {
    const { payload } = event;
    const body: Record<string, unknown> = {};
    const numbers = new Map<string, number>();
    const keep = (name: string, number: unknown): void =>
      void (typeof number === "number" && numbers.set(name, number));
    // A number that the change left as it was stays, also when the record goes back to another counter.
    for (const [, { name }] of table.sequences) keep(name, row.record[name]);
    for (const [name, before] of Object.entries(keptOf(event).fields)) {
      // Times follow the change; and the log keeps a field of the read rule also without a change.
      if (systemFields.includes(name) || !Object.hasOwn(payload, name) || isSameValue(payload[name], before)) continue;
      const field = presentField(table, name);
      if (!isSameValue(row.record[name], payload[name])) throw new Left(`${name} was changed since`);
      if (field.sequence === undefined) body[name] = before;
      else keep(name, before);
    }
    this.#refuseGone(tx, table, { body, later });
    const { name: collection } = table.collection;
    this.#changes.update(tx, principal, {
      collection,
      id,
      ifMatch: null,
      body,
      numbers,
      hooks: null,
      takes,
      holds: later.holds,
    });
  }

  /** Answers the files that are gone, which the record has no more. */
  #takeDeletion({ tx, principal, event, table, id, row, later }: LoggedChange): string | null {
    if (row !== null) throw new Left("a record with the id exists");
    const deleted = keptOf(event);
    for (const name of Object.keys(deleted.fields)) if (!systemFields.includes(name)) presentField(table, name);
    const lost = this.#makeAgain(tx, principal, { table, id, deleted, later });
    return lost.size === 0 ? null : `without files that are gone: ${[...lost].join(", ")}`;
  }

  /**
   * Makes a deleted record again, with the id, the owner and the numbers.
   * @param deletion `along`: the keys of all records that come back in the transaction, by `keyOf`.
   * @throws AppError `conflict` for a record that cannot come back now, with the reason.
   */
  restore(
    tx: Transactor,
    principal: System,
    {
      collection,
      id,
      deleted,
      along,
    }: { collection: string; id: string; deleted: EventBasis; along: ReadonlySet<string> },
  ): void {
    const table = recordTableOf(this.#collections.named(collection));
    if (tx.get(table.exists, id) !== null) throw new AppError("conflict", `The record ${id} exists.`);
    try {
      const later: LaterChanges = { holds: () => false, bringBack: (target) => along.has(keyOf(target)) };
      const fields = this.#cleared(tx, table, { body: deleted.fields, later });
      this.#makeAgain(tx, principal, { table, id, deleted: { ...deleted, fields }, later });
    } catch (thrown) {
      const reason = `The record ${id} of "${collection}" cannot be restored now`;
      if (thrown instanceof Left) throw new AppError("conflict", `${reason}: ${thrown.message}.`);
      if (!(thrown instanceof AppError) || thrown.code !== "validation_error") throw thrown;
      const { details = [] } = thrown;
      const problems = details.map(({ message }) => message).join("; ");
      throw new AppError("conflict", `${reason}: ${problems}.`, { details });
    }
  }

  /** Answers the ids of files that are gone, which the record has no more. @throws Left; AppError `validation_error`. */
  #makeAgain(
    tx: Transactor,
    principal: System,
    {
      table,
      id,
      deleted: { fields, owner },
      later,
    }: { table: RecordTable; id: string; deleted: EventBasis; later: LaterChanges },
  ): ReadonlySet<string> {
    const { id: _, createdAt, updatedAt: former, ...body } = fields;
    this.#refuseGone(tx, table, { body, later });
    const lost = this.#dropLostFiles(tx, table, body);
    // The record has a new version: an `If-Match` of the record before the deletion does not hold.
    const updatedAt = toTimestamp(Math.max(this.#clock.now(), Date.parse(String(former)) + 1));
    const given = { id, createdAt: String(createdAt), updatedAt, owner, problems: [] };
    this.#changes.create(tx, principal, { collection: table.collection.name, body, given, hooks: null, takes });
    forgetTrash(tx, table.collection.name, id);
    return lost;
  }

  /** The collection of an event, also under a later name; undefined for a collection that is gone. */
  #collectionOf(event: LoggedEvent, name: string): Collection | undefined {
    const named = this.#collections.all().filter((each) => {
      const { renamed = 0, formerNames = [] } = each.logMarks;
      const hadName = formerNames.includes(name) && event.seq <= renamed && event.timestamp >= each.createdAt;
      return hadName || (each.name === name && !isOfPredecessor(event, each));
    });
    // Of several collections that have had the name, the newest had the name last.
    return named.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))[0];
  }

  /** @throws Left if a relation whose target may not be gone names a record that is gone. */
  #refuseGone(
    tx: Transactor,
    table: RecordTable,
    { body, later }: { body: Record<string, unknown>; later: LaterChanges },
  ): void {
    for (const [, field] of table.references) {
      const [gone] = this.#gone(tx, field, { body, later });
      if (gone !== undefined) throw new Left(`${field.name} names a record that is gone: ${gone}`);
    }
  }

  /** Removes deleted targets of `clear` from a record, as the deletion of a target does in each present record. */
  #cleared(
    tx: Transactor,
    table: RecordTable,
    { body, later }: { body: EventBasis["fields"]; later: LaterChanges },
  ): EventBasis["fields"] {
    const cleared: Record<string, unknown> = { ...body };
    for (const [, field] of table.references) {
      const gone = field.onDelete === "clear" ? this.#gone(tx, field, { body, later }) : [];
      const value = body[field.name];
      if (gone.length > 0)
        cleared[field.name] = Array.isArray(value) ? value.filter((id) => !gone.includes(String(id))) : null;
    }
    return cleared;
  }

  /** The deleted targets of a relation with `onDelete`. */
  #gone(
    tx: Transactor,
    { name, collection, onDelete }: FieldDefinition,
    { body, later }: { body: EventBasis["fields"]; later: LaterChanges },
  ): string[] {
    if (collection === undefined || onDelete === undefined) return [];
    const isThere = (id: string): boolean =>
      collection === USERS
        ? this.#lookups.userExists(tx, id)
        : tx.get(recordTableOf(this.#collections.named(collection)).exists, id) !== null;
    const ids = [body[name] ?? []].flat().map(String);
    return ids.filter((id) => !isThere(id) && !later.bringBack({ collection, id }, () => isThere(id)));
  }

  /** Takes the ids of files that do not exist any more out of a body, and answers these ids. */
  #dropLostFiles(tx: Transactor, table: RecordTable, body: Record<string, unknown>): ReadonlySet<string> {
    const lost = new Set<string>();
    const isThere = (id: unknown): boolean => {
      const isFound = this.#lookups.fileAccess(tx, String(id), system) !== "missing";
      if (!isFound) lost.add(String(id));
      return isFound;
    };
    for (const [, field] of table.references) {
      const value = body[field.name] ?? null;
      if (typeOf(field).reference !== "file" || value === null) continue;
      if (Array.isArray(value)) body[field.name] = value.filter(isThere);
      else if (!isThere(value)) body[field.name] = null;
    }
    return lost;
  }
}

/** A relation without `onDelete` may name a record that is gone, as before the change. */
const takes: TakesTarget = () => true;

/** @throws Left if a field of a record may have another value than at the creation. */
function refuseChanged(field: FieldDefinition, { payload }: LoggedEvent, { record }: OwnedRow): void {
  const { name, default: preset = null, sequence } = field;
  const value = record[name] ?? null;
  if (Object.hasOwn(payload, name)) {
    if (!isSameValue(value, payload[name])) throw new Left(`${name} was changed since`);
    return;
  }
  // The field is newer than the record, or had another name.
  const isAsMade = record["updatedAt"] === payload["updatedAt"] || sequence !== undefined;
  if (!isAsMade && value !== null && !isSameValue(value, preset))
    throw new Left(`${name} is newer than the record, or had another name`);
}

/** The former values of a change. @throws Left if the log does not have each value. */
function keptOf({ basis }: LoggedEvent): EventBasis {
  if (basis === null) throw new Left("the log does not have the values before");
  const { omitted = [] } = basis;
  if (omitted.length > 0) throw new Left(`the log does not have the value before of ${omitted.join(", ")}`);
  return basis;
}

function presentField(table: RecordTable, name: string): FieldDefinition {
  const field = table.field(name);
  if (field === null) throw new Left(`the collection has no field ${name} now`);
  return field;
}
