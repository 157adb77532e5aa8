import { expect, test } from "bun:test";
import { ListCache } from "./lists.ts";

const list = (bytes: number, version = "1") => ({ version, tag: '"t"', body: new Uint8Array(bytes) });

test("the least recently used response makes place, and a response beyond the size is not cached", () => {
  const cache = new ListCache(16_000);
  expect(cache.largest).toBe(1_000);
  cache.set("large", list(1_001));
  expect(cache.get("large")).toBeUndefined();
  for (let n = 0; n < 10; n++) cache.set(`a${n}`, list(1_000));
  expect(cache.get("a0")).toBeDefined();
  cache.set("b", list(1_000));
  expect([cache.get("a0"), cache.get("a1")].map((kept) => kept !== undefined)).toEqual([true, false]);
  let kept = 0;
  for (let n = 0; n < 1_000; n++) cache.set(`c${n}`, list(n % 1_000));
  for (let n = 0; n < 1_000; n++) kept += cache.get(`c${n}`)?.body.byteLength ?? 0;
  expect(kept).toBeGreaterThan(5_000);
  expect(kept).toBeLessThanOrEqual(16_000);
});

test("a response that is cached again counts once, and a size of 0 caches nothing", () => {
  const cache = new ListCache(16_000);
  cache.set("first", list(100));
  for (let n = 0; n < 1_000; n++) cache.set("a", list(1_000, String(n)));
  expect(cache.get("a")?.version).toBe("999");
  expect(cache.get("first")).toBeDefined();
  const none = new ListCache(0);
  none.set("a", list(0));
  expect(none.get("a")).toBeUndefined();
});

test("responses under collection share an eighth of the size, and release their part", () => {
  const cache = new ListCache(16_000);
  const collectors = Array.from({ length: 20 }, () => cache.collector(() => undefined));
  expect(collectors.map((collector) => collector?.take(1_000)).filter((isTaken) => isTaken)).toHaveLength(2);
  expect(collectors[0]?.take(1)).toBe(false);
  collectors[0]?.release();
  expect(collectors[9]?.take(1_000)).toBe(true);
  expect(cache.collector(() => undefined)?.take(1)).toBe(false);
});
