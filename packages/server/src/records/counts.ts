import type { Collection } from "../collections/index.ts";
import { type Database, identifier } from "../database/index.ts";

/** An answer that took time is given again for as many times as long: counting never takes more than this part of all time. */
const restPerCost = 50;
/** What was quicker than this is counted anew each time. */
const quickMs = 0.5;

interface Counted {
  readonly records: number;
  readonly until: number;
}

/** How many records there are. Counting a large collection takes a while, so its answer may be some seconds old. */
export class RecordCounts {
  readonly #database: Database;
  readonly #counted = new WeakMap<Collection, Counted>();

  constructor(database: Database) {
    this.#database = database;
  }

  async of(collection: Collection): Promise<number> {
    const start = performance.now();
    const known = this.#counted.get(collection);
    if (known !== undefined && known.until > start) return known.records;
    const row = await this.#database.reader.get<{ n: number }>(
      `SELECT count(*) AS n FROM ${identifier(collection.table)}`,
    );
    const records = row?.n ?? 0;
    const end = performance.now();
    const cost = end - start;
    if (cost > quickMs) this.#counted.set(collection, { records, until: end + cost * restPerCost });
    return records;
  }
}
