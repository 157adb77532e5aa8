/** The lock of the database, and what happens to the files under an open database. */
import { expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { existsSync, mkdirSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../../test/kit.ts";
import { Database } from "../index.ts";

function open(path: string, fatal: unknown[] = []): Database {
  return new Database({ path, logger: quietLogger(), onFatal: (error) => fatal.push(error) });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(10);
}

test("a lock that was deleted is taken again, and keeps a second service out", async () => {
  const path = join(temporaryFolder(), "test.db");
  const fatal: unknown[] = [];
  const database = open(path, fatal);
  rmSync(`${path}-lock`);
  await until(() => existsSync(`${path}-lock`));
  expect(() => open(path)).toThrow(/is in use by another socle process$/);
  expect(await database.transactLong("test", async (tx) => tx.get("SELECT 1 AS n"))).toEqual({ n: 1 });
  expect(fatal).toEqual([]);
  await database.close();
  await open(path).close();
});

test("a lock that cannot be made again for a while does not end the service, and is taken later", async () => {
  const path = join(temporaryFolder(), "test.db");
  const fatal: unknown[] = [];
  const lines: string[] = [];
  const logger = quietLogger(lines);
  const database = new Database({ path, logger, onFatal: (error) => fatal.push(error) });
  rmSync(`${path}-lock`);
  mkdirSync(`${path}-lock`);
  const errors = (): string[] => lines.filter((line) => line.startsWith("ERROR"));
  await until(() => errors().length > 0);
  expect(errors()[0]).toContain("The lock of the database cannot be looked at or made again");
  // After a further look, the log stays silent.
  await Bun.sleep(1_100);
  expect(errors()).toHaveLength(1);
  expect(fatal).toEqual([]);
  expect(await database.transactLong("test", async (tx) => tx.get("SELECT 1 AS n"))).toEqual({ n: 1 });
  rmdirSync(`${path}-lock`);
  await until(() => existsSync(`${path}-lock`) && statSync(`${path}-lock`).isFile());
  expect(() => open(path)).toThrow(/is in use by another socle process$/);
  expect(fatal).toEqual([]);
  await database.close();
});

test("a second service that has taken a deleted lock ends the first service, which accepts nothing more", async () => {
  const path = join(temporaryFolder(), "test.db");
  const fatal: unknown[] = [];
  const first = open(path, fatal);
  rmSync(`${path}-lock`);
  const second = open(path);
  await until(() => fatal.length > 0);
  expect(String(fatal[0])).toContain("is in use by another socle process");
  await expect(first.transact(() => undefined)).rejects.toMatchObject({ code: "unavailable" });
  expect(await second.transactLong("test", async (tx) => tx.get("SELECT 1 AS n"))).toEqual({ n: 1 });
  await first.close();
  await second.close();
});

test("a database file that is replaced or deleted ends the service, which accepts nothing more", async () => {
  for (const replace of [false, true]) {
    const path = join(temporaryFolder(), "test.db");
    const fatal: unknown[] = [];
    const database = open(path, fatal);
    renameSync(path, `${path}.old`);
    if (replace) writeFileSync(path, "");
    await until(() => fatal.length > 0);
    expect(String(fatal[0])).toContain("was deleted or replaced while it was open");
    await expect(database.transact(() => undefined)).rejects.toMatchObject({ code: "unavailable" });
    await database.close();
  }
});

test.each(["-wal", "-shm"])(
  "a deleted or replaced %s ends the service; nothing is acknowledged into a deleted log",
  async (end) => {
    for (const replace of [false, true]) {
      const path = join(temporaryFolder(), "test.db");
      const fatal: unknown[] = [];
      const database = open(path, fatal);
      await database.transact((tx) => tx.run("CREATE TABLE t (n)"));
      rmSync(`${path}${end}`);
      if (replace) writeFileSync(`${path}${end}`, "");
      if (end === "-wal")
        await expect(database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"))).rejects.toMatchObject({
          code: "unavailable",
        });
      await until(() => fatal.length > 0);
      expect(String(fatal[0])).toContain(`${end}: was deleted or replaced while it was open`);
      await expect(database.transact(() => undefined)).rejects.toMatchObject({ code: "unavailable" });
      await database.close();
    }
  },
);

test("a moved -wal ends the service; nothing is acknowledged into a log that the next start does not find", async () => {
  const path = join(temporaryFolder(), "test.db");
  const fatal: unknown[] = [];
  const database = open(path, fatal);
  await database.transact((tx) => tx.run("CREATE TABLE t (n)"));
  renameSync(`${path}-wal`, `${path}-moved`);
  const write = database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"));
  await expect(write).rejects.toMatchObject({ code: "unavailable" });
  expect(String(fatal[0])).toContain("-wal: was deleted or replaced while it was open");
  await database.close();
});

test("the name of each new folder is flushed, and the name of the new file", async () => {
  const fsync = spyOn(fs, "fsyncSync");
  try {
    const database = open(join(temporaryFolder(), "a", "b", "test.db"));
    expect(fsync.mock.calls.length).toBe(3);
    await database.close();
  } finally {
    fsync.mockRestore();
  }
});
