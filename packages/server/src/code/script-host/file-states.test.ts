import { afterEach, expect, setSystemTime, test } from "bun:test";
import { FileStates, type ScriptFile } from "./script-files.ts";

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
