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
  #open = true;

  constructor(connection: TransactionConnection) {
    this.#connection = connection;
  }

  get<T>(sql: string, ...values: Value[]): Awaitable<T | null> {
    return this.#live().get<T>(sql, ...values);
  }

  all<T>(sql: string, ...values: Value[]): Awaitable<T[]> {
    return this.#live().all<T>(sql, ...values);
  }

  run(sql: string, ...values: Value[]): Awaitable<number> {
    return this.#live().run(sql, ...values);
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

  #live(): TransactionConnection {
    if (!this.#open) throw new Error("A transaction was used after its end");
    return this.#connection;
  }
}
