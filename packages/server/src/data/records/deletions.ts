/**
 * Deletions: a record or a user is deleted, and each relation that points to the deleted record applies its `onDelete`.
 *
 * 1. **Collect.** The indexes of the relations give the records that `cascade` deletes too, each record once, so that rings
 *    end.
 * 2. **Refuse.** A record that stays and points to a deleted record by `restrict` refuses the deletion. No row has changed
 *    yet.
 * 3. **Clear.** In records that stay, a field that points to a deleted record by `clear` is set to null, or loses the item.
 * 4. **Delete.** The records are deleted in the reverse order of step 1.
 *
 * A deletion is one transaction: all of the steps or no change, also after a crash. The deletion takes turns with the event
 * loop, so reads go on; other writes wait, so `limits.cascade` bounds the deletion.
 */
import type { ErrorDetail, JsonValue, OnDelete, StoredRecord } from "@socle/protocol";
import { duration } from "../../base/config/index.ts";
import {
  AppError,
  type Clock,
  count,
  JsonText,
  LoopTurns,
  type Principal,
  toTimestamp,
} from "../../base/kernel/index.ts";
import type { Transactor, Value } from "../../store/database/index.ts";
import { type Collection, type Collections, forgetUnread, putTrash } from "../collections/index.ts";
import type { RecordEffects } from "./record-effects.ts";
import { fieldLimits, type OwnedRow, type RecordTable, recordTableOf } from "./record-table.ts";
import { keepNumbers, numberChanged } from "./sequences.ts";
import type { WriteHooks } from "./write-hooks.ts";

const pageSize = 500;

/** Bytes of the records that one deletion may change beside the deleted record: the records stay in memory until the flush. */
const maxBytes = 64 * 1024 ** 2;

/** A relation with `onDelete`. */
interface Pointer {
  readonly table: RecordTable;
  readonly field: string;
  readonly onDelete: OnDelete;
}

/** A record, or a user, that other records point to. */
export interface Target {
  readonly collection: string;
  readonly id: string;
}

/** A record that points to a target. */
interface Pointing extends Target, Pointer {
  /** The id of the target. */
  readonly target: string;
}

/** The root of a deletion and the records that `cascade` deletes, with the keys. */
interface Deleted {
  readonly targets: Target[];
  readonly going: Set<string>;
}

/** The number of records that stay and point to a deleted record by a field. */
interface Kept extends Pick<Pointer, "table" | "field"> {
  readonly n: number;
}

class Work {
  readonly tx: Transactor;
  readonly principal: Principal;
  readonly hooks: WriteHooks | null;
  /** The record, or the user, with which the deletion began. */
  readonly root: Target;
  readonly #turns = new LoopTurns();
  /** About the bytes of the records that were changed. */
  bytes = 0;

  constructor(tx: Transactor, principal: Principal, { root, hooks }: { root: Target; hooks: WriteHooks | null }) {
    this.tx = tx;
    this.principal = principal;
    this.root = root;
    this.hooks = hooks;
  }

  /** Counts a changed record. @throws AppError `bad_request` when the changed records are too many bytes. */
  weigh(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > maxBytes) throw tooMuch(`more than ${maxBytes / 1024 ** 2} MiB of records`);
  }

  /** To be called for each visited record. */
  turn(): Promise<void> | undefined {
    return this.#turns.isDue() ? this.#turns.next() : undefined;
  }
}

export class Deletions {
  readonly #collections: Collections;
  readonly #effects: RecordEffects;
  readonly #clock: Clock;
  readonly #limit: number;
  /** The relations with `onDelete`, by target collection, and the epoch of the definitions that have the relations. */
  #pointers: { readonly epoch: number; readonly byTarget: ReadonlyMap<string, Pointer[]> } | null = null;

  /** @param options `maxCascade`: records that one deletion may change beside the deleted record (`limits.cascade`). */
  constructor(options: { collections: Collections; effects: RecordEffects; clock: Clock; maxCascade: number }) {
    this.#collections = options.collections;
    this.#effects = options.effects;
    this.#clock = options.clock;
    this.#limit = options.maxCascade;
  }

  /** The pointers to a collection, or to "users". */
  #pointersTo(target: string): readonly Pointer[] {
    const { epoch } = this.#collections;
    if (this.#pointers?.epoch !== epoch) this.#pointers = { epoch, byTarget: pointersOf(this.#collections.all()) };
    return this.#pointers.byTarget.get(target) ?? [];
  }

  /**
   * Deletes a record that the caller may delete. Rules are not asked for records that `cascade` deletes, hooks are; hooks
   * are not asked for cleared records.
   * @returns about the bytes of the other records that were deleted or cleared.
   * @throws AppError `bad_request` for `restrict` and beyond the bound.
   */
  async delete(
    tx: Transactor,
    principal: Principal,
    { table, row, hooks }: { table: RecordTable; row: OwnedRow; hooks: WriteHooks | null },
  ): Promise<number> {
    const work = new Work(tx, principal, { root: targetOf(table, row), hooks });
    if (this.#pointersTo(table.collection.name).length > 0) await this.#follow(work);
    this.#remove(work, { table, row });
    return work.bytes;
  }

  /**
   * Deletes a record that no other record points to, at once.
   * @returns false, with nothing changed, for a record that others point to: `delete` applies the `onDelete` of the relations.
   */
  deleteAlone(tx: Transactor, principal: Principal, { table, row }: { table: RecordTable; row: OwnedRow }): boolean {
    if (this.isPointedTo(tx, { collection: table.collection.name, id: row.record.id })) return false;
    this.#remove(new Work(tx, principal, { root: targetOf(table, row), hooks: null }), { table, row });
    return true;
  }

  /** Whether a record points to a target by a relation with `onDelete`. */
  isPointedTo(tx: Transactor, { collection, id }: Target): boolean {
    return this.#pointersTo(collection).some(({ table, field }) => tx.get(table.pointing(field, 1), id, 0) !== null);
  }

  /** Applies the `onDelete` of relations to a user that is about to be deleted. @throws as `delete`. */
  async followUser(tx: Transactor, principal: Principal, id: string): Promise<void> {
    await this.#follow(new Work(tx, principal, { root: { collection: "users", id }, hooks: null }));
  }

  /** Everything but the root. */
  async #follow(work: Work): Promise<void> {
    const { root } = work;
    const doomed: Pointing[] = [];
    const deleted: Deleted = { targets: [root], going: new Set([keyOf(root)]) };
    for await (const found of this.#pointing(work, deleted, "cascade")) {
      doomed.push(found);
      deleted.targets.push(found);
      deleted.going.add(keyOf(found));
      if (doomed.length > this.#limit) throw this.#tooMany();
    }
    await this.#refuse(work, deleted);
    let room = this.#limit - doomed.length;
    for await (const found of this.#pointing(work, deleted, "clear")) {
      room -= 1;
      if (room < 0) throw this.#tooMany();
      this.#clearOne(work, found);
    }
    for (const { table, id } of doomed.toReversed()) {
      const row = work.tx.get<StoredRecord>(table.byIdWithOwner, id);
      if (row === null) continue;
      work.weigh(table.weightOf(row));
      this.#remove(work, { table, row: table.toOwned(row) });
      await work.turn();
    }
  }

  /** Deletes the record of a user, whose relations `followUser` has followed. */
  remove(tx: Transactor, principal: Principal, { table, id }: { table: RecordTable; id: string }): void {
    const found = tx.get<StoredRecord>(table.byIdWithOwner, id);
    if (found === null) return;
    const row = table.toOwned(found);
    this.#remove(new Work(tx, principal, { root: targetOf(table, row), hooks: null }), { table, row });
  }

  #remove({ tx, principal, hooks, root }: Work, { table, row }: { table: RecordTable; row: OwnedRow }): void {
    const { record } = row;
    if (hooks?.has(table.collection.name, "delete") === true)
      hooks.valuesFor({ table, operation: "delete", principal, record, previous: record });
    tx.run(table.delete, record.id);
    if (table.hasFiles) forgetUnread(tx, record.id);
    hooks?.wrote(table.collection.name, record.id, null);
    const { name, definition } = table.collection;
    if (definition.trash !== undefined) {
      const { id } = record;
      const deletedAt = this.#clock.now();
      const endsAt = deletedAt + (duration(0).parse(definition.trash) ?? 0);
      const { text } = JsonText.of(record);
      const of = { root: root.id, rootCollection: root.collection };
      putTrash(tx, { collection: name, id, owner: row.owner, ...of, deletedAt, endsAt, record: text });
    }
    this.#effects.deleted(tx, { table, row, principal });
  }

  /**
   * The records that stay and point to the deleted records, for each field with an `onDelete`. Both may change
   * meanwhile: the targets that are added are searched, too.
   */
  async *#pointing(
    work: Work,
    { targets, going }: Deleted,
    onDelete: Pointer["onDelete"],
  ): AsyncGenerator<Pointing, void> {
    for (const target of targets) {
      await work.turn();
      for (const pointer of this.#pointersTo(target.collection)) {
        if (pointer.onDelete !== onDelete) continue;
        const collection = pointer.table.collection.name;
        for await (const id of idsPointing(work, pointer, target.id))
          if (!going.has(keyOf({ collection, id }))) yield { ...pointer, collection, id, target: target.id };
      }
    }
  }

  async #refuse(work: Work, deleted: Deleted): Promise<void> {
    const kept = new Map<string, Kept>();
    for await (const { collection, table, field } of this.#pointing(work, deleted, "restrict")) {
      const path = `${collection}.${field}`;
      kept.set(path, { table, field, n: (kept.get(path)?.n ?? 0) + 1 });
    }
    if (kept.size === 0) return;
    const details = [...kept].map(([path, found]): ErrorDetail => {
      return { field: path, rule: "relation", message: `${told(work.principal, found)} here by ${path}` };
    });
    const reasons = details.map(({ message }) => message).join("; ");
    throw new AppError("bad_request", `It cannot be deleted: ${reasons}.`, { details });
  }

  /** Sets a field to null, or takes an item out of an array, with an event. Neither can break a rule of the record. */
  #clearOne(work: Work, { table, field, id, target }: Pointing): void {
    const { tx, principal } = work;
    const definition = table.field(field);
    const found = tx.get<StoredRecord>(table.byIdWithOwner, id);
    if (definition === null || found === null) return;
    work.weigh(table.weightOf(found));
    const before = table.toOwned(found);
    const now = this.#clock.now();
    const updatedAt = toTimestamp(Math.max(now, Date.parse(before.record.updatedAt) + 1));
    const cleared = definition.multiple === true ? withoutItem(before.record[field], target) : null;
    const values = table.fields.map((each): Value | undefined => (each === definition ? cleared : undefined));
    // Without the value the record may be counted by another counter.
    const { record } = before;
    if (table.sequences.length > 0) numberChanged(tx, table, { values, record, problems: [] });
    const changed = table.fields.filter((_, position) => values[position] !== undefined);
    const stored = values.filter((value) => value !== undefined);
    tx.run(table.update(changed), ...stored, updatedAt, id);
    const owner = definition.owner === true ? null : before.owner;
    const row: OwnedRow = { record: { ...table.changed(record, values), updatedAt }, owner };
    if (table.sequences.length > 0) keepNumbers(tx, table, { values, record: row.record });
    this.#effects.updated(tx, { table, row, principal, now, json: JsonText.of(row.record) }, before);
  }

  #tooMany(): AppError {
    return tooMuch(`more than ${this.#limit} records (limits.cascade)`);
  }
}

function pointersOf(collections: readonly Collection[]): ReadonlyMap<string, Pointer[]> {
  const byTarget = new Map<string, Pointer[]>();
  for (const collection of collections)
    for (const { name, onDelete, collection: target } of collection.definition.fields) {
      if (onDelete === undefined || target === undefined) continue;
      const pointer: Pointer = { table: recordTableOf(collection), field: name, onDelete };
      byTarget.getOrInsertComputed(target, () => []).push(pointer);
    }
  return byTarget;
}

/** The number of pointing records; without the number for a caller that may not read all of these records. */
function told(principal: Principal, { table: { collection }, field, n }: Kept): string {
  const limits = fieldLimits(collection, principal);
  const isOpen = limits === null || !(limits.closed.has(field) || limits.conditional.has(field));
  if (!isOpen || collection.policies.read.decide(principal).access !== "all") return "records point";
  return `${count(n, "record")} ${n === 1 ? "points" : "point"}`;
}

/** The stored form of the other items. */
function withoutItem(items: JsonValue | undefined, item: string): string {
  return JSON.stringify(Array.isArray(items) ? items.filter((each) => each !== item) : []);
}

function tooMuch(what: string): AppError {
  const message = `The record cannot be deleted at once: ${what} would be deleted or changed along. Delete some of the records first.`;
  return new AppError("bad_request", message, { limit: "cascade" });
}

function targetOf({ collection }: RecordTable, { record }: OwnedRow): Target {
  return { collection: collection.name, id: record.id };
}

/** A text for each target. */
export function keyOf({ collection, id }: Target): string {
  return `${collection} ${id}`;
}

/** The ids of the records with a field that points to a target, in the order of creation. The records may change meanwhile. */
async function* idsPointing(work: Work, { table, field }: Pointer, id: string): AsyncGenerator<string> {
  const sql = table.pointing(field, pageSize);
  for (let after = 0; ; ) {
    const page = work.tx.all<{ seq: number; id: string }>(sql, id, after);
    for (const row of page) {
      yield row.id;
      await work.turn();
    }
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last.seq;
  }
}
