/** The database and its files: a full disk, flushes, and files that cannot be used. */
// Promises: W3.
import { describe, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { databases, manualSync, numbers } from "../../../../test/databases.ts";
import { temporaryFolder } from "../../../../test/kit.ts";
import { Flusher, flushOf } from "./flush.ts";
import { openDescriptor } from "./open-file.ts";

const folder = temporaryFolder();
const { open, withTable } = databases();

test("a full disk refuses the write with 503, not the service: reads go on, and writes once space is free", async () => {
  const database = await withTable();
  await database.prepare([
    {
      module: "test",
      steps: ["CREATE TABLE t (n INTEGER UNIQUE) STRICT", "CREATE TABLE big (x TEXT) STRICT"],
    },
  ]);
  const pragma = (pages: number) => database.transact((tx) => tx.get(`PRAGMA max_page_count = ${pages}`));
  await pragma(20);
  const results = await Promise.allSettled([
    database.transact((tx) => tx.run("INSERT INTO t VALUES (1)")),
    database.transact((tx) => tx.run("INSERT INTO big VALUES (?)", "x".repeat(1_000_000))),
  ]);
  expect(results[1]).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  // The disk may accept or refuse the small write of the same commit; the answer to that write must be true.
  expect(await numbers(database)).toEqual(results[0]?.status === "fulfilled" ? [1] : []);
  await pragma(1_000_000);
  expect(await database.transact((tx) => tx.run("INSERT INTO t VALUES (2)"))).toBe(1);
  await database.close();
});

test("the flush is a flush of the log's file: without the file, the flush fails", async () => {
  const database = await withTable();
  const log = openDescriptor(database.path, "-wal");
  const flush = flushOf(database.path, log.file);
  await flush();
  log.close();
  await expect(flush()).rejects.toThrow("EBADF");
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

test("flushes: one at a time, and requests during a flush get the next flush", async () => {
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
  const logLimit = 16 * 1024 ** 2;
  const database = open({ logLimit });
  await database.prepare([{ module: "test", steps: ["CREATE TABLE big (x TEXT) STRICT"] }]);
  const text = "x".repeat(25_000);
  let total = 0;
  for (let i = 0; i < 60; i++) {
    await Promise.all(
      Array.from({ length: 40 }, () => database.transact((tx) => tx.run("INSERT INTO big VALUES (?)", text))),
    );
    total += 40 * text.length;
  }
  expect(total).toBeGreaterThan(3 * logLimit);
  expect(statSync(`${database.path}-wal`).size).toBeLessThan(1.6 * logLimit);
  expect(database.reader.get<{ n: number }>("SELECT count(*) AS n FROM big")).toEqual({ n: 2_400 });
  await database.close();
});

describe("files that cannot be the database: a single clear line", () => {
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

  test("a folder that refuses files", () => {
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
    await expect(database.prepare([{ module: "other", steps: [] }])).rejects.toThrow('has tables of "test", which');
    await expect(database.prepare([{ module: "test", steps: [] }])).rejects.toThrow("too old");
    await database.close();
  });
});
