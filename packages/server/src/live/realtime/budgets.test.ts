/** Budgets of processor time: the amount for a caller at once and per second, and the wait for more. */
import { expect, test } from "bun:test";
import { Budgets } from "./budgets.ts";

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

test("a debt is bounded, and a budget is not saved up beyond its most", () => {
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

test("callers are remembered while they have used something", () => {
  let now = 0;
  const budgets = new Budgets(100, () => now);
  budgets.charge("debtor", 2_000);
  for (let n = 0; n < 5_000; n++) {
    now += 1;
    budgets.charge(`caller ${n}`, 1);
  }
  expect(budgets.waitOf("debtor")).toBe(5_000);
});
