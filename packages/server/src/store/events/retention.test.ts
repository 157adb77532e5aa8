/** The retention: by bytes, count and age, also by a clock that is wrong. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openEventLog } from "../../../test/event-log.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { Database } from "../database/index.ts";
import { eventSchema } from "./index.ts";

const folder = temporaryFolder();
const open = (name: string) => openEventLog(folder, name);

describe("a clock that is wrong and the age of events", () => {
  const [second, hour, day] = [1_000, 3_600_000, 86_400_000];
  const year = 365 * day;

  /** Six days of events, one each hour, under a retention of a week that has kept up. */
  async function sixDays(name: string) {
    const log = await open(name);
    const retention = log.retention(7 * day, 1_000_000);
    await retention.trim();
    for (let n = 0; n < 6 * 24; n++) {
      await log.append("old");
      log.clock.time += hour;
      await retention.trim();
    }
    return { ...log, retention, again: log.retention };
  }

  test("a year ahead for some seconds, and at a restart meanwhile, removes no young event", async () => {
    const { clock, database, retention, again, append, types } = await sixDays("jump.db");
    const before = (await types()).length;
    expect(before).toBeGreaterThan(140);
    clock.wrong = year;
    await append("ahead");
    for (let n = 0; n < 14; n++) {
      clock.time += second;
      await retention.trim();
    }
    for (let restart = 0; restart < 20; restart++) {
      const restarted = again(7 * day, 1_000_000);
      for (let n = 0; n < 14; n++) {
        clock.time += second;
        await restarted.trim();
      }
    }
    clock.wrong = 0;
    await again(7 * day, 1_000_000).trim();
    expect(await types()).toHaveLength(before + 1);
    await database.close();
  });

  test("decades behind for a minute, as a machine without a battery starts, removes no young event", async () => {
    const { clock, database, again, append, types } = await sixDays("behind.db");
    const before = (await types()).length;
    clock.wrong = -50 * year;
    const restarted = again(7 * day, 1_000_000);
    await append("behind");
    clock.time += 60 * second;
    await restarted.trim();
    clock.wrong = 0;
    for (let n = 0; n < 5; n++) {
      clock.time += 10 * second;
      await restarted.trim();
    }
    expect(await types()).toHaveLength(before + 1);
    // The first events are too old by now, and the event of the wrong clock is no reason to remove the events between.
    clock.time += 36 * hour;
    await restarted.trim();
    expect((await types()).length).toBeLessThan(before);
    expect((await types()).length).toBeGreaterThan(before - 20);
    await database.close();
  });

  test("after a year in which the machine was off, old events go within the retention, and new ones at their time", async () => {
    const { clock, database, again, append, types } = await sixDays("off.db");
    // The steady time of a new process knows nothing of the year.
    clock.time += year;
    const restarted = again(7 * day, 1_000_000);
    for (let n = 0; n < 4 * 24; n++) {
      await append("new");
      clock.time += hour;
      await restarted.trim();
    }
    expect(new Set(await types())).toEqual(new Set(["new"]));
    for (let n = 0; n < 10 * 24; n++) {
      await append("newer");
      clock.time += hour;
      await restarted.trim();
    }
    expect(new Set(await types())).toEqual(new Set(["newer"]));
    expect(await types()).toHaveLength(7 * 24 - 1);
    await database.close();
  });
});

describe("retention", () => {
  const payload = { text: "x".repeat(10_000) };
  const write = (log: Awaited<ReturnType<typeof open>>, count: number) =>
    log.database.transact((tx) => {
      for (let n = 0; n < count; n++) log.events.append(tx, { type: "big", source: "jobs", payload, principal: null });
    });
  const stored = async ({ events }: Awaited<ReturnType<typeof open>>) =>
    events.read(0, 100_000).reduce((sum, event) => sum + event.toRow().payload.length, 0);

  test("bytes bound the log, oldest events first, and no more than needed, also after a restart", async () => {
    const first = await open("bytes.db");
    await write(first, 1_000);
    const last = first.events.lastSeq();
    await first.retention(1e9, 1e9, { "events.maxBytes": 4e6 }).trim();
    const left = await stored(first);
    expect(left).toBeLessThanOrEqual(4e6);
    // The log's size is measured in steps of a quarter of a megabyte.
    expect(left).toBeGreaterThan(3.5e6);
    expect(first.events.read(0, 1e6).at(-1)?.seq).toBe(last);
    await first.retention(1e9, 1e9, { "events.maxBytes": 4e6 }).trim();
    expect(await stored(first)).toBe(left);
    await first.database.close();
    const second = await open("bytes.db");
    expect(Math.abs(second.events.bytes(second.database.reader) - left)).toBeLessThan(300_000);
    await second.retention(1e9, 1e9, { "events.maxBytes": 4e6 }).trim();
    expect(await stored(second)).toBe(left);
    await write(second, 100);
    await second.retention(1e9, 1e9, { "events.maxBytes": 2e6 }).trim();
    expect(await stored(second)).toBeLessThanOrEqual(2e6);
    expect(await second.types()).not.toEqual([]);
    // Trimmed by count, then by bytes.
    await second.retention(1e9, 10, { "events.maxBytes": 2e6 }).trim();
    await write(second, 50);
    await second.retention(1e9, 1e9, { "events.maxBytes": 2e6 }).trim();
    expect(await second.types()).toHaveLength(60);
    await second.database.close();
  });

  test("bytes count also for events from before the measurement of the log", async () => {
    const steps = eventSchema.steps.filter(
      (step) =>
        !/partial|_event_sizes|_event_clock|_event_index|_audit|_requests|COLUMN (?:time|basis|cause|first)/.test(
          String(step),
        ),
    );
    const path = join(folder, "old.db");
    const old = new Database({ path, logger: quietLogger(), onFatal: () => undefined });
    await old.prepare([{ module: "events", steps }]);
    const insert = "INSERT INTO _events (at, type, source, payload) VALUES (1, 'old', 'jobs', ?)";
    await old.transact((tx) => {
      for (let n = 0; n < 500; n++) tx.run(insert, JSON.stringify(payload));
    });
    await old.close();
    const log = await open("old.db");
    expect(await log.types()).toHaveLength(500);
    expect(log.events.at(1)?.isPartial).toBe(false);
    await log.retention(1e15, 1e9, { "events.maxBytes": 2e6 }).trim();
    expect(await stored(log)).toBeLessThanOrEqual(2e6);
    expect(await stored(log)).toBeGreaterThan(1.5e6);
    await log.database.close();
  });

  test("while the log grows, without waiting for the next turn", async () => {
    const log = await open("growth.db");
    const stopping = new AbortController();
    const retention = log.retention(1e9, 1e9, { "events.maxBytes": 2e6 });
    retention.start(stopping.signal);
    for (let n = 0; n < 20; n++) await write(log, 100);
    const end = performance.now() + 120_000;
    while ((await stored(log)) > 2.3e6 && performance.now() < end) await Bun.sleep(5);
    expect(await stored(log)).toBeLessThanOrEqual(2.3e6);
    stopping.abort();
    await retention.settled();
    await log.database.close();
  });

  test("count and age bound the log, oldest events first, in steps", async () => {
    const { clock, database, append, retention, types } = await open("retention.db");
    for (let batch = 0; batch < 12; batch++)
      await Promise.all(Array.from({ length: 100 }, (_, n) => append(`${batch}.${n}`)));
    const second = retention(1_000, 2_000);
    await second.trim();
    expect(await types()).toHaveLength(1_200);
    await retention(1_000, 1_150).trim();
    expect((await types())[0]).toBe("0.50");
    clock.time += 500;
    await append("young");
    clock.time += 501;
    await second.trim();
    expect(await types()).toEqual(["young"]);
    await database.close();
  });
});
