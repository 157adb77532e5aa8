/**
 * Failures: adds each failure to the group of its cause, in the transaction of the failure. Failures of calls, which have no
 * transaction and which strangers can cause, are added together after a moment.
 */
import { messageOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Transactor } from "../database/index.ts";
import { causeOf, type Failure } from "./cause.ts";
import { addFailures, countOpen } from "./failure-table.ts";

/** The moment, in milliseconds. */
const pauseMs = 250;
/** Causes that a moment can have; further causes of the moment are left out. */
const maxCauses = 100;
/** Failures of a cause of which a moment keeps the ids. */
const maxKept = 10;

/** Failures of a cause that wait to be added. */
interface Waiting {
  readonly failures: [Failure, ...Failure[]];
  times: number;
}

export class Failures {
  readonly #database: Database;
  readonly #logger: Logger;
  #waiting = new Map<string, Waiting>();
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor({ database, logger }: { database: Database; logger: Logger }) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Adds a failure in the transaction of its end. @param times the number of equal failures. */
  add(tx: Transactor, failure: Failure, times = 1): void {
    addFailures(tx, [failure], times);
  }

  /** The number of open groups. */
  get open(): number {
    return countOpen(this.#database.reader);
  }

  /** Adds the failure of a call soon. */
  note(failure: Failure): void {
    const { id } = causeOf(failure);
    const known = this.#waiting.get(id);
    if (known === undefined) {
      if (this.#waiting.size < maxCauses) this.#waiting.set(id, { failures: [failure], times: 1 });
    } else {
      known.times += 1;
      known.failures.push(failure);
      if (known.failures.length > maxKept) known.failures.shift();
    }
    this.#timer ??= setTimeout(() => void this.settled(), pauseMs).unref();
  }

  /** Resolves when all failures so far are added. Never rejects: failures that cannot be written are in the log alone. */
  settled(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.size > 0) {
      const waiting = [...this.#waiting.values()];
      this.#waiting = new Map();
      this.#writing = this.#writing.then(() => this.#write(waiting));
    }
    return this.#writing;
  }

  async #write(waiting: readonly Waiting[]): Promise<void> {
    await this.#database
      .upkeep((tx) => {
        for (const { failures, times } of waiting) addFailures(tx, failures, times);
      })
      .catch((error: unknown) => this.#logger.often(`Failures of calls could not be grouped: ${messageOf(error)}`));
  }
}
