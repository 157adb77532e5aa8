/** The run log: writes the states of runs, for each run in their order. */

import type { Logger } from "../../base/logging/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";

/**
 * A queue of writes for each run: a write begins when the write before is committed. So the
 * start of an attempt is never written after its end, however the database orders transactions.
 */
export class RunLog {
  readonly #database: Pick<Database, "transact">;
  readonly #logger: Logger;
  /** The writes that wait for a run's uncommitted write, by run; null without waiting writes. */
  readonly #queues = new Map<string, (() => void)[] | null>();
  /** Writes that wait or are under way. */
  #open = 0;
  #settled = Promise.withResolvers<void>();

  constructor(database: Pick<Database, "transact">, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /**
   * Resolves with true when the write is on disk. With false when the write failed, which is logged: nothing was
   * written.
   */
  write(runId: string, work: (tx: Transactor) => unknown): Promise<boolean> {
    this.#open += 1;
    const queue = this.#queues.get(runId);
    if (queue === undefined) {
      this.#queues.set(runId, null);
      return this.#transact(runId, work);
    }
    return new Promise((resolve) => {
      this.#queues.set(runId, [...(queue ?? []), () => resolve(this.#transact(runId, work))]);
    });
  }

  /** Resolves when no write waits or is under way. */
  async settled(): Promise<void> {
    while (this.#open > 0) await this.#settled.promise;
  }

  async #transact(runId: string, work: (tx: Transactor) => unknown): Promise<boolean> {
    let isCommitted = false;
    try {
      await this.#database.transact((tx) => {
        tx.onCommit(() => {
          isCommitted = true;
          this.#next(runId);
        });
        return work(tx);
      });
      return true;
    } catch (error) {
      if (!isCommitted) this.#next(runId);
      this.#logger.error("The end of a run could not be recorded", { error });
      return false;
    } finally {
      this.#open -= 1;
      if (this.#open === 0) {
        this.#settled.resolve();
        this.#settled = Promise.withResolvers();
      }
    }
  }

  /** Begins the next write of a run. */
  #next(runId: string): void {
    const next = this.#queues.get(runId)?.shift();
    if (next === undefined) this.#queues.delete(runId);
    else next();
  }
}
