/**
 * Readiness (`GET /health/ready`): whether the service can work now. Alive is another question (`GET /health`): a
 * service that is alive and not ready gets no requests from a balancer, and is not restarted.
 */

import { freeBytes, messageOf } from "../base/kernel/index.ts";
import type { EventLoopLag } from "../base/logging/index.ts";
import { type Database, isOutOfRoom } from "../store/database/index.ts";

/** A write that takes longer says that the disk does not serve. */
const writeWithinMs = 2_000;
/** Answers are shared for this time: a flood of questions is a write a second. */
const keptMs = 1_000;
/** The longest that the event loop may have been held within the last seconds. */
const maxLagMs = 1_000;

interface ReadinessOptions {
  database: Database;
  /** Paths on disks that need room: the database, and the folder of files if files are in a folder. */
  paths: readonly string[];
  /** Bytes that each disk must have free. */
  minFree: number;
  lag: EventLoopLag;
  /** Aborted when the service begins to stop. */
  stopping: AbortSignal;
  /** The numbers of the reader processes that do not serve. */
  missing?: () => readonly number[];
}

export class Readiness {
  readonly #options: ReadinessOptions;
  #latest: { at: number; reasons: Promise<string[]> } | null = null;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** The reasons for which the service is not ready; empty for a ready service. */
  reasons(): Promise<string[]> {
    if (this.#options.stopping.aborted) return Promise.resolve(["the service is stopping"]);
    const now = performance.now();
    if (this.#latest === null || now - this.#latest.at > keptMs) this.#latest = { at: now, reasons: this.#look() };
    return this.#latest.reasons;
  }

  /**
   * Whether a restart would be of no use: the event loop turns, and the writer completes a write. A restart mends
   * neither a full disk nor a migration. Never resolves while a write does not end.
   */
  async works(): Promise<boolean> {
    const { database, stopping } = this.#options;
    if (stopping.aborted || database.isMigrating) return true;
    try {
      await database.probe();
      return true;
    } catch (error) {
      return stopping.aborted || isOutOfRoom(error);
    }
  }

  async #look(): Promise<string[]> {
    const lag = this.#options.lag.longest();
    const held = lag > maxLagMs ? `the event loop was held for ${Math.round(lag)} ms` : null;
    const missing = this.#options.missing?.() ?? [];
    const reasons = [
      held,
      ...missing.map((number) => `the reader process ${number} does not serve`),
      await this.#write(),
      ...(await Promise.all(this.#options.paths.map((path) => this.#room(path)))),
    ];
    return [...new Set(reasons.filter((reason) => reason !== null))];
  }

  async #write(): Promise<string | null> {
    const { promise: late, resolve } = Promise.withResolvers<string>();
    const timer = setTimeout(() => resolve(`a write takes longer than ${writeWithinMs / 1_000} s`), writeWithinMs);
    const written = this.#options.database.probe().then(
      () => null,
      (error: unknown) => `the database cannot be written: ${messageOf(error)}`,
    );
    const reason = await Promise.race([written, late]);
    clearTimeout(timer);
    return reason;
  }

  async #room(path: string): Promise<string | null> {
    const { minFree } = this.#options;
    try {
      const free = await freeBytes(path);
      if (free >= minFree) return null;
      return `the disk has ${Math.floor(free / 1_024 ** 2)} MiB free, and needs ${Math.ceil(minFree / 1_024 ** 2)}`;
    } catch (error) {
      return `the disk cannot be looked at: ${messageOf(error)}`;
    }
  }
}
