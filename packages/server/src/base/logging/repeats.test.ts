/** The bound on log entries about failures. */
import { expect, test } from "bun:test";
import { FailureBudget } from "./repeats.ts";

test("sixty failures a minute are told; the others are counted, once the next minute has one", () => {
  const more: number[] = [];
  let now = 0;
  const budget = new FailureBudget(
    (failures) => more.push(failures),
    () => now,
  );
  const told = (n: number): number => Array.from({ length: n }, () => budget.take()).filter(Boolean).length;
  expect([told(40), told(40), told(10)]).toEqual([40, 20, 0]);
  now = 59_999;
  expect([told(1), more]).toEqual([0, []]);
  now = 60_000;
  expect([told(1), more]).toEqual([1, [31]]);
  now = 120_000;
  expect([told(70), more]).toEqual([60, [31]]);
});
