/**
 * Records that a write has made or changed so far, which the hooks of its later parts see as `earlier`: the operations of a batch,
 * or the rows of an import in the same transaction.
 */

/** The values of a record; without the times of a new record. */
export type RecordValues = Readonly<Record<string, unknown>>;

/** A record that an operation of a batch has made or changed; null for a record that the operation has deleted. */
export interface EarlierRecord {
  readonly id: string;
  readonly record: RecordValues | null;
}

/** The records of a collection that the operations of a batch before a change have written, in order. */
export interface Earlier {
  /** Grows with later operations. */
  readonly records: readonly EarlierRecord[];
  /** The number of the records before the change. */
  readonly length: number;
}

/** A record that the write has made or changed has other times in each transaction. */
export const noTimes = { createdAt: null, updatedAt: null };

/** The records of one collection that a transaction has written so far. */
export class WrittenRecords {
  readonly records: EarlierRecord[] = [];
  #hash = 0n;

  add(written: EarlierRecord): void {
    this.records.push(written);
    this.#hash = BigInt(Bun.hash(textOf(written), this.#hash));
  }

  /** Tells apart what was written, whatever the times are. */
  get hash(): bigint {
    return this.#hash;
  }
}

/** The text of a record without the times, also without the time of the creation in fields with the default `@now`. */
function textOf({ id, record }: EarlierRecord): string {
  const text = JSON.stringify([id, record && { ...noTimes, ...record, ...noTimes }]);
  const createdAt = record?.["createdAt"];
  return typeof createdAt === "string" ? text.replaceAll(createdAt, "") : text;
}
