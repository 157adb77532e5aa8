/** The size of the client in the bundle of an app, and the parts that are there only when the app imports or uses the parts. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { BunPlugin } from "bun";

/** Texts of the parts that an app imports by themselves. */
const parts = { admin: "/api/admin/", storage: "/api/storage", auth: "/api/auth/passkeys", live: "/api/realtime" };
/** The modules that the client loads on use: turns in a page without locks, rooms, and the worker that tabs share. */
const loadedOnUse = ["./lease.ts", "./rooms.ts", "./shared.ts"];
const apart: BunPlugin = {
  name: "modules that are loaded on use",
  setup({ onResolve }) {
    onResolve({ filter: /\/(lease|rooms|shared)\.ts$/ }, ({ path, kind }) =>
      kind === "dynamic-import" ? { path, external: true } : undefined,
    );
  },
};

interface Bundle {
  readonly size: number;
  readonly parts: readonly string[];
  readonly onUse: readonly string[];
}

/** The bundle of an app as a page loads the bundle: what is loaded on use is apart. */
async function bundleOf(app: string): Promise<Bundle> {
  const entry = join(import.meta.dir, "testing/sizes", `${app}.ts`);
  const { success, outputs } = await Bun.build({
    entrypoints: [entry],
    minify: true,
    target: "browser",
    format: "esm",
    plugins: [apart],
  });
  const text = (await outputs[0]?.text()) ?? "";
  expect([success, outputs.length, text.includes("/api/")]).toEqual([true, 1, true]);
  const found = Object.entries(parts).filter(([, path]) => text.includes(path));
  const onUse = loadedOnUse.filter((path) => text.includes(path));
  return { size: gzipSync(text, { level: 9 }).byteLength, parts: found.map(([name]) => name), onUse };
}

test("the client without live queries is at most 6,725 bytes", async () => {
  const { size, parts: found, onUse } = await bundleOf("plain");
  expect([found, onUse]).toEqual([[], ["./lease.ts"]]);
  expect(size).toBeLessThanOrEqual(6_725);
});

test("the client with live queries is at most 11,370 bytes", async () => {
  const { size, parts: found, onUse } = await bundleOf("live");
  expect([found, onUse]).toEqual([["live"], loadedOnUse]);
  expect(size).toBeLessThanOrEqual(11_370);
});
