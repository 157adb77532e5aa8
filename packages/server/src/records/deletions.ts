/**
 * Deletions: a record, or a user, goes, and each relation that points there does what its `onDelete` says.
 *
 * 1. **Collect.** From the record on, what `cascade` takes along is found by the indexes of the relations, each record once, so that
 *    rings end.
 * 2. **Refuse.** A record that points to one of them by `restrict` and stays refuses all of it. Nothing was written so far.
 * 3. **Clear.** The fields that point to one of them by `clear`, in records that stay, are set to null, or lose the item.
 * 4. **Delete.** Those that were found last go first, the record itself at the end.
 *
 * All of it is one transaction: nobody sees a part, and a crash leaves all or nothing. It takes turns with the event loop, so that
 * reads go on; other writes wait for it, which is why `limits.cascade` bounds it.
 */
import type { ErrorDetail, JsonValue, StoredRecord } from "@socle/protocol";
import type { Collections } from "../collections/index.ts";
import type { Transactor, Value } from "../database/index.ts";
import { AppError, type Clock, count, JsonText, LoopTurns, type Principal, toTimestamp } from "../kernel/index.ts";
import { fieldLimits } from "./field-rights.ts";
import { type Pointer, Pointers } from "./pointers.ts";
import { DeletedRecords, type RecordEffects } from "./record-effects.ts";
import type { OwnedRow, RecordTable } from "./record-table.ts";
import { keepNumbers, numberChanged } from "./sequences.ts";
import type { WriteHooks } from "./write-hooks.ts";

/** Records that are looked up in one step. */
const pageSize = 500;

/** Bytes of the records that one deletion may change beside its own: until it is on disk, listeners wait for them. */
const maxBytes = 64 * 1024 ** 2;

/** A record that others point to, or one of "users". */
interface Target {
  readonly collection: string;
  readonly id: string;
}

/** A record that goes along. */
interface Doomed extends Target {
  readonly table: RecordTable;
}

/** Records that stay and point to one that would go. */
interface Kept extends Pick<Pointer, "table" | "field"> {
  readonly n: number;
}

/** Records that go along, with the keys of them and of the root. */
interface Collected {
  readonly doomed: readonly Doomed[];
  readonly going: ReadonlySet<string>;
}

/** A transaction, for whom it runs, and when it lets others have their turn. */
class Work {
  readonly tx: Transactor;
  readonly principal: Principal;
  /** Asked before each record that is deleted; null where none are. */
  readonly hooks: WriteHooks | null;
  readonly deleted = new DeletedRecords();
  readonly #turns = new LoopTurns();
  #bytes = 0;

  constructor(tx: Transactor, principal: Principal, hooks: WriteHooks | null) {
    this.tx = tx;
    this.principal = principal;
    this.hooks = hooks;
  }

  /** About the bytes of the records that were changed. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a record that is changed. @throws AppError `bad_request` when all of them are too many bytes. */
  weigh(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > maxBytes) throw tooMuch(`more than ${maxBytes / 1024 ** 2} MiB of records`);
  }

  /** To be called for each record that is looked at, also where nothing points to it. */
  turn(): Promise<void> | undefined {
    return this.#turns.isDue() ? this.#turns.next() : undefined;
  }
}

export class Deletions {
  readonly #pointers: Pointers;
  readonly #effects: RecordEffects;
  readonly #clock: Clock;
  readonly #limit: number;

  /** @param options `limit`: records that one deletion may change beside its own. */
  constructor(options: { collections: Collections; effects: RecordEffects; clock: Clock; limit: number }) {
    this.#pointers = new Pointers(options.collections);
    this.#effects = options.effects;
    this.#clock = options.clock;
    this.#limit = options.limit;
  }

  /**
   * Deletes a record that the caller may delete. No rule is asked for what goes along; hooks are, but not for what is cleared.
   * @returns about the bytes of the other records that were deleted or cleared.
   * @throws AppError `bad_request` where `restrict` or the bound refuses it.
   */
  async delete(
    tx: Transactor,
    principal: Principal,
    { table, row, hooks }: { table: RecordTable; row: OwnedRow; hooks: WriteHooks | null },
  ): Promise<number> {
    const { name } = table.collection;
    const work = new Work(tx, principal, hooks);
    this.#effects.onDeleted(tx, work.deleted);
    if (this.#pointers.to(name).length > 0) await this.#follow(work, { collection: name, id: row.record.id });
    await this.#remove(work, { table, row });
    return work.bytes;
  }

  /** Does what relations to a user ask for who is about to go. @throws as `delete`. */
  async followUser(tx: Transactor, principal: Principal, id: string): Promise<void> {
    if (this.#pointers.to("users").length === 0) return;
    const work = new Work(tx, principal, null);
    this.#effects.onDeleted(tx, work.deleted);
    await this.#follow(work, { collection: "users", id });
  }

  /** Everything but the root itself. */
  async #follow(work: Work, root: Target): Promise<void> {
    const { doomed, going } = await this.#collect(work, root);
    const targets: readonly Target[] = [root, ...doomed];
    await this.#refuse(work, targets, going);
    await this.#clear(work, targets, { going, room: this.#limit - doomed.length });
    for (const { table: of, id } of doomed.toReversed()) {
      const row = await work.tx.get<StoredRecord>(of.byIdWithOwner, id);
      if (row === null) continue;
      work.weigh(of.weightOf(row));
      await this.#remove(work, { table: of, row: of.toOwned(row) });
      await work.turn();
    }
  }

  async #remove(
    { tx, principal, hooks, deleted }: Work,
    { table, row }: { table: RecordTable; row: OwnedRow },
  ): Promise<void> {
    const { record } = row;
    if (hooks?.has(table.collection.name, "delete") === true)
      hooks.valuesFor({ table, operation: "delete", principal, record, previous: record });
    await tx.run(table.delete, row.record.id);
    deleted.add(table.collection, row.owner);
    await this.#effects.deleted(tx, { table, row, principal });
  }

  /** The records that go along, in the order in which they were found. */
  async #collect(work: Work, root: Target): Promise<Collected> {
    const doomed: Doomed[] = [];
    const seen = new Set([keyOf(root)]);
    for (let at = -1; at < doomed.length; at++) {
      const target = doomed[at] ?? root;
      await work.turn();
      for (const { table, field } of this.#pointersTo(target, "cascade"))
        for await (const id of pointing(work, { table, field }, target.id)) {
          const found: Doomed = { collection: table.collection.name, id, table };
          if (seen.has(keyOf(found))) continue;
          seen.add(keyOf(found));
          doomed.push(found);
          if (doomed.length > this.#limit) throw this.#tooMany();
        }
    }
    return { doomed, going: seen };
  }

  async #refuse(work: Work, targets: readonly Target[], going: ReadonlySet<string>): Promise<void> {
    const kept = new Map<string, Kept>();
    for (const target of targets) {
      await work.turn();
      for (const { table, field } of this.#pointersTo(target, "restrict")) {
        const { name } = table.collection;
        for await (const id of pointing(work, { table, field }, target.id)) {
          if (going.has(keyOf({ collection: name, id }))) continue;
          const { n } = kept.get(`${name}.${field}`) ?? { n: 0 };
          kept.set(`${name}.${field}`, { table, field, n: n + 1 });
        }
      }
    }
    if (kept.size === 0) return;
    const details = [...kept].map(([path, found]): ErrorDetail => {
      return { field: path, rule: "relation", message: `${told(work.principal, found)} here by ${path}` };
    });
    const reasons = details.map(({ message }) => message).join("; ");
    throw new AppError("bad_request", `It cannot be deleted: ${reasons}.`, { details });
  }

  async #clear(
    work: Work,
    targets: readonly Target[],
    { going, room }: { going: ReadonlySet<string>; room: number },
  ): Promise<void> {
    let cleared = 0;
    for (const target of targets) {
      await work.turn();
      for (const { table, field } of this.#pointersTo(target, "clear"))
        for await (const id of pointing(work, { table, field }, target.id)) {
          if (going.has(keyOf({ collection: table.collection.name, id }))) continue;
          cleared += 1;
          if (cleared > room) throw this.#tooMany();
          await this.#clearOne(work, { table, field }, { id, target: target.id });
        }
    }
  }

  /** Sets a field to null, or takes an item out of it, with an event. No rule of the record can be broken by that. */
  async #clearOne(
    work: Work,
    { table, field }: Pick<Pointer, "table" | "field">,
    { id, target }: { id: string; target: string },
  ): Promise<void> {
    const { tx, principal } = work;
    const definition = table.field(field);
    const found = await tx.get<StoredRecord>(table.byIdWithOwner, id);
    if (definition === null || found === null) return;
    work.weigh(table.weightOf(found));
    const before = table.toOwned(found);
    const now = this.#clock.now();
    const updatedAt = toTimestamp(Math.max(now, Date.parse(before.record.updatedAt) + 1));
    const cleared = definition.multiple === true ? withoutItem(before.record[field], target) : null;
    const values = table.fields.map((each): Value | undefined => (each === definition ? cleared : undefined));
    // Without the value the record may be counted by another counter.
    const { record } = before;
    if (table.sequences.length > 0) await numberChanged(tx, table, { values, record, problems: [] });
    const changed = table.fields.filter((_, position) => values[position] !== undefined);
    const stored = values.filter((value) => value !== undefined);
    await tx.run(table.update(changed), ...stored, updatedAt, id);
    const owner = definition.owner === true ? null : before.owner;
    const row: OwnedRow = { record: { ...table.changed(record, values), updatedAt }, owner };
    if (table.sequences.length > 0) await keepNumbers(tx, table, { values, record: row.record });
    await this.#effects.updated(tx, { table, row, principal, now, json: JsonText.of(row.record) }, before);
  }

  #pointersTo({ collection }: Target, onDelete: Pointer["onDelete"]): readonly Pointer[] {
    return this.#pointers.to(collection).filter((pointer) => pointer.onDelete === onDelete);
  }

  #tooMany(): AppError {
    return tooMuch(`more than ${this.#limit} records (limits.cascade)`);
  }
}

/** How many records point somewhere, as who may not read all of them is told it, too. */
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
  const message = `It cannot be deleted at once: ${what} would go or change with it. Delete some of them first.`;
  return new AppError("bad_request", message, { limit: "cascade" });
}

function keyOf({ collection, id }: Target): string {
  return `${collection} ${id}`;
}

/** The ids of the records whose field points to a target, in the order of creation. They may change meanwhile. */
async function* pointing(
  work: Work,
  { table, field }: Pick<Pointer, "table" | "field">,
  id: string,
): AsyncGenerator<string> {
  const sql = table.pointing(field, pageSize);
  for (let after = 0; ; ) {
    const page = await work.tx.all<{ seq: number; id: string }>(sql, id, after);
    for (const row of page) {
      yield row.id;
      await work.turn();
    }
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last.seq;
  }
}
