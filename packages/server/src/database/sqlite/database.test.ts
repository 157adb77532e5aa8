import { describe, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { type Database, SqliteDatabase, type SqliteOptions } from "../index.ts";
import { Flusher } from "./flusher.ts";
import { openLog } from "./open-file.ts";

const folder = temporaryFolder();
let count = 0;

function open(options: Partial<SqliteOptions> = {}): Database {
  count += 1;
  const path = join(folder, `${count}.db`);
  return new SqliteDatabase({ path, logger: quietLogger(), onFatal: () => undefined, ...options });
}

async function withTable(options: Partial<SqliteOptions> = {}): Promise<Database> {
  const database = open(options);
  await database.prepare([{ module: "test", steps: ["CREATE TABLE t (n INTEGER UNIQUE) STRICT"] }]);
  return database;
}

async function numbers(database: Database): Promise<number[]> {
  const rows = await database.reader.all<{ n: number }>("SELECT n FROM t ORDER BY n");
  return rows.map(({ n }) => n);
}

/** A flush that a test lets through, or fails, by hand. */
function manualSync() {
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

describe("transactions", () => {
  test("one that fails takes only itself back", async () => {
    const database = await withTable();
    const results = await Promise.allSettled([
      database.transact((tx) => tx.run("INSERT INTO t VALUES (1)")),
      database.transact(async (tx) => {
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

  test("nobody is answered and no effect runs before the flush; the commit's effects run before it", async () => {
    const { calls, sync } = manualSync();
    const database = open({ sync });
    const log: string[] = [];
    const done = database.transact((tx) => {
      tx.onCommit(() => log.push("committed"));
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
    await database.transact(async (tx) => {
      await tx.run("INSERT INTO t VALUES (1)");
      seen.push(await numbers(database));
      tx.onCommit(() => void numbers(database).then((found) => seen.push(found)));
    });
    expect(seen).toEqual([[], [1]]);
    await database.close();
  });

  test("transactions share a commit, and the one behind a transaction that ends the batch does not", async () => {
    const database = await withTable();
    const order: string[] = [];
    const write = (n: number, endsBatch = false): Promise<number> =>
      database.transact((tx) => {
        order.push(`work ${n}`);
        tx.onCommit(() => order.push(`effect ${n}`));
        if (endsBatch) tx.endBatch();
        return tx.run("INSERT INTO t VALUES (?)", n);
      });
    await Promise.all([write(1), write(2), write(3, true), write(4)]);
    expect(order).toEqual(["work 1", "work 2", "work 3", "effect 1", "effect 2", "effect 3", "work 4", "effect 4"]);
    await expect(write(1)).rejects.toThrow();
    expect(order.at(-1)).toBe("work 1");
    await database.close();
  });

  test("what was taken back has no effects", async () => {
    const database = await withTable();
    const log: string[] = [];
    const failed = database.transact((tx) => {
      tx.onCommit(() => log.push("commit"));
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
    const again = new SqliteDatabase({ path: database.path, logger: quietLogger(), onFatal: () => undefined });
    expect(await numbers(again)).toEqual([1]);
    await again.close();
  });
});

test("a full disk refuses the write with 503, not the service: reads go on, and writes once there is room", async () => {
  const database = await withTable();
  await database.prepare([{ module: "big", steps: ["CREATE TABLE big (x TEXT) STRICT"] }]);
  const pragma = (pages: number) => database.transact((tx) => tx.get(`PRAGMA max_page_count = ${pages}`));
  await pragma(20);
  const results = await Promise.allSettled([
    database.transact((tx) => tx.run("INSERT INTO t VALUES (1)")),
    database.transact((tx) => tx.run("INSERT INTO big VALUES (?)", "x".repeat(1_000_000))),
  ]);
  expect(results[1]).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  // Whether the small write beside it went in is the disk's choice; that its answer tells the truth is ours.
  expect(await numbers(database)).toEqual(results[0]?.status === "fulfilled" ? [1] : []);
  await pragma(1_000_000);
  expect(await database.transact((tx) => tx.run("INSERT INTO t VALUES (2)"))).toBe(1);
  await database.close();
});

test("the flush is one of the log's file: when that is gone, it fails", async () => {
  const database = await withTable();
  const log = openLog(database.path);
  await log.sync();
  log.close();
  await expect(log.sync()).rejects.toThrow("EBADF");
  await database.close();
});

test("each commit waits for a flush of the real file", async () => {
  const fdatasync = spyOn(fs, "fdatasync");
  try {
    const database = await withTable();
    const before = fdatasync.mock.calls.length;
    await database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"));
    await database.transact((tx) => tx.run("INSERT INTO t VALUES (2)"));
    expect(fdatasync.mock.calls.length).toBe(before + 2);
    await database.close();
  } finally {
    fdatasync.mockRestore();
  }
});

test("flushes: one at a time, and who asks during one gets the next", async () => {
  const { calls, sync } = manualSync();
  const flusher = new Flusher(sync);
  const log: number[] = [];
  const flush = (n: number) => flusher.flush().then(() => log.push(n));
  const all = [flush(1), flush(2), flush(3)];
  expect(calls).toHaveLength(1);
  calls[0]?.resolve();
  await Bun.sleep(1);
  expect([log, calls.length]).toEqual([[1], 2]);
  calls[1]?.resolve();
  await Promise.all(all);
  expect(log).toEqual([1, 2, 3]);
});

test("the write-ahead log stays bounded while writes never stop", async () => {
  const database = open();
  await database.prepare([{ module: "test", steps: ["CREATE TABLE big (x TEXT) STRICT"] }]);
  const text = "x".repeat(100_000);
  let total = 0;
  for (let i = 0; i < 60; i++) {
    await Promise.all(
      Array.from({ length: 40 }, () => database.transact((tx) => tx.run("INSERT INTO big VALUES (?)", text))),
    );
    total += 40 * text.length;
  }
  expect(total).toBeGreaterThan(200 * 1024 ** 2);
  expect(statSync(`${database.path}-wal`).size).toBeLessThan(100 * 1024 ** 2);
  expect(await database.reader.get<{ n: number }>("SELECT count(*) AS n FROM big")).toEqual({ n: 2_400 });
  await database.close();
}, 60_000);

describe("files that cannot be the database: one clear line", () => {
  const path = (name: string) => join(folder, name);
  const message = (at: string): string => {
    try {
      open({ path: at });
      return "opened";
    } catch (thrown) {
      return String(thrown);
    }
  };

  test("a folder", () => {
    mkdirSync(path("a-folder"));
    expect(message(path("a-folder"))).toMatch(/a-folder: is a folder; it must be a file$/);
  });

  test("not a database", () => {
    writeFileSync(
      path("text.db"),
      "This is a text, and long enough to be looked at as a header of a file.".repeat(100),
    );
    expect(message(path("text.db"))).toMatch(
      /text\.db: is not a SQLite database; name another file, or see what is damaged with socle verify, and restore a backup with socle restore$/,
    );
  });

  test("a place where nothing can be made", () => {
    expect(message("/proc/nothing/x.db")).toMatch(
      /^SetupError: database \/proc\/nothing\/x\.db: its folder cannot be made/,
    );
    writeFileSync(path("file"), "");
    expect(message(path("file/x.db"))).toMatch(/its folder cannot be made/);
  });

  test("in use", async () => {
    const database = open();
    expect(message(database.path)).toMatch(/is in use by another socle process$/);
    await database.close();
    expect(message(database.path)).toBe("opened");
  });

  test("made by a newer version", async () => {
    const database = await withTable();
    await expect(database.prepare([{ module: "test", steps: [] }])).rejects.toThrow("too old");
    await database.close();
  });
});
