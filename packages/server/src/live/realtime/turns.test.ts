/** Turns of the event loop: callers one after the other, in slices, with the loop's other work in between. */
import { expect, test } from "bun:test";
import { Turns } from "./turns.ts";

/** Work of a caller that holds the event loop. */
function work(turns: Turns, done: string[], { caller, ms }: { caller: string; ms: number }): Promise<void> {
  return turns.take(caller).then((end) => {
    const until = performance.now() + ms;
    while (performance.now() < until);
    done.push(caller);
    end();
  });
}

test("callers take turns, however much one of them asks for", async () => {
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

test("a turn at once is for nobody while others wait, or when the slice is used up", async () => {
  const turns = new Turns();
  const end = turns.takeNow();
  expect(end).not.toBeNull();
  expect(turns.takeNow()).toBeNull();
  const waiting = turns.take("a");
  end?.();
  expect(turns.takeNow()).toBeNull();
  (await waiting)();
  expect(turns.hasTime).toBe(true);
  turns.count(1_000);
  expect([turns.hasTime, turns.takeNow()]).toEqual([false, null]);
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(turns.takeNow()).not.toBeNull();
});
