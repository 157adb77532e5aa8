/** Tests of the shown runs of functions. */
import { describe, expect, test } from "bun:test";
import type { FunctionEntry, FunctionRun } from "@socle/protocol";
import { filesOf, laterStates, rowKeyOf, shortName, statesOf } from "./runs-of.ts";

function run(runId: string, more: Partial<FunctionRun> = {}): FunctionRun {
  return {
    runId,
    collection: "posts",
    handler: "onCreate",
    eventType: "posts.created",
    filePath: "functions/posts/notify.ts",
    eventId: "evt_1",
    status: "failed",
    createdAt: "2026-01-01T00:00:00.000Z",
    endedAt: "2026-01-01T00:00:01.000Z",
    durationMs: 4,
    error: "No",
    canRetry: true,
    ...more,
  };
}

function entry(filePath: string, handler: string): FunctionEntry {
  const type = handler === "onCreate" ? "create" : "update";
  const eventType = handler === "onCreate" ? "posts.created" : "posts.updated";
  return { collection: "posts", type, eventType, filePath, handler, timeout: 1_000, retries: 2 };
}

describe("files of functions", () => {
  test("handlers stand with their file, each file with its newest failure", () => {
    const files = filesOf(
      [
        entry("functions/posts/b.ts", "onCreate"),
        entry("functions/posts/a.ts", "onCreate"),
        entry("functions/posts/b.ts", "onUpdate"),
      ],
      [
        run("new", { filePath: "functions/posts/b.ts" }),
        run("old", { filePath: "functions/posts/b.ts" }),
        run("other"),
      ],
      [],
    );
    expect(files.map(({ filePath, handlers, lastFailure }) => [filePath, handlers.length, lastFailure?.runId])).toEqual(
      [
        ["functions/posts/a.ts", 1, undefined],
        ["functions/posts/b.ts", 2, "new"],
      ],
    );
    expect(filesOf([], [run("x")], [])).toEqual([]);
  });

  test("the folder of all files is left out, and no other", () => {
    expect(shortName("functions/posts/notify.ts")).toBe("posts/notify.ts");
    expect(shortName("other/functions/x.ts")).toBe("other/functions/x.ts");
  });
});

describe("the states of a run", () => {
  const failed = run("a");
  const again = run("a", { status: "completed", endedAt: "2026-01-01T00:05:00.000Z", error: null, canRetry: false });
  const running = run("a", { status: "running", endedAt: null, error: null, canRetry: false });

  test("every end is a row of its own", () => {
    expect(new Set([failed, again, running].map(rowKeyOf)).size).toBe(3);
  });

  test("the newest is first, and each end is listed once", () => {
    expect(statesOf("a", [failed, run("b")], [running, failed])).toEqual([running, failed]);
    expect(statesOf("a", [failed, again])).toEqual([again, failed]);
  });

  test("a row that is out of date does not hide the end", () => {
    expect(statesOf("a", [running], [again, failed])).toEqual([again, failed]);
  });

  test("a read end replaces the same end: no end can be retried twice", () => {
    const taken = { ...failed, canRetry: false };
    expect(statesOf("a", [failed], [taken])).toEqual([taken]);
  });

  test("an unknown run has no state", () => {
    expect(statesOf("c", [failed], [])).toEqual([]);
  });
});

test("a file that was never loaded stands with the others, and a file without a problem is listed once", () => {
  const problem = { message: "broken", stack: null, since: "2026-01-01T00:00:00.000Z" };
  const file = { kind: "function", collection: "posts" } as const;
  const files = filesOf(
    [entry("functions/posts/b.ts", "onCreate")],
    [],
    [
      { ...file, filePath: "functions/posts/a.ts", loadedAt: null, problem },
      { ...file, filePath: "functions/posts/b.ts", loadedAt: "2026-01-02T00:00:00.000Z", problem },
      { ...file, filePath: "functions/posts/empty.ts", loadedAt: "2026-01-02T00:00:00.000Z", problem: null },
    ],
  );
  expect(files.map(({ filePath, handlers, loadedAt }) => [filePath, handlers.length, loadedAt])).toEqual([
    ["functions/posts/a.ts", 0, null],
    ["functions/posts/b.ts", 1, "2026-01-02T00:00:00.000Z"],
  ]);
  expect(files.map((each) => each.problem)).toEqual([problem, problem]);
});

test("an end before a later end has the newest state of its run", () => {
  const old = run("a");
  const later = run("a", { endedAt: "2026-01-01T00:01:00.000Z" });
  expect(laterStates([later, old, run("b")])).toEqual(new Map([[rowKeyOf(old), "failed"]]));
  const running = run("b", { status: "running", endedAt: null });
  expect(laterStates([run("a"), run("b"), running])).toEqual(new Map([[rowKeyOf(run("b")), "running"]]));
  const mended = run("a", { status: "completed", endedAt: "2026-01-01T00:02:00.000Z" });
  expect([...laterStates([later, old, mended]).values()]).toEqual(["completed", "completed"]);
  // The same end in two answers counts once.
  expect(laterStates([old, { ...old }]).size).toBe(0);
});
