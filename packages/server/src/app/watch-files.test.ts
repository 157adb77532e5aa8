/** The files whose change `socle test --watch` notices. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { loadConfig } from "../base/config/index.ts";
import { projectState } from "./watch-files.ts";

test.each([
  ["functions/posts/a.test.ts", true],
  ["collections/posts.json", true],
  ["config.json", true],
  ["lib/deep/shared.ts", true],
  [".env.test", true],
  ["app.db.txt.ts", true],
  ["app.db", false],
  ["app.db-wal", false],
  ["files/ab/cd", false],
  ["backups/a.backup", false],
  ["node_modules/a/index.js", false],
  [".socle/types.d.ts", false],
  [".git/index", false],
])("a change of %s: %p", async (path, isNoticed) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "config.json"), '{ "database": "./app.db", "storage": "./files" }');
  const { config } = await loadConfig({ file: join(folder, "config.json"), environment: {} });
  const before = projectState(config);
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), "changed");
  expect(projectState(config) !== before).toBe(isNoticed);
});
