/** Record counts: a collection is counted once; from then on each commit reports its change. */
import type { Collection } from "../collections/index.ts";
import type { Database } from "../database/index.ts";
import { recordTableOf } from "./record-table.ts";

interface Counted {
  /** Which collection of this name it is about. */
  readonly createdAt: string;
  /** Settles once `records` holds them all. */
  ready: Promise<void>;
  records: number;
}

export class RecordCounts {
  readonly #database: Database;
  readonly #counted = new Map<string, Counted>();

  constructor(options: { database: Database }) {
    this.#database = options.database;
  }

  async of(collection: Collection): Promise<number> {
    const known = this.#counted.get(collection.name);
    const counted = known?.createdAt === collection.createdAt ? known : this.#count(collection);
    await counted.ready;
    return counted.records;
  }

  /** To be called in the moment of the commit. */
  changed({ name, createdAt }: Collection, by: number): void {
    const counted = this.#counted.get(name);
    if (counted?.createdAt === createdAt) counted.records += by;
  }

  #count(collection: Collection): Counted {
    const { name, createdAt } = collection;
    const counted: Counted = { createdAt, ready: Promise.resolve(), records: 0 };
    // The count is of this moment. Commits from now on are added to it.
    const reading = this.#database.reader.get<{ n: number }>(recordTableOf(collection).count);
    this.#counted.set(name, counted);
    counted.ready = (async () => {
      const row = await reading;
      counted.records += row?.n ?? 0;
    })();
    counted.ready.catch(() => this.#counted.delete(name));
    return counted;
  }
}
