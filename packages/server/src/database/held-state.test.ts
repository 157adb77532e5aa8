/** Held states: a copy of the file is one commit's state, while writes and checkpoints go on. */
import { expect, test } from "bun:test";
import { closeSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../test/kit.ts";
import { Database, DatabaseFile } from "./index.ts";
import { openReader, openWriter } from "./open-file.ts";

const pieceBytes = 64 * 1_024;

/** A database of two tables that always have the same rows, with a log that starts over all the time. */
async function open(): Promise<Database> {
  const path = join(temporaryFolder(), "test.db");
  const database = new Database({
    path,
    logger: quietLogger(),
    onFatal: (error) => {
      throw error;
    },
    logLimit: 512 * 1_024,
  });
  await database.transact(async (tx) => {
    await tx.run("CREATE TABLE a (n INTEGER PRIMARY KEY, text TEXT)");
    await tx.run("CREATE TABLE b (n INTEGER PRIMARY KEY, text TEXT)");
  });
  return database;
}

async function add(database: Database, n: number): Promise<void> {
  const text = `${n} `.repeat(200);
  await database.transact(async (tx) => {
    await tx.run("INSERT INTO a VALUES (?, ?)", n, text);
    await tx.run("INSERT INTO b VALUES (?, ?)", n, text);
  });
}

/** Copies as a backup does, with other work between the pieces. */
async function copy(state: { file: number; size: number }, path: string, between: () => Promise<void>): Promise<void> {
  const target = openSync(path, "w");
  const piece = Buffer.alloc(pieceBytes);
  for (let at = 0; at < state.size; at += piece.length) {
    piece.fill(0);
    const length = Math.min(piece.length, state.size - at);
    readSync(state.file, piece, 0, length, at);
    writeSync(target, piece, 0, length);
    await between();
  }
  closeSync(target);
}

test("a copy under writes is whole, and of one moment: all that was acknowledged before, nothing half", async () => {
  const database = await open();
  let written = 0;
  const addMany = async (rows: number): Promise<void> => {
    await Promise.all(Array.from({ length: rows }, () => add(database, written++)));
  };
  await addMany(1_500);
  // As another process has one: nothing here knows of its checkpoints.
  const outside = openWriter(database.path);
  for (let round = 0; round < 3; round++) {
    const before = written;
    const held = await database.holdState(new AbortController().signal);
    const path = join(temporaryFolder(), "copy.db");
    await copy(held, path, async () => {
      // Spread over all pages, and enough to start the log over many times if nothing held it.
      await addMany(20);
      await database.transact((tx) => tx.run("UPDATE a SET text = text || '!' WHERE n % 17 = ?", written % 17));
      outside.get("PRAGMA wal_checkpoint(PASSIVE)");
    });
    held.release();
    const file = new DatabaseFile(path);
    expect(file.check("full")).toEqual([]);
    expect(file.get<{ n: number }>("SELECT count(*) AS n FROM a")).toEqual({ n: before });
    expect(file.get<{ n: number }>("SELECT count(*) AS n FROM b")).toEqual({ n: before });
    file.close();
  }
  outside.close();
  await database.close();
});

test("while a state is held neither writes nor reads make room for the log; afterwards it starts over", async () => {
  const database = await open();
  let gaps = 0;
  const drain = async (): Promise<void> => {
    gaps += 1;
  };
  database.joinGaps({ drain, resume: () => undefined, cutOff: () => undefined });
  const held = await database.holdState(new AbortController().signal);
  const limit = 512 * 1_024;
  let n = 0;
  while (database.sizes().log < 6 * limit) await Promise.all(Array.from({ length: 20 }, () => add(database, n++)));
  const size = statSync(database.path).size;
  expect(size).toBe(held.size);
  // A write after the time between two looks at the log.
  await Bun.sleep(50);
  await add(database, n++);
  expect(gaps).toBe(0);
  held.release();
  held.release();
  while (database.sizes().log > 3 * limit) await Promise.all(Array.from({ length: 20 }, () => add(database, n++)));
  expect(statSync(database.path).size).toBeGreaterThan(size);
  await database.close();
});

test("a reader of an older state is waited for, and a signal ends the wait", async () => {
  const database = await open();
  for (let n = 0; n < 100; n++) await add(database, n);
  const old = openReader(database.path);
  old.run("BEGIN");
  old.get("SELECT 1 FROM a");
  await add(database, 100);
  const stop = new AbortController();
  const failed = database.holdState(stop.signal).catch((error: unknown) => error);
  await Bun.sleep(50);
  stop.abort(new Error("not wanted any more"));
  expect(String(await failed)).toBe("Error: not wanted any more");
  const holding = database.holdState(new AbortController().signal);
  await Bun.sleep(50);
  old.run("COMMIT");
  old.close();
  const held = await holding;
  expect(held.size).toBe(statSync(database.path).size);
  held.release();
  await database.close();
});

test("a file whose last pages were never written is whole with zeros in their place", async () => {
  const database = await open();
  let n = 0;
  let isUp = true;
  // Each makes the file longer, and gives the new pages back before anything is written to them.
  const writer = async (): Promise<void> => {
    while (isUp) {
      const own = ++n;
      await database.transact(async (tx) => {
        await tx.run("INSERT INTO a VALUES (?, ?)", own, "x".repeat(300));
        await tx.run("INSERT INTO a VALUES (?, ?)", -own, "y".repeat(60_000));
        await tx.run("DELETE FROM a WHERE n = ?", -own);
      });
    }
  };
  const writers = Array.from({ length: 4 }, writer);
  let shorter = 0;
  // It comes up by chance, in about one of a hundred rounds.
  for (let round = 0; round < 5_000 && shorter === 0; round++) {
    const before = n - writers.length;
    const held = await database.holdState(new AbortController().signal);
    const isShorter = statSync(database.path).size < held.size;
    const path = join(temporaryFolder(), "copy.db");
    await copy(held, path, async () => undefined);
    held.release();
    if (!isShorter) continue;
    shorter += 1;
    const file = new DatabaseFile(path);
    expect(file.check("full")).toEqual([]);
    expect(file.get<{ n: number }>("SELECT count(*) AS n FROM a")?.n).toBeGreaterThanOrEqual(before);
    file.close();
  }
  isUp = false;
  await Promise.all(writers);
  await database.close();
  expect(shorter).toBe(1);
});
