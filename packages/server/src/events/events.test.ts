import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../test/kit.ts";
import { Database } from "../database/index.ts";
import { Clock } from "../kernel/index.ts";
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
  const database = new Database({ path: join(folder, name), logger, onFatal: () => undefined });
  await database.prepare([eventSchema]);
  const events = new EventLog({ database, clock, logger });
  await events.start();
  const append = (type: string) =>
    database.transact((tx) => events.append(tx, { type, source: "auth", payload: { type }, principal: null }));
  const retention = (maxAgeMs: number, maxCount: number) =>
    new EventRetention({ database, clock, logger, maxAgeMs, maxCount });
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

describe("retention", () => {
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
