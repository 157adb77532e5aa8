/** Admission: width in slots and bytes, each caller's share, bounds, the next caller, and the end of slow holders. */
import { describe, expect, test } from "bun:test";
import { Admission, type AdmissionOptions } from "./admission.ts";
import { AppError } from "./app-error.ts";

const options: AdmissionOptions = {
  limit: "queries",
  message: "Too many.",
  width: 2,
  share: 1,
  maxWaiting: 4,
  waitingShare: 2,
};

async function refusalOf(work: Promise<unknown>): Promise<AppError> {
  const thrown = await work.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof AppError)) throw new Error("It was not refused");
  return thrown;
}

test("a caller holds no more than its share, and others pass", async () => {
  const gate = new Admission(options);
  const first = await gate.take({ caller: "a" });
  let hasStarted = false;
  const second = gate.take({ caller: "a" }).then((place) => {
    hasStarted = true;
    return place;
  });
  const other = await gate.take({ caller: "b" });
  expect(hasStarted).toBe(false);
  first.release();
  const place = await second;
  expect(hasStarted).toBe(true);
  place.release();
  other.release();
});

test("beyond the queue's bounds, work is refused at once with the limit's name", async () => {
  const gate = new Admission(options);
  const places = [await gate.take({ caller: "a" }), await gate.take({ caller: "b" })];
  const waiting = ["a", "a", "b", "c"].map((caller) => gate.take({ caller }));
  const refused = await refusalOf(gate.take({ caller: "d" }));
  expect(refused).toMatchObject({ code: "unavailable", limit: "queries", retryAfter: 1 });
  for (const place of places) place.release();
  // In any order of starts.
  await Promise.all(waiting.map(async (each) => (await each).release()));
  (await gate.take({ caller: "d" })).release();
});

test("a caller's part of the queue is bounded; the rest is for others", async () => {
  const gate = new Admission(options);
  const first = await gate.take({ caller: "a" });
  const waiting = [gate.take({ caller: "a" }), gate.take({ caller: "a" })];
  expect((await refusalOf(gate.take({ caller: "a" }))).limit).toBe("queries");
  (await gate.take({ caller: "b" })).release();
  first.release();
  for (const each of waiting) (await each).release();
});

test("the caller with the least use is next", async () => {
  const gate = new Admission({ ...options, width: 1 });
  await gate.run(() => Bun.sleep(30), { caller: "heavy" });
  const first = await gate.take({ caller: "other" });
  const order: string[] = [];
  const work = ["heavy", "light"].map((caller) =>
    gate.run(
      async () => {
        order.push(caller);
      },
      { caller },
    ),
  );
  first.release();
  await Promise.all(work);
  expect(order).toEqual(["light", "heavy"]);
});

test("a caller that leaves frees its place in the queue, and never starts", async () => {
  const gate = new Admission({ ...options, width: 1, maxWaiting: 1 });
  const first = await gate.take({ caller: "a" });
  const leaving = new AbortController();
  let hasRun = false;
  const left = refusalOf(
    gate.run(
      async () => {
        hasRun = true;
      },
      { caller: "b", signal: leaving.signal },
    ),
  );
  leaving.abort();
  expect((await left).limit).toBeUndefined();
  const next = gate.take({ caller: "c" });
  first.release();
  (await next).release();
  expect(hasRun).toBe(false);
  expect((await refusalOf(gate.take({ caller: "d", signal: leaving.signal }))).limit).toBeUndefined();
});

test("work that fails gives its slot back, once", async () => {
  const gate = new Admission({ ...options, width: 1 });
  await expect(gate.run(() => Promise.reject(new Error("no")), { caller: "a" })).rejects.toThrow("no");
  const first = await gate.take({ caller: "a" });
  first.release();
  first.release();
  const held = await gate.take({ caller: "a" });
  let hasStarted = false;
  void gate.take({ caller: "b" }).then(() => {
    hasStarted = true;
  });
  await Bun.sleep(1);
  expect(hasStarted).toBe(false);
  held.release();
});

/** A gate of width 1 with a separate clock. `work` notes the start in `order` and takes `ms`. */
function timed() {
  let now = 0;
  const gate = new Admission({ ...options, width: 1, maxWaiting: 100, waitingShare: 100, now: () => now });
  const order: string[] = [];
  const work = (caller: string, ms: number, then: () => void = () => undefined) =>
    gate.run(
      async () => {
        order.push(caller);
        now += ms;
        then();
      },
      { caller },
    );
  return { order, work };
}

test("new callers, however many, do not delay a caller with some use for ever", async () => {
  const { order, work } = timed();
  await work("regular", 100);
  let count = 0;
  const all: Promise<void>[] = [];
  // A new caller always waits.
  const another = (): void => {
    count += 1;
    if (count <= 40) all.push(work(`new ${count}`, 1_000, another));
  };
  const first = work("first", 1_000, another);
  const waiting = work("regular", 1);
  await first;
  await waiting;
  expect(order.lastIndexOf("regular")).toBeGreaterThan(3);
  expect(count).toBeLessThan(10);
  // No more are to come.
  count = 40;
  await Promise.all(all);
});

test("a caller with much waiting work sends a single piece at a time: a new caller passes the others", async () => {
  const { order, work } = timed();
  const crowd = Array.from({ length: 20 }, () => work("crowd", 3_000));
  // Each piece of work takes three seconds: the crowd's work has waited long by now.
  await crowd[4];
  const next = work("new", 1);
  await next;
  expect(order.indexOf("new")).toBeLessThan(8);
  await Promise.all(crowd);
});

describe("an admission in bytes", () => {
  const open = (): Admission => new Admission({ width: 100, share: 50, now: () => now });
  const now = 0;

  test("counts sizes and their changes, and admits a size beyond the width alone", async () => {
    const room = open();
    expect(room.has({ caller: "a", size: 500 })).toBe(true);
    const own = room.hold({ caller: "a", size: 40 });
    expect([room.has({ caller: "a", size: 20 }), room.has({ caller: "b", size: 50 })]).toEqual([false, true]);
    expect([room.has({ size: 60 }), room.has({ size: 61 })]).toEqual([true, false]);
    own.resize(10);
    expect([room.taken, room.has({ caller: "a", size: 40 })]).toEqual([10, true]);
    own.release();
    own.resize(30);
    expect(room.taken).toBe(0);
  });

  test("work that shrinks lets other work start, within the free capacity", async () => {
    const room = open();
    const first = room.hold({ size: 100 });
    let started = 0;
    const waiting = Array.from({ length: 6 }, async (_, n) => {
      const place = await room.take({ caller: `caller ${n}`, size: 20 });
      started += 1;
      return place;
    });
    first.resize(60);
    await Bun.sleep(1);
    expect([started, room.taken]).toEqual([2, 100]);
    first.release();
    await Bun.sleep(1);
    expect([started, room.taken]).toEqual([5, 100]);
    for (const place of await Promise.all([...waiting.slice(0, 5)])) place.release();
    (await waiting[5])?.release();
    expect(room.taken).toBe(0);
  });

  test("work that has begun waits past the bounds of the queue, and an impatient ask is refused", async () => {
    const room = new Admission({ width: 10, maxWaiting: 1, patienceMs: 1, limit: "answers" });
    const first = room.hold({ size: 10 });
    const again = [room.takeAgain({ size: 5 }), room.takeAgain({ size: 5 })];
    expect((await refusalOf(room.take({ size: 1 }))).limit).toBe("answers");
    first.release();
    for (const each of again) (await each).release();
    const second = room.hold({ size: 10 });
    expect((await refusalOf(room.take({ size: 1 }))).limit).toBe("answers");
    second.release();
  });

  test("the slowest holders are ended for an ask: the caller's own holders if its share is full", async () => {
    const room = open();
    const ended: string[] = [];
    const hold = (caller: string, { size, slowness }: { size: number; slowness: number }) =>
      room.hold({ caller, size, holder: { slowness: () => slowness, end: () => ended.push(`${caller} ${slowness}`) } });
    hold("a", { size: 25, slowness: 1 });
    hold("a", { size: 20, slowness: 2 });
    hold("b", { size: 30, slowness: 3 });
    hold("b", { size: 15, slowness: 0 });
    await room.take({ caller: "a", size: 10 });
    expect(ended).toEqual(["a 2"]);
    await room.take({ caller: "c", size: 40 });
    expect(ended).toEqual(["a 2", "b 3"]);
    const waiting = room.take({ caller: "d", size: 50 });
    expect(ended).toEqual(["a 2", "b 3", "a 1"]);
    expect(room.taken).toBe(65);
    void waiting;
  });
});

test("pieces of work in turns let other work run in between", async () => {
  const turns = new Admission({ width: 1 });
  const order: string[] = [];
  const pieces = ["a", "b"].map((caller) => turns.inTurn(() => order.push(caller), { caller }));
  setImmediate(() => order.push("others"));
  await Promise.all(pieces);
  expect(order).toEqual(["a", "others", "b"]);
});

test("an ask that waits for a place of its own caller wants no place of others", async () => {
  const admission = new Admission({ width: 2, share: 1 });
  const places = [await admission.take({ caller: "a" }), await admission.take({ caller: "b" })];
  const second = admission.take({ caller: "a" });
  expect(admission.isWanted).toBe(false);
  const other = admission.take({ caller: "c" });
  expect(admission.isWanted).toBe(true);
  for (const place of places) place.release();
  for (const place of await Promise.all([second, other])) place.release();
  expect(admission.isWanted).toBe(false);
});
