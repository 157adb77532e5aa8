/** The guarantees of `store.ts` for transactions: whole or not at all, effects after the flush, a final flush that fails. */
// Promises: W1.
import { describe, expect, test } from "bun:test";
import { databases, happened, manualSync, numbers } from "../../../test/databases.ts";
import type { Transactor } from "./index.ts";

const { open, withTable } = databases();

describe("transactions", () => {
  test("a failed transaction takes only itself back", async () => {
    const database = await withTable();
    const results = await Promise.allSettled([
      database.transact((tx) => tx.run("INSERT INTO t VALUES (1)")),
      database.transactLong("test", async (tx) => {
        await tx.run("INSERT INTO t VALUES (2)");
        throw new Error("no");
      }),
      database.transact((tx) => tx.run("INSERT INTO t VALUES (1)")),
      database.transact((tx) => tx.run("INSERT INTO t VALUES (3)")),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect(await numbers(database)).toEqual([1, 3]);
    await database.close();
  });

  test("no response leaves and no effect runs before the flush; the notes of the commit are applied before the flush", async () => {
    const { calls, sync } = manualSync();
    const database = open({ sync });
    const log: string[] = [];
    database.projection.on(happened, (text) => log.push(text));
    const done = database.transact((tx) => {
      tx.note(happened.of("committed"));
      tx.onDurable(() => log.push("flushed"));
      return "answer";
    });
    void done.then((answer) => log.push(answer));
    await Bun.sleep(20);
    expect(log).toEqual(["committed"]);
    calls[0]?.resolve();
    await done;
    expect(log).toEqual(["committed", "flushed", "answer"]);
    await database.close();
  });

  test("a slow effect delays later effects, and only the responses to their transactions", async () => {
    const database = await withTable();
    const log: string[] = [];
    const slow = Promise.withResolvers<void>();
    const write = (n: number, effects: readonly (() => unknown)[]): Promise<void> => {
      const done = database.transact((tx) => {
        for (const effect of effects) tx.onDurable(effect);
        return tx.run("INSERT INTO t VALUES (?)", n);
      });
      return done.then(() => void log.push(`answer ${n}`));
    };
    const begun = (n: number, outcome?: Promise<void>) => () => {
      log.push(`effect ${n}`);
      return outcome;
    };
    const failing = (): Promise<void> => Promise.reject(new Error("no"));
    const writes = [write(1, [begun(1, slow.promise), begun(2)]), write(2, [failing, begun(3)])];
    await writes[0];
    writes.push(write(3, [begun(4)]));
    while ((await numbers(database)).length < 3) await Bun.sleep(1);
    expect(log).toEqual(["effect 1", "answer 1"]);
    slow.resolve();
    await Promise.all(writes);
    expect(log.filter((line) => line.startsWith("effect"))).toEqual(["effect 1", "effect 2", "effect 3", "effect 4"]);
    expect(log.slice(0, 3)).toEqual(["effect 1", "answer 1", "effect 2"]);
    await database.close();
  });

  test("a read sees the commits before the read, also within the turn in which another read began", async () => {
    const database = await withTable();
    const seen: number[][] = [];
    database.projection.on(happened, () => void numbers(database).then((found) => seen.push(found)));
    await database.transactLong("test", async (tx) => {
      await tx.run("INSERT INTO t VALUES (1)");
      seen.push(await numbers(database));
      tx.note(happened.of("now"));
    });
    expect(seen).toEqual([[], [1]]);
    await database.close();
  });

  test("transactions share a commit, and the transaction behind the end of the batch does not", async () => {
    const database = await withTable();
    const order: string[] = [];
    database.projection.on(happened, (text) => order.push(text));
    const write = (n: number, endsBatch = false): Promise<number> =>
      database.transact((tx) => {
        order.push(`work ${n}`);
        tx.note(happened.of(`note ${n}`));
        if (endsBatch) tx.endBatch();
        return tx.run("INSERT INTO t VALUES (?)", n);
      });
    await Promise.all([write(1), write(2), write(3, true), write(4)]);
    expect(order).toEqual(["work 1", "work 2", "work 3", "note 1", "note 2", "note 3", "work 4", "note 4"]);
    await expect(write(1)).rejects.toThrow();
    expect(order.at(-1)).toBe("work 1");
    await database.close();
  });

  test("a transaction finds the newest note of its commit, without notes that were taken back", async () => {
    const database = await withTable();
    const found: (string | null)[] = [];
    const applied: string[] = [];
    database.projection.on(happened, (text) => applied.push(text));
    // On a busy machine, the transactions may have separate commits.
    const newest = (tx: Transactor): string | null => tx.lastNote(happened) ?? applied.at(-1) ?? null;
    const write = (n: number, fails = false): Promise<void> =>
      database.transact((tx) => {
        found.push(newest(tx));
        tx.note(happened.of(`note ${n}`));
        tx.run("INSERT INTO t VALUES (?)", n);
        if (fails) throw new Error("no");
        found.push(newest(tx));
      });
    await Promise.allSettled([write(1), write(2, true), write(3)]);
    await write(4);
    expect(found).toEqual([null, "note 1", "note 1", "note 1", "note 3", "note 3", "note 4"]);
    expect(applied).toEqual(["note 1", "note 3", "note 4"]);
    await database.close();
  });

  test("a transaction that was taken back has no effects", async () => {
    const database = await withTable();
    const log: string[] = [];
    database.projection.on(happened, (text) => log.push(text));
    const failed = database.transact((tx) => {
      tx.note(happened.of("commit"));
      tx.onDurable(() => log.push("flush"));
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
    await database.transact(() => undefined);
    expect(log).toEqual([]);
    await database.close();
  });

  test("a handle is dead after its transaction", async () => {
    const database = await withTable();
    const handle = await database.transact((tx) => ({ tx }));
    expect(() => handle.tx.run("INSERT INTO t VALUES (9)")).toThrow("after its end");
    expect(await numbers(database)).toEqual([]);
    await database.close();
  });

  test("a failed flush is final: nothing is acknowledged from then on", async () => {
    const { calls, sync } = manualSync();
    const fatal: unknown[] = [];
    const database = open({ sync, onFatal: (error) => fatal.push(error) });
    const effects: string[] = [];
    const write = () => database.transact((tx) => tx.onDurable(() => effects.push("flushed")));
    const first = write();
    await Bun.sleep(5);
    const second = write();
    await Bun.sleep(5);
    calls[0]?.reject(new Error("EIO"));
    for (const result of await Promise.allSettled([first, second, write()]))
      expect(result).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
    expect(fatal).toEqual([new Error("EIO")]);
    expect(effects).toEqual([]);
    expect(calls).toHaveLength(1);
    await database.close();
  });

  test("a flush that fails while the service stops is no less fatal", async () => {
    const { calls, sync } = manualSync();
    const fatal: unknown[] = [];
    const database = open({ sync, onFatal: (error) => fatal.push(error) });
    const write = database.transact(() => undefined);
    const closing = database.close();
    await Bun.sleep(5);
    calls[0]?.reject(new Error("EIO"));
    await expect(write).rejects.toMatchObject({ code: "unavailable" });
    await closing;
    expect(fatal).toEqual([new Error("EIO")]);
  });

  test("closing refuses new transactions and finishes accepted transactions", async () => {
    const database = await withTable();
    const accepted = database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"));
    const closing = database.close();
    await expect(database.transact((tx) => tx.run("INSERT INTO t VALUES (2)"))).rejects.toMatchObject({
      code: "unavailable",
    });
    expect(await accepted).toBe(1);
    await closing;
    const again = open({ path: database.path });
    expect(await numbers(again)).toEqual([1]);
    await again.close();
  });
});
