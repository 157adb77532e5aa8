/** The guarantees of `store.ts` for migrations and isolation: serial transactions, snapshots, tables that change at one moment. */
import { describe, expect, test } from "bun:test";
import { databases, happened, numbers } from "../../../test/databases.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import type { Database, Transactor } from "./index.ts";

const { open, withTable } = databases();

describe("migrations", () => {
  const columns = async (database: Database): Promise<number> =>
    Object.keys((await database.reader.get<object>("SELECT * FROM t")) ?? {}).length;

  test.each(["event-loop", "thread"] as const)(
    "%s: reads see the whole migration from its commit on, and nothing before",
    async (place) => {
      const database = await withTable();
      await database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"));
      let isCommitted = false;
      database.projection.on(happened, () => {
        isCommitted = true;
      });
      for (let round = 0; round < 20; round++) {
        isCommitted = false;
        const migrating = database.migrate(async (tx) => {
          await tx.run(`ALTER TABLE t ADD COLUMN c${round} TEXT`);
          await tx.run("UPDATE t SET n = n + 1");
          tx.note(happened.of("migrated"));
        }, place);
        let isOver = false;
        void migrating.then(() => {
          isOver = true;
        });
        while (!isOver) {
          const wanted = isCommitted ? 1 : 0;
          expect([await columns(database), await numbers(database)]).toEqual([
            1 + round + wanted,
            [1 + round + wanted],
          ]);
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      await database.close();
    },
  );

  test.each(["event-loop", "thread"] as const)(
    "%s: a failed migration changes nothing, and the next migrations run",
    async (place) => {
      const database = await withTable();
      const failing = (work: (run: (sql: string) => unknown) => unknown) =>
        database.migrate(async (tx) => {
          await tx.run("ALTER TABLE t ADD COLUMN lost TEXT");
          await work((sql) => tx.run(sql));
        }, place);
      const results = await Promise.allSettled([
        database.transact((tx) => tx.run("INSERT INTO t VALUES (1)")),
        failing(() => {
          throw new Error("no");
        }),
        failing((run) => run("INSERT INTO t (n) VALUES (1)")),
        failing((run) => run("nonsense")),
        database.transact((tx) => tx.run("INSERT INTO t VALUES (2)")),
        database.migrate((tx) => tx.run("ALTER TABLE t ADD COLUMN kept TEXT"), place),
        database.transact((tx) => tx.run("INSERT INTO t VALUES (3, 'x')")),
      ]);
      expect(results.map(({ status }) => status)).toEqual([
        "fulfilled",
        "rejected",
        "rejected",
        "rejected",
        "fulfilled",
        "fulfilled",
        "fulfilled",
      ]);
      expect([await columns(database), await numbers(database)]).toEqual([2, [1, 2, 3]]);
      await database.close();
    },
  );

  test("a close waits for a migration on a thread, and refuses later migrations", async () => {
    const database = await withTable();
    await database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"));
    const migrating = database.migrate(async (tx) => {
      await tx.run("ALTER TABLE t ADD COLUMN kept TEXT");
      await Bun.sleep(50);
    }, "thread");
    await Bun.sleep(20);
    const closing = database.close();
    await expect(database.migrate(() => undefined, "thread")).rejects.toMatchObject({ code: "unavailable" });
    await Promise.all([migrating, closing]);
    // A request that goes on after the close is told, too.
    expect(() => database.reader.all("SELECT * FROM t")).toThrow("The service is stopping.");
    const again = open({ path: database.path });
    expect(await columns(again)).toBe(2);
    await again.close();
  });

  test("running reads go on with the former data until their end; new reads see the new data", async () => {
    const database = await withTable();
    await database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"));
    const [read, idle] = [database.longRead(), database.longRead()];
    const all = (reader: Pick<Database["reader"], "all">) => reader.all<{ n: number }>("SELECT n FROM t");
    expect(await all(read)).toEqual([{ n: 1 }]);
    await database.transact((tx) => tx.run("UPDATE t SET n = 2"));
    expect(await all(read)).toEqual([{ n: 2 }]);
    idle.end();
    await database.migrate((tx) => tx.run("ALTER TABLE t RENAME COLUMN n TO m"), "event-loop");
    await database.transact((tx) => tx.run("UPDATE t SET m = 3"));
    await database.migrate((tx) => tx.run("ALTER TABLE t ADD COLUMN more TEXT"), "thread");
    expect(await all(read)).toEqual([{ n: 2 }]);
    expect(() => all(database.reader)).toThrow("no such column");
    expect(await database.reader.all<unknown>("SELECT * FROM t")).toEqual([{ m: 3, more: null }]);
    read.end();
    expect(() => all(read)).toThrow("took too long");
    await database.close();
  });

  test("a close takes back migrations that take too long, and begins no waiting migration", async () => {
    const database = await withTable();
    const slow = (name: string) =>
      database.migrate(async (tx) => {
        await tx.run(`ALTER TABLE t ADD COLUMN ${name} TEXT`);
        await Bun.sleep(300);
        await tx.run("SELECT 1");
      }, "thread");
    const waiting = [slow("a"), slow("b"), database.transact((tx) => tx.run("INSERT INTO t (n) VALUES (1)"))];
    const settled = Promise.allSettled(waiting);
    await Bun.sleep(50);
    await database.close(20);
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    const again = open({ path: database.path });
    expect(await numbers(again)).toEqual([]);
    await again.transact((tx) => tx.run("INSERT INTO t VALUES (1)"));
    expect(await columns(again)).toBe(1);
    await again.close();
  });
});

describe("isolation", () => {
  test("transactions run one after another: no update is lost, whatever each transaction waits for", async () => {
    const random = randomNumbers(randomSeed("store"));
    const database = await withTable();
    await database.transact((tx) => tx.run("INSERT INTO t VALUES (0)"));
    const running: number[] = [];
    const writes = Array.from({ length: 100 }, (_, i) =>
      database.transactLong("test", async (tx) => {
        running.push(i);
        const row = await tx.get<{ n: number }>("SELECT n FROM t");
        if (random() < 0.3) await Bun.sleep(random() * 3);
        expect(running.at(-1)).toBe(i);
        await tx.run("UPDATE t SET n = ?", (row?.n ?? 0) + 1);
        if (random() < 0.2) throw new Error("taken back");
      }),
    );
    const outcomes = await Promise.allSettled(writes);
    const kept = outcomes.filter(({ status }) => status === "fulfilled").length;
    expect(running).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(await numbers(database)).toEqual([kept]);
    await database.close();
  });

  test("callers of long transactions take turns, and a short transaction waits for one long transaction at most", async () => {
    const database = await withTable();
    const order: string[] = [];
    const long = (caller: string, n: number): Promise<unknown> =>
      database.transactLong(caller, async () => {
        order.push(`${caller}${n}`);
        await Bun.sleep(20);
      });
    const first = long("a", 1);
    while (order.length === 0) await Bun.sleep(1);
    const rest = [long("a", 2), long("a", 3), long("b", 1)];
    const short = database.transact(() => order.push("short"));
    await Promise.all([first, short, ...rest]);
    expect(order).toEqual(["a1", "short", "a2", "b1", "a3"]);
    await database.close();
  });

  test("transactions that may be called again: a failed transaction takes only itself back, and the effects are of one call", async () => {
    const random = randomNumbers(randomSeed("store"));
    const database = await withTable();
    const calls = Array.from({ length: 300 }, () => 0);
    const told: string[] = [];
    database.projection.on(happened, (text) => told.push(text));
    const kinds = calls.map((_, n) => {
      const kind = random();
      return {
        n,
        isRepeatable: random() < 0.97,
        failsEarly: kind < 0.1,
        failsLate: kind > 0.95,
      };
    });
    const write = ({ n, isRepeatable, failsEarly, failsLate }: (typeof kinds)[number]): Promise<number> => {
      const work = (tx: Transactor): number => {
        calls[n] = (calls[n] ?? 0) + 1;
        tx.note(happened.of(`commit ${n}`));
        tx.onDurable(() => told.push(`durable ${n}`));
        if (failsEarly) throw new Error("refused");
        // Half of the transactions write by a statement that answers rows.
        if (n % 2 === 0) tx.run("INSERT INTO t VALUES (?)", n);
        else tx.get("INSERT INTO t VALUES (?) RETURNING n", n);
        if (failsLate) throw new Error("taken back");
        return n;
      };
      return database.transact(work, { isRepeatable });
    };
    const outcomes = await Promise.allSettled(
      kinds.map(async (kind) => {
        await Bun.sleep(random() * 20);
        return write(kind);
      }),
    );
    const kept = kinds.filter(({ failsEarly, failsLate }) => !failsEarly && !failsLate).map(({ n }) => n);
    expect(outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []))).toEqual(kept);
    expect(await numbers(database)).toEqual(kept);
    const effects = (when: string): number[] =>
      told.filter((each) => each.startsWith(when)).map((each) => Number(each.slice(when.length + 1)));
    expect(effects("commit").toSorted((x, y) => x - y)).toEqual(kept);
    expect(effects("durable")).toEqual(effects("commit"));
    for (const { n, isRepeatable } of kinds) if (!isRepeatable) expect([n, calls[n]]).toEqual([n, 1]);
    expect(Math.max(...calls)).toBeLessThanOrEqual(2);
    // Alone in a commit, this transaction is always called again, with a savepoint.
    const late = { n: calls.length, isRepeatable: true, failsEarly: false, failsLate: true };
    await expect(write(late)).rejects.toThrow("taken back");
    expect(calls[late.n]).toBe(2);
    await database.close();
  });

  test("after a violated unique index a transaction goes on", async () => {
    const database = await withTable();
    await database.transactLong("test", async (tx) => {
      await tx.run("INSERT INTO t VALUES (1)");
      const again = async () => tx.run("INSERT INTO t VALUES (1)");
      await expect(again()).rejects.toThrow();
      await tx.run("INSERT INTO t VALUES (2)");
    });
    expect(await numbers(database)).toEqual([1, 2]);
    await database.close();
  });

  test("reads of a turn see the same state, and the state in memory matches", async () => {
    const database = await withTable();
    let inMemory = 0;
    database.projection.on(happened, () => {
      inMemory += 1;
    });
    let isOver = false;
    const writes = Array.from({ length: 200 }, (_, n) =>
      database.transact((tx) => {
        tx.note(happened.of("written"));
        return tx.run("INSERT INTO t VALUES (?)", n);
      }),
    );
    const written = Promise.all(writes).then(() => {
      isOver = true;
    });
    while (!isOver) {
      const [first, second] = await Promise.all([numbers(database), numbers(database)]);
      expect(first).toHaveLength(inMemory);
      expect(second).toEqual(first);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await written;
    expect(inMemory).toBe(200);
    await database.close();
  });

  test("an acknowledged write is on disk after the database was closed and opened again", async () => {
    const database = await withTable();
    await database.transact((tx) => tx.run("INSERT INTO t VALUES (7)"));
    await database.close();
    const again = await withTable({ path: database.path });
    expect(await numbers(again)).toEqual([7]);
    await again.close();
  });
});
