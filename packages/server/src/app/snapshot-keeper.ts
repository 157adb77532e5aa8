/**
 * SnapshotKeeper: makes snapshots of the database while this instance leads, keeps two, and removes the older snapshots, and the entries of the
 * journal that the older of the two snapshots has.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../base/config/index.ts";
import type { Logger } from "../base/logging/index.ts";
import type { ClusterMember, Leading } from "../edge/cluster/index.ts";
import type { Snapshots } from "../operate/backup/index.ts";
import type { Database } from "../store/database/index.ts";
import type { SnapshotRow } from "../store/journal/index.ts";

/** Between two looks whether a snapshot is due. */
const lookMs = 1_000;
/** Between two looks whether the bucket still has the newest snapshot. */
const checkMs = 15_000;
/** The longest time with changes and without a snapshot. */
const hourMs = 3_600_000;
/** The pause after a failure. */
const pauseMs = 60_000;
/** A snapshot that cannot be read costs nothing while the snapshot before is there. */
const kept = 2;

export interface SnapshotKeeperOptions {
  readonly member: ClusterMember;
  readonly leading: Leading;
  readonly database: Database;
  readonly snapshots: Snapshots;
  readonly config: Pick<Config, "cluster.snapshotEvery">;
  readonly logger: Logger;
}

export class SnapshotKeeper {
  readonly #options: SnapshotKeeperOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  /** Bytes of the journal since the last snapshot that this role has not appended. */
  #bytesBefore = 0;
  /** Bytes that the role had appended at the last snapshot. */
  #appendedBefore = 0;
  #newest: SnapshotRow | null = null;
  #making: Promise<void> | null = null;
  readonly #startedAt = Date.now();
  #checkAt = 0;
  /** Whether the bucket has lost the newest snapshot. */
  #isMissing = false;

  /** Begins to make snapshots. */
  constructor(options: SnapshotKeeperOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Gives up a snapshot that is being made. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the instance does not lead any more"));
    await Promise.allSettled([this.#running, this.#making]);
  }

  /** A snapshot that has a position; made at once if there is none. @throws Error with the reason for which no snapshot was made. */
  async snapshotAt(position: number): Promise<SnapshotRow> {
    for (;;) {
      const newest = this.#newest;
      if (newest !== null && newest.position >= position && !this.#isMissing) return newest;
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
    let isKnown = false;
    while (!signal.aborted) {
      try {
        if (!isKnown) await this.#findLast();
        isKnown = true;
        await this.#check();
        if (this.#isDue) await this.#makeOne();
        await pause(lookMs, signal);
      } catch (thrown) {
        if (signal.aborted) return;
        this.#options.logger.error("The snapshot of the cluster was not made; the next try is in a minute", {
          error: thrown,
        });
        await pause(pauseMs, signal);
      }
    }
  }

  /** Learns the last snapshot. The bytes of the entries after the snapshot are a share of the journal. */
  async #findLast(): Promise<void> {
    const { journal } = this.#options.member;
    const [newest] = await journal.snapshots();
    const { first, last, bytes } = await journal.extent();
    this.#newest ??= newest ?? null;
    const entries = last + 1 - first;
    this.#bytesBefore = entries > 0 ? (bytes * Math.min(entries, last - (newest?.position ?? 0))) / entries : 0;
  }

  /** Looks whether the bucket has the newest snapshot. A bucket that does not answer says nothing. */
  async #check(): Promise<void> {
    const { member, snapshots, logger } = this.#options;
    if (performance.now() < this.#checkAt) return;
    this.#checkAt = performance.now() + checkMs;
    const [newest] = await member.journal.snapshots();
    if (newest === undefined || (await snapshots.has(newest).catch(() => true))) return;
    this.#isMissing = true;
    // The older snapshot stays the second, and the journal keeps the entries behind it.
    await member.journal.removeSnapshot(newest.position);
    logger.warn(`Snapshot ${newest.name} is not in the bucket any more, or has another size; another is made`);
  }

  get #isDue(): boolean {
    const { database, leading, config } = this.#options;
    if (this.#isMissing) return true;
    if (database.position <= (this.#newest?.position ?? 0)) return false;
    const bytes = this.#bytesBefore + leading.commits.bytes - this.#appendedBefore;
    return bytes >= config["cluster.snapshotEvery"] || Date.now() - (this.#newest?.madeAt ?? this.#startedAt) >= hourMs;
  }

  async #make(): Promise<void> {
    const { database, leading, snapshots, member } = this.#options;
    const appended = leading.commits.bytes;
    const madeAt = Date.now();
    const snapshot = await snapshots.put(database, this.#stopping.signal);
    const row = { ...snapshot, madeAt };
    await member.journal.addSnapshot(row);
    this.#isMissing = false;
    this.#bytesBefore = 0;
    this.#appendedBefore = appended;
    this.#newest = row;
    await this.#removeOld();
  }

  async #removeOld(): Promise<void> {
    const { snapshots, member, database } = this.#options;
    const { journal } = member;
    const all = await journal.snapshots();
    const oldest = all[kept - 1];
    if (oldest === undefined) return;
    for (const { position, name } of all.slice(kept)) {
      await journal.removeSnapshot(position);
      await snapshots.remove(name);
    }
    // Also the snapshots that no row names: an instance was lost before the row was written.
    await snapshots.removeBefore(oldest.position, database.journal);
    // An instance that is further behind restores the newest snapshot, so no instance can make the journal grow.
    await journal.trim(oldest.position);
  }
}

/** Resolves after a time, or when the signal comes. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => undefined);
}
