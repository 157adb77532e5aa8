/** The event log: ids, the order of events, a clock that is set back, and replay. */
// Promises: E1.
import { describe, expect, test } from "bun:test";
import { openEventLog } from "../../../test/event-log.ts";
import { temporaryFolder } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { until } from "../../../test/sockets.ts";
import { eventId, type LoggedEvent, parseEventId } from "./index.ts";

const folder = temporaryFolder();
const open = (name: string) => openEventLog(folder, name);

describe("ids", () => {
  test("sort in commit order and contain their position", () => {
    const ids = [eventId(1, 5), eventId(1, 16), eventId(1, 1_000_000), eventId(2, 1_000_001), eventId(1.8e12, 2 ** 40)];
    expect([...ids].sort()).toEqual(ids);
    expect(ids.map((id) => parseEventId(id)?.seq)).toEqual([5, 16, 1_000_000, 1_000_001, 2 ** 40]);
  });

  test.each(["", "evt_", "evt_xyz", "rec_0000000000010000000000005", "evt_00000000000100000000000050"])(
    "%s is no id",
    (id) => expect(parseEventId(id)).toBeNull(),
  );
});

describe("the log", () => {
  test("listeners receive the events on disk, in commit order, and no event that was taken back", async () => {
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

  test("the listeners behind a slow listener receive each event once, after the slow listener", async () => {
    const { database, events, append } = await open("slow.db");
    const heard: string[] = [];
    events.listen(async () => {
      await Bun.sleep(1);
      heard.push("slow");
    });
    for (const name of ["second", "third"]) events.listen(() => heard.push(name));
    await append("a");
    await append("b");
    await until(() => heard.length === 6);
    expect(heard).toEqual(["slow", "second", "third", "slow", "second", "third"]);
    await database.close();
  });

  test("goes on after a restart from the last position, also after everything was trimmed and the clock was set back", async () => {
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

  test("neither empties the log nor retains the log for ever", async () => {
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

describe("replay", () => {
  test("goes page by page, of some types, up to the last published event", async () => {
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

  test("reports the part that the log no longer has", async () => {
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
  test("skips other types, and finds exactly the asked types", async () => {
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
