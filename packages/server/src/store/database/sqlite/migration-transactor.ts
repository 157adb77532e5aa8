/** The transactor of a migration: on the writer's connection, or on a thread's connection. */
import { asSlowReader, type Migration, type SlowTransactor, type Value } from "../store.ts";
import { JobTransactor, type TransactionConnection } from "./jobs.ts";
import type { ThreadConnection } from "./thread-connection.ts";

/** The two ways to the connection of a migration: `now` blocks the event loop, `slow` does not. */
export interface MigrationConnection {
  readonly now: TransactionConnection;
  readonly slow: SlowTransactor;
}

export class MigrationTransactor extends JobTransactor implements Migration {
  readonly slow: SlowTransactor;

  constructor({ now, slow }: MigrationConnection) {
    super(now);
    this.slow = slow;
  }
}

/** A migration on the event loop, for few rows. */
export function onEventLoop(connection: TransactionConnection): MigrationConnection {
  return {
    now: connection,
    slow: { ...asSlowReader(connection), run: async (sql, ...values) => connection.run(sql, ...values) },
  };
}

/** A migration on a thread. The event loop blocks during each statement that is not `slow`. */
export function onThread(thread: ThreadConnection): MigrationConnection {
  const now: TransactionConnection = {
    get: <T>(sql: string, ...values: Value[]) => thread.askNow<T | null>("get", sql, values),
    all: <T>(sql: string, ...values: Value[]) => thread.askNow<T[]>("all", sql, values),
    some: ({ sql, values }, isLast) => {
      const rows = thread.askNow<never[]>("all", sql, [...values]);
      const last = rows.findIndex(isLast);
      return last < 0 ? rows : rows.slice(0, last + 1);
    },
    run: (sql, ...values) => thread.askNow<number>("run", sql, values),
  };
  return { now, slow: thread };
}
