/** The bound of the write-ahead log: the causes that start the log over or hold the log, and the writes that never wait. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { temporaryFolder } from "../../../../test/kit.ts";
import type { AppError } from "../../../base/kernel/index.ts";
import { type LogEntry, Logger } from "../../../base/logging/index.ts";
import { Database, type PausableReads } from "../index.ts";

const bound = 8 * 1024 ** 2;
const text = "x".repeat(100_000);

async function open(): Promise<{ database: Database; log: LogEntry[] }> {
  const log: LogEntry[] = [];
  const logger = new Logger({ level: "DEBUG", sinks: [(entry) => log.push(entry)] });
  const onFatal = (error: unknown): void => {
    throw error;
  };
  const database = new Database({ path: `${temporaryFolder()}/test.db`, logger, onFatal, logLimit: bound });
  await database.prepare([{ module: "test", steps: ["CREATE TABLE big (x TEXT) STRICT"] }]);
  return { database, log };
}

/** The used pages of the log, and the copied pages among the used pages. */
function state(database: Database): { log: number; checkpointed: number } {
  const driver = new Driver(database.path);
  try {
    const row = driver.query<{ log: number; checkpointed: number }, []>("PRAGMA wal_checkpoint(NOOP)").get();
    return row ?? { log: 0, checkpointed: 0 };
  } finally {
    driver.close();
  }
}

const write = (database: Database): Promise<number> =>
  database.transact((tx) => tx.run("INSERT INTO big VALUES (?)", text));

/** Writes until a condition holds; a test that waits for ever fails at the time limit. */
async function writeUntil(database: Database, condition: () => boolean): Promise<void> {
  while (!condition()) {
    await write(database);
    await Bun.sleep(1);
  }
}

/** Reads of another module that go on until `cutOff`. */
class EndlessReads implements PausableReads {
  readonly calls: string[] = [];
  readonly #driver: Driver;
  #drained = Promise.withResolvers<void>();

  constructor(path: string) {
    this.#driver = new Driver(path, { readonly: true });
    this.#driver.run("BEGIN");
    this.#driver.query("SELECT count(*) FROM big").get();
  }

  drain(): Promise<void> {
    this.calls.push("drain");
    return this.#drained.promise;
  }

  resume(): void {
    this.calls.push("resume");
  }

  cutOff(reason: AppError): void {
    this.calls.push(`cut off: ${reason.code}`);
    this.#driver.close();
    this.#drained.resolve();
  }
}

test("a reader of another process only makes the log grow; afterwards the log starts over", async () => {
  const { database, log } = await open();
  const outside = new Driver(database.path, { readonly: true });
  outside.run("BEGIN");
  outside.query("SELECT count(*) FROM big").get();
  const warnings = (): LogEntry[] => log.filter(({ level, message }) => level === "WARN" && message.includes("log"));
  await writeUntil(database, () => warnings().length > 0 && database.sizes().log > 6 * bound);
  expect(warnings()).toHaveLength(1);
  expect(warnings()[0]?.fields).toMatchObject({ bound, cause: expect.stringContaining("another process") });
  expect(Number(warnings()[0]?.fields?.["bytes"])).toBeGreaterThan(bound);
  expect(outside.query("SELECT count(*) AS n FROM big").get()).toEqual({ n: 0 });
  outside.run("COMMIT");
  outside.close();
  await writeUntil(database, () => state(database).log * 4_096 < bound);
  await writeUntil(database, () => log.some(({ message }) => message.includes("within its bound again")));
  // The file shrinks in small steps, each time the log starts over.
  await writeUntil(database, () => database.sizes().log < 2 * bound);
  await database.close();
});

test("reads of the service that do not end in time are cut off, and the log starts over", async () => {
  const { database, log } = await open();
  const reads = new EndlessReads(database.path);
  database.joinGaps(reads);
  await writeUntil(database, () => reads.calls.includes("resume"));
  expect(reads.calls.slice(0, 3)).toEqual(["drain", "cut off: unavailable", "resume"]);
  // On a busy machine the gap may end before the log is copied: then a later gap finds no read to cut off.
  await writeUntil(database, () => state(database).log * 4_096 < bound);
  expect(reads.calls.filter((call) => call.startsWith("cut off"))).toHaveLength(1);
  expect(log.filter(({ level }) => level === "ERROR")).toEqual([]);
  await database.close();
});

test("reads on threads of admins take part: a read that blocks the log ends with 503, later reads get a response", async () => {
  const { database } = await open();
  await write(database);
  const endless =
    "WITH RECURSIVE c (n) AS (SELECT rowid FROM big UNION ALL SELECT n + 1 FROM c WHERE _probe(n)) SELECT max(n) FROM c";
  const signal = new AbortController().signal;
  const asked = database
    .readOnThread(async (reader) => reader.get(endless), { caller: "a", signal })
    .then(
      () => "answered",
      (thrown: AppError) => thrown.code,
    );
  let outcome = "";
  void asked.then((code) => {
    outcome = code;
  });
  await writeUntil(database, () => outcome !== "");
  expect(outcome).toBe("unavailable");
  await writeUntil(database, () => state(database).log * 4_096 < bound);
  expect(await database.readOnThread(async (reader) => reader.get("SELECT 1 AS n"), { caller: "a", signal })).toEqual({
    n: 1,
  });
  await database.close();
});
