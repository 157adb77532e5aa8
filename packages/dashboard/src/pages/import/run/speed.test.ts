import { expect, test } from "bun:test";
import { Speed } from "./speed.ts";

test("rows per second and the time that is left, of the last seconds alone", () => {
  const speed = new Speed(0);
  expect(speed.read(100, 0)).toEqual({ rowsPerSecond: null, secondsLeft: null });
  for (let i = 1; i <= 200; i++) speed.count(i * 10, i / 1_000);
  const { rowsPerSecond, secondsLeft } = speed.read(2_000, 0.2);
  expect(rowsPerSecond).toBeCloseTo(100);
  expect(secondsLeft).toBeCloseTo(8);
  // After a pause, no estimate of the remaining time is possible.
  expect(speed.read(60_000, 0.2)).toEqual({ rowsPerSecond: null, secondsLeft: null });
});
