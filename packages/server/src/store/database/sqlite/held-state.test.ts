/** Held states: a copy of file and log is one commit's state, while writes and checkpoints go on. */
// Promises: R2.
import { expect, test } from "bun:test";
import { closeSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../../test/kit.ts";
import { Database, DatabaseFile, type HeldState, mergeLog } from "../index.ts";
import { Connection } from "./connection.ts";
import { openWriter } from "./open-file.ts";

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
  await database.transactLong("test", async (tx) => {
    tx.run("CREATE TABLE a (n INTEGER PRIMARY KEY, text TEXT)");
    tx.run("CREATE TABLE b (n INTEGER PRIMARY KEY, text TEXT)");
  });
  return database;
}

async function add(database: Database, n: number): Promise<void> {
  const text = `${n} `.repeat(200);
  await database.transactLong("test", async (tx) => {
    tx.run("INSERT INTO a VALUES (?, ?)", n, text);
    tx.run("INSERT INTO b VALUES (?, ?)", n, text);
  });
}

/** Copies like a backup, with other work between the pieces. */
async function copy({ database, log }: HeldState, between: () => Promise<void>): Promise<DatabaseFile> {
  const path = join(temporaryFolder(), "copy.db");
  const copyOf = async ({ file, size }: HeldState["database"], to: string): Promise<void> => {
    const target = openSync(to, "w");
    const piece = Buffer.alloc(pieceBytes);
    for (let at = 0; at < size; at += piece.length) {
      const length = readSync(file, piece, 0, Math.min(piece.length, size - at), at);
      writeSync(target, piece, 0, length);
      await between();
    }
    closeSync(target);
  };
  await copyOf(database, path);
  if (log !== null) {
    await copyOf(log, `${path}-wal`);
    mergeLog(path, log.pages);
  }
  return new DatabaseFile(path);
}

/** How many rows both tables have; the copy is whole. */
function rowsOf(copied: DatabaseFile): number {
  expect(copied.check("full")).toEqual([]);
  const [a, b] = ["a", "b"].map((table) => copied.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n);
  copied.close();
  expect(a).toBe(b);
  return a ?? 0;
}

test("a copy under writes is complete, and of a single moment: every acknowledged write before, nothing half", async () => {
  const database = await open();
  let written = 0;
  const addMany = async (rows: number): Promise<void> => {
    await Promise.all(Array.from({ length: rows }, () => add(database, written++)));
  };
  await addMany(1_500);
  // Like another process: the service does not know of this connection's checkpoints.
  const outside = openWriter(database.path);
  for (let round = 0; round < 3; round++) {
    const before = written;
    const held = await database.holdState();
    const copied = await copy(held, async () => {
      // The writes touch all pages, and are enough to start the log over many times without a hold.
      await addMany(20);
      await database.transact((tx) => tx.run("UPDATE a SET text = text || '!' WHERE n % 17 = ?", written % 17));
      outside.get("PRAGMA wal_checkpoint(PASSIVE)");
    });
    held.release();
    expect(rowsOf(copied)).toBe(before);
  }
  outside.close();
  await database.close();
});

test("while a state is held, neither writes nor reads reset the log; afterwards the log starts over", async () => {
  const database = await open();
  let gaps = 0;
  const drain = async (): Promise<void> => {
    gaps += 1;
  };
  database.joinGaps({ drain, resume: () => undefined, cutOff: () => undefined });
  const held = await database.holdState();
  const limit = 512 * 1_024;
  let n = 0;
  while (database.sizes().log < 6 * limit) await Promise.all(Array.from({ length: 20 }, () => add(database, n++)));
  const size = statSync(database.path).size;
  expect(size).toBe(held.database.size);
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

test("pages that are written again before their checkpoint are copied in their former state", async () => {
  const database = await open();
  const old = new Connection(database.path, { readonly: true });
  old.run("BEGIN");
  old.get("SELECT 1 FROM a");
  let n = 0;
  const addSome = async (): Promise<void> => {
    for (const end = n + 50; n < end; n++) await add(database, n);
  };
  await addSome();
  let isHeld = false;
  const holding = database.holdState().finally(() => {
    isHeld = true;
  });
  // The reader of the old state blocks checkpoints; the hold does not wait for that reader.
  for (let round = 0; !isHeld && round < 10; round++) await addSome();
  old.close();
  const held = await holding;
  const copied = await copy(held, async () => {
    await addSome();
    await database.transact((tx) => tx.run("UPDATE a SET text = text || '!'"));
  });
  held.release();
  const rows = rowsOf(copied);
  expect(rows).toBeGreaterThanOrEqual(50);
  expect(rows).toBeLessThanOrEqual(n);
  await database.close();
});

test("a state is held beside a reader of an older state", async () => {
  const database = await open();
  let n = 0;
  while (n < 100) await add(database, n++);
  const old = new Connection(database.path, { readonly: true });
  old.run("BEGIN");
  old.get("SELECT 1 FROM a");
  await add(database, n++);
  const held = await database.holdState();
  expect(held.log).not.toBeNull();
  await add(database, n++);
  old.close();
  const copied = await copy(held, () => add(database, n++));
  held.release();
  expect(rowsOf(copied)).toBe(101);
  await database.close();
});

test("empty pages that were never written are missing in no copy", async () => {
  const database = await open();
  let n = 0;
  const grow = async (): Promise<void> => {
    n += 1;
    await database.transactLong("test", async (tx) => {
      tx.run("INSERT INTO a VALUES (?, ?)", n, "x".repeat(500_000));
      tx.run("DELETE FROM a WHERE n = ?", n);
      tx.run("INSERT INTO a VALUES (?, '')", n);
      tx.run("INSERT INTO b VALUES (?, '')", n);
    });
  };
  await grow();
  const whole = await database.holdState();
  expect(whole.log).toBeNull();
  expect(rowsOf(await copy(whole, grow))).toBe(1);
  whole.release();
  const old = new Connection(database.path, { readonly: true });
  old.run("BEGIN");
  old.get("SELECT 1 FROM a");
  await grow();
  const held = await database.holdState();
  expect(held.log).not.toBeNull();
  const before = n;
  expect(rowsOf(await copy(held, grow))).toBe(before);
  held.release();
  old.close();
  await database.close();
});

test("a copy of the log that is not complete is refused", async () => {
  const database = await open();
  const old = new Connection(database.path, { readonly: true });
  old.run("BEGIN");
  old.get("SELECT 1 FROM a");
  for (let n = 0; n < 10; n++) await add(database, n);
  const held = await database.holdState();
  const { log } = held;
  if (log === null) throw new Error("There is no log");
  const cut = { ...held, log: { ...log, size: log.size - 1 } };
  await expect(copy(cut, async () => undefined)).rejects.toThrow(`in place of ${log.pages}`);
  held.release();
  old.close();
  await database.close();
});
