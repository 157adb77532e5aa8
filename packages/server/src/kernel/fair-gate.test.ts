/** The fair gate: its width, each caller's share, its bounds, and who is next. */
import { expect, test } from "bun:test";
import { AppError } from "./app-error.ts";
import { FairGate, type FairGateOptions } from "./fair-gate.ts";

const options: FairGateOptions = {
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
  const gate = new FairGate(options);
  const release = await gate.take("a");
  let hasStarted = false;
  const second = gate.take("a").then((give) => {
    hasStarted = true;
    return give;
  });
  const other = await gate.take("b");
  expect(hasStarted).toBe(false);
  release();
  const give = await second;
  expect(hasStarted).toBe(true);
  give();
  other();
});

test("beyond the queue's bounds, work is refused at once with the limit's name", async () => {
  const gate = new FairGate(options);
  const releases = [await gate.take("a"), await gate.take("b")];
  const waiting = ["a", "a", "b", "c"].map((caller) => gate.take(caller));
  const refused = await refusalOf(gate.take("d"));
  expect(refused).toMatchObject({ code: "unavailable", limit: "queries", retryAfter: 1 });
  for (const release of releases) release();
  // In whatever order they start.
  await Promise.all(waiting.map(async (each) => (await each)()));
  (await gate.take("d"))();
});

test("a caller's part of the queue is bounded; the rest is for others", async () => {
  const gate = new FairGate(options);
  const release = await gate.take("a");
  const waiting = [gate.take("a"), gate.take("a")];
  expect((await refusalOf(gate.take("a"))).limit).toBe("queries");
  (await gate.take("b"))();
  release();
  for (const each of waiting) (await each)();
});

test("the next is that of the caller who has used the least", async () => {
  const gate = new FairGate({ ...options, width: 1 });
  await gate.run("heavy", () => Bun.sleep(30));
  const release = await gate.take("other");
  const order: string[] = [];
  const work = ["heavy", "light"].map((caller) =>
    gate.run(caller, async () => {
      order.push(caller);
    }),
  );
  release();
  await Promise.all(work);
  expect(order).toEqual(["light", "heavy"]);
});

test("a caller that leaves frees its place in the queue, and never starts", async () => {
  const gate = new FairGate({ ...options, width: 1, maxWaiting: 1 });
  const release = await gate.take("a");
  const leaving = new AbortController();
  let hasRun = false;
  const left = refusalOf(
    gate.run(
      "b",
      async () => {
        hasRun = true;
      },
      leaving.signal,
    ),
  );
  leaving.abort();
  expect((await left).limit).toBeUndefined();
  const next = gate.take("c");
  release();
  (await next)();
  expect(hasRun).toBe(false);
  expect((await refusalOf(gate.take("d", leaving.signal))).limit).toBeUndefined();
});

test("work that fails gives its slot back, once", async () => {
  const gate = new FairGate({ ...options, width: 1 });
  await expect(gate.run("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  const release = await gate.take("a");
  release();
  release();
  const held = await gate.take("a");
  let hasStarted = false;
  void gate.take("b").then(() => {
    hasStarted = true;
  });
  await Bun.sleep(1);
  expect(hasStarted).toBe(false);
  held();
});

/** A gate of width 1 with a clock of its own. `work` notes its start in `order` and takes `ms`. */
function timed() {
  let now = 0;
  const gate = new FairGate({ ...options, width: 1, maxWaiting: 100, waitingShare: 100 }, () => now);
  const order: string[] = [];
  const work = (caller: string, ms: number, then: () => void = () => undefined) =>
    gate.run(caller, async () => {
      order.push(caller);
      now += ms;
      then();
    });
  return { order, work };
}

test("new callers, however many, do not keep a caller with some use waiting for ever", async () => {
  const { order, work } = timed();
  await work("regular", 100);
  let count = 0;
  const all: Promise<void>[] = [];
  // There is always a new caller who waits.
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

test("of a caller with much work that waits, one piece goes first at a time: a new caller passes the others", async () => {
  const { order, work } = timed();
  const crowd = Array.from({ length: 20 }, () => work("crowd", 3_000));
  // Three seconds each: the crowd's work has waited long by now.
  await crowd[4];
  const next = work("new", 1);
  await next;
  expect(order.indexOf("new")).toBeLessThan(8);
  await Promise.all(crowd);
});
