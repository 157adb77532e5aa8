/**
 * Conformance suite of database engines: each promise of `database/store.ts` as tests that know no engine. The tests use only SQL that
 * every engine takes.
 */
import { describe, expect, test } from "bun:test";
import { type Database, noteKind, type Transactor } from "../src/store/database/index.ts";
import { randomNumbers, randomSeed } from "./random.ts";

export interface EngineOptions {
  /** Replaces the flush to disk. */
  readonly sync?: () => Promise<void>;
  readonly onFatal?: (error: unknown) => void;
  /** Opens a database that another call has made and closed; without a path, an empty database. */
  readonly path?: string;
}

const happened = noteKind<string>("test.happened");

async function numbers(database: Database): Promise<number[]> {
  const rows = await database.reader.all<{ n: number }>("SELECT n FROM t ORDER BY n");
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

export function storeSuite(open: (options?: EngineOptions) => Database): void {
  async function withTable(options?: EngineOptions): Promise<Database> {
    const database = open(options);
    await database.prepare([{ module: "test", steps: ["CREATE TABLE t (n INTEGER UNIQUE)"] }]);
    return database;
  }

  describe("transactions", () => {
    test("one that fails takes only itself back", async () => {
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

    test("nobody is answered and no effect runs before the flush; the notes of the commit are applied before it", async () => {
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

    test("an effect that takes a while holds up those that come after it, and the answers to their transactions alone", async () => {
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

    test("a read sees what was committed before it, also within the turn in which another read began", async () => {
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

    test("transactions share a commit, and the one behind a transaction that ends the batch does not", async () => {
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

    test("a transaction finds the newest note of its commit, without those that were taken back", async () => {
      const database = await withTable();
      const found: (string | null)[] = [];
      const applied: string[] = [];
      database.projection.on(happened, (text) => applied.push(text));
      // On a busy machine, the transactions may have a commit each.
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

    test("what was taken back has no effects", async () => {
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

    test("closing refuses what comes and finishes what was accepted", async () => {
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

  describe("migrations", () => {
    const columns = async (database: Database): Promise<number> =>
      Object.keys((await database.reader.get<object>("SELECT * FROM t")) ?? {}).length;

    test.each(["event-loop", "thread"] as const)(
      "%s: reads see all of it from its commit on, and nothing before",
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
      "%s: one that fails changes nothing, and the next ones go on",
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

    test("a close waits for one that runs on a thread, and refuses those that come after", async () => {
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
      const again = open({ path: database.path });
      expect(await columns(again)).toBe(2);
      await again.close();
    });

    test("reads that have begun go on with what was there, until they end; new ones see what is", async () => {
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

    test("a close takes back what takes too long, and begins nothing that waits", async () => {
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
    test("transactions run one after the other: no update is lost, whatever each waits for", async () => {
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

    test("of long transactions callers have one each in turn, and a short one waits for one of them at most", async () => {
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

    test("transactions that may be called again: one that fails takes only itself back, and the effects are of one call", async () => {
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
      // Alone in its commit, such a transaction is always called again, with a savepoint.
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

    test("reads of one turn see one state, and what is kept in memory fits it", async () => {
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

    test("an acknowledged write is there after the database was closed and opened again", async () => {
      const database = await withTable();
      await database.transact((tx) => tx.run("INSERT INTO t VALUES (7)"));
      await database.close();
      const again = await withTable({ path: database.path });
      expect(await numbers(again)).toEqual([7]);
      await again.close();
    });
  });
}
