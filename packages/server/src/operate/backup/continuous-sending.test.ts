/** The sending of a continuous backup: how often a segment leaves, and what a stop sends. */
import { expect, spyOn, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { databases } from "../../../test/databases.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { until } from "../../../test/sockets.ts";
import { Secret } from "../../base/kernel/index.ts";
import { chainSchema, type Database, positionSchema } from "../../store/database/index.ts";
import type { SnapshotRow } from "../../store/journal/index.ts";
import { BackupPlace } from "./backup-place.ts";
import { ContinuousBackup } from "./continuous.ts";
import { Snapshots } from "./snapshots.ts";

const { open } = databases();
const keys = { endpoint: "", region: "", accessKeyId: "", secretAccessKey: new Secret("") };
const hourMs = 3_600_000;

/** A database whose commits are copied to a place, each hour. @param folder of an earlier call, for the next start of the service. */
async function copied(folder = temporaryFolder()) {
  const place = new BackupPlace(join(folder, "live"), { keys });
  const database = open({ path: join(folder, "socle.db") });
  const table = { module: "test", steps: ["CREATE TABLE t (n INTEGER UNIQUE) STRICT"] };
  await database.prepare([table, positionSchema, chainSchema]);
  const logger = quietLogger();
  const paths = { database: database.path, files: { address: folder, workFolder: folder, s3: keys } };
  const known = { version: "test", schemas: {}, maxLog: 1024 ** 2, encryption: null, work: "", logger };
  const snapshots = new Snapshots({ ...known, paths, address: place.snapshotAddress });
  const options = {
    place,
    snapshots,
    everyMs: hourMs,
    keepMs: () => hourMs,
    encryption: null,
    local: null,
    missing: null,
  };
  const backup = new ContinuousBackup({ ...options, logger });
  await backup.open(database);
  const write = (n: number) => database.transact((tx) => tx.run("INSERT INTO t (n) VALUES (?)", n));
  return { backup, database, folder, place, write };
}

/** A snapshot of the present state. */
function snapshotOf({ position }: Database): SnapshotRow {
  return { name: "", bytes: 0, madeAt: 0, position };
}

test("commits that come while a segment leaves wait for backup.every, and a stop sends the commits", async () => {
  const { backup, database, place, write } = await copied();
  const create = place.segments.create.bind(place.segments);
  let written = 0;
  spyOn(place.segments, "create").mockImplementation(async (name, bytes) => {
    // A service that always writes, up to a bound, so that a fault ends.
    if (written < 20) await write(written++);
    return create(name, bytes);
  });
  await write(100);
  backup.start();
  await until(() => backup.state.segments > 0);
  await Bun.sleep(200);
  expect(backup.state.segments).toBe(1);
  // The first segment is the gap in which a chain begins.
  await backup.addSnapshot(snapshotOf(database));
  await database.close();
  written = 20;
  await backup.finish(10_000);
  expect(backup.state.behindMs).toBe(0);
  expect((await place.head(await place.last())).last).toBe(database.position);
});

test("a gap of an earlier run counts as behind until a snapshot closes the gap", async () => {
  const first = await copied();
  await first.write(1);
  first.backup.start();
  await until(() => first.backup.isReady);
  await first.write(2);
  await first.database.close();
  // All commits leave, and no snapshot closes the gap in which the chain begins.
  await first.backup.finish(10_000);
  const { backup, database, write } = await copied(first.folder);
  await Bun.sleep(2);
  backup.start();
  await until(() => backup.isReady);
  expect([backup.isMissing(0), backup.state.behindMs > 0]).toEqual([true, true]);
  await write(3);
  await backup.addSnapshot({ ...snapshotOf(database), position: 0 });
  expect(backup.isMissing(0)).toBe(true);
  await backup.addSnapshot(snapshotOf(database));
  await database.close();
  await backup.finish(10_000);
  expect(backup.state.behindMs).toBe(0);
});

test("a snapshot before a gap that has not left closes no gap", async () => {
  const { backup, database } = await copied();
  backup.start();
  await until(() => backup.isReady);
  await backup.addSnapshot(snapshotOf(database));
  expect(backup.state.behindMs).toBe(0);
  const { position } = database;
  // A commit that is too large for an entry.
  backup.take({ position: position + 1, id: "id", before: null, at: Date.now() - 1_000, entry: null, notes: [] });
  await backup.addSnapshot(snapshotOf(database));
  expect(backup.state.behindMs).toBeGreaterThan(0);
  await backup.addSnapshot({ ...snapshotOf(database), position: position + 1 });
  expect(backup.state.behindMs).toBe(0);
  await database.close();
  await backup.finish(10_000);
});

test("more than 64 MiB of waiting commits become a gap, and a snapshot behind the gap closes it", async () => {
  const { backup, database } = await copied();
  backup.start();
  await until(() => backup.isReady);
  await backup.addSnapshot(snapshotOf(database));
  // 4 MiB of random text, which the level of compression leaves as long as it is.
  const entry = randomBytes(3 * 1024 ** 2).toString("base64");
  const take = (position: number): void =>
    backup.take({ position, id: `id${position}`, before: null, at: Date.now() - 1_000, entry, notes: [] });
  const { position } = database;
  for (let n = 1; n <= 15; n++) take(position + n);
  // The commits wait: a snapshot takes none of them out.
  await backup.addSnapshot({ ...snapshotOf(database), position: position + 15 });
  expect(backup.state.behindMs).toBeGreaterThan(0);
  take(position + 16);
  await backup.addSnapshot({ ...snapshotOf(database), position: position + 15 });
  expect(backup.state.behindMs).toBeGreaterThan(0);
  await backup.addSnapshot({ ...snapshotOf(database), position: position + 16 });
  expect(backup.state.behindMs).toBe(0);
  await database.close();
  await backup.finish(10_000);
});
