/** The transactor: the argument of one transaction's function, and its effects at the commit and after the flush. */
import type { Awaitable } from "../../kernel/index.ts";
import type { Reader, Transactor, Value } from "../store.ts";

/** The connection of a transaction: the writer's own, or one on a thread. */
export interface TransactionConnection extends Reader {
  run(sql: string, ...values: Value[]): Awaitable<number>;
}

/** The handle that one transaction's function gets. It is dead once the function has ended. */
export class JobTransactor implements Transactor {
  readonly #connection: TransactionConnection;
  readonly commitEffects: (() => void)[] = [];
  readonly durableEffects: (() => unknown)[] = [];
  /** Whether the next transaction begins after the commit of this one. */
  endsBatch = false;
  /** Whether a statement has written, which an error of the function must take back. One that fails takes itself back. */
  hasWritten = false;
  #open = true;

  constructor(connection: TransactionConnection) {
    this.#connection = connection;
  }

  get<T>(sql: string, ...values: Value[]): Awaitable<T | null> {
    const row = this.#live().get<T>(sql, ...values);
    this.#note(sql);
    return row;
  }

  all<T>(sql: string, ...values: Value[]): Awaitable<T[]> {
    const rows = this.#live().all<T>(sql, ...values);
    this.#note(sql);
    return rows;
  }

  run(sql: string, ...values: Value[]): Awaitable<number> {
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

  /** Notes a statement that has answered rows: one with RETURNING has written. */
  #note(sql: string): void {
    this.hasWritten ||= !sql.startsWith("SELECT ");
  }

  #live(): TransactionConnection {
    if (!this.#open) throw new Error("A transaction was used after its end");
    return this.#connection;
  }
}
