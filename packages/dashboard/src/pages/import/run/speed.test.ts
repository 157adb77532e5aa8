import { expect, test } from "bun:test";
import { Speed } from "./speed.ts";

test("rows per second and the remaining time, of the last seconds only", () => {
  const speed = new Speed(0);
  expect(speed.read(100, 0)).toEqual({ rowsPerSecond: null, secondsLeft: null });
  for (let i = 1; i <= 200; i++) speed.count(i * 10, i / 1_000);
  const { rowsPerSecond, secondsLeft } = speed.read(2_000, 0.2);
  expect(rowsPerSecond).toBeCloseTo(100);
  expect(secondsLeft).toBeCloseTo(8);
  // After a pause, no estimate of the remaining time is possible.
  expect(speed.read(60_000, 0.2)).toEqual({ rowsPerSecond: null, secondsLeft: null });
});

test("slow first requests give no estimate; the estimate comes with a part of the file, or after three seconds", () => {
  const speed = new Speed(0);
  for (let row = 1; row <= 250; row++) speed.count(1_000, 0.0002);
  expect(speed.read(1_000, 0.0002)).toEqual({ rowsPerSecond: 250, secondsLeft: null });
  speed.count(1_500, 0.06);
  expect(speed.read(1_500, 0.06).secondsLeft).toBeCloseTo(23.5);
  const slow = new Speed(0);
  slow.count(3_500, 0.01);
  expect(slow.read(4_000, 0.01).secondsLeft).toBeCloseTo(396);
});
