/**
 * The table of stored responses: the responses to requests with the header `Idempotency-Key`, each written in the transaction of
 * the change; and the sweep, which removes the responses after a day.
 */
import { isUtf8 } from "node:buffer";
import { BoundedMap, type Clock } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, ModuleSchema, Transactor } from "../../store/database/index.ts";

/** How long an answer is kept (contract, "Changes that read"). */
const keptMs = 24 * 3_600_000;
/** An answer counts once for each begun part of so many bytes: the bound on answers is a bound on bytes, too. */
const partBytes = 4 * 1024;
/** The parts that a transaction of the sweep removes, 8 MiB at most beyond the last answer, and the answers. */
const sweepParts = 2_048;
const sweepAnswers = 200;
const sweepEveryMs = 60_000;
/** Bytes of refusals that are kept in memory, and the bytes that a refusal takes beside the body. */
const refusalBytes = 8 * 1024 ** 2;
const refusalBase = 512;

/** Triggers keep the sums of the holders: a bound on the holder's answers costs a look-up by key. */
export const keptAnswerSchema: ModuleSchema = {
  module: "idempotency",
  steps: [
    "CREATE TABLE _kept_answers (key TEXT NOT NULL UNIQUE, holder TEXT NOT NULL, request TEXT NOT NULL, expiresAt INTEGER NOT NULL, parts INTEGER NOT NULL, status INTEGER NOT NULL, headers TEXT NOT NULL, body TEXT NOT NULL, encoding TEXT NOT NULL) STRICT",
    "CREATE INDEX _kept_answers_expiry ON _kept_answers (expiresAt)",
    "CREATE TABLE _kept_answer_sums (holder TEXT PRIMARY KEY, parts INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TRIGGER _kept_answers_added AFTER INSERT ON _kept_answers BEGIN INSERT INTO _kept_answer_sums (holder, parts) VALUES (NEW.holder, NEW.parts) ON CONFLICT (holder) DO UPDATE SET parts = parts + excluded.parts; END",
    "CREATE TRIGGER _kept_answers_removed AFTER DELETE ON _kept_answers BEGIN UPDATE _kept_answer_sums SET parts = parts - OLD.parts WHERE holder = OLD.holder; DELETE FROM _kept_answer_sums WHERE holder = OLD.holder AND parts <= 0; END",
  ],
};

/** An answer in the form that is kept, without the headers that every answer carries. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

/** A request with a key. All members are hashes: the table holds no key, no address and no body of a request. */
export interface KeyedRequest {
  /** Of the caller and the key. */
  readonly key: string;
  /** Of the user, or of the address of an anonymous caller: the answer counts for the bound of this holder. */
  readonly holder: string;
  /** Of the route and the body. */
  readonly request: string;
}

interface Row {
  readonly request: string;
  readonly status: number;
  readonly headers: string;
  readonly body: string;
  readonly encoding: "utf8" | "base64";
}

interface KeptAnswersOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class KeptAnswers {
  readonly #options: KeptAnswersOptions;
  /**
   * Refusals, by key. A refused request has changed nothing, so a forgotten refusal is only decided again: no caller fills the disk with
   * refusals.
   */
  readonly #refusals = new BoundedMap<string, KeptAnswer & { readonly request: string; readonly expiresAt: number }>(
    refusalBytes,
    (_key, { body }) => refusalBase + body.byteLength,
  );
  #sweeping: Promise<void> = Promise.resolve();

  constructor(options: KeptAnswersOptions) {
    this.#options = options;
  }

  /** The answer that is kept for a key, with the hash of the answered request. */
  find(key: string): (KeptAnswer & Pick<KeyedRequest, "request">) | null {
    const { database, clock } = this.#options;
    const refusal = this.#refusals.get(key);
    if (refusal !== undefined && refusal.expiresAt > clock.now()) return refusal;
    const sql = "SELECT request, status, headers, body, encoding FROM _kept_answers WHERE key = ? AND expiresAt > ?";
    const row = database.reader.get<Row>(sql, key, clock.now());
    if (row === null) return null;
    const { request, status, headers, body, encoding } = row;
    return { request, status, headers: JSON.parse(headers), body: Buffer.from(body, encoding) };
  }

  /** The sum of a holder: the number of answers, with a large answer counted once for each part. */
  sumOf(holder: string): number {
    const sql = "SELECT parts FROM _kept_answer_sums WHERE holder = ?";
    return this.#options.database.reader.get<{ parts: number }>(sql, holder)?.parts ?? 0;
  }

  /** Keeps the refusal of a request that has changed nothing, in memory. */
  keepRefusal({ key, request }: KeyedRequest, refusal: KeptAnswer): void {
    this.#refusals.set(key, { ...refusal, request, expiresAt: this.#options.clock.now() + keptMs });
  }

  /** Keeps an answer, in the transaction of the change. A second answer for a key fails the transaction. */
  keep(tx: Transactor, { key, holder, request }: KeyedRequest, { status, headers, body }: KeptAnswer): void {
    const now = this.#options.clock.now();
    const encoding = isUtf8(body) ? "utf8" : "base64";
    const parts = 1 + Math.floor(body.byteLength / partBytes);
    tx.run("DELETE FROM _kept_answers WHERE key = ? AND expiresAt <= ?", key, now);
    tx.run(
      "INSERT INTO _kept_answers (key, holder, request, expiresAt, parts, status, headers, body, encoding) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[key, holder, request, now + keptMs, parts, status, JSON.stringify(headers)],
      ...[Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(encoding), encoding],
    );
  }

  /** Sweeps every minute, until the signal. */
  start(signal: AbortSignal): void {
    const timer = setInterval(() => {
      this.#sweeping = this.#sweeping.then(() => this.sweep(signal));
    }, sweepEveryMs).unref();
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Resolves when no sweep runs. */
  settled(): Promise<void> {
    return this.#sweeping;
  }

  /** Removes expired answers, in small transactions. Never rejects. */
  async sweep(signal?: AbortSignal): Promise<void> {
    try {
      while (signal?.aborted !== true && (await this.#sweepStep())) {
        // Waiting writes run between two steps.
        await Bun.sleep(5);
      }
    } catch (error) {
      if (signal?.aborted !== true) this.#options.logger.warn("Expired answers were not removed", { error });
    }
  }

  /** Answers whether another step may be due. */
  async #sweepStep(): Promise<boolean> {
    const { database, clock } = this.#options;
    const sql = "SELECT rowid AS row, parts FROM _kept_answers WHERE expiresAt <= ? ORDER BY expiresAt LIMIT ?";
    const now = clock.now();
    let parts = 0;
    const rows = database.reader.some<{ row: number; parts: number }>({ sql, values: [now, sweepAnswers] }, (row) => {
      parts += row.parts;
      return parts >= sweepParts;
    });
    if (rows.length === 0) return false;
    await database.upkeep((tx) => {
      // A new answer may have the row of an answer that was removed since.
      for (const { row } of rows) tx.run("DELETE FROM _kept_answers WHERE rowid = ? AND expiresAt <= ?", row, now);
    });
    return true;
  }
}
