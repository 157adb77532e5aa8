/** The pool of `db.query`: a query for which other writes wait does not wait, and a query for which the log waits ends. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { temporaryFolder } from "../../../test/kit.ts";
import { AppError } from "../../base/kernel/index.ts";
import { QueryPool } from "./query-pool.ts";

const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

test("an urgent query is refused while others have every place, or the reads pause, and runs otherwise", async () => {
  const folder = temporaryFolder();
  const database = `${folder}/test.db`;
  using driver = new Driver(database);
  driver.run("PRAGMA journal_mode = WAL");
  const options = { database, tables: [] };
  const pool = new QueryPool({ cwd: folder, environment: process.env, options, timeoutMs: 60_000, aliased: () => [] });
  const urgent = (): Promise<unknown> =>
    pool.query({ sql: "SELECT 1 AS n", params: "[]" }, { file: null, timeoutMs: 60_000, isUrgent: true });
  expect(await urgent()).toEqual({ rows: '[{"n":1}]', tables: [] });
  const running = ["a", "a", "b"].map((name) =>
    pool.query({ sql: endless, params: "[]" }, { file: name, timeoutMs: 60_000 }).catch(() => "ended"),
  );
  await expect(urgent()).rejects.toThrow("the query would have to wait");
  await pool.stop();
  expect(await Promise.all(running)).toEqual(["ended", "ended", "ended"]);
  const paused = new QueryPool({
    cwd: folder,
    environment: process.env,
    options,
    timeoutMs: 60_000,
    aliased: () => [],
  });
  await paused.drain();
  await expect(
    paused.query({ sql: "SELECT 1", params: "[]" }, { file: null, timeoutMs: 60_000, isUrgent: true }),
  ).rejects.toThrow("the query would have to wait");
  paused.resume();
  await paused.stop();
});

test("a query that is cut off ends with the whole reason, and the next query runs", async () => {
  const folder = temporaryFolder();
  const database = `${folder}/test.db`;
  using driver = new Driver(database);
  driver.run("PRAGMA journal_mode = WAL");
  const options = { database, tables: [] };
  const pool = new QueryPool({ cwd: folder, environment: process.env, options, timeoutMs: 60_000, aliased: () => [] });
  const of = { file: null, timeoutMs: 60_000 };
  const running = pool.query({ sql: endless, params: "[]" }, of).catch((error: unknown) => error);
  // The query has a process, and so is cut off, a moment later.
  await Bun.sleep(0);
  const reason = new AppError("unavailable", "The log waits.", { retryAfter: 1 });
  pool.cutOff(reason);
  expect(await running).toBe(reason);
  expect(await pool.query({ sql: "SELECT 1 AS n", params: "[]" }, of)).toEqual({ rows: '[{"n":1}]', tables: [] });
  await pool.stop();
});

test("a query that is shown to a person ends when the person goes, and a query with much memory ends, too", async () => {
  const folder = temporaryFolder();
  const database = `${folder}/test.db`;
  using driver = new Driver(database);
  driver.run("PRAGMA journal_mode = WAL");
  const options = { database, tables: [] };
  const pool = new QueryPool({ cwd: folder, environment: process.env, options, timeoutMs: 60_000, aliased: () => [] });
  const leaving = new AbortController();
  const running = pool.show({ sql: endless, limit: 10 }, { caller: "a", signal: leaving.signal, timeoutMs: 60_000 });
  setTimeout(() => leaving.abort(), 50);
  await expect(running).rejects.toThrow("The client has disconnected");
  const { signal } = new AbortController();
  const large = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(length(randomblob(900000000))) FROM n`;
  await expect(pool.show({ sql: large, limit: 10 }, { caller: "a", signal, timeoutMs: 60_000 })).rejects.toThrow(
    "took more than 512 MiB of memory",
  );
  const shown = await pool.show({ sql: "SELECT 1 AS n", limit: 10 }, { caller: "a", signal, timeoutMs: 60_000 });
  expect(shown).toEqual({
    columns: ["n"],
    rows: '[{"n":1}]',
    isCut: false,
    plan: [{ id: 1, parent: 0, detail: "SCAN CONSTANT ROW" }],
  });
  await pool.stop();
});
