/** The clock of a service under test: the clock moves `Date`, and rings each alarm on time. */
import { afterAll, expect, test } from "bun:test";
import { machineTime, moveTime, timeOffset } from "../base/kernel/index.ts";
import { TestClock } from "./test-clock.ts";

const day = 86_400_000;
const { Date: machineDate } = globalThis;

afterAll(() => {
  globalThis.Date = machineDate;
  machineDate.prototype.constructor = machineDate;
});

test("a moved Date is a Date in every respect", () => {
  moveTime(day);
  const before = machineTime() + day;
  const now = new Date();
  expect(now.getTime()).toBeGreaterThanOrEqual(before);
  expect(Math.abs(Date.now() - before)).toBeLessThan(60_000);
  expect(Date.parse(Date().toString())).toBeGreaterThan(before - 1_000);
  expect(new Date(5).getTime()).toBe(5);
  expect(new Date(2026, 0).getFullYear()).toBe(2026);
  expect(Date.UTC(1970, 0)).toBe(0);
  expect([now instanceof Date, now.constructor === Date]).toEqual([true, true]);
  class Special extends Date {}
  const special = new Special();
  expect([special instanceof Special, special instanceof Date, special.getTime() >= before]).toEqual([
    true,
    true,
    true,
  ]);
  moveTime(0);
  expect(Math.abs(Date.now() - machineTime())).toBeLessThan(60_000);
});

/** Moves a clock, and notes at which time each alarm rings, in hours after the begin. */
async function rung(
  clock: TestClock,
  milliseconds: number,
  alarms: (note: (name: string) => void) => void,
): Promise<string[]> {
  const notes: string[] = [];
  const begin = Date.now();
  alarms((name) => notes.push(`${name} ${Math.round((Date.now() - begin) / 3_600_000)}`));
  await clock.advance(milliseconds, {
    onMove: () => notes.push("moved"),
    settle: async () => void notes.push("settled"),
  });
  return notes;
}

test("alarms ring in their order, each at its time, and the effects of an alarm end before the next alarm", async () => {
  const clock = new TestClock();
  const hour = 3_600_000;
  const notes = await rung(clock, day, (note) => {
    clock.after(5 * hour, () => note("five"));
    clock.lookAfter(2 * hour, () => {
      note("two");
      clock.after(hour, () => note("three"));
    });
    clock.after(3 * hour, () => note("never")).cancel();
    clock.after(25 * hour, () => note("tomorrow"));
  });
  const step = ["moved", "settled"];
  expect(notes.filter((each) => !step.includes(each))).toEqual(["two 2", "three 3", "five 5"]);
  expect(notes).toEqual([
    "settled",
    "moved",
    "two 2",
    "settled",
    "moved",
    "three 3",
    "settled",
    "moved",
    "five 5",
    "settled",
    ...step,
  ]);
  expect(Math.round(timeOffset() / hour)).toBe(24);
  // The alarm of tomorrow is still to come.
  expect(await rung(clock, 2 * hour, () => undefined)).toHaveLength(5);
  moveTime(0);
});

test("an alarm rings by itself, and an alarm beyond the longest timer waits", async () => {
  const clock = new TestClock();
  const rang = Promise.withResolvers<void>();
  let isEarly = false;
  clock.after(100 * day, () => {
    isEarly = true;
  });
  clock.after(1, rang.resolve);
  await rang.promise;
  expect(isEarly).toBe(false);
  await clock.advance(101 * day, { onMove: () => undefined, settle: async () => undefined });
  expect(isEarly).toBe(true);
  moveTime(0);
});
