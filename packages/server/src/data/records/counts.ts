/** Record counts: a collection is counted once; from then on each commit reports its change. */

import type { Database } from "../../store/database/index.ts";
import type { Collection } from "../collections/index.ts";
import { recordsChanged } from "./record-effects.ts";
import { recordTableOf } from "./record-table.ts";

interface Counted {
  /** The creation time of the collection: a later collection may have the same name. */
  readonly createdAt: string;
  records: number;
}

export class RecordCounts {
  readonly #database: Database;
  readonly #counted = new Map<string, Counted>();

  constructor(options: { database: Database }) {
    this.#database = options.database;
    options.database.projection.on(recordsChanged, ({ collection, by }) => {
      // A later collection of the same name is counted anew: its creation time differs.
      const counted = this.#counted.get(collection);
      if (counted !== undefined) counted.records += by;
    });
  }

  of(collection: Collection): number {
    const { name, createdAt } = collection;
    const known = this.#counted.get(name);
    if (known?.createdAt === createdAt) return known.records;
    const records = this.#database.reader.get<{ n: number }>(recordTableOf(collection).count)?.n ?? 0;
    this.#counted.set(name, { createdAt, records });
    return records;
  }
}
