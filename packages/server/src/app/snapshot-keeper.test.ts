/** The keeper of the snapshots: the snapshot of a gap, also when the list of the snapshots does not answer for a moment. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openFiles } from "../../test/files.ts";
import { quietLogger, temporaryFolder } from "../../test/kit.ts";
import { until } from "../../test/sockets.ts";
import { Snapshots } from "../operate/backup/index.ts";
import type { SnapshotRow } from "../store/journal/index.ts";
import { dataPathsOf, knownSchemas } from "./service.ts";
import { type SnapshotJournal, SnapshotKeeper } from "./snapshot-keeper.ts";

const { config, service } = await openFiles();

test("a list of snapshots that does not answer keeps no snapshot from being made, and is no failure", async () => {
  const lines: string[] = [];
  const logger = quietLogger(lines);
  const { database } = service;
  const known = { version: "test", schemas: knownSchemas, maxLog: 1024 ** 3, encryption: null, work: "", logger };
  const address = join(temporaryFolder(), "snapshots");
  const snapshots = new Snapshots({ ...known, paths: dataPathsOf(config), address });
  const made: SnapshotRow[] = [];
  let lists = 0;
  const journal: SnapshotJournal = {
    name: "chain",
    appended: 0,
    isReady: true,
    snapshots: async () => {
      lists += 1;
      if (lists === 2) throw new Error("the store does not answer");
      return made;
    },
    addSnapshot: async (row) => void made.push(row),
    removeSnapshot: async () => undefined,
    isMissing: () => made.length === 0,
    sizeAfter: async () => 0,
    prepare: async () => undefined,
    kept: (rows) => rows.length,
    trim: async () => undefined,
  };
  const keeper = new SnapshotKeeper({
    journal,
    database,
    snapshots,
    every: 1024 ** 3,
    longestMs: () => 60_000,
    logger,
  });
  await until(() => made.length > 0 || lines.some((line) => line.includes("was not made")));
  await keeper.stop();
  expect(lists).toBeGreaterThanOrEqual(2);
  expect(lines.filter((line) => line.includes("ERROR"))).toEqual([]);
  expect(made).toHaveLength(1);
});
