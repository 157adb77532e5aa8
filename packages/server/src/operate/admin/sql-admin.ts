/** SQL of admins: a single statement that reads, within the bounds of `db.query`; each statement that runs is in the audit. */
import type { SqlAnswer } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError, type SignedIn } from "../../base/kernel/index.ts";
import type { QueryPool } from "../../code/script-host/index.ts";
import type { Waiter } from "../../store/database/index.ts";
import type { AdminChanges } from "./admin-changes.ts";

/** Rows of an answer, and characters of a statement. */
const maxRows = 1_000;
const maxText = 10_000;

interface SqlOptions {
  readonly changes: AdminChanges;
  readonly config: Pick<Config, "limits.queryTime">;
  readonly queryPool: Pick<QueryPool, "show">;
}

export class SqlAdmin {
  readonly #options: SqlOptions;
  /** The admins whose statements run. */
  readonly #running = new Set<string>();

  constructor(options: SqlOptions) {
    this.#options = options;
  }

  /** The plan of a statement. Reads no record. @throws AppError `bad_request`. */
  plan(sql: string, waiter: Waiter): Promise<SqlAnswer> {
    return this.#show(sql, 0, waiter);
  }

  /**
   * Runs a statement, which ends when the caller goes.
   * @throws AppError `bad_request` for SQL that is wrong, does more than read, or takes too long; `conflict` while a statement of the admin runs.
   */
  async run(sql: string, { principal: admin, ...waiter }: Waiter & { principal: SignedIn }): Promise<SqlAnswer> {
    const { caller } = waiter;
    if (this.#running.has(caller))
      throw new AppError("conflict", "Another statement of yours runs: wait, or cancel it.");
    this.#running.add(caller);
    try {
      // A statement that is refused is not in the audit.
      await this.#show(sql, 0, waiter);
      const audited = { action: "sql.run", target: "database", after: { sql } } as const;
      await this.#options.changes.transact(admin, (_tx, audit) => audit(audited), { whileReadOnly: true });
      return await this.#show(sql, maxRows, waiter);
    } finally {
      this.#running.delete(caller);
    }
  }

  async #show(sql: string, limit: number, { caller, signal }: Waiter): Promise<SqlAnswer> {
    const { config, queryPool } = this.#options;
    if (sql.length > maxText)
      throw new AppError("bad_request", `The statement has ${sql.length} characters; ${maxText} are allowed.`);
    const begun = performance.now();
    try {
      const timeoutMs = config["limits.queryTime"];
      const shown = await queryPool.show({ sql, limit }, { caller: `admin ${caller}`, signal, timeoutMs });
      const ms = Math.round((performance.now() - begun) * 10) / 10;
      return { ...shown, plan: [...shown.plan], columns: [...shown.columns], rows: JSON.parse(shown.rows), ms };
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== "bad_request") throw thrown;
      throw new AppError("bad_request", thrown.message.replace(/^db\.query: /, ""));
    }
  }
}
