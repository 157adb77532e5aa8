/**
 * Following: a second database object on the same file, as in another process, has the data and the state in memory of the same
 * commit at every moment, however late the commits arrive, and takes part in the restart of the write-ahead log.
 */
import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../../test/random.ts";
import { Database, type Followers, noteKind, positionSchema, type ToldCommit } from "../index.ts";

const counted = noteKind<{ n: number }>("test.counted");
const schema = {
  module: "test",
  steps: ["CREATE TABLE counts (n INTEGER NOT NULL) STRICT", "CREATE TABLE texts (text TEXT) STRICT"],
};

/** Keeps the commits until the test lets the reader take them. */
class Delayed implements Followers {
  readonly commits: ToldCommit[] = [];
  told = 0;
  #resolve: (() => void)[] = [];
  renewed = 0;
  onRenew: () => void = () => undefined;

  tell(commit: ToldCommit): Promise<void> {
    this.commits.push(commit);
    this.told += 1;
    return new Promise((resolve) => {
      this.#resolve.push(resolve);
    });
  }

  async renew(): Promise<void> {
    this.renewed += 1;
    this.onRenew();
  }

  /** The reader has every commit. */
  answer(): void {
    for (const resolve of this.#resolve.splice(0)) resolve();
  }
}

async function open(logLimit?: number) {
  const path = join(temporaryFolder(), "test.db");
  const options = { path, logger: quietLogger(), onFatal: () => undefined };
  const leader = new Database({ ...options, ...(logLimit !== undefined && { logLimit }) });
  await leader.prepare([positionSchema, schema]);
  await leader.transact((tx) => tx.run("INSERT INTO counts (n) VALUES (0)"));
  const followers = new Delayed();
  const leading = leader.leadBy(followers);
  // The commit of the call has no follower yet.
  while (followers.commits.length === 0) await Bun.sleep(1);
  followers.answer();
  await leading;
  followers.commits.length = 0;
  followers.told = 0;
  const reader = new Database({ ...options, isReader: true });
  const { following } = reader;
  if (following === null) throw new Error("A reader follows");
  let state = 0;
  reader.projection.on(counted, ({ n }) => {
    state = n;
  });
  return {
    path,
    leader,
    reader,
    following,
    followers,
    count: (n: number) =>
      leader.transact((tx) => {
        tx.run("UPDATE counts SET n = ?", n);
        tx.note(counted.of({ n }));
        tx.endBatch();
      }),
    /** The number in the data and in memory, as the reader sees both. */
    seen: () => [reader.reader.get<{ n: number }>("SELECT n FROM counts")?.n, state],
    close: async () => {
      await reader.close();
      await leader.close();
    },
  };
}

test("data and state move together, whenever the commits arrive", async () => {
  const random = randomNumbers(randomSeed("following"));
  const { following, followers, count, seen, close } = await open();
  const first = following.start();
  expect(seen()).toEqual([0, 0]);
  let n = 0;
  const acknowledged: Promise<void>[] = [];
  for (let round = 0; round < 300; round++) {
    for (let more = Math.floor(random() * 3); more > 0; more--) {
      n += 1;
      acknowledged.push(count(n));
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let some = Math.floor(random() * 3); some > 0; some--) {
      const commit = followers.commits.shift();
      if (commit !== undefined) following.take(commit);
    }
    const [data, state] = seen();
    expect(data).toBe(Number(state));
    expect(following.position - first).toBe(Number(state));
    // Reads of a later turn see the same, although commits have come since.
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen()).toEqual([data, state]);
  }
  while (followers.told < n) await Bun.sleep(1);
  for (const commit of followers.commits.splice(0)) following.take(commit);
  expect(seen()).toEqual([n, n]);
  followers.answer();
  await Promise.all(acknowledged);
  await close();
});

test("no transaction gets its response before the followers have the commit", async () => {
  const { following, followers, count, close } = await open();
  following.start();
  let isAnswered = false;
  const write = count(1).then(() => {
    isAnswered = true;
  });
  while (followers.commits.length === 0) await Bun.sleep(1);
  // A second commit is flushed, too, and waits as well.
  const second = count(2);
  while (followers.commits.length < 2) await Bun.sleep(1);
  expect(isAnswered).toBe(false);
  followers.answer();
  await Promise.all([write, second]);
  await close();
});

test("a migration changes tables and state at the same moment, and a long read goes on with the former tables", async () => {
  const { leader, reader, following, followers, close } = await open();
  following.start();
  const long = reader.longRead();
  expect(long.get("SELECT n FROM counts")).toEqual({ n: 0 });
  const migrating = leader.migrate((tx) => {
    tx.run("ALTER TABLE counts RENAME COLUMN n TO number");
    tx.note(counted.of({ n: 7 }));
  }, "event-loop");
  while (followers.commits.length === 0) await Bun.sleep(1);
  // The tables have changed on disk, and not yet here.
  expect(reader.reader.get("SELECT n FROM counts")).toEqual({ n: 0 });
  for (const commit of followers.commits.splice(0)) following.take(commit);
  followers.answer();
  await migrating;
  expect(reader.reader.get("SELECT number FROM counts")).toEqual({ number: 0 });
  expect(long.get("SELECT n FROM counts")).toEqual({ n: 0 });
  long.end();
  await close();
});

test("the write-ahead log starts over beside a reader that keeps its snapshot", async () => {
  const limit = 8 * 1024 ** 2;
  const { path, leader, following, followers, close } = await open(limit);
  following.start();
  followers.onRenew = () => following.renew();
  const text = "x".repeat(400_000);
  let largest = 0;
  const writes = 300;
  for (let n = 0; n < writes; n++) {
    const write = leader.transact((tx) => tx.run("INSERT INTO texts (text) VALUES (?)", text));
    while (followers.commits.length === 0) await Bun.sleep(1);
    for (const commit of followers.commits.splice(0)) following.take(commit);
    followers.answer();
    await write;
    largest = Math.max(largest, statSync(`${path}-wal`).size);
  }
  expect(followers.renewed).toBeGreaterThan(0);
  // Without new snapshots, the log would hold all writes. A slow disk lets the log grow beyond the bound for a while.
  expect(largest).toBeLessThan((writes * text.length) / 2);
  await close();
});

test("a reader process refuses to write", async () => {
  const { reader, close } = await open();
  expect(() => reader.transact((tx) => tx.run("DELETE FROM counts"))).toThrow("A reader process does not write");
  await close();
});
