/** Trash: the deleted records of a collection with a `trash`, for the callers who may read and delete the records; restore and final deletion. */
import type { StoredRecord } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import {
  AppError,
  actorOf,
  type Clock,
  causeOf,
  LoopTurns,
  type Principal,
  type System,
  system,
  toTimestamp,
} from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Reader } from "../../store/database/index.ts";
import {
  type Collection,
  type Collections,
  emptyTrash,
  endTrash,
  forgetTrash,
  isTrashOver,
  type TrashRow,
  trashOfRoot,
  trashPage,
  trashRow,
} from "../collections/index.ts";
import { keyOf } from "./deletions.ts";
import { missingRecord, recordTableOf } from "./record-table.ts";
import type { Reversals } from "./reversals.ts";
import type { Rights, WholeState } from "./rights.ts";

/** A page of the trash. `deleted`: the times of each record, by id. */
export interface TrashPage {
  readonly items: StoredRecord[];
  readonly deleted: { readonly [id: string]: { readonly at: string; readonly until: string } };
  readonly nextCursor: string | null;
}

/** Records that a page reads for a caller who may see few of the records; a page may then have fewer records than the limit. */
const maxRead = 2_000;
const readAtOnce = 20;
/** Characters of the records of a page, as JSON; further records are on the next page. */
const maxPageText = 4 * 1024 ** 2;
/** Records that a transaction removes for good. */
const step = 500;
const minuteMs = 60_000;

interface TrashOptions {
  readonly clock: Clock;
  readonly collections: Collections;
  readonly config: Pick<Config, "limits.trash">;
  readonly database: Database;
  readonly logger: Logger;
  readonly reversals: Reversals;
  readonly rights: Rights;
}

export class Trash {
  readonly #options: TrashOptions;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(options: TrashOptions) {
    this.#options = options;
  }

  /** Removes the records that are over, each minute until the signal. */
  start(signal: AbortSignal): void {
    const sweep = (): void => {
      this.#sweeping = this.#sweeping
        .then(() => this.sweep(signal))
        .catch((error) => {
          if (!signal.aborted) this.#options.logger.error("The trash could not be emptied", { error });
        });
    };
    const timer = setInterval(sweep, minuteMs).unref();
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
    sweep();
  }

  /** Resolves when no record is being removed. */
  settled(): Promise<void> {
    return this.#sweeping;
  }

  async sweep(signal?: AbortSignal): Promise<void> {
    const { clock, config, database } = this.#options;
    const bounds = { now: clock.now(), kept: config["limits.trash"] };
    while (signal?.aborted !== true && isTrashOver(database.reader, bounds))
      await database.upkeep((tx) => endTrash(tx, { ...bounds, limit: step }), { makesRoom: true });
  }

  /**
   * The last deleted first.
   * @throws AppError `bad_request` for a collection without a trash; `unauthorized` and `forbidden` by the rules of reading and deleting.
   */
  async page(
    collection: Collection,
    principal: Principal,
    { before, limit }: { before: number | null; limit: number },
  ): Promise<TrashPage> {
    this.#admit(collection, principal);
    const { reader } = this.#options.database;
    const turns = new LoopTurns();
    const items: StoredRecord[] = [];
    const deleted: Record<string, { at: string; until: string }> = {};
    let last = before;
    let size = 0;
    for (let read = 0; read < maxRead; ) {
      const rows = trashPage(reader, collection.name, { before: last, limit: readAtOnce });
      for (const row of rows) {
        const state = this.#readable(reader, collection, { principal, row });
        if (state !== null) {
          if (items.length === limit || size > maxPageText) return { items, deleted, nextCursor: String(last) };
          size += row.record.length;
          items.push(this.#options.rights.shown(reader, state));
          deleted[row.id] = { at: toTimestamp(row.deletedAt), until: toTimestamp(row.endsAt) };
        }
        last = row.seq;
        read += 1;
        if (turns.isDue()) await turns.next();
      }
      if (rows.length < readAtOnce) return { items, deleted, nextCursor: null };
    }
    return { items, deleted, nextCursor: String(last) };
  }

  /**
   * Makes a deleted record again, with the id, the owner and the numbers, and the records that `cascade` deleted along. Answers the
   * record as the caller may read the record.
   * @throws AppError as `page`; `not_found`; `conflict` when a record cannot come back now, for example because a unique value is taken.
   */
  restore(collection: Collection, principal: Principal, id: string): Promise<StoredRecord> {
    this.#admit(collection, principal);
    const { collections, database, reversals, rights } = this.#options;
    return database.transactLongFor(principal, async (tx, current) => {
      const turns = new LoopTurns();
      const { name } = collection;
      const rows = [
        this.#find(tx, collection, { principal: current, id }),
        ...trashOfRoot(tx, { collection: name, id }),
      ];
      const along = new Set(rows.map(keyOf));
      for (const row of rows) {
        try {
          reversals.restore(tx, authorOf(current), {
            collection: row.collection,
            id: row.id,
            deleted: basisOf(row),
            along,
          });
        } catch (thrown) {
          const isConflict = thrown instanceof AppError && thrown.code === "conflict";
          const own = collections.named(row.collection);
          if (!isConflict || this.#readable(tx, own, { principal: current, row }) !== null) throw thrown;
          throw new AppError("conflict", `A record that was deleted along with ${id} cannot be restored now.`);
        }
        if (turns.isDue()) await turns.next();
      }
      const table = recordTableOf(collections.named(name));
      const row = tx.get<StoredRecord>(table.byIdWithOwner, id);
      if (row === null) throw missingRecord(collection, id);
      return rights.shown(tx, { table, principal: current, ...table.toOwned(row) });
    });
  }

  /** Removes a deleted record for good. @throws AppError as `restore`. */
  async remove(collection: Collection, principal: Principal, id: string): Promise<void> {
    this.#admit(collection, principal);
    await this.#options.database.transactFor(
      principal,
      (tx, current) => {
        this.#find(tx, collection, { principal: current, id });
        forgetTrash(tx, collection.name, id);
      },
      { makesRoom: true },
    );
  }

  /** Removes all deleted records of a collection for good, in small steps, for an admin. Answers the number. */
  async empty({ name }: Collection): Promise<number> {
    let removed = 0;
    for (;;) {
      const n = await this.#options.database.upkeep((tx) => emptyTrash(tx, name, step), { makesRoom: true });
      removed += n;
      if (n < step) return removed;
    }
  }

  #admit({ name, definition, policies }: Collection, principal: Principal): void {
    policies.read.admit(principal);
    policies.delete.admit(principal);
    if (definition.trash === undefined)
      throw new AppError(
        "bad_request",
        `"${name}" has no trash: a definition with "trash": "30d" keeps deleted records.`,
      );
  }

  /** A deleted record that the caller may read and delete. @throws AppError `not_found`. */
  #find(reader: Reader, collection: Collection, { principal, id }: { principal: Principal; id: string }): TrashRow {
    const row = trashRow(reader, collection.name, id);
    if (row === null || this.#readable(reader, collection, { principal, row }) === null)
      throw new AppError("not_found", `The trash of "${collection.name}" has no record ${id}.`);
    return row;
  }

  /** A deleted record for a caller who may read and delete the record; null for another caller. */
  #readable(
    reader: Reader,
    collection: Collection,
    { principal, row }: { principal: Principal; row: TrashRow },
  ): WholeState | null {
    if (row.endsAt <= this.#options.clock.now()) return null;
    const { rights } = this.#options;
    const { fields: record, owner } = basisOf(row);
    const state = { table: recordTableOf(collection), principal, record, owner };
    return rights.allowsState(reader, "read", state) && rights.allowsState(reader, "delete", state) ? state : null;
  }
}

/** The values of a row. */
function basisOf({ record, owner }: TrashRow): { fields: StoredRecord; owner: string | null } {
  // The text was written from a record.
  return { fields: JSON.parse(record) as StoredRecord, owner };
}

/** The service, which makes a record again for a caller. */
function authorOf(principal: Principal): System {
  const cause = causeOf(principal);
  return { ...system, actor: actorOf(principal), ...(cause !== null && { cause }) };
}
