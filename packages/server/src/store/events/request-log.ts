/**
 * The log of requests: the beginnings of traces. A request is written soon after the answer, with others in a transaction, so
 * that the write of a record costs no second row. A crash loses the requests of the last second; the events of the requests stay.
 */
import { messageOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Reader } from "../database/index.ts";
import { insertRequests, type LoggedRequest, requestOf } from "./request-table.ts";

const pauseMs = 1_000;
/** Rows of a transaction: so few that a waiting write is not delayed noticeably. */
const rowsAtOnce = 500;
/** The requests that wait at most; further requests are left out. */
const maxWaiting = 20_000;

export class RequestLog {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #waiting: LoggedRequest[] = [];
  #tell: ((request: LoggedRequest) => void) | null = null;
  /** Takes each request that was answered, also a request that changed nothing; null without a listener. */
  watcher: ((request: LoggedRequest) => void) | null = null;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor({ database, logger }: { database: Database; logger: Logger }) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Takes a request that was answered and may have changed something. */
  note(request: LoggedRequest): void {
    if (this.#tell !== null) this.#tell(request);
    else if (this.#waiting.length >= maxWaiting)
      this.#logger.often("Requests are left out of the traces: too many wait");
    else {
      this.#waiting.push(request);
      this.#timer ??= setTimeout(() => void this.settled(), pauseMs).unref();
    }
  }

  /** In a process that does not write: tells each request to the process that writes. */
  tellTo(tell: (request: LoggedRequest) => void): void {
    this.#tell = tell;
  }

  /** Null for a request that changed nothing, and for a request that the log has lost. */
  find(id: string, reader: Reader = this.#database.reader): LoggedRequest | null {
    return this.#waiting.find((request) => request.id === id) ?? requestOf(reader, id);
  }

  /** Resolves when all requests so far are written. Never rejects. */
  settled(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => {
      while (this.#waiting.length > 0) {
        const requests = this.#waiting.splice(0, rowsAtOnce);
        await this.#database
          .upkeep((tx) => insertRequests(tx, requests))
          .catch((error: unknown) => this.#logger.often(`Requests are left out of the traces: ${messageOf(error)}`));
      }
    });
    return this.#writing;
  }
}
