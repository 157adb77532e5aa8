import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../../test/kit.ts";
import { Database, type Waiter } from "../index.ts";

const waiting = (): Waiter => ({ caller: "test", signal: new AbortController().signal });

const folder = temporaryFolder();
let count = 0;

function open(path?: string): Database {
  count += 1;
  return new Database({
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

test("a close leaves a single file, also after checkpoints and work on threads", async () => {
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

  test("end with their callers, and block no other caller; too many reads are refused", async () => {
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

  test("are refused at the end, and running reads are given up", async () => {
    const database = await withTable();
    const waiter = waiting();
    const reads = [1, 2, 3].map(() => database.readOnThread((reader) => Promise.resolve(reader.get(endless)), waiter));
    const settled = Promise.allSettled(reads);
    await Bun.sleep(20);
    await database.close(10);
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });
});
