/** Tests of the writer: a transaction whose caller was told of a failure is not in the database. */
// Promises: W2.
import { afterEach, expect, test } from "bun:test";
import { databases } from "../../../../test/databases.ts";
import { Connection } from "./connection.ts";

const { open } = databases();
const { run } = Connection.prototype;
afterEach(() => {
  Connection.prototype.run = run;
});

test("a rollback that fails refuses the transactions of the commit, and none of them runs again", async () => {
  const database = open();
  await database.transact((tx) => tx.run("CREATE TABLE t (a INTEGER PRIMARY KEY) STRICT"));
  let failures = 0;
  Connection.prototype.run = function (this: Connection, ...args: Parameters<typeof run>) {
    if (args[0] !== "ROLLBACK" || failures > 0) return run.apply(this, args);
    failures += 1;
    throw new Error("The rollback fails");
  };
  const outcomes = await Promise.allSettled([
    database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"), { isRepeatable: true }),
    database.transact(
      (tx) => {
        tx.run("INSERT INTO t VALUES (2)");
        throw new Error("The function fails");
      },
      { isRepeatable: true },
    ),
  ]);
  expect([failures, ...outcomes.map(({ status }) => status)]).toEqual([1, "rejected", "rejected"]);
  // The next commit runs all transactions of the queue.
  await database.transact((tx) => tx.run("INSERT INTO t VALUES (3)"));
  expect(database.reader.all<{ a: number }>("SELECT a FROM t")).toEqual([{ a: 3 }]);
});
