/** The life cycle of a run, with a store that only notes what is written. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { system } from "../../base/kernel/index.ts";
import { SqliteDatabase } from "../../store/database/index.ts";
import type { ScriptOutcome, ScriptTask } from "../script-host/index.ts";
import { type HandlerRun, RunLifeCycle } from "./life-cycle.ts";
import { linear } from "./retry-policy.ts";
import { RunLog } from "./run-log.ts";

const folder = temporaryFolder();
const task = {
  path: "jobs/a.ts",
  handler: "default",
  timeoutMs: 1_000,
  input: { runId: "run_a", attempt: 1, user: null },
  principal: system,
};

let files = 0;

function open({ outcome, errorWithoutFile = null }: { outcome: ScriptOutcome; errorWithoutFile?: string | null }) {
  const log: string[] = [];
  const logger = quietLogger(log);
  files += 1;
  const database = new SqliteDatabase({ path: join(folder, `${files}.db`), logger, onFatal: () => undefined });
  const written: string[] = [];
  const called: ScriptTask[] = [];
  const state = { fails: false };
  const note = (text: string): void => {
    if (state.fails) throw new Error("the disk is full");
    written.push(text);
  };
  const runLog = new RunLog(database, logger);
  const lifeCycle = new RunLifeCycle<HandlerRun>({
    store: {
      begin: () => () => note("begin"),
      complete: () => note("complete"),
      postpone: (_tx, _run, { error, next }) => note(`postpone ${error} ${next.failures} ${next.notBefore}`),
      fail: (_tx, _run, { error }) => note(`fail ${error}`),
      failLate: (_tx, _run, error) => note(`failLate ${error}`),
      errorWithoutFile: () => errorWithoutFile,
    },
    log: runLog,
    logger,
    call: (each) => {
      called.push(each);
      return Promise.resolve(outcome);
    },
    now: () => 1_000_000,
  });
  const run = (failures = 0): HandlerRun => ({ runId: "run_a", failures, policy: linear(2), label: "The job a" });
  return { database, lifeCycle, runLog, written, called, log, run, state, close: () => database.close() };
}

const failed: ScriptOutcome = { status: "failed", error: { message: "no" } };

describe("an attempt", () => {
  test.each([
    [{ status: "completed" }, 0, null, ["begin", "complete"], "over"],
    [failed, 0, null, ["begin", "postpone no 1 1005000"], { failures: 1, notBefore: 1_005_000 }],
    [failed, 1, null, ["begin", "postpone no 2 1010000"], { failures: 2, notBefore: 1_010_000 }],
    [failed, 2, null, ["begin", "fail no"], "over"],
    [{ status: "stopped" }, 0, "gone", ["begin"], "stays"],
    [{ status: "gone" }, 0, null, ["begin"], "stays"],
    [{ status: "gone" }, 2, "no file", ["begin", "fail no file"], "over"],
  ] as const)("that ends with %j after %d failures", async (outcome, failures, errorWithoutFile, written, next) => {
    const opened = open({ outcome, errorWithoutFile });
    const end = await opened.lifeCycle.attempt(opened.run(failures), task).end;
    await opened.runLog.settled();
    expect(opened.written).toEqual([...written]);
    expect(end).toEqual({ outcome, next });
    await opened.close();
  });

  test("whose end cannot be written stays, and is not told to be over", async () => {
    for (const outcome of [{ status: "completed" }, failed] as const) {
      const opened = open({ outcome });
      opened.state.fails = true;
      expect((await opened.lifeCycle.attempt(opened.run(), task).end).next).toBe("stays");
      expect(opened.log).toContain("ERROR The end of a run could not be recorded");
      await opened.close();
    }
  });

  test("whose code throws after it has completed has failed late", async () => {
    const opened = open({ outcome: { status: "completed" } });
    await opened.lifeCycle.attempt(opened.run(), task).end;
    opened.called[0]?.onStray?.({ message: "late" });
    await opened.runLog.settled();
    expect(opened.written).toEqual(["begin", "complete", "failLate late"]);
    expect(opened.log).toEqual(["ERROR The job a failed: late"]);
    await opened.close();
  });
});

describe("the run log", () => {
  test("a write that fails is answered with false, and the next one is made", async () => {
    const opened = open({ outcome: failed });
    const first = opened.runLog.write(() => {
      throw new Error("no");
    });
    const second = opened.runLog.write(() => undefined);
    expect(await Promise.all([first, second])).toEqual([false, true]);
    await opened.close();
  });
});
