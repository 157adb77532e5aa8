/** The size of the client in the bundle of an app, and the parts that are there only when the app imports the parts. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** Texts of the parts that an app imports by themselves. */
const parts = { admin: "/api/admin/", storage: "/api/storage", auth: "/api/auth/passkeys", live: "/api/realtime" };

async function bundleOf(app: string): Promise<{ size: number; parts: string[] }> {
  const entry = join(import.meta.dir, "testing/sizes", `${app}.ts`);
  const { success, outputs } = await Bun.build({
    entrypoints: [entry],
    minify: true,
    target: "browser",
    format: "esm",
  });
  const text = (await outputs[0]?.text()) ?? "";
  expect([success, text.includes("/api/")]).toEqual([true, true]);
  const found = Object.entries(parts).filter(([, path]) => text.includes(path));
  return { size: gzipSync(text, { level: 9 }).byteLength, parts: found.map(([name]) => name) };
}

test("the client without live queries is at most 6,700 bytes", async () => {
  const { size, parts: found } = await bundleOf("plain");
  expect(found).toEqual([]);
  expect(size).toBeLessThanOrEqual(6_700);
});

test("the client with live queries is at most 12,000 bytes", async () => {
  const { size, parts: found } = await bundleOf("live");
  expect(found).toEqual(["live"]);
  expect(size).toBeLessThanOrEqual(12_000);
});
