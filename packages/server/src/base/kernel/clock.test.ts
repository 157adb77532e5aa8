/** The service's clock under a machine's clock that is wrong, corrected, or set back. */
// Promises: T1.
import { afterAll, beforeEach, expect, setSystemTime, test } from "bun:test";
import { Clock } from "./index.ts";

const start = 1_800_000_000_000;
let machine = start;

/** Moves the machine's clock, also after a file of the same process that has called `moveTime`, which replaces `Date`. */
function step(milliseconds: number): void {
  machine += milliseconds;
  setSystemTime(machine);
}

beforeEach(() => {
  machine = start;
  step(0);
});
afterAll(() => void setSystemTime());

function open(): { clock: Clock; steps: (readonly [number, number])[] } {
  const steps: (readonly [number, number])[] = [];
  return { clock: new Clock((from, to) => steps.push([from, to])), steps };
}

test("a small correction back never shows: the time stands still until the clock has caught up", () => {
  const { clock, steps } = open();
  expect(clock.now()).toBe(start);
  step(-5_000);
  expect(clock.now()).toBe(start);
  step(4_999);
  expect(clock.now()).toBe(start);
  step(2);
  expect(clock.now()).toBe(start + 1);
  expect(steps).toEqual([]);
});

test("a clock that was ahead is followed back, and reported once", () => {
  const { clock, steps } = open();
  const year = 365 * 86_400_000;
  step(year);
  clock.now();
  step(-year);
  expect(clock.now()).toBe(start);
  step(1);
  expect(clock.now()).toBe(start + 1);
  expect(steps).toEqual([[start + year, start]]);
});

test("a stored time counts like a given time", () => {
  const { clock, steps } = open();
  clock.atLeast(start + 3_000);
  expect(clock.now()).toBe(start + 3_000);
  clock.atLeast(start + 3_600_000);
  expect(clock.now()).toBe(start);
  expect(steps).toEqual([[start + 3_600_000, start]]);
});
