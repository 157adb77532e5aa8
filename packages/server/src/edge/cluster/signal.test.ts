/** Signal: waits that end with the thing, and with their time, and that leave nothing behind. */
import { expect, test } from "bun:test";
import { Signal } from "./signal.ts";

test("a wait ends when the condition holds, and not before", async () => {
  const signal = new Signal();
  let n = 0;
  const waiting = signal.until(() => n === 2, 60_000);
  for (n = 1; n <= 2; n++) {
    signal.happened();
    await Bun.sleep(0);
    if (n === 1) expect(await Promise.race([waiting, Promise.resolve("waits")])).toBe("waits");
  }
  n = 2;
  signal.happened();
  expect(await waiting).toBe(true);
});

test("a wait for a condition that never holds ends with its time, and checks no more afterwards", async () => {
  const signal = new Signal();
  let looks = 0;
  const isReached = (): boolean => {
    looks += 1;
    return false;
  };
  expect(await signal.until(isReached, 20)).toBe(false);
  const before = looks;
  for (let i = 0; i < 10; i++) {
    signal.happened();
    await Bun.sleep(0);
  }
  expect(looks).toBe(before);
});

test("an abort ends a wait", async () => {
  const controller = new AbortController();
  const waiting = new Signal().next(60_000, controller.signal);
  controller.abort();
  await waiting;
});
