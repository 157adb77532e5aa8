/**
 * SnapshotKeeper: makes snapshots of the database for a journal, the journal of a cluster or the chain of a continuous backup, removes old
 * snapshots, and the entries that the oldest snapshot has.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../base/logging/index.ts";
import type { Snapshots } from "../operate/backup/index.ts";
import type { Database } from "../store/database/index.ts";
import type { SnapshotRow } from "../store/journal/index.ts";

/** Between two looks whether a snapshot is due. */
const lookMs = 250;
/** Between two looks whether the place still has the newest snapshot. */
const checkMs = 15_000;
/** The pause after a failure. */
const pauseMs = 60_000;

/** A journal, as far as its snapshots need. */
export interface SnapshotJournal {
  /** The name of the journal, or of the chain. */
  readonly name: string;
  /** The size of the entries that this process has appended. */
  readonly appended: number;
  /** Whether a snapshot can be made now. */
  readonly isReady: boolean;
  /** Newest first. */
  snapshots(): Promise<readonly SnapshotRow[]>;
  addSnapshot(snapshot: SnapshotRow): Promise<void>;
  removeSnapshot(position: number): Promise<void>;
  /** Whether a snapshot is needed at once. @param position of the newest snapshot; 0 for none. */
  isMissing(position: number): boolean;
  /** About the size of the entries behind a position. */
  sizeAfter(position: number): Promise<number>;
  /** To be called when a snapshot is packed, and before the place has the snapshot. */
  prepare(): Promise<void>;
  /** How many of the snapshots stay: at least two, because a snapshot that cannot be read costs nothing while the snapshot before is there. */
  kept(snapshots: readonly SnapshotRow[]): number;
  /** Removes the entries up to a position. */
  trim(position: number): Promise<void>;
}

interface SnapshotKeeperOptions {
  readonly journal: SnapshotJournal;
  readonly database: Database;
  readonly snapshots: Snapshots;
  /** The size of the entries after which a snapshot is made. */
  readonly every: number;
  /** The longest time with changes and without a snapshot, in milliseconds. */
  readonly longestMs: () => number;
  readonly logger: Logger;
}

export class SnapshotKeeper {
  readonly #options: SnapshotKeeperOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  /** The size of the entries since the last snapshot that this process has not appended. */
  #sizeBefore = 0;
  /** The size that the process had appended at the last snapshot. */
  #appendedBefore = 0;
  #newest: SnapshotRow | null = null;
  #making: Promise<void> | null = null;
  readonly #startedAt = Date.now();
  #checkAt = 0;
  /** Whether the place has lost the newest snapshot. */
  #isLost = false;

  /** Begins to make snapshots. */
  constructor(options: SnapshotKeeperOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Gives up a snapshot that is being made. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the service does not write any more"));
    await Promise.allSettled([this.#running, this.#making]);
  }

  /** A snapshot that has a position; made at once if there is none. @throws Error with the reason for which no snapshot was made. */
  async snapshotAt(position: number): Promise<SnapshotRow> {
    for (;;) {
      const newest = this.#newest;
      if (newest !== null && newest.position >= position && !this.#isLost) return newest;
      await this.#makeOne();
    }
  }

  /** Makes a snapshot, or waits for the snapshot that is being made. */
  #makeOne(): Promise<void> {
    this.#making ??= this.#make().finally(() => {
      this.#making = null;
    });
    return this.#making;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { journal, logger } = this.#options;
    let isKnown = false;
    while (!signal.aborted) {
      try {
        if (journal.isReady) {
          if (!isKnown) await this.#findLast();
          isKnown = true;
          await this.#check();
          if (this.#isDue) await this.#makeOne();
        }
        await pause(lookMs, signal);
      } catch (thrown) {
        if (signal.aborted) return;
        logger.error("The snapshot was not made; the next try is in a minute", { error: thrown });
        await pause(pauseMs, signal);
      }
    }
  }

  /** Learns the last snapshot, and the size of the entries after the snapshot. */
  async #findLast(): Promise<void> {
    const { journal } = this.#options;
    const [newest] = await journal.snapshots();
    this.#newest ??= newest ?? null;
    this.#sizeBefore = await journal.sizeAfter(newest?.position ?? 0);
  }

  /** Looks whether the place has the newest snapshot. A place that does not answer says nothing. */
  async #check(): Promise<void> {
    const { journal, snapshots, logger } = this.#options;
    if (performance.now() < this.#checkAt) return;
    this.#checkAt = performance.now() + checkMs;
    const all = await journal.snapshots().catch(() => null);
    if (all === null) return;
    const [newest] = all;
    const isNewest = (newest?.position ?? 0) >= (this.#newest?.position ?? 0);
    if (isNewest && (newest === undefined || (await snapshots.has(newest).catch(() => true)))) return;
    this.#isLost = true;
    // The older snapshot stays the second, and the journal keeps the entries behind it.
    if (isNewest && newest !== undefined) await journal.removeSnapshot(newest.position);
    logger.warn("The newest snapshot is not in the place any more, or has another size; another is made", {
      position: this.#newest?.position,
    });
  }

  get #isDue(): boolean {
    const { database, journal, every, longestMs } = this.#options;
    const { position, madeAt } = this.#newest ?? { position: 0, madeAt: this.#startedAt };
    if (this.#isLost || journal.isMissing(position)) return true;
    if (database.position <= position) return false;
    const size = this.#sizeBefore + journal.appended - this.#appendedBefore;
    return size >= every || Date.now() - madeAt >= longestMs();
  }

  async #make(): Promise<void> {
    const { database, journal, snapshots, logger } = this.#options;
    const { appended } = journal;
    const madeAt = Date.now();
    const { signal } = this.#stopping;
    const snapshot = await snapshots.put(database, journal.name, { signal, prepare: () => journal.prepare() });
    const row = { ...snapshot, madeAt };
    await journal.addSnapshot(row);
    this.#isLost = false;
    this.#sizeBefore = 0;
    this.#appendedBefore = appended;
    this.#newest = row;
    await this.#removeOld().catch((error) =>
      logger.warn("Old snapshots and entries could not be removed; the next snapshot tries again", { error }),
    );
  }

  async #removeOld(): Promise<void> {
    const { snapshots, journal } = this.#options;
    const all = await journal.snapshots();
    const kept = journal.kept(all);
    const oldest = all[kept - 1];
    if (oldest === undefined) return;
    for (const { position, name } of all.slice(kept)) {
      await journal.removeSnapshot(position);
      await snapshots.remove(name);
    }
    // Also the snapshots that no row names: an instance was lost before the row was written.
    await snapshots.removeBefore(oldest.position, journal.name);
    // An instance that is further behind restores the newest snapshot, so no instance can make the journal grow.
    await journal.trim(oldest.position);
  }
}

/** Resolves after a time, or when the signal comes. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => undefined);
}
