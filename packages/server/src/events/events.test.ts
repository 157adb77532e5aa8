import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../test/random.ts";
import { SqliteDatabase } from "../database/index.ts";
import { Clock, inTurn } from "../kernel/index.ts";
import { EventLog, EventRetention, eventId, eventSchema, type LoggedEvent, parseEventId } from "./index.ts";

const folder = temporaryFolder();

class TestClock extends Clock {
  time = 1_800_000_000_000;
  override now(): number {
    return this.time;
  }
}

async function open(name: string) {
  const logger = quietLogger();
  const clock = new TestClock();
  const database = new SqliteDatabase({ path: join(folder, name), logger, onFatal: () => undefined });
  await database.prepare([eventSchema]);
  const events = new EventLog({ database, clock, logger });
  await events.start();
  const append = (type: string) =>
    database.transact((tx) => events.append(tx, { type, source: "auth", payload: { type }, principal: null }));
  const retention = (maxAgeMs: number, maxCount: number, maxBytes = 2 ** 40) =>
    new EventRetention({ database, events, clock, logger, maxAgeMs, maxCount, maxBytes });
  const types = async () => (await events.read(0, 1_000_000)).map(({ type }) => type);
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
    expect(await events.read(0, 1_000)).toEqual(heard);
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
    const [event] = await second.events.read(0, 10);
    expect(event?.seq).toBe(3);
    await second.database.close();
  });
});

describe("a clock that is set back", () => {
  const year = 365 * 86_400_000;

  test("gives events their own time, while ids go on rising, also after a restart", async () => {
    const first = await open("back.db");
    first.clock.time += year;
    await first.append("ahead");
    first.clock.time -= year;
    await first.append("right");
    await first.database.close();
    const second = await open("back.db");
    await second.append("later");
    const events = await second.events.read(0, 10);
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
    clock.time += year;
    for (let n = 0; n < 600; n++) await append("ahead");
    clock.time -= year;
    await append("after");
    await retention(1_000, 1_000_000).trim();
    expect(await types()).toHaveLength(602);
    clock.time += 1_001;
    await append("young");
    await retention(1_000, 1_000_000).trim();
    expect(await types()).toEqual(["young"]);
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
    expect((await events.at(7))?.payload).toEqual({ type: "a" });
    expect(second?.events[0]?.timestamp).toBe((await events.at(7))?.timestamp ?? "");
    await database.close();
  });

  test("knows what it does not hold any more", async () => {
    const { database, events, append, retention } = await open("gaps.db");
    for (let n = 0; n < 10; n++) await append("a");
    const ids = (await events.read(0, 10)).map(({ id }) => id);
    await retention(1e9, 5).trim();
    const page = (after: number) => events.page({ after, until: 10, width: 100, types: ["a"] });
    expect(await page(3)).toBeNull();
    expect((await page(5))?.events).toHaveLength(5);
    expect(await events.at(5)).toBeNull();
    const places = await Promise.all(ids.map((id) => events.seqOf(id)));
    expect(places).toEqual([null, null, null, null, 5, 6, 7, 8, 9, 10]);
    // The same places at another time are another log's; a later one has not been.
    const [at = 0] = ids.map((id) => parseEventId(id)?.at ?? 0);
    for (const id of [eventId(at - 1, 7), eventId(at, 11), eventId(at - 1, 5), "evt_7", ""])
      expect(await events.seqOf(id)).toBeNull();
    await database.close();
    const again = await open("gaps.db");
    expect(await again.events.seqOf(ids[4] ?? "")).toBe(5);
    expect(await again.events.seqOf(ids[3] ?? "")).toBeNull();
    await again.database.close();
  });

  test("a place whose transaction was taken back is nobody's", async () => {
    const { database, events, append } = await open("holes.db");
    await append("a");
    const taken = database.transact(async (tx) => {
      await events.append(tx, { type: "a", source: "auth", payload: {}, principal: null });
      throw new Error("taken back");
    });
    await expect(taken).rejects.toThrow("taken back");
    await append("a");
    const page = await events.page({ after: 0, until: events.flushedSeq, width: 10, types: ["a"] });
    expect(page?.events.map(({ seq }) => seq)).toEqual([1, 3]);
    const [at = 0] = (await events.read(0, 1)).map(({ id }) => parseEventId(id)?.at ?? 0);
    expect(await events.seqOf(eventId(at, 2))).toBeNull();
    await database.close();
  });
});

describe("replay over a long log", () => {
  test("passes over what is not asked for, and finds exactly what is", async () => {
    const { database, events, retention } = await open("blocks.db");
    const seed = randomSeed("blocks");
    const random = randomNumbers(seed);
    const written = Array.from({ length: 4_000 }, (_, n) => (random() < 0.002 ? "rare" : `common${n % 3}`));
    await database.transact((tx) =>
      inTurn(written, (type) => events.append(tx, { type, source: "jobs", payload: {}, principal: null })),
    );
    const find = async (types: string[], start: number, until: number) => {
      const found: number[] = [];
      let steps = 0;
      for (let after = start; after < until; steps++) {
        const page = await events.page({ after, until, width: 100, types });
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
    // All blocks are known by now: what is not there is passed over at once, but for the block that is not full.
    expect((await find(["none"], 0, 4_000)).steps).toBeLessThan(5);
    // A full block is never looked at before it is full.
    await database.transact((tx) =>
      inTurn([1, 2, 3], () => events.append(tx, { type: "late", source: "jobs", payload: {}, principal: null })),
    );
    expect((await find(["late"], 0, 4_003)).found).toEqual([4_001, 4_002, 4_003]);
    expect(events.types.size).toBe(15);
    await retention(1e9, 1_000).trim();
    expect((await find(["none"], 0, 4_003)).found).toBeNull();
    // Places up to 3,003 were trimmed: of their blocks, the one that holds later ones too is kept.
    expect(events.types.size).toBe(4);
    expect((await find(["rare"], 3_003, 4_003)).found).toEqual(expected(["rare"], 3_003, 4_003));
    expect(events.types.size).toBe(4);
    await database.close();
  });
});

describe("retention", () => {
  const payload = { text: "x".repeat(10_000) };
  const write = (log: Awaited<ReturnType<typeof open>>, count: number) =>
    log.database.transact((tx) =>
      inTurn(Array.from({ length: count }), () =>
        log.events.append(tx, { type: "big", source: "jobs", payload, principal: null }),
      ),
    );
  const stored = async ({ events }: Awaited<ReturnType<typeof open>>) =>
    (await events.read(0, 100_000)).reduce((sum, event) => sum + event.toRow().payload.length, 0);

  test("by bytes, oldest first, and no more than must go, also after a restart", async () => {
    const first = await open("bytes.db");
    await write(first, 1_000);
    const last = first.events.flushedSeq;
    await first.retention(1e9, 1e9, 4e6).trim();
    const left = await stored(first);
    expect(left).toBeLessThanOrEqual(4e6);
    // The log is measured in steps of a quarter of a megabyte.
    expect(left).toBeGreaterThan(3.5e6);
    expect((await first.events.read(0, 1e6)).at(-1)?.seq).toBe(last);
    await first.retention(1e9, 1e9, 4e6).trim();
    expect(await stored(first)).toBe(left);
    await first.database.close();
    const second = await open("bytes.db");
    expect(Math.abs((await second.events.size.bytes(second.database.reader)) - left)).toBeLessThan(300_000);
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
    const steps = eventSchema.steps.filter((step) => !/partial|_event_sizes|COLUMN (?:time|basis)/.test(step));
    const path = join(folder, "old.db");
    const old = new SqliteDatabase({ path, logger: quietLogger(), onFatal: () => undefined });
    await old.prepare([{ module: "events", steps }]);
    await old.transact((tx) =>
      inTurn(Array.from({ length: 500 }), () =>
        tx.run("INSERT INTO _events (at, type, source, payload) VALUES (1, 'old', 'jobs', ?)", JSON.stringify(payload)),
      ),
    );
    await old.close();
    const log = await open("old.db");
    expect(await log.types()).toHaveLength(500);
    expect((await log.events.at(1))?.isPartial).toBe(false);
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
    await retention(1_000, 2_000).trim();
    expect(await types()).toHaveLength(1_200);
    await retention(1_000, 1_150).trim();
    expect((await types())[0]).toBe("0.50");
    clock.time += 500;
    await append("young");
    clock.time += 501;
    await retention(1_000, 2_000).trim();
    expect(await types()).toEqual(["young"]);
    await database.close();
  });
});
