/** The checkpointer and its thread: a thread that cannot start, ends, does not answer, or finds another file; and gaps that must end. */
import { Database as Driver } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { copyFileSync, readFileSync, renameSync } from "node:fs";
import { quietLogger, temporaryFolder } from "../../../../test/kit.ts";
import type { PausableReads } from "../store.ts";
import { Checkpointer } from "./checkpointer.ts";
import type { Connection } from "./connection.ts";
import { openDescriptor, openWriter } from "./open-file.ts";
import { ThreadConnection } from "./thread-connection.ts";

const bound = 4 * 1024 ** 2;
const closers: (() => void)[] = [];

afterEach(() => {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) close();
});

interface Opened {
  path: string;
  /** A descriptor of the database file. */
  file: number;
  writer: Connection;
  checkpointer: Checkpointer;
  log: string[];
}

function open(openThread?: (path: string) => ThreadConnection): Opened {
  const path = `${temporaryFolder()}/test.db`;
  const writer = openWriter(path);
  writer.execute("CREATE TABLE big (x TEXT) STRICT");
  const { file, close } = openDescriptor(path, "");
  const log: string[] = [];
  const logger = quietLogger(log);
  const options = { path, file, writer, limit: bound, logger };
  const checkpointer = new Checkpointer({ ...options, ...(openThread && { openThread: () => openThread(path) }) });
  closers.push(close, () => writer.close());
  return { path, file, writer, checkpointer, log };
}

/** Writes as the service's writer does, until a condition holds; a test that waits for ever fails at the time limit. */
async function changeUntil({ writer, checkpointer }: Opened, change: string, condition: () => boolean): Promise<void> {
  while (!condition()) {
    await checkpointer.catchUp(performance.now());
    writer.execute("BEGIN IMMEDIATE");
    writer.execute(change);
    writer.execute("COMMIT");
    await Bun.sleep(1);
  }
}

const insert = "INSERT INTO big VALUES (hex(zeroblob(50000)))";

function state({ writer }: Opened): { log: number; checkpointed: number } {
  return (
    writer.get<{ log: number; checkpointed: number }>("PRAGMA wal_checkpoint(NOOP)") ?? { log: 0, checkpointed: 0 }
  );
}

test("the metric is read during a transaction: the last answer counts, and nothing fails", () => {
  const opened = open();
  const { writer, checkpointer, log } = opened;
  writer.execute(insert);
  const before = checkpointer.uncopied;
  expect(before).toBeGreaterThan(0);
  writer.execute("BEGIN IMMEDIATE");
  writer.execute(insert);
  expect(checkpointer.uncopied).toBe(before);
  writer.execute("COMMIT");
  expect(checkpointer.uncopied).toBeGreaterThan(before);
  expect(log).toEqual([]);
});

function threadOf(path: string, source: string): ThreadConnection {
  return new ThreadConnection(path, URL.createObjectURL(new Blob([source], { type: "application/javascript" })));
}

/** Reads that end at once, and count their pauses. */
class ShortReads implements PausableReads {
  pauses = 0;
  resumes = 0;
  cuts = 0;
  async drain(): Promise<void> {
    this.pauses += 1;
  }
  resume(): void {
    this.resumes += 1;
  }
  cutOff(): void {
    this.cuts += 1;
  }
}

test("a thread that cannot start at first starts later, and the log is copied and starts over", async () => {
  let starts = 0;
  const opened = open((path) => {
    starts += 1;
    if (starts < 3) throw new Error("too few file descriptors are left");
    return new ThreadConnection(path);
  });
  const reads = new ShortReads();
  opened.checkpointer.add(reads);
  opened.checkpointer.catchUpSoon();
  expect(starts).toBe(1);
  await changeUntil(opened, insert, () => starts === 3 && state(opened).checkpointed > 0);
  let most = 0;
  await changeUntil(opened, insert, () => {
    const { log } = state(opened);
    most = Math.max(most, log);
    return most * 4_096 >= bound && log < most;
  });
  await changeUntil(opened, insert, () => reads.resumes === reads.pauses);
  // The log has the failures once, and the recovery.
  expect(opened.log.filter((line) => /checkpoint/i.test(line))).toEqual([
    "ERROR A checkpoint waits: its thread cannot start; the write-ahead log grows meanwhile: too few file descriptors are left",
    "INFO Checkpoints succeed again",
  ]);
  await opened.checkpointer.close();
});

test("a thread that ends without an error is followed by another", async () => {
  let starts = 0;
  const opened = open((path) => {
    starts += 1;
    if (starts === 1) return threadOf(path, "self.onmessage = () => process.exit(0);");
    return new ThreadConnection(path);
  });
  await changeUntil(opened, insert, () => starts === 2 && state(opened).checkpointed > 0);
  await opened.checkpointer.close();
});

test("a thread does not open a file that has replaced the database before the first checkpoint", async () => {
  const { path, file } = open();
  const thread = new ThreadConnection(path);
  const other = `${path}-other`;
  copyFileSync(path, other);
  const before = readFileSync(other);
  renameSync(other, path);
  // Also not at the second checkpoint: no connection was kept.
  for (let n = 0; n < 2; n++)
    await expect(thread.checkpoint(file)).rejects.toThrow(
      `database ${path}: was deleted or replaced while it was open`,
    );
  expect(readFileSync(path)).toEqual(before);
  await thread.close();
});

test("closing does not wait without end for a thread that has ended, or does not respond", async () => {
  for (const source of ["self.onmessage = () => process.exit(0);", "self.onmessage = () => {};"]) {
    const opened = open((path) => threadOf(path, source));
    opened.checkpointer.catchUpSoon();
    await opened.checkpointer.close();
  }
});

test("a gap ends while another process reads, however long the log is", async () => {
  const opened = open();
  const outside = new Driver(opened.path, { readonly: true });
  closers.push(() => outside.close());
  outside.run("BEGIN");
  outside.query("SELECT count(*) FROM big").get();
  await changeUntil(opened, insert, () => state(opened).log * 4_096 > 4 * bound);
  const reads = new ShortReads();
  opened.checkpointer.add(reads);
  await changeUntil(opened, insert, () => reads.resumes > 0);
  // Reads that have ended cannot be cut off.
  expect(reads.cuts).toBe(0);
  await opened.checkpointer.close();
});

test("reads that do not end are cut off once in a gap, which ends without the reads", async () => {
  const opened = open();
  const reads = new ShortReads();
  reads.drain = () => new Promise(() => undefined);
  const outside = new Driver(opened.path, { readonly: true });
  closers.push(() => outside.close());
  outside.run("BEGIN");
  outside.query("SELECT count(*) FROM big").get();
  await changeUntil(opened, insert, () => state(opened).log * 4_096 > 4 * bound);
  opened.checkpointer.add(reads);
  await changeUntil(opened, insert, () => reads.resumes > 0);
  expect(reads.cuts).toBe(1);
  await opened.checkpointer.close();
});

test("a gap ends when changes write nothing", async () => {
  const opened = open();
  const outside = new Driver(opened.path, { readonly: true });
  closers.push(() => outside.close());
  outside.run("BEGIN");
  outside.query("SELECT count(*) FROM big").get();
  await changeUntil(opened, insert, () => state(opened).log * 4_096 > 4 * bound);
  const reads = new ShortReads();
  opened.checkpointer.add(reads);
  const change = "UPDATE big SET x = '' WHERE rowid < 0";
  await changeUntil(opened, change, () => reads.pauses > 0);
  outside.run("COMMIT");
  await changeUntil(opened, change, () => reads.resumes > 0);
  expect(reads.cuts).toBe(0);
  await opened.checkpointer.close();
});

test("two callers rest: the log may grow until the second caller leaves", async () => {
  const opened = open();
  const { writer, checkpointer } = opened;
  checkpointer.rest();
  checkpointer.rest();
  checkpointer.leave();
  while (state(opened).log * 4_096 < 2 * bound) writer.execute(insert);
  expect(checkpointer.catchUp(performance.now())).toBeNull();
  expect(state(opened).checkpointed).toBe(0);
  checkpointer.leave();
  const pause = checkpointer.catchUp(performance.now());
  expect(pause).not.toBeNull();
  await pause;
});
