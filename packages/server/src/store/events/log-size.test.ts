/** The size of the event log: rolled-back transactions do not count, whatever transactions shared the commit. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { keepsAll } from "../../../test/event-log.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { Clock } from "../../base/kernel/index.ts";
import { Database, type Transactor } from "../database/index.ts";
import { EventLog, EventRetention, eventSchema } from "./index.ts";

const folder = temporaryFolder();

async function open(name: string) {
  const logger = quietLogger();
  const clock = new Clock();
  const database = new Database({ path: join(folder, name), logger, onFatal: () => undefined });
  await database.prepare([eventSchema]);
  const events = new EventLog({ database, clock, logger });
  events.start();
  const appendAll = (tx: Transactor, bytes: number, count: number) => {
    const payload = { text: "x".repeat(bytes) };
    for (let n = 0; n < count; n++) events.append(tx, { type: "a", source: "jobs", payload, principal: null });
  };
  return {
    database,
    events,
    write: (bytes: number, count = 1) => database.transact((tx) => appendAll(tx, bytes, count)),
    refused: (bytes: number, count = 1) =>
      database
        .transactLong("test", async (tx) => {
          appendAll(tx, bytes, count);
          throw new Error("taken back");
        })
        .catch(() => undefined),
    trim: (maxBytes: number) =>
      new EventRetention({
        clock,
        config: { ...keepsAll, "events.maxBytes": maxBytes },
        database,
        events,
        logger,
      }).trim(),
    size: () => events.bytes(database.reader),
    async stored() {
      const row = database.reader.get<{ count: number; bytes: number }>(
        "SELECT count(*) AS count, coalesce(sum(octet_length(payload) + 100), 0) AS bytes FROM _events",
      );
      return row ?? { count: 0, bytes: 0 };
    },
    marks: () =>
      database.reader.all<{ seq: number; total: number }>("SELECT seq, total FROM _event_sizes ORDER BY seq"),
  };
}

type Log = Awaited<ReturnType<typeof open>>;

/** Every mark holds the bytes up to its seq, and the marks are close enough for trimming. */
async function expectExactMarks({ database, marks }: Log, widest: number): Promise<void> {
  const [first, ...rest] = marks();
  let last = first ?? { seq: 0, total: 0 };
  for (const mark of rest) {
    const row = database.reader.get<{ bytes: number }>(
      "SELECT sum(octet_length(payload) + 100) AS bytes FROM _events WHERE seq > ? AND seq <= ?",
      last.seq,
      mark.seq,
    );
    expect(mark.total - last.total).toBe(row?.bytes ?? 0);
    expect(mark.total - last.total).toBeLessThan(widest);
    last = mark;
  }
}

describe("transactions that are taken back", () => {
  test("count for nothing, one after another and many in the same commit", async () => {
    const log = await open("refused.db");
    for (let n = 0; n < 10; n++) await log.write(100_000);
    const { count, bytes } = await log.stored();
    for (let n = 0; n < 50; n++) await log.refused(100_000);
    await Promise.all(Array.from({ length: 50 }, () => log.refused(100_000)));
    await Promise.all(Array.from({ length: 5 }, () => log.refused(100_000, 10)));
    expect(log.size()).toBe(bytes);
    await log.trim(2_000_000);
    expect((await log.stored()).count).toBe(count);
    await log.database.close();
  });

  test("take no mark of others with them, and leave no mark of their own", async () => {
    const log = await open("marks.db");
    for (let n = 0; n < 40; n++) {
      // The refused event is the event at which a mark is due.
      await log.refused(300_000);
      await log.write(50_000);
    }
    expect(log.size()).toBe((await log.stored()).bytes);
    expect(log.marks().length).toBeGreaterThan(5);
    await expectExactMarks(log, 400_000);
    await log.database.close();
  });

  test("leave the size of other transactions exact in a shared commit", async () => {
    const random = randomNumbers(randomSeed("sizes"));
    const log = await open("batches.db");
    for (let batch = 0; batch < 20; batch++)
      await Promise.all(
        Array.from({ length: 20 }, () => {
          const bytes = Math.floor(random() * 60_000);
          const count = 1 + Math.floor(random() * 3);
          return random() < 0.4 ? log.refused(bytes, count) : log.write(bytes, count);
        }),
      );
    const { bytes } = await log.stored();
    expect(log.size()).toBe(bytes);
    await expectExactMarks(log, 400_000);
    await log.trim(4_000_000);
    const left = (await log.stored()).bytes;
    expect(left).toBeLessThanOrEqual(4_000_000);
    expect(left).toBeGreaterThan(Math.min(bytes, 3_500_000));
    await log.database.close();
    const again = await open("batches.db");
    expect(Math.abs(again.size() - left)).toBeLessThan(400_000);
    await again.database.close();
  });
});

test("a log that is trimmed whole, again and again, is not measured as a growing log", async () => {
  const log = await open("emptied.db");
  for (let n = 0; n < 30; n++) {
    await log.write(50_000);
    await log.database.transactLong("test", async (tx) => {
      log.events.trim(tx, { until: log.events.flushedSeq, limit: 1_000 });
    });
  }
  expect(log.size()).toBeLessThan(600_000);
  await log.database.close();
});

test("a single large transaction is marked all along", async () => {
  const log = await open("large.db");
  await log.write(10_000, 300);
  expect(log.size()).toBe((await log.stored()).bytes);
  expect(log.marks().length).toBeGreaterThan(8);
  await expectExactMarks(log, 300_000);
  await log.database.close();
});
