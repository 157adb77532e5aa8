/** Reader threads: they count as reads of an old state until their statement has really ended. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { temporaryFolder } from "../../../test/kit.ts";
import { AppError } from "../../kernel/index.ts";
import { openWriter } from "./open-file.ts";
import { ReaderThreads } from "./reader-threads.ts";
import { statementThread } from "./thread-connection.ts";

test("no gap before a statement has ended that nobody waits for any more", async () => {
  const path = `${temporaryFolder()}/test.db`;
  const writer = openWriter(path);
  writer.execute("CREATE TABLE big (x INTEGER) STRICT");
  writer.execute("INSERT INTO big VALUES (1)");
  const threads = new ReaderThreads({
    path,
    entry: statementThread(),
    maxWaiting: 10,
    waitingShare: 5,
    limitMs: Number.POSITIVE_INFINITY,
  });
  // The statement has no probe, so it cannot be stopped.
  const long =
    "WITH RECURSIVE c (n) AS (SELECT x FROM big UNION ALL SELECT n + 1 FROM c WHERE n < 20000000) SELECT max(n) FROM c";
  const started = Promise.withResolvers<void>();
  const signal = new AbortController().signal;
  const asked = threads.run(
    async (reader) => {
      await reader.get("SELECT x FROM big");
      started.resolve();
      return reader.get(long);
    },
    { caller: "a", signal },
  );
  const outcome = asked.then(
    () => "answered",
    (thrown: AppError) => thrown.code,
  );
  await started.promise;
  await Bun.sleep(50);
  // Now that the thread reads an older state than this, the log cannot start over before the thread has ended.
  writer.execute("INSERT INTO big VALUES (2)");
  const drained = threads.drain();
  threads.cutOff(new AppError("unavailable", "The log waits"));
  await drained;
  const outside = new Driver(path);
  const row = outside.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get();
  outside.close();
  expect(row).toMatchObject({ busy: 0 });
  expect(await outcome).toBe("unavailable");
  threads.resume();
  await threads.close();
  writer.close();
}, 30_000);
