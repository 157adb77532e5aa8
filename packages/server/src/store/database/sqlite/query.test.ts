/** Queries on threads: time, places, snapshots. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { quietLogger, temporaryFolder } from "../../../../test/kit.ts";
import { Database, SchemaChanged, type SlowReader } from "../index.ts";

const { signal } = new AbortController();
const waiter = { caller: "test", signal };

async function withRows(count: number, bounds: { threadLimitMs?: number; logLimit?: number } = {}): Promise<Database> {
  const path = `${temporaryFolder()}/test.db`;
  const onFatal = (error: unknown): void => {
    throw error;
  };
  const database = new Database({ path, logger: quietLogger(), onFatal, threadLimitMs: 10_000, ...bounds });
  await database.prepare([{ module: "test", steps: ["CREATE TABLE t (n INTEGER, body TEXT) STRICT"] }]);
  await database.transactLong("test", async (tx) => {
    tx.run(
      "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?) INSERT INTO t SELECT n, 'x' || n FROM c",
      count,
    );
  });
  return database;
}

const all = "SELECT count(*) AS n FROM t WHERE _probe(t.rowid)";
/** Compares every pair of rows: takes much longer than any test waits. */
const endless =
  "SELECT count(*) AS n FROM t WHERE _probe(t.rowid) AND (SELECT count(*) FROM t AS u WHERE u.body || t.body = '') > 0";

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
}

test("an EXPLAIN ends its snapshot: later statements see later writes", async () => {
  const database = await withRows(1);
  await database.reader.get("SELECT count(*) AS n FROM t");
  database.reader.all("EXPLAIN QUERY PLAN SELECT * FROM t WHERE n = ?", 1);
  await database.transact((tx) => tx.run("INSERT INTO t VALUES (2, 'x')"));
  expect(await database.reader.get("SELECT count(*) AS n FROM t")).toEqual({ n: 2 });
  await database.close();
});

test("a thread in reserve sees writes since its last read, and pins nothing", async () => {
  const database = await withRows(20_000);
  const count = (): Promise<{ n: number } | null> =>
    database.query(async (reader) => reader.get<{ n: number }>(all), waiter);
  for (let n = 0; n < 5; n++) {
    expect(await count()).toEqual({ n: 20_000 + n });
    await database.transact((tx) => tx.run("INSERT INTO t VALUES (0, 'x')"));
  }
  await database.close();
});

test("all reads of a query on a thread are of one moment", async () => {
  const database = await withRows(20_000);
  const found = await database.query(async (reader) => {
    const before = await reader.get<{ n: number }>(all);
    await database.transact((tx) => tx.run("INSERT INTO t VALUES (0, 'x')"));
    return [before, await reader.get<{ n: number }>(all)];
  }, waiter);
  expect(found).toEqual([{ n: 20_000 }, { n: 20_000 }]);
  await database.close();
});

test("without a caller that waits, the statement ends, and the thread's place is free", async () => {
  const database = await withRows(60_000);
  for (let i = 0; i < 6; i++) {
    const gone = new AbortController();
    const asked = failure(
      database.query(async (reader) => reader.get(endless), { caller: "test", signal: gone.signal }),
    );
    await Bun.sleep(20);
    gone.abort();
    expect(await asked).toMatchObject({ code: "bad_request" });
  }
  // If endless statements held both places, this answer would never come.
  expect(await database.query(async (reader) => reader.get<{ n: number }>(all), waiter)).toEqual({ n: 60_000 });
  await database.close();
});

test("a caller who leaves before the statement begins on a thread costs nothing", async () => {
  const database = await withRows(20_000);
  let ran = 0;
  const work = async (reader: SlowReader): Promise<unknown> => {
    ran += 1;
    return reader.get(all);
  };
  expect(await failure(database.query(work, { caller: "test", signal: AbortSignal.abort() }))).toMatchObject({
    code: "bad_request",
  });
  expect(ran).toBe(0);
  await database.close();
});

test("a statement that waits too long for its turn is refused for the wait, not for its duration", async () => {
  const database = await withRows(60_000, { threadLimitMs: 200 });
  const reasons = await Promise.all(
    Array.from({ length: 6 }, () => failure(database.query(async (reader) => reader.get(endless), waiter))),
  );
  const messages = reasons.map((reason) => (reason instanceof Error ? reason.message : ""));
  expect(messages).toContain("This takes longer than 0.2 seconds to look up; narrow it down.");
  expect(messages).toContain("Too much is being looked at already; try again in a moment.");
  await database.close();
});

test("reads of admins have places of their own", async () => {
  const database = await withRows(60_000, { threadLimitMs: 400 });
  const asked = [1, 2, 3].map(() => failure(database.query(async (reader) => reader.get(endless), waiter)));
  const read = (reader: SlowReader): Promise<{ n: number } | null> => Promise.resolve(reader.get<{ n: number }>(all));
  expect(await database.readOnThread(read, { caller: "test", signal })).toEqual({ n: 60_000 });
  await Promise.all(asked);
  await database.close();
});

test("a query that takes too long is given up, and its thread is free for the next query", async () => {
  const database = await withRows(60_000, { threadLimitMs: 500 });
  const asked = await failure(database.query(async (reader) => reader.get(endless), waiter));
  expect(asked).toMatchObject({
    code: "unavailable",
    message: "This takes longer than 0.5 seconds to look up; narrow it down.",
  });
  // On a busy machine, the next query may wait for a turn longer than the time limit.
  const next = (): Promise<unknown> =>
    database.query(async (reader) => reader.get<{ n: number }>(`${all} AND n < 9000`), waiter).catch(next);
  expect(await next()).toEqual({ n: 8_999 });
  await database.close();
});

test("a stop does not wait for an endless statement", async () => {
  const database = await withRows(60_000);
  const asked = failure(database.query(async (reader) => reader.get(endless), waiter));
  await Bun.sleep(20);
  database.giveUp();
  expect(await asked).toMatchObject({ code: "unavailable" });
  await database.close();
});

test("an error in a statement is reported, and costs nobody a place", async () => {
  const database = await withRows(20_000);
  const heavy = (sql: string): Promise<unknown> =>
    failure(database.query(async (reader) => [await reader.get(all), await reader.get(sql)], waiter));
  for (let i = 0; i < 5; i++) expect(String(await heavy("SELECT missing FROM t"))).toContain("no such column: missing");
  expect(await heavy(all)).toBeNull();
  await database.close();
});

test("queries that follow each other without a gap still let the log start over", async () => {
  const logLimit = 8 * 1024 ** 2;
  const database = await withRows(20_000, { logLimit });
  let isOver = false;
  let pinned = 0;
  /** Keeps an old state for a while; two of three reads overlap at any time. */
  const read = async (): Promise<void> => {
    while (!isOver)
      await database.query(async (reader) => {
        await reader.get(all);
        pinned += 1;
        await Bun.sleep(60);
        return reader.get("SELECT 1");
      }, waiter);
  };
  const reading = Promise.all([read(), read(), read()]);
  // An equal value is not written again, so each text differs. Some 62 MB are written; the log may have its limit, plus the
  // writes until the bound is noticed and the queries have ended.
  const texts = Array.from({ length: 7 }, (_, n) => String(n).repeat(25_000));
  for (let n = 0; n < 2_500; n++)
    await database.transact((tx) => tx.run("UPDATE t SET body = ? WHERE rowid = ?", texts[n % 7] ?? "", (n % 20) + 1));
  const { log } = database.sizes();
  isOver = true;
  await reading;
  await database.close();
  expect(pinned).toBeGreaterThan(10);
  expect(log).toBeLessThan(6 * logLimit);
});

test("a caller whose queries take long leaves a thread to the others", async () => {
  const database = await withRows(60_000, { threadLimitMs: 2_000 });
  let hasEnded = false;
  const slow = Array.from({ length: 10 }, () =>
    failure(database.query(async (reader) => reader.get(endless), { caller: "a", signal })).then(() => {
      hasEnded = true;
    }),
  );
  await Bun.sleep(50);
  for (let n = 0; n < 3; n++)
    expect(await database.query(async (reader) => reader.get<{ n: number }>(all), { caller: "b", signal })).toEqual({
      n: 60_000,
    });
  expect(hasEnded).toBe(false);
  database.giveUp();
  await Promise.all(slow);
  await database.close();
});

test("the waiting queries of a caller have a bound; queries of other callers still find a place", async () => {
  const options = { path: `${temporaryFolder()}/bounded.db`, logger: quietLogger(), onFatal: () => undefined };
  const bounded = new Database({ ...options, maxQueries: 2, threadLimitMs: 2_000 });
  const endlessThere =
    "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE _probe(n)) SELECT max(n) FROM c";
  const gone = new AbortController();
  const ask = (caller: string): Promise<unknown> =>
    failure(bounded.query(async (reader) => reader.get(endlessThere), { caller, signal: gone.signal }));
  const waiting = [ask("a"), ask("a"), ask("a")];
  await Bun.sleep(50);
  expect(await ask("a")).toMatchObject({ code: "unavailable", limit: "queries", retryAfter: 1 });
  const other = ask("b");
  // When the callers have gone, the places are free at once.
  gone.abort();
  for (const asked of [...waiting, other]) expect(await asked).toMatchObject({ code: "bad_request" });
  expect(await bounded.query(async (reader) => reader.get("SELECT 1 AS n"), { caller: "a", signal })).toEqual({
    n: 1,
  });
  await bounded.close();
});

test("a task does not run on tables that were migrated after its input was made", async () => {
  const database = await withRows(1);
  const makeInput = (): null => {
    // The snapshot of this turn is open, and the migration comes after.
    database.rows.get("SELECT n FROM t");
    const other = new Driver(database.path);
    other.run("ALTER TABLE t RENAME COLUMN n TO m");
    other.close();
    return null;
  };
  expect(await failure(database.task(makeInput, waiter))).toBeInstanceOf(SchemaChanged);
  // In the next turn, this thread and the query thread see the same tables; the query thread answers "no tasks".
  expect(String(await failure(database.task(() => null, waiter)))).toContain("This thread has no tasks");
  await database.close();
});

/** Compares 500 rows with every row: about a second. */
const long =
  "SELECT count(*) AS n FROM t WHERE _probe(t.rowid) AND n <= 500 AND (SELECT count(*) FROM t AS u WHERE u.body || t.body = '') = 0";

/** Begins endless reads of different callers, and resolves when `running` reads run. */
async function beginEndless(
  database: Database,
  { callers, running, signal }: { callers: number; running: number; signal: AbortSignal },
): Promise<Promise<unknown>[]> {
  const enough = Promise.withResolvers<void>();
  let begun = 0;
  const asked = Array.from({ length: callers }, (_, i) =>
    failure(
      database.query(
        async (reader) => {
          begun += 1;
          if (begun === running) enough.resolve();
          return reader.get(endless);
        },
        { caller: `heavy ${i}`, signal },
      ),
    ),
  );
  await enough.promise;
  return asked;
}

test.each([2, 8])("short reads go on beside the endless reads of %d callers", async (callers) => {
  const database = await withRows(60_000, { threadLimitMs: Number.POSITIVE_INFINITY });
  const end = new AbortController();
  const asked = await beginEndless(database, { callers, running: Math.min(callers, 3), signal: end.signal });
  // No endless read ends before the signal: if long reads held all threads, no short read would get an answer.
  for (let i = 0; i < 20; i++)
    expect(
      await database.query(async (reader) => reader.get<{ n: number }>(all), { caller: `light ${i % 4}`, signal }),
    ).toEqual({ n: 60_000 });
  end.abort();
  await Promise.all(asked);
  await database.close();
});

test("a long read that was stopped for a short read runs again, and completes", async () => {
  const database = await withRows(20_000, { threadLimitMs: Number.POSITIVE_INFINITY });
  const end = new AbortController();
  const asked = await beginEndless(database, { callers: 2, running: 2, signal: end.signal });
  let runs = 0;
  const begun = Promise.withResolvers<void>();
  const third = database.query(
    async (reader) => {
      runs += 1;
      begun.resolve();
      return reader.get<{ n: number }>(long);
    },
    { caller: "third", signal },
  );
  await begun.promise;
  const short = database.query(async (reader) => reader.get<{ n: number }>(all), { caller: "light", signal });
  expect(await short).toEqual({ n: 20_000 });
  end.abort();
  expect(await third).toEqual({ n: 500 });
  expect(runs).toBeLessThanOrEqual(2);
  await Promise.all(asked);
  await database.close();
});

test("reads on the event loop give up beyond their rows, and when their rows take long", async () => {
  const database = await withRows(2_000);
  const { rows } = database;
  const within = (most: number, sql: string) => rows.within(most, () => rows.get<{ n: number }>(sql));
  const few = "SELECT count(*) AS n FROM t WHERE _probe(t.rowid) AND t.n <= 40";
  expect(within(40, `SELECT count(*) AS n FROM (SELECT 1 FROM t WHERE _probe(t.rowid) LIMIT 40)`)).toEqual({ n: 40 });
  expect(within(1_999, all)).toBeNull();
  // For each row, the condition compares two thousand texts: the rows are few, and the time is not.
  expect(within(1e9, endless)).toBeNull();
  // Later reads have no bound.
  expect(rows.get<{ n: number }>(few)).toEqual({ n: 40 });
  await expect(async () => rows.within(1e9, () => rows.get("SELECT nothing FROM t"))).toThrow("nothing");
  await database.close();
});
