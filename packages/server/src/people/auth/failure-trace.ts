/** Failure traces: failed logins and lock-outs in the event log and in the log, in a bounded number. */

import type { Logger } from "../../base/logging/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";

/** The time in which an email and address have at most one event; further failures are counted. */
const everyMs = 60_000;
/** The most events of a trace in that time; further events wait with their counts, and the next round writes these events first. */
const maxEvents = 100;
/** Emails and addresses that are told apart; the failures of others are counted together. */
const maxSources = 1_000;

/** The email is null when the text was no email address, or when the failures were for many; the address likewise. */
interface Source {
  readonly email: string | null;
  readonly address: string | null;
  /** Failures that no event has told of yet. */
  count: number;
  writtenAt: number;
}

export interface FailureTraceOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly logger: Logger;
  readonly type: "auth.failed" | "auth.locked";
  /** The line of the log. */
  readonly message: string;
}

/**
 * Writes an event `{ email, address, count }` and a line of the log for failures of an email from an address: the first
 * failure at once, then one event a minute with the number of failures. Realtime has no channel for these types, so only
 * admins read the events.
 */
export class FailureTrace {
  readonly #options: FailureTraceOptions;
  /** In the order of the last event, the oldest first. */
  readonly #sources = new Map<string, Source>();
  readonly #others: Source = { email: null, address: null, count: 0, writtenAt: Number.NEGATIVE_INFINITY };
  #roundStart = Number.NEGATIVE_INFINITY;
  #written = 0;

  constructor(options: FailureTraceOptions) {
    this.#options = options;
  }

  /**
   * Counts a failure. Resolves after the event, if an event is due; never rejects.
   * @param email null for a text that is no email address: the text may be a password.
   */
  async note(email: string | null, address: string): Promise<void> {
    // Waiting failures go first: failures at the beginning of a round would otherwise take the whole round.
    if (performance.now() - this.#roundStart >= everyMs) this.tick();
    const key = JSON.stringify([email, address]);
    const source = this.#sourceOf(key, { email, address });
    source.count += 1;
    await this.#write(key, source);
  }

  /** Writes events that are due, and forgets sources without failures. To be called regularly. */
  tick(): void {
    const now = performance.now();
    if (now - this.#roundStart >= everyMs) {
      this.#roundStart = now;
      this.#written = 0;
    }
    void this.#write(null, this.#others);
    for (const [key, source] of [...this.#sources]) {
      void this.#write(key, source);
      if (source.count === 0 && now - source.writtenAt >= everyMs) this.#sources.delete(key);
    }
  }

  #sourceOf(key: string, { email, address }: { email: string | null; address: string }): Source {
    const known = this.#sources.get(key);
    if (known !== undefined) return known;
    if (this.#sources.size >= maxSources) return this.#others;
    const source = { email, address, count: 0, writtenAt: Number.NEGATIVE_INFINITY };
    this.#sources.set(key, source);
    return source;
  }

  /** @param key null for the source of all others. */
  async #write(key: string | null, source: Source): Promise<void> {
    const now = performance.now();
    if (source.count === 0 || now - source.writtenAt < everyMs || this.#written >= maxEvents) return;
    this.#written += 1;
    if (key !== null && this.#sources.delete(key)) this.#sources.set(key, source);
    const { email, address, count } = source;
    source.count = 0;
    source.writtenAt = now;
    const { database, events, logger, type, message } = this.#options;
    const payload = { email, address, count };
    logger.info(message, payload);
    await database
      .transact((tx) => events.append(tx, { type, source: "auth", payload, principal: null }))
      .catch((error) => logger.warn(`The event ${type} was not written`, { error }));
  }
}
