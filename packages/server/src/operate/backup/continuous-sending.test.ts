/** The sending of a continuous backup: how often a segment leaves, and what a stop sends. */
import { expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { databases } from "../../../test/databases.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { Secret } from "../../base/kernel/index.ts";
import { BackupPlace } from "./backup-place.ts";
import { ContinuousBackup } from "./continuous.ts";
import { Snapshots } from "./snapshots.ts";

const { withTable } = databases();
const keys = { endpoint: "", region: "", accessKeyId: "", secretAccessKey: new Secret("") };
const hourMs = 3_600_000;

/** A database whose commits are copied to a place, each hour. */
async function copied() {
  const folder = temporaryFolder();
  const place = new BackupPlace(join(folder, "live"), { keys });
  const database = await withTable();
  const logger = quietLogger();
  const paths = { database: database.path, files: { address: folder, workFolder: folder, s3: keys } };
  const known = { version: "test", schemas: {}, maxLog: 1024 ** 2, encryption: null, work: "", logger };
  const snapshots = new Snapshots({ ...known, paths, address: place.snapshotAddress });
  const times = { everyMs: hourMs, keepMs: hourMs };
  const backup = new ContinuousBackup({
    ...times,
    place,
    snapshots,
    encryption: null,
    local: null,
    missing: null,
    logger,
  });
  await backup.open(database);
  const write = (n: number) => database.transact((tx) => tx.run("INSERT INTO t (n) VALUES (?)", n));
  return { backup, database, place, write };
}

test("commits that come while a segment leaves wait for backup.every, and a stop sends them", async () => {
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
  while (backup.state.segments === 0) await Bun.sleep(5);
  await Bun.sleep(200);
  expect(backup.state.segments).toBe(1);
  // The first segment is the gap in which a chain begins.
  await backup.addSnapshot({ name: "", bytes: 0, madeAt: 0, position: database.position });
  await database.close();
  written = 20;
  await backup.finish(10_000);
  expect(backup.state.behindMs).toBe(0);
  expect((await place.head(await place.last())).last).toBe(database.position);
});
