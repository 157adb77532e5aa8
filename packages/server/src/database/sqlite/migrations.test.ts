import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { type Database, SqliteDatabase, type Waiter } from "../index.ts";

const waiting = (): Waiter => ({ caller: "test", signal: new AbortController().signal });

const folder = temporaryFolder();
let count = 0;

function open(path?: string): Database {
  count += 1;
  return new SqliteDatabase({
    path: path ?? join(folder, `${count}.db`),
    logger: quietLogger(),
    onFatal: () => undefined,
  });
}

async function withTable(): Promise<Database> {
  const database = open();
  await database.prepare([{ module: "test", steps: ["CREATE TABLE t (n INTEGER UNIQUE) STRICT"] }]);
  return database;
}

async function numbers(database: Database): Promise<number[]> {
  const rows = await database.reader.all<{ n: number }>("SELECT n FROM t ORDER BY n");
  return rows.map(({ n }) => n);
}

test("a close leaves one file, also after checkpoints and work on threads", async () => {
  const database = open();
  await database.prepare([{ module: "test", steps: ["CREATE TABLE big (x TEXT) STRICT"] }]);
  for (let n = 0; n < 60; n++) {
    await database.transact((tx) => tx.run("INSERT INTO big VALUES (?)", "x".repeat(300_000)));
    await Bun.sleep(2);
  }
  await database.migrate((tx) => tx.run("ALTER TABLE big ADD COLUMN y TEXT"), "thread");
  await database.readOnThread(async (reader) => reader.get("SELECT count(*) FROM big"), waiting());
  expect(database.sizes().log).toBeGreaterThan(0);
  await database.close();
  expect(
    readdirSync(folder)
      .filter((file) => file.startsWith(basename(database.path)))
      .sort(),
  ).toEqual([basename(database.path), `${basename(database.path)}-lock`]);
});

describe("migrations", () => {
  const columns = async (database: Database): Promise<number> =>
    (await database.reader.all("PRAGMA table_info(t)")).length;

  test.each(["event-loop", "thread"] as const)(
    "%s: reads see all of it from its commit on, and nothing before",
    async (place) => {
      const database = await withTable();
      await database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"));
      for (let round = 0; round < 20; round++) {
        let isCommitted = false;
        const migrating = database.migrate(async (tx) => {
          await tx.run(`ALTER TABLE t ADD COLUMN c${round} TEXT`);
          await tx.run("UPDATE t SET n = n + 1");
          tx.onCommit(() => {
            isCommitted = true;
          });
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
    const migrating = database.migrate(async (tx) => {
      await tx.run("ALTER TABLE t ADD COLUMN kept TEXT");
      await Bun.sleep(50);
    }, "thread");
    await Bun.sleep(20);
    const closing = database.close();
    await expect(database.migrate(() => undefined, "thread")).rejects.toMatchObject({ code: "unavailable" });
    await Promise.all([migrating, closing]);
    expect(existsSync(`${database.path}-wal`)).toBe(false);
    const again = open(database.path);
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
    const again = open(database.path);
    expect([await columns(again), await numbers(again)]).toEqual([1, []]);
    await again.close();
  });
});

describe("reads on threads", () => {
  const endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 3000000) SELECT max(n) FROM r";

  test("are of one moment, whatever is written meanwhile", async () => {
    const database = await withTable();
    await database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"));
    const seen = await database.readOnThread(async (reader) => {
      const count = () => reader.get<{ n: number }>("SELECT count(*) AS n FROM t");
      const before = await count();
      await database.transact((tx) => tx.run("INSERT INTO t VALUES (2)"));
      await database.migrate((tx) => tx.run("ALTER TABLE t RENAME COLUMN n TO m"), "event-loop");
      return [before, await count(), await reader.all("SELECT n FROM t")];
    }, waiting());
    expect(seen).toEqual([{ n: 1 }, { n: 1 }, [{ n: 1 }]]);
    await database.close();
  });

  test("end with those who wait for them, and hold up nobody else; too many are refused", async () => {
    const database = await withTable();
    const gone = new AbortController();
    const left = Array.from({ length: 32 }, (_, n) =>
      database.readOnThread((reader) => Promise.resolve(reader.get(endless)), {
        caller: `admin ${n % 4}`,
        signal: gone.signal,
      }),
    );
    const refused = Promise.allSettled(left);
    const oneMore = database.readOnThread(async (reader) => reader.get("SELECT 1"), waiting());
    await expect(oneMore).rejects.toMatchObject({ code: "unavailable" });
    await Bun.sleep(20);
    gone.abort();
    const reasons = (await refused).map((result) =>
      result.status === "rejected" ? result.reason.code : result.status,
    );
    expect(new Set(reasons)).toEqual(new Set(["bad_request"]));
    const row = await database.readOnThread(async (reader) => reader.get("SELECT 1 AS n"), waiting());
    expect(row).toEqual({ n: 1 });
    await database.close();
  });

  test("are refused, and those that run are given up, at the end", async () => {
    const database = await withTable();
    const waiter = waiting();
    const reads = [1, 2, 3].map(() => database.readOnThread((reader) => Promise.resolve(reader.get(endless)), waiter));
    const settled = Promise.allSettled(reads);
    await Bun.sleep(20);
    await database.close(10);
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });
});
