/** Failed runs that are kept: bounded in bytes, whatever the records weigh. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { Clock, system } from "../../base/kernel/index.ts";
import { Database } from "../../store/database/index.ts";
import { EventLog, eventSchema } from "../../store/events/index.ts";
import { linear } from "../runs/index.ts";
import { Deliveries, lastIdOf, maxPerEvent } from "./delivery-table.ts";
import { functionSchema } from "./schema.ts";

const folder = temporaryFolder();
const mebibyte = 1024 ** 2;

test("failed runs of large records are removed, oldest first; failed runs of small records stay with the newest", async () => {
  const logger = quietLogger();
  const clock = new Clock();
  const database = new Database({ path: join(folder, "failed.db"), logger, onFatal: () => undefined });
  await database.prepare([eventSchema, functionSchema]);
  const events = new EventLog({ database, clock, logger });
  await events.start();
  const deliveries = new Deliveries(database, events);
  const trigger = {
    path: "f",
    handler: "onUpdate",
    kind: "onUpdate" as const,
    collection: "a",
    eventType: "a.updated",
    timeoutMs: 1,
    policy: linear(0),
  };
  await deliveries.register([trigger]);
  events.recordWith({
    wanted: new Set(["a.updated"]),
    beforeTrim: () => undefined,
    record: (tx, appended) => deliveries.add(tx, appended, [trigger]),
  });
  const change = async (bytes: number): Promise<number> => {
    const previous = { id: "x", createdAt: "", updatedAt: "", text: "x".repeat(bytes) };
    await database.transact((tx) =>
      events.append(tx, {
        type: "a.updated",
        source: "collections",
        payload: { id: "x" },
        principal: system,
        previous,
      }),
    );
    return events.flushedSeq * maxPerEvent;
  };
  const fail = async (id: number, at: number, error = "broken"): Promise<void> => {
    const [head] = await deliveries.page({
      after: id - 1,
      until: lastIdOf(events.flushedSeq),
      limit: 1,
      handlers: ["f:onUpdate"],
    });
    if (head === undefined) throw new Error("There is nothing to fail");
    await database.transact((tx) => deliveries.fail(tx, head, { at, error }));
  };
  const failed = () =>
    database.reader.all<{ id: number; bytes: number }>(
      "SELECT id, octet_length(previous) + octet_length(event) AS bytes FROM _deliveries WHERE failedAt IS NOT NULL ORDER BY id",
    );
  const waiting = await change(mebibyte);
  const ids: number[] = [];
  for (let n = 0; n < 3; n++) {
    const id = await change(22 * mebibyte);
    ids.push(id);
    await fail(id, n);
    const rows = await failed();
    expect(rows.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(64 * mebibyte);
    expect(rows.at(-1)?.id).toBe(id);
  }
  expect((await failed()).map(({ id }) => id)).toEqual(ids.slice(-2));
  // A run that is not over is no failed run.
  expect(
    (await database.reader.get<{ failedAt: null }>("SELECT failedAt FROM _deliveries WHERE id = ?", waiting))?.failedAt,
  ).toBeNull();
  for (let n = 0; n < 20; n++) await fail(await change(10), 100 + n);
  expect(await failed()).toHaveLength(22);
  // The error counts as the record does; the newest run stays, also beyond the bound.
  const huge = await change(10);
  await fail(huge, 1_000, "x".repeat(65 * mebibyte));
  expect((await failed()).map(({ id }) => id)).toEqual([huge]);
  await database.close();
});
