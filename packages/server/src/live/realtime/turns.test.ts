/** The shares of callers: turns of the event loop, inboxes whose socket is ended when too much waits, and budgets of processor time. */
import { describe, expect, test } from "bun:test";
import { Budgets, Inbox, Inboxes, Turns } from "./turns.ts";

/** Work of a caller that holds the event loop. */
function work(turns: Turns, done: string[], { caller, ms }: { caller: string; ms: number }): Promise<void> {
  return turns.take(caller).then((end) => {
    const until = performance.now() + ms;
    while (performance.now() < until);
    done.push(caller);
    end();
  });
}

test("callers take turns, however much a caller asks for", async () => {
  const turns = new Turns();
  const done: string[] = [];
  const all = [..."aaaaaa"].map((caller) => work(turns, done, { caller, ms: 1 }));
  all.push(work(turns, done, { caller: "b", ms: 1 }), work(turns, done, { caller: "c", ms: 1 }));
  await Promise.all(all);
  expect(done.join("")).toBe("aabcaaaa");
});

test("the event loop has its turn after some milliseconds of work", async () => {
  const turns = new Turns();
  const done: string[] = [];
  let left = 20;
  const others = new Promise<void>((resolve) => {
    const next = (): void => {
      done.push("loop");
      left -= 1;
      if (left > 0 && done.filter((each) => each === "a").length < 10) setImmediate(next);
      else resolve();
    };
    setImmediate(next);
  });
  await Promise.all([others, ...Array.from({ length: 10 }, () => work(turns, done, { caller: "a", ms: 3 }))]);
  // Two pieces fill a slice: three pieces of one caller never stand together.
  expect(done.join(" ")).not.toContain("a a a");
});

test("a turn begins at once, but not during another turn, nor after the slice is used up", async () => {
  const turns = new Turns();
  const given: string[] = [];
  const take = async (caller: string): Promise<() => void> => {
    const end = await turns.take(caller);
    given.push(caller);
    return end;
  };
  const end = await take("a");
  const waiting = take("b");
  await Promise.resolve();
  expect(given).toEqual(["a"]);
  end();
  (await waiting)();
  expect([given, turns.hasTime]).toEqual([["a", "b"], true]);
  turns.count(1_000);
  const late = take("c");
  await Promise.resolve();
  expect([given, turns.hasTime]).toEqual([["a", "b"], false]);
  await late;
  expect(given).toEqual(["a", "b", "c"]);
});

/** An inbox, and whether its socket was ended. */
class Watched extends Inbox {
  isEnded = false;

  constructor(all: Inboxes) {
    super(all, () => {
      this.isEnded = true;
    });
  }
}

const frame = "x".repeat(1_000 - 64);

describe("inboxes", () => {
  test("full inboxes end the socket with the fullest inbox, not a socket with an empty inbox", () => {
    const all = new Inboxes(10_000);
    const floods = [4, 3, 3].map((frames) => {
      const flood = new Watched(all);
      for (let n = 0; n < frames; n++) flood.put(frame);
      return flood;
    });
    expect(all.bytes).toBe(10_000);
    const innocent = new Watched(all);
    innocent.put(frame);
    expect([...floods, innocent].map(({ isEnded }) => isEnded)).toEqual([true, false, false, false]);
    expect(all.bytes).toBe(7_000);
    expect(innocent.take()).toBe(frame);
    expect(innocent.take()).toBeUndefined();
    for (const flood of floods) flood.clear();
    expect(all.bytes).toBe(0);
  });

  test("full inboxes end the sending socket if its own inbox is the fullest", () => {
    const all = new Inboxes(10_000);
    const [flood, other] = [new Watched(all), new Watched(all)];
    for (let n = 0; n < 4; n++) other.put(frame);
    for (let n = 0; n < 7; n++) flood.put(frame);
    expect([flood.isEnded, other.isEnded]).toEqual([true, false]);
    expect(all.bytes).toBe(4_000);
  });

  test("full inboxes take a first frame if each inbox has a single frame that is no smaller", () => {
    const all = new Inboxes(3_000);
    const sockets = [1, 2, 3, 4].map(() => new Watched(all));
    for (const socket of sockets) socket.put(frame);
    expect(sockets.map(({ isEnded }) => isEnded)).toEqual([true, false, false, false]);
    const large = new Watched(all);
    large.put(frame.repeat(4));
    expect(large.isEnded).toBe(false);
    expect(large.take()).toBe(frame.repeat(4));
  });

  test("the inboxes of a single socket have a separate bound, which ends that socket alone", () => {
    const all = new Inboxes();
    const [flood, calm] = [new Watched(all), new Watched(all)];
    calm.put(frame);
    for (let n = 0; n < 262; n++) flood.put(frame);
    expect(flood.isEnded).toBe(false);
    flood.put(frame);
    expect([flood.isEnded, calm.isEnded, all.bytes]).toEqual([true, false, 1_000]);
  });
});

test("a caller may use ten seconds' worth at once, then waits; other callers do not", () => {
  let now = 0;
  const budgets = new Budgets(100, () => now);
  budgets.charge("a", 900);
  expect(budgets.waitOf("a")).toBe(0);
  budgets.charge("a", 300);
  expect([budgets.waitOf("a"), budgets.waitOf("b")]).toEqual([2_000, 0]);
  now += 1_500;
  expect(budgets.waitOf("a")).toBe(500);
  now += 500;
  expect(budgets.waitOf("a")).toBe(0);
  budgets.charge("a", 1);
  expect(budgets.waitOf("a")).toBe(10);
});

test("a debt is bounded, and a budget never exceeds its maximum", () => {
  let now = 0;
  const budgets = new Budgets(100, () => now);
  budgets.charge("a", 1_000_000);
  expect(budgets.waitOf("a")).toBe(10_000);
  now += 3_600_000;
  budgets.charge("a", 1_000);
  expect(budgets.waitOf("a")).toBe(0);
  budgets.charge("a", 1);
  expect(budgets.waitOf("a")).toBe(10);
});

test("callers are remembered while they have used budget", () => {
  let now = 0;
  const budgets = new Budgets(100, () => now);
  budgets.charge("debtor", 2_000);
  for (let n = 0; n < 5_000; n++) {
    now += 1;
    budgets.charge(`caller ${n}`, 1);
  }
  expect(budgets.waitOf("debtor")).toBe(5_000);
});
