/** Kit of the tests of the database: databases in a folder, a table of numbers, and a flush that a test lets through. */
import { join } from "node:path";
import { Database, type DatabaseOptions, noteKind } from "../src/store/database/index.ts";
import { quietLogger, temporaryFolder } from "./kit.ts";

export const happened = noteKind<string>("test.happened");

type Open = (options?: Partial<DatabaseOptions>) => Database;

/** Opens databases of a test file, each in a new file unless the options name a path. */
export function databases(): { open: Open; withTable: (options?: Partial<DatabaseOptions>) => Promise<Database> } {
  const folder = temporaryFolder();
  let count = 0;
  const open: Open = (options) => {
    count += 1;
    const path = join(folder, `${count}.db`);
    return new Database({ path, logger: quietLogger(), onFatal: () => undefined, ...options });
  };
  return {
    open,
    withTable: async (options) => {
      const database = open(options);
      await database.prepare([{ module: "test", steps: ["CREATE TABLE t (n INTEGER UNIQUE) STRICT"] }]);
      return database;
    },
  };
}

/** The numbers in the table of `withTable`. */
export async function numbers(database: Database): Promise<number[]> {
  const rows = database.reader.all<{ n: number }>("SELECT n FROM t ORDER BY n");
  return rows.map(({ n }) => n);
}

/** A flush that a test lets through, or fails, by hand. */
export function manualSync() {
  const calls: PromiseWithResolvers<void>[] = [];
  return {
    calls,
    sync: () => {
      const call = Promise.withResolvers<void>();
      calls.push(call);
      return call.promise;
    },
  };
}
