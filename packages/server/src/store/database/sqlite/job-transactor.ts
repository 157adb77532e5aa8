/** The transactor: the argument of a transaction's function, with its effects at the commit and after the flush. */
import type { Reader, Transactor, Value } from "../store.ts";

/** The connection of a transaction: the writer's connection, or the connection of a migration on a thread. */
export interface TransactionConnection extends Reader {
  run(sql: string, ...values: Value[]): number;
}

/** The argument of a transaction's function. The transactor is dead after the end of the function. */
export class JobTransactor implements Transactor {
  readonly #connection: TransactionConnection;
  readonly commitEffects: (() => void)[] = [];
  readonly durableEffects: (() => unknown)[] = [];
  /** Whether the next transaction begins after this commit. */
  endsBatch = false;
  /** Whether a statement has written, so that an error of the function needs a rollback. SQLite undoes a failed statement itself. */
  hasWritten = false;
  #open = true;

  constructor(connection: TransactionConnection) {
    this.#connection = connection;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    const row = this.#live().get<T>(sql, ...values);
    this.#note(sql);
    return row;
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    const rows = this.#live().all<T>(sql, ...values);
    this.#note(sql);
    return rows;
  }

  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    const rows = this.#live().some(statement, isLast);
    this.#note(statement.sql);
    return rows;
  }

  run(sql: string, ...values: Value[]): number {
    const changes = this.#live().run(sql, ...values);
    this.hasWritten = true;
    return changes;
  }

  onCommit(effect: () => void): void {
    this.commitEffects.push(effect);
  }

  endBatch(): void {
    this.endsBatch = true;
  }

  onDurable(effect: () => unknown): void {
    this.durableEffects.push(effect);
  }

  end(): void {
    this.#open = false;
  }

  /** Notes a statement that has answered rows: a statement with RETURNING has written. */
  #note(sql: string): void {
    this.hasWritten ||= !sql.startsWith("SELECT ");
  }

  #live(): TransactionConnection {
    if (!this.#open) throw new Error("A transaction was used after its end");
    return this.#connection;
  }
}
