/**
 * EngineConnection: one connection to PostgreSQL. The first statement connects, and so does the first statement after a loss. Each
 * connection shows first that the engine keeps what the engine confirms. Each statement has a bound of time.
 *
 * A client of Bun lives for one connection here: a lost connection closes the client, so that a statement that was
 * waiting is never sent later by a new connection.
 */
import type { Logger } from "../../base/logging/index.ts";
import type { Address } from "./address.ts";
import { JournalAway, OutcomeUnknown } from "./journal.ts";

interface Life {
  readonly client: Bun.SQL;
  /** Settles when the engine has shown its settings; rejects with the error of the connection. */
  ready: Promise<void>;
  /** Why the connection is over; null while the connection lives. */
  end: unknown;
}

interface EngineState {
  readonly fsync: string | null;
  readonly pages: string | null;
  readonly commit: string | null;
  readonly standby: boolean;
}

/** Whether an error is the answer of the engine to a statement, so that the connection stands. */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof JournalAway && error.cause instanceof Bun.SQL.PostgresError && error.cause.severity === "ERROR"
  );
}

/** SQLSTATE of errors after which a statement may have been committed: a connection that breaks, a server that stops, and `40003`. */
const uncertain = /^(?:08|57P|40003)/;

export class EngineConnection {
  readonly #address: Address;
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  #life: Life | null = null;
  #isClosed = false;

  constructor(options: { address: Address; logger: Logger; timeoutMs: number }) {
    this.#address = options.address;
    this.#logger = options.logger;
    this.#timeoutMs = options.timeoutMs;
  }

  /**
   * Runs a statement, or without values several statements in one transaction. Answers the rows.
   * @throws JournalAway: the statement was never sent, or the engine has refused the statement.
   * @throws OutcomeUnknown: the statement was sent, and no answer came.
   */
  async run<Row>(statement: string, values: readonly unknown[] = []): Promise<Row[]> {
    const life = await this.#alive();
    try {
      const query = values.length === 0 ? life.client.unsafe(statement) : life.client.unsafe(statement, [...values]);
      return await this.#inTime<Row[]>(query, life);
    } catch (error) {
      const isRefusal = error instanceof Bun.SQL.PostgresError && error.severity === "ERROR";
      if (isRefusal && !uncertain.test(error.errno ?? "")) throw this.#away(error);
      this.#end(life, error);
      throw new OutcomeUnknown(this.#describe(life.end), { cause: error });
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const life = this.#life;
    if (life !== null) this.#end(life, new Error("the journal is closed"));
    await life?.client.close({ timeout: 0 });
  }

  /** The life of a connection that is ready. */
  async #alive(): Promise<Life> {
    if (this.#isClosed) throw new JournalAway(`${this.#address.shown}: the journal is closed`);
    let life: Life | null = null;
    try {
      life = this.#life ??= this.#connect();
      await life.ready;
    } catch (error) {
      if (life !== null) this.#end(life, error);
      throw this.#away(life?.end ?? error);
    }
    if (life.end !== null) throw this.#away(life.end);
    return life;
  }

  #connect(): Life {
    const { url, database, isPooled } = this.#address;
    const client = new Bun.SQL(url, {
      max: 1,
      connectionTimeout: Math.ceil(this.#timeoutMs / 1_000),
      ...(database !== null && { database }),
      // The engine gives up before this process does, so that the outcome is known. A pooler refuses parameters of a session.
      ...(!isPooled && {
        connection: { application_name: "socle", statement_timeout: Math.ceil(this.#timeoutMs * 0.8) },
      }),
      onclose: (error) => this.#end(life, error ?? new Error("the connection was closed")),
    });
    const life: Life = { client, ready: Promise.resolve(), end: null };
    life.ready = this.#inspect(life);
    return life;
  }

  /** Throws when the engine could lose what the engine confirms. */
  async #inspect(life: Life): Promise<void> {
    const question = `SELECT current_setting('fsync', true) AS fsync, current_setting('full_page_writes', true) AS pages,
      current_setting('synchronous_commit', true) AS commit, pg_is_in_recovery() AS standby`;
    const [state] = await this.#inTime<EngineState[]>(life.client.unsafe(question), life);
    if (state === undefined) throw new Error("the engine does not tell its settings");
    if (state.standby) throw new Error("the engine is a standby, which takes no writes");
    if (state.fsync === "off")
      throw new Error("the engine has fsync off, and would lose confirmed writes; allowed: on");
    if (state.pages === "off")
      throw new Error("the engine has full_page_writes off, and would lose confirmed writes; allowed: on");
    if (state.commit === "off")
      throw new Error(
        "synchronous_commit is off for this user and database, and confirmed writes would be lost; allowed: on, remote_apply, remote_write, local",
      );
  }

  /** The answer of a query, within the bound; a late answer ends the connection. */
  async #inTime<T>(query: PromiseLike<T>, life: Life): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const error = new Error(`the engine has not answered within ${this.#timeoutMs} ms`);
      reject(error);
      this.#end(life, error);
    }, this.#timeoutMs);
    try {
      return await Promise.race([query, promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends a life, once. */
  #end(life: Life, error: unknown): void {
    if (life.end !== null) return;
    life.end = error;
    if (this.#life === life) this.#life = null;
    if (!this.#isClosed) this.#logger.debug("A connection to the journal has ended", { reason: this.#describe(error) });
    void life.client.close({ timeout: 0 });
  }

  #away(error: unknown): JournalAway {
    return new JournalAway(this.#describe(error), { cause: error });
  }

  /** One line about an error, with the address. */
  #describe(error: unknown): string {
    return `${this.#address.shown}: ${reasonOf(error).replaceAll(/\s+/g, " ")}`;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof Bun.SQL.PostgresError) {
    if (error.code === "ERR_POSTGRES_CONNECTION_REFUSED")
      return "no connection; nothing listens there, or the host is unknown";
    return error.errno === undefined ? error.message : `${error.message} (${error.errno})`;
  }
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  if (code === null) return error.message;
  if (code.startsWith("ERR_INVALID_ARG")) return `the parameters of the address are wrong: ${error.message}`;
  const isCertificate = /CERT|ISSUER|SIGNATURE|HOSTNAME|CHAIN|CRL/.test(code);
  return `${isCertificate ? "the engine's certificate is not accepted: " : ""}${error.message} (${code})`;
}
