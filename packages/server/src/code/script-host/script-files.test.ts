/** The files of the user's code: scripts, tests, the changes that the service follows, and the state of each file. */
import { afterEach, expect, setSystemTime, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import {
  FileStates,
  findScripts,
  fingerprint,
  listTests,
  middlewarePaths,
  readCode,
  type ScriptFile,
} from "./script-files.ts";

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
  "lib/deep/x.test.ts",
];

test("a test is no script, no stray and no code of the service, in any folder", () => {
  const { root } = projectOf([...scripts, ...tests, "jobs/node_modules/x.test.ts", "tests/x.test.ts"]);
  expect(findScripts(root).scripts.map(({ path }) => path)).toEqual(scripts);
  expect(listTests(root).sort()).toEqual([...tests].sort());
  expect(findScripts(root).strays).toEqual([]);
  expect(readCode(root).map(({ path }) => path)).toEqual(scripts);
});

test("a file in a folder of migrations is a stray, unless the name makes the file shared code", () => {
  const { root } = projectOf(["migrations/1.ts", "migrations/sub/1.ts", "migrations/_old/1.ts", "jobs/sub/1.ts"]);
  const { scripts, strays } = findScripts(root);
  expect([scripts.map(({ path }) => path), strays]).toEqual([["migrations/1.ts"], ["migrations/sub/1.ts"]]);
});

test("a middleware is shared code, and a middleware that cannot be read fails to load", () => {
  const { root } = projectOf(["endpoints/a/x.ts", "endpoints/_middleware.ts", "endpoints/a/_middleware.js"]);
  symlinkSync(join(root, "nowhere.ts"), join(root, "endpoints/a/_middleware.ts"));
  expect(findScripts(root)).toEqual({
    scripts: [{ folder: "endpoints", path: "endpoints/a/x.ts", collection: null }],
    strays: ["endpoints/a/_middleware.js"],
  });
  expect(middlewarePaths("endpoints/a/x.ts")).toEqual(["endpoints/_middleware.ts", "endpoints/a/_middleware.ts"]);
  expect(middlewarePaths("functions/a/x.ts")).toEqual([]);
  const unreadable = readCode(root).find(({ path }) => path === "endpoints/a/_middleware.ts");
  expect(unreadable?.content).toStartWith("throw ");
});

test("a change of a test is no change of the code", () => {
  const { root, write } = projectOf(scripts);
  const before = fingerprint(root);
  for (const path of tests) write(path, "changed");
  expect(fingerprint(root)).toBe(before);
  write("functions/_shared.ts", "");
  expect(fingerprint(root)).not.toBe(before);
});

const file: ScriptFile = { folder: "functions", path: "functions/posts/a.ts", collection: "posts" };
const job: ScriptFile = { folder: "jobs", path: "jobs/tidy.ts", collection: null };

afterEach(() => void setSystemTime());

test("a file that does not load any more keeps the time of the version that runs", () => {
  setSystemTime(1);
  const states = new FileStates();
  states.keep([file, job]);
  states.loaded(file);
  states.failed(job, { message: "no schedule" });
  setSystemTime(2);
  states.keep([file, job]);
  states.failed(file, { message: "broken (functions/posts/a.ts:1:2)", stack: "at a" });
  states.failed(job, { message: "no schedule" });
  expect(states.list()).toEqual([
    { file, loadedAt: 1, problem: { message: "broken (functions/posts/a.ts:1:2)", stack: "at a", since: 2 } },
    { file: job, loadedAt: null, problem: { message: "no schedule", since: 1 } },
  ]);
  setSystemTime(3);
  states.loaded(file);
  expect(states.list()[0]).toEqual({ file, loadedAt: 3, problem: null });
});

test("a file that is gone is forgotten", () => {
  const states = new FileStates();
  states.keep([file, job]);
  states.loaded(file);
  states.keep([job]);
  expect(states.list().map(({ file: { path } }) => path)).toEqual(["jobs/tidy.ts"]);
  states.keep([file, job]);
  expect(states.list()[0]?.loadedAt).toBeNull();
});
