/** The names of handlers, numbered: a run refers to its handler by a number, which is shorter than a path. */
import type { Database, Transactor } from "../database/index.ts";

/** The schema step of the table. It is the first one of the module functions, which had the table first. */
export const handlerTable =
  "CREATE TABLE _handlers (id INTEGER PRIMARY KEY, path TEXT NOT NULL, handler TEXT NOT NULL, UNIQUE (path, handler)) STRICT";

export interface HandlerName {
  readonly path: string;
  /** The name of the export. */
  readonly handler: string;
}

/** The number of a handler, which stays for ever; gives it one when it has none. */
export async function handlerNumber(tx: Transactor, { path, handler }: HandlerName): Promise<number> {
  await tx.run("INSERT OR IGNORE INTO _handlers (path, handler) VALUES (?, ?)", path, handler);
  const row = await tx.get<{ id: number }>("SELECT id FROM _handlers WHERE path = ? AND handler = ?", path, handler);
  if (row === null) throw new Error(`${handler} of ${path} has no number`);
  return row.id;
}

/** The numbers of handlers in memory, for runs that are written with every change. */
export class HandlerNumbers {
  readonly #database: Database;
  /** By `path:handler`. */
  readonly #numbers = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Gives each handler its number. To be called before a run of the handler is written. */
  async register(handlers: readonly HandlerName[]): Promise<void> {
    const found = await this.#database.transact(async (tx) => {
      const numbers: [name: string, number: number][] = [];
      for (const each of handlers) numbers.push([`${each.path}:${each.handler}`, await handlerNumber(tx, each)]);
      return numbers;
    });
    // Those of earlier files stay: a change may still write runs of theirs until the new ones are in force.
    for (const [name, number] of found) this.#numbers.set(name, number);
  }

  /** The number of a handler, as `path:handler`; 0, which no handler has, for one that is not registered. */
  of(name: string): number {
    return this.#numbers.get(name) ?? 0;
  }
}
