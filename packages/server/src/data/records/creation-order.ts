/** Creation order: notices the first record of a collection that has a `createdAt` before an earlier record, and has lists follow `createdAt`. */
import { messageOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import type { Collection, Collections } from "../collections/index.ts";
import type { RecordTable } from "./record-table.ts";

export interface CreationOrderOptions {
  readonly database: Database;
  readonly collections: Collections;
  readonly logger: Logger;
}

export class CreationOrder {
  readonly #options: CreationOrderOptions;
  /** No record has a later `createdAt`. Transactions that were taken back may have left a later time than any record has. */
  readonly #latest = new WeakMap<Collection, string>();

  constructor(options: CreationOrderOptions) {
    this.#options = options;
  }

  #committed(newest: string): string {
    return this.#options.database.reader.get<{ createdAt: string }>(newest)?.createdAt ?? "";
  }

  /** To be called in the transaction of each insert, after the insert. */
  follow(tx: Transactor, { collection, newest }: RecordTable, createdAt: string): void {
    if (!collection.isChronological) return;
    const latest = this.#latest.get(collection) ?? this.#committed(newest);
    if (createdAt > latest) this.#latest.set(collection, createdAt);
    if (createdAt >= latest) return;
    const before = tx.get<{ createdAt: string }>(`${newest} OFFSET 1`);
    if (before === null || before.createdAt <= createdAt) return;
    const { collections, logger } = this.#options;
    if (!collections.noteOrder(tx, collection.name, false)) return;
    tx.onDurable(() => {
      logger.info(`${collection.name} has records that are older than earlier records: lists sort by createdAt`);
      // Without the index, lists are right, and slow; the next start makes the index.
      collections
        .completeIndexes(collection)
        .catch((thrown) => logger.warn(`The index of ${collection.name} was not made: ${messageOf(thrown)}`));
    });
  }
}
