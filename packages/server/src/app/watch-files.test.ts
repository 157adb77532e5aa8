/** The watch of files: the files whose change `socle test --watch` notices, and the states that the watch applies. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { loadConfig } from "../base/config/index.ts";
import { projectState, watchFiles } from "./watch-files.ts";

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

test.each([
  ["a file that is emptied and written is applied once", 20, ["written"]],
  ["a file that stays empty is applied, too", 50, ["empty", "written"]],
])("%s", async (_name, emptyLooks, expected) => {
  const states = { old: "a.json:1:5", empty: "a.json:2:0", written: "a.json:2:9" };
  const applied: string[] = [];
  let state: keyof typeof states = "old";
  let looks = 0;
  const over = new AbortController();
  const { promise, resolve } = Promise.withResolvers<void>();
  watchFiles({
    stateOf: () => {
      looks += 1;
      if (looks === 2) state = "empty";
      if (looks === 2 + emptyLooks) state = "written";
      return states[state];
    },
    applied: states.old,
    apply: async () => {
      applied.push(state);
      if (state === "written") resolve();
    },
    signal: over.signal,
  });
  // The timers of the watch keep no process alive.
  const alive = setInterval(() => undefined, 1_000);
  await promise;
  clearInterval(alive);
  over.abort();
  expect(applied).toEqual([...expected]);
});
