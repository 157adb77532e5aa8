/** Rehearsals: transactions that see the changes of the transactions before, and of which nothing stays. */
import { expect, test } from "bun:test";
import { databases, numbers } from "../../../test/databases.ts";
import { actingFor, type Preview, type System } from "../../base/kernel/index.ts";
import type { Database, Rehearsal, Transactor } from "./index.ts";

const { withTable } = databases();

function begin(database: Database): { rehearsal: Rehearsal; code: System } {
  const preview: Preview = {
    hasChanges: false,
    runs: new Map(),
    files: new Map(),
    record: () => undefined,
    log: () => undefined,
  };
  const rehearsal = database.rehearse(preview, { keeps: (sql) => !sql.includes("left_out"), onMade: () => undefined });
  return { rehearsal, code: { ...actingFor(null, 0), preview } };
}

const add =
  (n: number) =>
  (tx: Transactor): number =>
    tx.run("INSERT INTO t (n) VALUES (?)", n);
const all = (tx: Transactor): number[] => tx.all<{ n: number }>("SELECT n FROM t ORDER BY n").map(({ n }) => n);

test("a transaction sees the changes before, and commits in between; a failed transaction leaves nothing", async () => {
  const database = await withTable();
  const { rehearsal, code } = begin(database);
  await database.transact(add(1));
  await database.transactFor(code, add(10));
  await database.transact(add(2));
  await database.transactLongFor(code, async (tx) => {
    add(11)(tx);
    await Bun.sleep(1);
  });
  const failing = database.transactFor(code, (tx) => {
    add(12)(tx);
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(await database.transactFor(code, all)).toEqual([1, 2, 10, 11]);
  expect([rehearsal.hasChanges, rehearsal.torn]).toEqual([true, null]);
  expect(await numbers(database)).toEqual([1, 2]);
  expect(await rehearsal.conclude(all)).toEqual([1, 2, 10, 11]);
  await expect(database.transactFor(code, add(13))).rejects.toThrow("The preview has ended");
  expect(await numbers(database)).toEqual([1, 2]);
});

test("a rehearsal whose changes meet changes of others is torn", async () => {
  const database = await withTable();
  await database.transact(add(1));
  const { rehearsal, code } = begin(database);
  await database.transactFor(code, (tx) => tx.run("UPDATE t SET n = 5 WHERE n = 1"));
  await database.transact((tx) => tx.run("DELETE FROM t WHERE n = 1"));
  await expect(database.transactFor(code, all)).rejects.toThrow("were changed by others");
  await database.transact(add(2));
  expect([rehearsal.torn?.code, await numbers(database)]).toEqual(["conflict", [2]]);
});

test("statements that are left out are seen by their transaction alone; too many bytes are refused", async () => {
  const database = await withTable();
  const { code } = begin(database);
  const seen = await database.transactFor(code, (tx) => {
    tx.run("INSERT INTO t (n) VALUES (7) -- left_out");
    return all(tx);
  });
  expect([seen, await database.transactFor(code, all)]).toEqual([[7], []]);
  const large = database.transactFor(code, (tx) => {
    for (let i = 0; i < 5; i += 1) tx.run("UPDATE t SET n = 1 WHERE n = ?", "x".repeat(8 * 1024 ** 2));
  });
  await expect(large).rejects.toThrow("larger than 32 MiB");
  await database.transactFor(code, add(8));
  expect(await database.transactFor(code, all)).toEqual([8]);
});
