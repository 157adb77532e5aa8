/** The run log: writes the states of runs, in the order of the calls, as the database runs short transactions. */

import type { Logger } from "../../base/logging/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";

export class RunLog {
  readonly #database: Database;
  readonly #logger: Logger;
  /** Writes that wait or are under way. */
  #open = 0;
  #settled = Promise.withResolvers<void>();

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /**
   * Resolves with true when the write is on disk. With false when the write failed, which is logged: nothing was
   * written.
   */
  async write(work: (tx: Transactor) => unknown): Promise<boolean> {
    this.#open += 1;
    try {
      await this.#database.transact(work);
      return true;
    } catch (error) {
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

  /** Resolves when no write waits or is under way. */
  async settled(): Promise<void> {
    while (this.#open > 0) await this.#settled.promise;
  }
}
