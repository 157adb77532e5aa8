/** The files of the user's code: scripts, tests, and the changes that the service follows. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { findScripts, fingerprint, listTests, readCode } from "./script-files.ts";

function projectOf(paths: readonly string[]): { root: string; write: (path: string, content: string) => void } {
  const root = temporaryFolder();
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  for (const path of paths) write(path, "");
  return { root, write };
}

const scripts = ["functions/a/x.ts", "jobs/test.ts", "jobs/x.ts", "endpoints/a/x.ts"];
const tests = [
  "functions/_shared/deep/x.test.ts",
  "functions/a/x.test.ts",
  "functions/x.spec.ts",
  "jobs/x.test.js",
  "endpoints/a/x.test.tsx",
];

test("a test is no script, no stray and no code of the service, wherever it lies", () => {
  const { root } = projectOf([...scripts, ...tests, "jobs/node_modules/x.test.ts", "tests/x.test.ts"]);
  expect(findScripts(root).scripts.map(({ path }) => path)).toEqual(scripts);
  expect(listTests(root).sort()).toEqual([...tests].sort());
  expect(findScripts(root).strays).toEqual([]);
  expect(readCode(root).map(({ path }) => path)).toEqual(scripts);
});

test("a change of a test is no change of the code", () => {
  const { root, write } = projectOf(scripts);
  const before = fingerprint(root);
  for (const path of tests) write(path, "changed");
  expect(fingerprint(root)).toBe(before);
  write("functions/_shared.ts", "");
  expect(fingerprint(root)).not.toBe(before);
});
