/** Which attempt is blamed for a lost process, on fake processes. */
import { describe, expect, test } from "bun:test";
import { broken } from "../../../test/fake-process.ts";
import { attempt, FakeProcesses, outcomeOf } from "../../../test/script-attempts.ts";
import { until } from "../../../test/sockets.ts";
import { culpritOf, Quarantine } from "./quarantine.ts";

function open() {
  const processes = new FakeProcesses();
  const quarantine = new Quarantine(() => processes.open());
  return { processes, quarantine };
}

describe("the culprit", () => {
  const message = "ended the process (exit code 1)";

  test("is the only attempt that a process ever had", () => {
    const only = attempt("a");
    expect(culpritOf({ unstarted: [], started: [only], everSent: 1, message, signal: null })).toBe(only);
    expect(culpritOf({ unstarted: [], started: [only], everSent: 2, message, signal: null })).toBeNull();
    expect(culpritOf({ unstarted: [], started: [only, attempt("b")], everSent: 2, message, signal: null })).toBeNull();
    expect(culpritOf({ unstarted: [], started: [], everSent: 0, message, signal: null })).toBeNull();
  });

  test("is blamed for a signal from outside the fourth time, for a crash at once", () => {
    const only = attempt("a");
    const blamed = Array.from({ length: 4 }, () =>
      culpritOf({ unstarted: [], started: [only], everSent: 1, message, signal: "SIGKILL" }),
    );
    expect(blamed).toEqual([null, null, null, only]);
    const crashing = attempt("b");
    expect(culpritOf({ unstarted: [], started: [crashing], everSent: 1, message, signal: "SIGSEGV" })).toBe(crashing);
  });
});

describe("an attempt in quarantine", () => {
  test("has a process of its own, which ends with the attempt", async () => {
    const { processes, quarantine } = open();
    const [a, b] = [attempt("a"), attempt("b", { path: "jobs/b.ts" })];
    const runs = [quarantine.isolate(a), quarantine.isolate(b)];
    await until(() => processes.all.length === 2 && processes.all.every((each) => each.runs().size === 1));
    expect(processes.all.map(({ sent }) => sent.filter(({ type }) => type === "load"))).toEqual([
      [{ type: "load", path: "jobs/a.ts" }],
      [{ type: "load", path: "jobs/b.ts" }],
    ]);
    expect(processes.all.every(({ hasStoodBack }) => hasStoodBack)).toBe(true);
    for (const [i, id] of ["a", "b"].entries()) {
      await processes.all[i]?.answer(id, "started");
      await processes.all[i]?.answer(id, "completed");
    }
    expect(await Promise.all(runs)).toEqual([true, true]);
    expect([await outcomeOf(a), await outcomeOf(b)]).toEqual(["completed", "completed"]);
    expect(processes.all.every(({ hasExited }) => hasExited)).toBe(true);
  });

  test("fails when the attempt ends its process, and runs again when the process was killed from outside", async () => {
    const { processes, quarantine } = open();
    const a = attempt("a");
    const run = quarantine.isolate(a);
    for (const [i, end] of [
      () => processes.last.kill(),
      // The process was lost before the start of the attempt.
      () => processes.last.end(),
      () => processes.last.end("exit code 7"),
    ].entries()) {
      await until(() => processes.all.length === i + 1 && processes.last.runs().size === 1);
      if (i !== 1) await processes.last.answer("a", "started");
      end();
    }
    expect(await run).toBe(true);
    expect(await outcomeOf(a)).toBe("ended the process (exit code 7)");
    expect(processes.all).toHaveLength(3);
  });

  test("is handed back when its file does not load there, and stays unsettled", async () => {
    const { processes, quarantine } = open();
    processes.answerLoad = (path) => broken(path, "port in use");
    const a = attempt("a");
    expect(await quarantine.isolate(a)).toBe(false);
    expect(await Promise.race([outcomeOf(a), Promise.resolve("unsettled")])).toBe("unsettled");
  });

  test("waits for one of three processes", async () => {
    const { processes, quarantine } = open();
    const runs = ["a", "b", "c", "d"].map((id) => quarantine.isolate(attempt(id)));
    await until(() => processes.all.length === 3);
    await Bun.sleep(5);
    expect(processes.all).toHaveLength(3);
    await processes.all[1]?.answer("b", "completed");
    await until(() => processes.all.length === 4);
    for (const [i, id] of [
      [0, "a"],
      [2, "c"],
      [3, "d"],
    ] as const)
      await processes.all[i]?.answer(id, "completed");
    expect(await Promise.all(runs)).toEqual([true, true, true, true]);
  });
});
