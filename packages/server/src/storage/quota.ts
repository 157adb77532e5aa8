/** The storage quota: bounds on the bytes of stored files, of each user and in all (`limits.storagePerUser`, `limits.storage`). */
import type { Database, Reader, Transactor } from "../database/index.ts";
import { AppError } from "../kernel/index.ts";

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

export class Quota {
  readonly #max: QuotaOptions;
  /** Bytes of all files that are committed; 0 while there is no bound for them. */
  #total = 0;

  constructor(options: QuotaOptions) {
    this.#max = options;
  }

  /** To be called once, at start. */
  async start({ reader }: Database): Promise<void> {
    if (this.#max.total > 0) this.#total = await sumOf(reader, "SELECT sum(size) AS bytes FROM _files");
  }

  /** The bounds for a further file of a user, or of nobody. Without bounds there are none. */
  async roomsFor(reader: Reader, userId: string | null): Promise<Room[]> {
    const { total, perUser } = this.#max;
    const rooms: Room[] = [];
    if (perUser > 0 && userId !== null) {
      const used = await sumOf(reader, "SELECT sum(size) AS bytes FROM _files WHERE userId = ?", userId);
      rooms.push({ limit: "storagePerUser", max: perUser, used });
    }
    if (total > 0) rooms.push({ limit: "storage", max: total, used: this.#total });
    return rooms;
  }

  /**
   * Counts a file that this transaction adds.
   * @throws AppError `payload_too_large` when it does not fit.
   */
  async add(tx: Transactor, { size, userId }: { size: number; userId: string | null }): Promise<void> {
    assertFits(await this.roomsFor(tx, userId), size);
    if (this.#max.total === 0) return;
    // This effect ends the batch: the next transaction sees the new total.
    tx.afterCommit(() => {
      this.#total += size;
    });
  }

  /** Counts a file no more that this transaction deletes. */
  remove(tx: Transactor, size: number): void {
    if (this.#max.total === 0) return;
    tx.whenVisible(() => {
      this.#total -= size;
    });
  }
}

async function sumOf(reader: Reader, sql: string, ...values: string[]): Promise<number> {
  return (await reader.get<{ bytes: number | null }>(sql, ...values))?.bytes ?? 0;
}
