import type { Database, Transactor } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";

type Work = (tx: Transactor) => Awaitable<unknown>;

/**
 * Notes of what has run: those of one turn of the event loop share a transaction, in the order in which they were given.
 */
export class Ledger {
  readonly #database: Database;
  readonly #logger: Logger;
  #works: Work[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Resolves when it is on disk; also when that failed, which the log says: the database then takes nothing more. */
  write(work: Work): Promise<void> {
    if (this.#works.push(work) === 1) this.#writing = this.#writeSoon();
    return this.#writing;
  }

  /** Resolves when everything that was given is on disk. */
  settled(): Promise<void> {
    return this.#writing;
  }

  async #writeSoon(): Promise<void> {
    const before = this.#writing;
    await new Promise((resolve) => setImmediate(resolve));
    const works = this.#works;
    this.#works = [];
    const written = this.#database.transact(async (tx) => {
      for (const work of works) await work(tx);
    });
    await written.catch((error) => this.#logger.error("What was run could not be recorded", { error }));
    await before;
  }
}
