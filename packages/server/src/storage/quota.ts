/**
 * The storage quota: bounds on the bytes of stored files, of each user and in all (`limits.storagePerUser`,
 * `limits.storage`).
 */
import type { Database, Reader, Transactor } from "../database/index.ts";
import { AppError } from "../kernel/index.ts";
import { bytesOf, fileTotals } from "./file-table.ts";

/** Bytes; 0 is no bound. */
export interface QuotaOptions {
  readonly total: number;
  readonly perUser: number;
}

/** The room that one of the bounds leaves for further files. */
export interface Room {
  readonly limit: "storage" | "storagePerUser";
  readonly max: number;
  readonly used: number;
}

/** @throws AppError `payload_too_large` when a file of `size` bytes does not fit. */
export function assertFits(rooms: readonly Room[], size: number): void {
  for (const { limit, max, used } of rooms) {
    if (used + size <= max) continue;
    const whose = limit === "storage" ? "All files" : "Your files";
    const left = Math.max(0, max - used);
    throw new AppError(
      "payload_too_large",
      `The storage is full. ${whose} may take ${max} bytes (limits.${limit}); ${used} are used, and at most ${left} more fit.`,
      { limit },
    );
  }
}

/** Stored files, and their bytes. */
export interface StoredTotals {
  files: number;
  size: number;
}

interface Counted extends StoredTotals {
  /** Settles once all of them are counted. */
  ready: Promise<void>;
}

/**
 * The bounds, and the totals that they and the overview need: counted once, from then on each commit tells its change.
 */
export class Quota {
  readonly #max: QuotaOptions;
  /** Null until somebody asks. */
  #counted: Counted | null = null;

  constructor(options: QuotaOptions) {
    this.#max = options;
  }

  /** To be called once, at start. */
  async start({ reader }: Database): Promise<void> {
    if (this.#max.total > 0) await this.totals(reader);
  }

  /** The committed totals. */
  async totals(reader: Reader): Promise<StoredTotals> {
    const counted = this.#counted ?? this.#count(reader);
    await counted.ready;
    const { files, size } = counted;
    return { files, size };
  }

  /** The bounds for a further file of a user, or of nobody. Without bounds there are none. */
  async roomsFor(reader: Reader, userId: string | null): Promise<Room[]> {
    const { total, perUser } = this.#max;
    const rooms: Room[] = [];
    if (perUser > 0 && userId !== null) {
      rooms.push({ limit: "storagePerUser", max: perUser, used: await bytesOf(reader, userId) });
    }
    if (total > 0) rooms.push({ limit: "storage", max: total, used: this.#counted?.size ?? 0 });
    return rooms;
  }

  /**
   * Counts a file that this transaction adds.
   * @throws AppError `payload_too_large` when it does not fit.
   */
  async add(tx: Transactor, { size, userId }: { size: number; userId: string | null }): Promise<void> {
    assertFits(await this.roomsFor(tx, userId), size);
    tx.onCommit(() => this.#changed(1, size));
    // With a bound, the next transaction must see the new total.
    if (this.#max.total > 0) tx.endBatch();
  }

  /** Counts a file no more that this transaction deletes. */
  remove(tx: Transactor, size: number): void {
    tx.onCommit(() => this.#changed(-1, -size));
  }

  #changed(files: number, size: number): void {
    if (this.#counted === null) return;
    this.#counted.files += files;
    this.#counted.size += size;
  }

  #count(reader: Reader): Counted {
    const counted: Counted = { ready: Promise.resolve(), files: 0, size: 0 };
    // The totals are of this moment. Commits from now on are added to them.
    const reading = fileTotals(reader);
    this.#counted = counted;
    counted.ready = (async () => {
      const { files, size } = await reading;
      counted.files += files;
      counted.size += size;
    })();
    counted.ready.catch(() => {
      this.#counted = null;
    });
    return counted;
  }
}
