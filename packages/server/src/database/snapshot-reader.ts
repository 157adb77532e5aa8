import type { Connection } from "./connection.ts";
import type { Reader, Value } from "./types.ts";

/**
 * Reads on a connection of their own. All reads of one turn of the event loop share one snapshot, because opening one
 * costs more than most reads do. It ends with the turn, and with each commit of the writer: a read never sees less than
 * what was committed before it was asked for.
 */
export class SnapshotReader implements Reader {
  readonly #connection: Connection;
  readonly #endTurn = (): void => this.end();
  #isOpen = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    this.#begin();
    return this.#connection.get<T>(sql, ...values);
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    this.#begin();
    return this.#connection.all<T>(sql, ...values);
  }

  /** The next read sees everything that is committed by then. */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // An error may have ended the transaction already.
    if (this.#connection.inTransaction) this.#connection.run("COMMIT");
  }

  close(): void {
    this.end();
    this.#connection.close();
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#connection.run("BEGIN");
    this.#isOpen = true;
    setImmediate(this.#endTurn);
  }
}
