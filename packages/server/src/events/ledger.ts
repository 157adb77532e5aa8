import type { Database, Transactor } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";

type Work = (tx: Transactor) => Awaitable<unknown>;

/**
 * Small notes that nobody waits for (a run has started, a run is over): those of one turn of the event loop share a
 * transaction, in the order in which they were given.
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

  write(work: Work): void {
    if (this.#works.push(work) === 1) this.#writing = this.#writeSoon();
  }

  /** Resolves when everything is on disk. */
  async settled(): Promise<void> {
    for (let seen: Promise<void> | null = null; seen !== this.#writing; ) {
      seen = this.#writing;
      await seen;
    }
  }

  async #writeSoon(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    const works = this.#works;
    this.#works = [];
    try {
      await this.#database.transact(async (tx) => {
        for (const work of works) await work(tx);
      });
    } catch (error) {
      this.#logger.error("What was run could not be recorded", { error });
    }
  }
}
