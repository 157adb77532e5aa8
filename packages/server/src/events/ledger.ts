import type { Database, Transactor } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";

/** Notes of what has run: mostly nobody waits for one, and none may be forgotten at the end. */
export class Ledger {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #writing = new Set<Promise<boolean>>();

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Resolves with true when it is on disk. With false when that failed, which the log says: nothing of it was written. */
  write(work: (tx: Transactor) => Awaitable<unknown>): Promise<boolean> {
    const writing = this.#database.transact(work).then(
      () => true,
      (error) => {
        this.#logger.error("What was run could not be recorded", { error });
        return false;
      },
    );
    this.#writing.add(writing);
    return writing.finally(() => this.#writing.delete(writing));
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    while (this.#writing.size > 0) await Promise.all(this.#writing);
  }
}
