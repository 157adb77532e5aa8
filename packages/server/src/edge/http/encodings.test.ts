/** Content codings: the codings that a client accepts, and files that are compressed once. */
import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { temporaryFolder } from "../../../test/kit.ts";
import { accepts, isCompressible } from "./file-response.ts";
import { CompressedFiles } from "./static-files.ts";

test.each<[string | null, boolean, boolean]>([
  [null, false, false],
  ["", false, false],
  ["gzip", true, false],
  ["gzip, deflate, br, zstd", true, true],
  ["GZIP;q=0.5", true, false],
  ["gzip;q=0, br", false, true],
  ["gzip; q=0.000", false, false],
  ["gzip;q=0.001", true, false],
  ["*", true, true],
  ["*;q=0, gzip", true, false],
  ["br;q=0, *", true, false],
  ["identity", false, false],
  ["x-gzip", true, false],
  ["gzipped, brotli", false, false],
])("%j accepts gzip: %j, br: %j", (header, gzip, br) => {
  expect([accepts(header, "gzip"), accepts(header, "br")]).toEqual([gzip, br]);
});

test("text and similar types are compressible, compressed types are not", () => {
  for (const type of [
    "text/html",
    "text/css",
    "text/javascript",
    "application/json",
    "image/svg+xml",
    "application/wasm",
  ])
    expect(isCompressible(type)).toBe(true);
  for (const type of [
    "image/png",
    "image/jpeg",
    "video/mp4",
    "font/woff2",
    "application/zip",
    "application/octet-stream",
  ])
    expect(isCompressible(type)).toBe(false);
});

test("a file is compressed once, anew after a change, and the cache is bounded", async () => {
  const folder = temporaryFolder();
  const files = new CompressedFiles();
  const write = async (name: string, content: string | Uint8Array) => {
    const path = join(folder, name);
    await Bun.write(path, content);
    const { size, mtimeMs } = statSync(path);
    return { path, size, modifiedAt: mtimeMs };
  };
  const app = await write("app.js", "a".repeat(5_000));
  const [first, second] = await Promise.all([files.get(app), files.get(app)]);
  expect(first).not.toBeNull();
  expect(second).toBe(first);
  expect(gunzipSync(first ?? "").toString()).toBe("a".repeat(5_000));
  const changed = await write("app.js", "b".repeat(6_000));
  expect(gunzipSync((await files.get(changed)) ?? "").toString()).toBe("b".repeat(6_000));
  expect(await files.get(await write("small.js", "a".repeat(1_023)))).toBeNull();
  expect(await files.get(await write("noise.js", crypto.getRandomValues(new Uint8Array(2_000))))).toBeNull();
  expect(await files.get({ ...app, path: join(folder, "gone.js") })).toBeNull();
  expect(await files.get({ ...changed, size: 5_999 })).toBeNull();
  // Six times three MiB that hardly compress: more than the cache keeps.
  const kept: Uint8Array[] = [];
  const sources = [];
  for (let n = 0; n < 6; n++) {
    const noise = Buffer.alloc(3 * 1_024 ** 2);
    for (let at = 0; at < noise.length; at += 65_536) crypto.getRandomValues(noise.subarray(at, at + 65_536));
    const source = await write(`${n}.js`, Buffer.concat([noise, Buffer.alloc(65_536)]));
    sources.push(source);
    kept.push((await files.get(source)) ?? new Uint8Array());
  }
  const [oldest, newest] = [sources[0] ?? app, sources[5] ?? app];
  expect(await files.get(newest)).toBe(kept[5] ?? null);
  expect(await files.get(oldest)).not.toBe(kept[0] ?? null);
});
