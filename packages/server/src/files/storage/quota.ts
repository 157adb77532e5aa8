/**
 * The storage quota: bounds on the bytes of stored files, of each user and in all (`limits.storagePerUser`,
 * `limits.storage`).
 */
import { AppError } from "../../base/kernel/index.ts";
import { type Database, noteKind, type Reader, type Transactor } from "../../store/database/index.ts";
import { bytesOf, fileTotals } from "./file-table.ts";

/** Bytes; 0 is no bound. */
export interface QuotaOptions {
  readonly total: number;
  readonly perUser: number;
}

/** The room that a bound leaves for further files. */
export interface QuotaRoom {
  readonly limit: "storage" | "storagePerUser";
  readonly max: number;
  readonly used: number;
}

/** @throws AppError `payload_too_large` when a file of `size` bytes does not fit. */
export function assertFits(rooms: readonly QuotaRoom[], size: number): void {
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
  readonly files: number;
  readonly size: number;
}

/** The numbers by which a transaction changes the totals. */
const filesChanged = noteKind<StoredTotals>("files.changed");

/**
 * The bounds, and the totals for the bounds and the overview. The totals are counted once; from then on each commit
 * adds its change.
 */
export class Quota {
  readonly #max: QuotaOptions;
  /** Null until somebody asks. */
  #counted: StoredTotals | null = null;

  constructor(options: QuotaOptions) {
    this.#max = options;
  }

  /** To be called once, at start. */
  start({ reader, projection }: Database): void {
    projection.on(filesChanged, ({ files, size }) => {
      const known = this.#counted;
      if (known !== null) this.#counted = { files: known.files + files, size: known.size + size };
    });
    if (this.#max.total > 0) this.totals(reader);
  }

  /** The committed totals. */
  totals(reader: Reader): StoredTotals {
    this.#counted ??= fileTotals(reader);
    return this.#counted;
  }

  /** The bounds for a further file of a user, or of a caller without a user. Empty without bounds. */
  roomsFor(reader: Reader, userId: string | null): QuotaRoom[] {
    const { total, perUser } = this.#max;
    const rooms: QuotaRoom[] = [];
    if (perUser > 0 && userId !== null)
      rooms.push({ limit: "storagePerUser", max: perUser, used: bytesOf(reader, userId) });
    if (total > 0) rooms.push({ limit: "storage", max: total, used: this.#counted?.size ?? 0 });
    return rooms;
  }

  /** Counts a file that this transaction adds. @throws AppError `payload_too_large` when the file does not fit. */
  add(tx: Transactor, { size, userId }: { size: number; userId: string | null }): void {
    assertFits(this.roomsFor(tx, userId), size);
    tx.note(filesChanged.of({ files: 1, size }));
    // With a bound, the next transaction must see the new total.
    if (this.#max.total > 0) tx.endBatch();
  }

  /** Counts a file no more that this transaction deletes. */
  remove(tx: Transactor, size: number): void {
    tx.note(filesChanged.of({ files: -1, size: -size }));
  }
}
