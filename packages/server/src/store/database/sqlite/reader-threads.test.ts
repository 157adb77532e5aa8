/** Reader threads: a thread counts as a read of an old state until its statement has really ended; a thread that has ended runs no read. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { temporaryFolder } from "../../../../test/kit.ts";
import { until } from "../../../../test/sockets.ts";
import { AppError } from "../../../base/kernel/index.ts";
import { openWriter } from "./open-file.ts";
import { ReaderThreads } from "./reader-threads.ts";
import { statementThread, type ThreadConnection } from "./thread-connection.ts";

function open(path: string): ReaderThreads {
  const limits = { maxWaiting: 10, waitingShare: 5, limitMs: Number.POSITIVE_INFINITY };
  return new ReaderThreads({ path, entry: statementThread(), ...limits });
}

test("no gap begins before the end of a statement without a caller", async () => {
  const path = `${temporaryFolder()}/test.db`;
  const writer = openWriter(path);
  writer.execute("CREATE TABLE big (x INTEGER) STRICT");
  writer.execute("INSERT INTO big VALUES (1)");
  const threads = open(path);
  // The statement has no probe, so the statement cannot be stopped.
  const long =
    "WITH RECURSIVE c (n) AS (SELECT x FROM big UNION ALL SELECT n + 1 FROM c WHERE n < 5000000) SELECT max(n) FROM c";
  const signal = new AbortController().signal;
  const asked = threads.run((reader) => reader.get(long), { caller: "a", signal });
  const outcome = asked.then(
    () => "answered",
    (thrown: AppError) => thrown.code,
  );
  const outside = new Driver(path);
  const isBusy = (): boolean => {
    // Once the thread reads an older state than this state, the log cannot start over before the thread has ended.
    writer.execute("INSERT INTO big VALUES (5000000)");
    return outside.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 1;
  };
  await until(isBusy);
  const drained = threads.drain();
  threads.cutOff(new AppError("unavailable", "The log waits"));
  await drained;
  expect(isBusy()).toBe(false);
  outside.close();
  expect(await outcome).toBe("unavailable");
  threads.resume();
  await threads.close();
  writer.close();
});

test("an idle thread that has ended runs no read", async () => {
  const path = `${temporaryFolder()}/test.db`;
  const writer = openWriter(path);
  const threads = open(path);
  const waiter = { caller: "a", signal: new AbortController().signal };
  const used: ThreadConnection[] = [];
  const read = (): Promise<unknown> =>
    threads.run((thread) => {
      used.push(thread);
      return thread.get("SELECT 1 AS n");
    }, waiter);
  await read();
  await used[0]?.close();
  for (let n = 0; n < 2; n++) expect(await read()).toEqual({ n: 1 });
  expect(used[1]).not.toBe(used[0]);
  expect(used[2]).toBe(used[1]);
  await threads.close();
  writer.close();
});
