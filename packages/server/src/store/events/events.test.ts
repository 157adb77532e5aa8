import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { Clock } from "../../base/kernel/index.ts";
import { Database } from "../database/index.ts";
import { EventLog, EventRetention, eventId, eventSchema, type LoggedEvent, parseEventId } from "./index.ts";

const folder = temporaryFolder();

class TestClock extends Clock {
  /** Grows with the time that passes. */
  time = 1_800_000_000_000;
  /** Milliseconds by which the clock is wrong. */
  wrong = 0;
  override now(): number {
    return this.time + this.wrong;
  }
  override steady(): number {
    return this.time;
  }
}

async function open(name: string) {
  const logger = quietLogger();
  const clock = new TestClock();
  const database = new Database({ path: join(folder, name), logger, onFatal: () => undefined });
  await database.prepare([eventSchema]);
  const events = new EventLog({ database, clock, logger });
  events.start();
  const append = (type: string) =>
    database.transact((tx) => events.append(tx, { type, source: "auth", payload: { type }, principal: null }));
  const retention = (maxAgeMs: number, maxCount: number, maxBytes = 2 ** 40) =>
    new EventRetention({ database, events, clock, logger, maxAgeMs, maxCount, maxBytes });
  const types = async () => events.read(0, 1_000_000).map(({ type }) => type);
  return { clock, database, events, append, retention, types };
}

describe("ids", () => {
  test("sort in commit order and tell their place", () => {
    const ids = [eventId(1, 5), eventId(1, 16), eventId(1, 1_000_000), eventId(2, 1_000_001), eventId(1.8e12, 2 ** 40)];
    expect([...ids].sort()).toEqual(ids);
    expect(ids.map((id) => parseEventId(id)?.seq)).toEqual([5, 16, 1_000_000, 1_000_001, 2 ** 40]);
  });

  test.each(["", "evt_", "evt_xyz", "rec_0000000000010000000000005", "evt_00000000000100000000000050"])(
    "%s is none",
    (id) => expect(parseEventId(id)).toBeNull(),
  );
});

describe("the log", () => {
  test("listeners hear what is on disk, in commit order, and nothing that was taken back", async () => {
    const { database, events } = await open("order.db");
    const heard: LoggedEvent[] = [];
    const stop = events.listen((event) => heard.push(event));
    events.listen(() => {
      throw new Error("a bad listener");
    });
    const writes = Array.from({ length: 100 }, (_, n) =>
      database.transact((tx) => {
        events.append(tx, { type: `n${n}`, source: "jobs", payload: { n }, principal: null });
        if (n % 10 === 3) throw new Error("taken back");
      }),
    );
    await Promise.allSettled(writes);
    const kept = Array.from({ length: 100 }, (_, n) => n).filter((n) => n % 10 !== 3);
    expect(heard.map(({ type }) => type)).toEqual(kept.map((n) => `n${n}`));
    expect(heard.map(({ id }) => id)).toEqual(heard.map(({ id }) => id).sort());
    expect(events.read(0, 1_000)).toEqual(heard);
    stop();
    await database.transact((tx) => events.append(tx, { type: "late", source: "jobs", payload: {}, principal: null }));
    expect(heard).toHaveLength(90);
    await database.close();
  });

  test("goes on after a restart where it stood, also when everything was trimmed and the clock was set back", async () => {
    const first = await open("restart.db");
    await first.append("a");
    await first.append("b");
    await first.retention(0, 0).trim();
    expect(await first.types()).toEqual([]);
    await first.database.close();
    const second = await open("restart.db");
    await second.append("c");
    const [event] = second.events.read(0, 10);
    expect(event?.seq).toBe(3);
    await second.database.close();
  });
});

describe("a clock that is set back", () => {
  const year = 365 * 86_400_000;

  test("gives events their own time, while ids go on rising, also after a restart", async () => {
    const first = await open("back.db");
    first.clock.wrong = year;
    await first.append("ahead");
    first.clock.wrong = 0;
    await first.append("right");
    await first.database.close();
    const second = await open("back.db");
    await second.append("later");
    const events = second.events.read(0, 10);
    const right = "2027-01-15T08:00:00.000Z";
    expect(events.map(({ type, timestamp }) => [type, timestamp])).toEqual([
      ["ahead", "2028-01-15T08:00:00.000Z"],
      ["right", right],
      ["later", right],
    ]);
    const ids = events.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort());
    expect(await Promise.all(ids.map((id) => second.events.seqOf(id)))).toEqual([1, 2, 3]);
    await second.database.close();
  });

  test("neither empties the log nor keeps it for ever", async () => {
    const { clock, database, append, retention, types } = await open("back-trim.db");
    await append("before");
    clock.wrong = year;
    for (let n = 0; n < 600; n++) await append("ahead");
    clock.wrong = 0;
    await append("after");
    const second = retention(1_000, 1_000_000);
    await second.trim();
    expect(await types()).toHaveLength(602);
    clock.time += 1_001;
    await append("young");
    await second.trim();
    expect(await types()).toEqual(["young"]);
    await database.close();
  });
});

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

  test("a year ahead for some seconds, and at a restart meanwhile, removes nothing that was young", async () => {
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

  test("decades behind for a minute, as a machine without a battery starts, removes nothing that was young", async () => {
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
    // The first events are too old by now, and the one of the wrong clock is no reason to remove those between.
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

describe("replay", () => {
  test("goes page by page, of some types, as far as listeners were told", async () => {
    const { database, events, append } = await open("pages.db");
    for (let n = 0; n < 10; n++) await append(n % 3 === 0 ? "a" : "b");
    const page = async (after: number, width: number) =>
      events.page({ after, until: events.flushedSeq, width, types: ["a"] });
    const first = await page(0, 5);
    expect(first?.events.map(({ seq }) => seq)).toEqual([1, 4]);
    expect(first?.end).toBe(5);
    const second = await page(5, 100);
    expect(second?.events.map(({ seq }) => seq)).toEqual([7, 10]);
    expect(second?.end).toBe(10);
    expect(events.at(7)?.payload).toEqual({ type: "a" });
    expect(second?.events[0]?.timestamp).toBe(events.at(7)?.timestamp ?? "");
    await database.close();
  });

  test("knows what it does not hold any more", async () => {
    const { database, events, append, retention } = await open("gaps.db");
    for (let n = 0; n < 10; n++) await append("a");
    const ids = events.read(0, 10).map(({ id }) => id);
    await retention(1e9, 5).trim();
    const page = (after: number) => events.page({ after, until: 10, width: 100, types: ["a"] });
    expect(page(3)).toBeNull();
    expect(page(5)?.events).toHaveLength(5);
    expect(events.at(5)).toBeNull();
    const places = await Promise.all(ids.map((id) => events.seqOf(id)));
    expect(places).toEqual([null, null, null, null, 5, 6, 7, 8, 9, 10]);
    // The same seqs with another time belong to another log; a later seq does not exist yet.
    const [at = 0] = ids.map((id) => parseEventId(id)?.at ?? 0);
    for (const id of [eventId(at - 1, 7), eventId(at, 11), eventId(at - 1, 5), "evt_7", ""])
      expect(events.seqOf(id)).toBeNull();
    await database.close();
    const again = await open("gaps.db");
    expect(again.events.seqOf(ids[4] ?? "")).toBe(5);
    expect(again.events.seqOf(ids[3] ?? "")).toBeNull();
    await again.database.close();
  });

  test("an event that was taken back leaves no gap, and its number goes to the next event", async () => {
    const { database, events, append } = await open("holes.db");
    await append("a");
    const taken = database.transactLong("test", async (tx) => {
      events.append(tx, { type: "a", source: "auth", payload: {}, principal: null });
      throw new Error("taken back");
    });
    await expect(taken).rejects.toThrow("taken back");
    await append("a");
    const page = events.page({ after: 0, until: events.flushedSeq, width: 10, types: ["a"] });
    expect(page?.events.map(({ seq }) => seq)).toEqual([1, 2]);
    const [at = 0] = events.read(0, 1).map(({ id }) => parseEventId(id)?.at ?? 0);
    expect(events.seqOf(eventId(at, 3))).toBeNull();
    await database.close();
  });
});

describe("replay over a long log", () => {
  test("passes over what is not asked for, and finds exactly what is", async () => {
    const { database, events, retention } = await open("blocks.db");
    const seed = randomSeed("blocks");
    const random = randomNumbers(seed);
    const written = Array.from({ length: 4_000 }, (_, n) => (random() < 0.002 ? "rare" : `common${n % 3}`));
    const append = (types: readonly string[]) =>
      database.transact((tx) => {
        for (const type of types) events.append(tx, { type, source: "jobs", payload: {}, principal: null });
      });
    await append(written);
    const find = async (types: string[], start: number, until: number) => {
      const found: number[] = [];
      let steps = 0;
      for (let after = start; after < until; steps++) {
        const page = events.page({ after, until, width: 100, types });
        if (page === null) return { found: null, steps };
        found.push(...page.events.map(({ seq }) => seq));
        expect(page.end).toBeGreaterThan(after);
        after = page.end;
      }
      return { found, steps };
    };
    const expected = (types: string[], start: number, until: number) =>
      [...written.keys()]
        .map((n) => n + 1)
        .filter((seq) => seq > start && seq <= until && types.includes(written[seq - 1] ?? ""));
    for (let run = 0; run < 40; run++) {
      const types = [["rare"], ["none"], ["rare", "common1"]][run % 3] ?? [];
      const start = Math.floor(random() * 4_000);
      const until = start + Math.floor(random() * (4_000 - start));
      expect((await find(types, start, until)).found).toEqual(expected(types, start, until));
    }
    // All blocks are known by now: blocks without the type are skipped at once, except the block that is not full.
    expect((await find(["none"], 0, 4_000)).steps).toBeLessThan(5);
    // A block is not read before the block is full.
    await append(["late", "late", "late"]);
    expect((await find(["late"], 0, 4_003)).found).toEqual([4_001, 4_002, 4_003]);
    expect(events.types.size).toBe(15);
    await retention(1e9, 1_000).trim();
    expect((await find(["none"], 0, 4_003)).found).toBeNull();
    // The events up to 3,003 were trimmed: only the block that also holds later events is kept.
    expect(events.types.size).toBe(4);
    expect((await find(["rare"], 3_003, 4_003)).found).toEqual(expected(["rare"], 3_003, 4_003));
    expect(events.types.size).toBe(4);
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

  test("by bytes, oldest first, and no more than must go, also after a restart", async () => {
    const first = await open("bytes.db");
    await write(first, 1_000);
    const last = first.events.lastSeq();
    await first.retention(1e9, 1e9, 4e6).trim();
    const left = await stored(first);
    expect(left).toBeLessThanOrEqual(4e6);
    // The log's size is measured in steps of a quarter of a megabyte.
    expect(left).toBeGreaterThan(3.5e6);
    expect(first.events.read(0, 1e6).at(-1)?.seq).toBe(last);
    await first.retention(1e9, 1e9, 4e6).trim();
    expect(await stored(first)).toBe(left);
    await first.database.close();
    const second = await open("bytes.db");
    expect(Math.abs(second.events.bytes(second.database.reader) - left)).toBeLessThan(300_000);
    await second.retention(1e9, 1e9, 4e6).trim();
    expect(await stored(second)).toBe(left);
    await write(second, 100);
    await second.retention(1e9, 1e9, 2e6).trim();
    expect(await stored(second)).toBeLessThanOrEqual(2e6);
    expect(await second.types()).not.toEqual([]);
    // Trimmed by count, then by bytes.
    await second.retention(1e9, 10, 2e6).trim();
    await write(second, 50);
    await second.retention(1e9, 1e9, 2e6).trim();
    expect(await second.types()).toHaveLength(60);
    await second.database.close();
  });

  test("by bytes also what was written before the log was measured", async () => {
    const steps = eventSchema.steps.filter(
      (step) => !/partial|_event_sizes|_event_clock|COLUMN (?:time|basis)/.test(String(step)),
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
    await log.retention(1e15, 1e9, 2e6).trim();
    expect(await stored(log)).toBeLessThanOrEqual(2e6);
    expect(await stored(log)).toBeGreaterThan(1.5e6);
    await log.database.close();
  });

  test("while the log grows, without waiting for the next turn", async () => {
    const log = await open("growth.db");
    const stopping = new AbortController();
    const retention = log.retention(1e9, 1e9, 2e6);
    retention.start(stopping.signal);
    for (let n = 0; n < 20; n++) await write(log, 100);
    const end = performance.now() + 4_000;
    while ((await stored(log)) > 2.3e6 && performance.now() < end) await Bun.sleep(5);
    expect(await stored(log)).toBeLessThanOrEqual(2.3e6);
    stopping.abort();
    await retention.settled();
    await log.database.close();
  });

  test("by count and by age, oldest first, in steps", async () => {
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
