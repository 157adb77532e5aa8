/** The run log: writes what happens to runs, for each run in the order in which it happened. */
import type { Database, Transactor } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";

/**
 * A queue of writes for each run: a write begins when the one before it is on disk, whoever waits for them. So the start
 * of an attempt is never written after its end, however the database orders transactions.
 */
export class RunLog {
  readonly #database: Pick<Database, "transact">;
  readonly #logger: Logger;
  /** The last write of each run that has one under way. */
  readonly #last = new Map<string, Promise<boolean>>();

  constructor(database: Pick<Database, "transact">, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Resolves with true when the write is on disk. With false when it failed, which is logged: nothing of it was written. */
  write(runId: string, work: (tx: Transactor) => Awaitable<unknown>): Promise<boolean> {
    const before = this.#last.get(runId);
    const writing = before === undefined ? this.#transact(work) : before.then(() => this.#transact(work));
    this.#last.set(runId, writing);
    return writing.finally(() => {
      if (this.#last.get(runId) === writing) this.#last.delete(runId);
    });
  }

  /** Resolves when no write is under way. */
  async settled(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }

  async #transact(work: (tx: Transactor) => Awaitable<unknown>): Promise<boolean> {
    try {
      await this.#database.transact(work);
      return true;
    } catch (error) {
      this.#logger.error("What was run could not be recorded", { error });
      return false;
    }
  }
}
