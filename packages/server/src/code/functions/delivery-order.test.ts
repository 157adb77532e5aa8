/** The order of deliveries: the dispatcher of runs with the table of deliveries, and files that come and go. */
// Promises: E3.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { keepsAll } from "../../../test/event-log.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { until } from "../../../test/sockets.ts";
import { Clock, system } from "../../base/kernel/index.ts";
import { Database } from "../../store/database/index.ts";
import { EventLog, EventRetention, eventSchema } from "../../store/events/index.ts";
import { Dispatcher, type NextState } from "../runs/dispatcher.ts";
import { linear } from "../runs/index.ts";
import { Deliveries, type DeliveryHead, lastIdOf } from "./delivery-table.ts";
import type { Trigger } from "./function-file.ts";
import { functionSchema } from "./schema.ts";

const folder = temporaryFolder();

function trigger(path: string): Trigger {
  return {
    path,
    handler: "onUpdate",
    kind: "onUpdate",
    collection: "a",
    eventType: "a.updated",
    timeoutMs: 1_000,
    policy: linear(0),
  };
}

/** A delivery that runs until the test says what became of it. */
interface Running extends DeliveryHead {
  end(next?: NextState): Promise<void>;
}

async function open(name: string, paths: readonly string[], width = 10) {
  const logger = quietLogger();
  const clock = new Clock();
  const database = new Database({ path: join(folder, name), logger, onFatal: () => undefined });
  await database.prepare([eventSchema, functionSchema]);
  const events = new EventLog({ database, clock, logger });
  await events.start();
  const deliveries = new Deliveries(database, events);
  const running: Running[] = [];
  const runningNow = (): string[] => running.map(({ path, key }) => `${path} ${key}`).sort();
  const started: string[] = [];
  const dispatcher = new Dispatcher<DeliveryHead>({
    clock,
    now: Date.now,
    logger,
    width,
    mayStart: () => true,
    onLook: () => undefined,
    attempt(delivery) {
      const { promise, resolve } = Promise.withResolvers<NextState>();
      started.push(`${delivery.path} ${delivery.key}`);
      running.push({
        ...delivery,
        async end(next = "over") {
          running.splice(
            running.findIndex(({ id }) => id === delivery.id),
            1,
          );
          if (next === "over") await database.transact((tx) => deliveries.remove(tx, delivery));
          resolve(next);
          await Bun.sleep(1);
        },
      });
      return promise;
    },
  });
  const triggers = paths.map(trigger);
  await deliveries.register(triggers);
  events.recordWith({
    wanted: { has: () => true },
    beforeTrim: (tx, first, last) => deliveries.keepEvents(tx, first, last),
    record(tx, appended) {
      tx.onDurable(() => dispatcher.written({ id: lastIdOf(appended.event.seq) }));
      const wanted =
        appended.event.type === "a.updated" ? triggers : triggers.filter(({ path }) => appended.event.type === path);
      return deliveries.add(tx, appended, wanted);
    },
  });
  const use = (used: readonly string[]): void =>
    dispatcher.use(
      used.map((path) => deliveries.sourceOf(path, [trigger(path)], Math.max(1, Math.floor((width * 2) / 3)))),
    );
  use(paths);
  dispatcher.start(0);
  return {
    database,
    deliveries,
    dispatcher,
    running,
    started,
    use,
    /** A change of a record; with a path, only that file wants it. */
    async change(subject: string, path = "a.updated"): Promise<void> {
      await database.transact((tx) =>
        events.append(tx, { type: path, source: "collections", payload: { id: subject }, principal: system }),
      );
      await Bun.sleep(1);
    },
    retention: new EventRetention({
      clock,
      config: { ...keepsAll, "events.retention": 0, "events.maxCount": 0 },
      database,
      events,
      logger,
    }),
    runningNow,
    /** Waits until exactly these deliveries run. */
    async showsRunning(expected: readonly string[]): Promise<void> {
      await until(() => Bun.deepEquals(runningNow(), expected), 10_000).catch(() => undefined);
      expect(runningNow()).toEqual([...expected]);
    },
    async close() {
      for (const delivery of [...running]) await delivery.end("stays");
      await dispatcher.stop();
      await database.close();
    },
  };
}

describe("runs again", () => {
  test("a run that is retried in the moment of its end runs again, once", async () => {
    const opened = await open("reopened.db", ["a"]);
    await opened.change("x");
    await opened.change("x");
    const [first] = opened.running;
    if (first === undefined) throw new Error("nothing runs");
    const { end: _, ...head } = first;
    // The failure and the retry are stored before the attempt is told that it ended.
    opened.dispatcher.reopened(head);
    await first.end("stays");
    expect(opened.started).toEqual(["a x", "a x"]);
    expect(opened.running.map(({ id }) => id)).toEqual([head.id]);
    await opened.running[0]?.end();
    expect(opened.running.map(({ id }) => id)).not.toContain(head.id);
    expect(opened.started).toHaveLength(3);
    await opened.running[0]?.end();
    expect(opened.started).toHaveLength(3);
    await opened.close();
  });

  test("a run that is reported as reopened after the next attempt has begun runs once, and again after the next retry", async () => {
    const opened = await open("late.db", ["a"]);
    await opened.change("x");
    const [first] = opened.running;
    if (first === undefined) throw new Error("nothing runs");
    const { end: _, ...head } = first;
    // The look at the table came before the report: the attempt of the retry is under way.
    opened.dispatcher.reopened(head);
    const set = (failedAt: number | null) =>
      opened.database.transact((tx) => tx.run("UPDATE _deliveries SET failedAt = ? WHERE id = ?", failedAt, head.id));
    await set(1);
    await first.end("stays");
    expect(opened.started).toEqual(["a x"]);
    expect(opened.running).toEqual([]);
    await set(null);
    opened.dispatcher.reopened(head);
    await Bun.sleep(30);
    expect(opened.started).toEqual(["a x", "a x"]);
    await opened.running[0]?.end();
    await opened.close();
  });

  test("a run that is due for a retry during a reload of the files runs once", async () => {
    const opened = await open("reloaded.db", ["a"]);
    await opened.change("x");
    const [first] = opened.running;
    if (first === undefined) throw new Error("nothing runs");
    opened.use(["a"]);
    await first.end({ failures: 1, notBefore: Date.now() + 500 });
    await Bun.sleep(30);
    expect(opened.started).toHaveLength(1);
    while (opened.started.length < 2) await Bun.sleep(5);
    expect(opened.running.map(({ failures }) => failures)).toEqual([1]);
    await opened.running[0]?.end();
    await Bun.sleep(5);
    expect(opened.started).toHaveLength(2);
    await opened.close();
  });
});

describe("order", () => {
  test("the deliveries of an event run together, the deliveries of the record's next event afterwards", async () => {
    const opened = await open("order.db", ["a", "b"]);
    await opened.change("x");
    await opened.change("x");
    await opened.change("y");
    await opened.showsRunning(["a x", "a y", "b x", "b y"]);
    await opened.running.find(({ path, key }) => path === "a" && key === "x")?.end();
    await opened.showsRunning(["a y", "b x", "b y"]);
    await opened.running.find(({ path, key }) => path === "b" && key === "x")?.end();
    await opened.showsRunning(["a x", "a y", "b x", "b y"]);
    await opened.close();
  });

  test("a delivery that waits for its retry holds back later deliveries", async () => {
    const opened = await open("again.db", ["a"]);
    await opened.change("x");
    await opened.change("x");
    const [first] = opened.running;
    await first?.end({ failures: 1, notBefore: Date.now() + 500 });
    await opened.showsRunning([]);
    while (opened.running.length === 0) await Bun.sleep(5);
    expect(opened.running.map(({ failures }) => failures)).toEqual([1]);
    await opened.running[0]?.end();
    expect(opened.running.map(({ failures }) => failures)).toEqual([0]);
    await opened.close();
  });

  test("random changes, added and removed files, random ends: each delivery runs singly, in order, and is never lost", async () => {
    const random = randomNumbers(randomSeed("dispatcher"));
    const paths = ["a", "b", "c"];
    const opened = await open("random.db", paths, 4);
    const ran = new Map<string, number[]>();
    let changes = 0;
    const step = async (): Promise<void> => {
      const kind = random();
      if (kind < 0.45 && changes < 300) {
        changes += 1;
        await opened.change(`r${Math.floor(random() * 5)}`);
      } else if (kind < 0.5) {
        opened.use(paths.filter(() => random() < 0.7));
        await Bun.sleep(1);
      } else {
        const ids = opened.running.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        const delivery = opened.running[Math.floor(random() * opened.running.length)];
        if (delivery === undefined) return;
        const key = `${delivery.path} ${delivery.key}`;
        const isLast = random() < 0.8;
        if (isLast) ran.set(key, [...(ran.get(key) ?? []), delivery.id]);
        await delivery.end(isLast ? "over" : { failures: delivery.failures + 1, notBefore: 0 });
      }
    };
    for (let n = 0; n < 1_500; n++) await step();
    opened.use(paths);
    while ((await opened.deliveries.waiting()).length > 0) {
      const [delivery] = opened.running;
      if (delivery === undefined) {
        await Bun.sleep(1);
        continue;
      }
      const key = `${delivery.path} ${delivery.key}`;
      ran.set(key, [...(ran.get(key) ?? []), delivery.id]);
      await delivery.end();
    }
    while (opened.dispatcher.isBusy) await Bun.sleep(1);
    for (const ids of ran.values()) expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect([...ran.values()].flat()).toHaveLength(3 * changes);
    expect(await opened.deliveries.waiting()).toEqual([]);
    await opened.close();
  });
});

describe("fairness", () => {
  test("a file with more waiting deliveries than fit into memory keeps no other file from running", async () => {
    const opened = await open("fair.db", ["slow", "quick"], 6);
    for (let n = 0; n < 2_500; n++) void opened.change(`s${n}`, "slow");
    await opened.change("q", "quick");
    await until(() => opened.runningNow().length === 5);
    await Bun.sleep(100);
    expect(opened.runningNow().filter((name) => name.startsWith("slow"))).toHaveLength(4);
    expect(opened.runningNow()).toContain("quick q");
    let over = 0;
    while (over < 2_501) {
      const running = [...opened.running];
      over += running.length;
      await Promise.all([Bun.sleep(1), ...running.map((delivery) => delivery.end())]);
    }
    expect(over).toBe(2_501);
    expect(await opened.deliveries.waiting()).toEqual([]);
    await opened.close();
  });

  test("deliveries to a missing file wait in the table, and run when the file is back", async () => {
    const opened = await open("gone.db", ["a", "b"]);
    opened.use(["a"]);
    await opened.change("x");
    await opened.showsRunning(["a x"]);
    expect(await opened.deliveries.waiting()).toEqual([
      { path: "a", waiting: 1 },
      { path: "b", waiting: 1 },
    ]);
    opened.use(["a", "b"]);
    await opened.showsRunning(["a x", "b x"]);
    await opened.close();
  });
});

test("an event that the log has lost is stored with its pending deliveries", async () => {
  const opened = await open("kept.db", ["a"], 1);
  await opened.change("x");
  await opened.change("y");
  await opened.retention.trim();
  const [head] = await opened.deliveries.page({ after: 0, until: 1e12, limit: 10, handlers: ["a:onUpdate"] });
  const delivery = head === undefined ? null : await opened.deliveries.get(head);
  expect(delivery?.event.payload).toEqual({ id: "x" });
  expect(delivery?.event.type).toBe("a.updated");
  await opened.running[0]?.end();
  await opened.showsRunning(["a y"]);
  await opened.close();
});
