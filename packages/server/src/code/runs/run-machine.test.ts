/** The life cycle of a run, with a table and a history that only note what is written. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { until } from "../../../test/sockets.ts";
import { AppError, Clock, system } from "../../base/kernel/index.ts";
import { Database, type Transactor } from "../../store/database/index.ts";
import { EventLog, eventSchema } from "../../store/events/index.ts";
import { Failures, failureSchema } from "../../store/failures/index.ts";
import type { ScriptOutcome, ScriptTask } from "../script-host/index.ts";
import type { WaitingRun } from "./dispatcher.ts";
import { type HandlerRun, linear, RunMachine } from "./run-machine.ts";
import { sourceTable } from "./source-table.ts";

const folder = temporaryFolder();
const task = {
  path: "jobs/a.ts",
  handler: "default",
  timeoutMs: 1_000,
  input: { runId: "run_a", attempt: 1, user: null },
  principal: system,
};

class TestMachine extends RunMachine<WaitingRun, HandlerRun> {
  override write(work: (tx: Transactor) => unknown): Promise<boolean> {
    return super.write(work);
  }

  protected override prepare(): Promise<"over"> {
    return Promise.resolve("over");
  }
}

let files = 0;

async function open({ outcome }: { outcome: ScriptOutcome }) {
  const log: string[] = [];
  const logger = quietLogger(log);
  const clock = new Clock();
  files += 1;
  const database = new Database({ path: join(folder, `${files}.db`), logger, onFatal: () => undefined });
  await database.prepare([eventSchema, failureSchema, { module: "functions", steps: [sourceTable] }]);
  const events = new EventLog({ database, clock, logger });
  events.start();
  const written: string[] = [];
  const called: ScriptTask[] = [];
  const state: { failure: Error | null; isOpen: boolean } = { failure: null, isOpen: true };
  const note = (text: string): void => {
    if (state.failure !== null) throw state.failure;
    written.push(text);
  };
  const machine = new TestMachine({
    database,
    events,
    failures: new Failures({ database, logger }),
    clock,
    now: () => 1_000_000,
    logger,
    processes: 1,
    host: {
      run(each) {
        called.push(each);
        return Promise.resolve(outcome);
      },
    },
    table: {
      waiting: () => [],
      isOpen: () => state.isOpen,
      remove: () => note("remove"),
      postpone: (_tx, _run, next) => note(`postpone ${next.failures} ${next.notBefore}`),
      fail: (_tx, _run, { error }) => note(`fail ${error}`),
    },
    history: {
      begin: () => () => note("begin"),
      ended: (_tx, _run, { error }) => note(error === null ? "ended" : `ended ${error}`),
      takenBack: () => undefined,
      endedLate: (_tx, _run, { error }) => note(`ended late ${error}`),
    },
  });
  const run = (failures = 0, errorWithoutFile: string | null = null): HandlerRun => ({
    id: 1,
    runId: "run_a",
    failures,
    policy: linear(2),
    label: "The job a",
    kind: "job",
    payload: { name: "a" },
    actor: null,
    cause: null,
    since: null,
    errorWithoutFile,
    failsAs: { kind: "job", path: "jobs/a.ts", record: null },
  });
  return {
    database,
    machine,
    written,
    called,
    log,
    run,
    state,
    announced: () =>
      database.reader.all<{ type: string }>("SELECT type FROM _events ORDER BY seq").map(({ type }) => type),
    close: () => database.close(),
  };
}

const failed: ScriptOutcome = { status: "failed", error: { message: "no" } };

describe("an attempt", () => {
  test.each([
    [{ status: "completed" }, 0, null, ["begin", "ended", "remove"], "over", ["started", "completed"]],
    [failed, 0, null, ["begin", "ended no", "postpone 1 1005000"], { failures: 1, notBefore: 1_005_000 }, ["started"]],
    [failed, 1, null, ["begin", "ended no", "postpone 2 1010000"], { failures: 2, notBefore: 1_010_000 }, []],
    [failed, 2, null, ["begin", "ended no", "fail no"], "over", ["failed"]],
    [{ status: "stopped" }, 0, "gone", ["begin"], "stays", ["started"]],
    [{ status: "gone" }, 0, null, ["begin"], "stays", ["started"]],
    [{ status: "gone" }, 2, "no file", ["begin", "ended no file", "fail no file"], "over", ["failed"]],
  ] as const)(
    "that ends with %j after %d failures",
    async (outcome, failures, errorWithoutFile, written, next, steps) => {
      const opened = await open({ outcome });
      const attempt = opened.machine.attempt(opened.run(failures, errorWithoutFile), task);
      expect(await attempt.end).toEqual(next);
      expect(await attempt.outcome).toEqual(outcome);
      await opened.machine.settled();
      expect(opened.written).toEqual([...written]);
      expect(opened.announced()).toEqual(steps.map((step) => `job.${step}`));
      await opened.close();
    },
  );

  test("whose end cannot be written stays, and is not reported as over", async () => {
    for (const outcome of [{ status: "completed" }, failed] as const) {
      const opened = await open({ outcome });
      opened.state.failure = new Error("a fault of the code");
      expect(await opened.machine.attempt(opened.run(), task).end).toBe("stays");
      expect(opened.log).toContain("ERROR The state of a run could not be written");
      expect(opened.announced()).toEqual([]);
      await opened.close();
    }
  });

  test.each([
    [{ status: "completed" }, true, ["ended", "remove"], ["completed"]],
    [failed, true, ["ended no", "postpone 1 1005000"], []],
    // The write whose outcome was unknown has happened: the end is not written twice.
    [{ status: "completed" }, false, [], []],
  ] as const)(
    "that ends with %j while the database takes no writes: the end is written later, the handler is not called again (open: %p)",
    async (outcome, isOpen, written, steps) => {
      const opened = await open({ outcome });
      opened.state.failure = new AppError("unavailable", "The journal is away.");
      const attempt = opened.machine.attempt(opened.run(), task);
      expect(await attempt.begun).toBe(false);
      await until(() => opened.log.length > 0);
      Object.assign(opened.state, { failure: null, isOpen });
      expect(await attempt.end).toEqual(outcome.status === "failed" ? { failures: 1, notBefore: 1_005_000 } : "over");
      expect(opened.written).toEqual([...written]);
      expect(opened.announced()).toEqual(steps.map((step) => `job.${step}`));
      expect(opened.called).toHaveLength(1);
      expect(opened.log).toContain("WARN The state of a run cannot be written at the moment");
      await opened.close();
    },
  );

  test("whose end cannot be written before the machine stops stays for the next start", async () => {
    const opened = await open({ outcome: { status: "completed" } });
    opened.state.failure = new AppError("unavailable", "The journal is away.");
    const { end } = opened.machine.attempt(opened.run(), task);
    await until(() => opened.log.length > 0);
    await opened.machine.stop();
    expect(await end).toBe("stays");
    expect(opened.written).toEqual([]);
    await opened.close();
  });

  test("whose code throws after its completion has failed late", async () => {
    const opened = await open({ outcome: { status: "completed" } });
    await opened.machine.attempt(opened.run(), task).end;
    opened.called[0]?.onStray?.({ message: "late" });
    await opened.machine.settled();
    expect(opened.written).toEqual(["begin", "ended", "remove", "ended late late"]);
    expect(opened.announced()).toEqual(["job.started", "job.completed", "job.failed"]);
    expect(opened.log).toEqual(["ERROR The job a failed: late"]);
    await opened.close();
  });
});

test("a failed write resolves with false, and the next write runs", async () => {
  const { machine, close } = await open({ outcome: failed });
  const first = machine.write(() => {
    throw new Error("no");
  });
  const second = machine.write(() => undefined);
  expect(await Promise.all([first, second])).toEqual([false, true]);
  await close();
});
