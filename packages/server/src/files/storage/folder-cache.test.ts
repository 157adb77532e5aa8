import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { FolderCache } from "./thumbnails.ts";

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((item) => item.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + Bun.file(join(parentPath, name)).size, 0);
}

test("stays below its size; the oldest go, with their folders", async () => {
  const folder = temporaryFolder();
  const cache = new FolderCache({ folder, cacheSize: 10_000, logger: quietLogger() });
  for (let n = 0; n < 30; n++) {
    await cache.put(`group${n}`, "10x10", new Blob(["x".repeat(1_000)]));
    await Bun.sleep(2);
  }
  expect(sizeOf(folder)).toBeLessThanOrEqual(10_000);
  expect(readdirSync(folder).length).toBeLessThanOrEqual(10);
  expect(await cache.get("group0", "10x10")).toBeNull();
  expect((await cache.get("group29", "10x10"))?.size).toBe(1_000);
  const again = new FolderCache({ folder, cacheSize: 5_000, logger: quietLogger() });
  await again.put("late", "x", new Blob(["x"]));
  expect(sizeOf(folder)).toBeLessThanOrEqual(5_000);
  await again.put("huge", "x", new Blob(["x".repeat(6_000)]));
  expect(await again.get("huge", "x")).toBeNull();
});

test("a failed write to the cache is a warning, and does not prevent the next write", async () => {
  const folder = join(temporaryFolder(), "cache");
  const log: string[] = [];
  const cache = new FolderCache({ folder, cacheSize: 2_500, logger: quietLogger(log) });
  await Bun.write(folder, "a file is in the way");
  await cache.put("a", "x", new Blob(["x"]));
  expect(log).toEqual([expect.stringMatching(/^WARN A thumbnail could not be kept/)]);
  rmSync(folder);
  mkdirSync(folder);
  for (let n = 0; n < 10; n++) await cache.put(`g${n}`, "x", new Blob(["x".repeat(1_000)]));
  expect(log).toHaveLength(1);
  expect(sizeOf(folder)).toBeLessThanOrEqual(2_500);
});

test("stays below its size while many files are added and removed at a time, and loses no folder", async () => {
  const folder = temporaryFolder();
  const log: string[] = [];
  const cache = new FolderCache({ folder, cacheSize: 10_000, logger: quietLogger(log) });
  await Promise.all(
    Array.from({ length: 4 }, async (_, worker) => {
      for (let n = 0; n < 150; n++) {
        const group = `group${(worker + n) % 5}`;
        await cache.put(group, `${worker}-${n}`, new Blob(["x".repeat(900 * (1 + (n % 5)))]));
        expect(sizeOf(folder)).toBeLessThanOrEqual(10_000 + 4 * 4_500);
        if (n % 10 === 0) await cache.forget(group);
      }
    }),
  );
  expect(sizeOf(folder)).toBeLessThanOrEqual(10_000);
  expect(log).toEqual([]);
});
