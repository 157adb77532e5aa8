import { expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../test/kit.ts";
import type { Collection } from "../collections/index.ts";
import { Database } from "../database/index.ts";
import { EventLog, eventSchema } from "../events/index.ts";
import { Clock } from "../kernel/index.ts";
import { RecordCounts } from "./counts.ts";

const collection: Collection = {
  name: "t",
  table: "t",
  definition: { name: "t", fields: [] },
  rules: { read: "public", create: "public", update: "public", delete: "public" },
  patterns: new Map(),
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
};

test("what is committed and not flushed yet when it is counted is counted once", async () => {
  const logger = quietLogger();
  const clock = new Clock();
  let flushed = Promise.withResolvers<void>();
  let isHeld = false;
  const database = new Database({
    path: join(temporaryFolder(), "counts.db"),
    logger,
    onFatal: () => undefined,
    sync: () => (isHeld ? flushed.promise : Promise.resolve()),
  });
  await database.prepare([eventSchema, { module: "t", steps: ["CREATE TABLE t (n INTEGER) STRICT"] }]);
  const events = new EventLog({ database, clock, logger });
  await events.start();
  const change = (sql: string, type: string) =>
    database.transact(async (tx) => {
      await tx.run(sql);
      await events.append(tx, { type, source: "collections", payload: {}, principal: null });
    });
  const create = () => change("INSERT INTO t VALUES (1)", "t.created");
  await create();
  for (let round = 0; round < 3; round++) {
    // Counted anew, as after a start.
    const counts = new RecordCounts({ database, events });
    isHeld = true;
    flushed = Promise.withResolvers<void>();
    const writing = create();
    await Bun.sleep(5);
    expect(await counts.of(collection)).toBe(2 + round);
    isHeld = false;
    flushed.resolve();
    await writing;
    expect(await counts.of(collection)).toBe(2 + round);
    await Promise.all([
      create(),
      create(),
      change("DELETE FROM t WHERE rowid = (SELECT max(rowid) FROM t)", "t.deleted"),
    ]);
    await change("DELETE FROM t WHERE rowid = (SELECT max(rowid) FROM t)", "t.deleted");
    expect(await counts.of(collection)).toBe(2 + round);
    // Another collection of this name is counted anew.
    await database.transact((tx) => tx.run("INSERT INTO t VALUES (1)"));
    expect(await counts.of(collection)).toBe(2 + round);
    expect(await counts.of({ ...collection, createdAt: "2026-01-02T00:00:00.000Z" })).toBe(3 + round);
    await database.transact((tx) => tx.run("DELETE FROM t WHERE rowid = (SELECT max(rowid) FROM t)"));
  }
  await database.close();
});
