/** The supervisor of a process: starts, losses, files that do not load, on fake processes. */
import { describe, expect, test } from "bun:test";
import type { FakeProcess } from "../../../test/fake-process.ts";
import { broken, loaded } from "../../../test/fake-process.ts";
import { quietLogger } from "../../../test/kit.ts";
import { type AnswerLoad, calls, FakeProcesses, outcomeOf, task } from "../../../test/script-attempts.ts";
import { until } from "../../../test/sockets.ts";
import { nextTurn } from "../../base/kernel/index.ts";
import { Supervisor } from "./supervisor.ts";

function open(answerLoad?: AnswerLoad, { capacity = 64, isAskedAgain = false } = {}) {
  const processes = new FakeProcesses();
  processes.answerLoad = answerLoad;
  const log: string[] = [];
  let losses = 0;
  const supervisor = new Supervisor({
    calls,
    spawn: processes.spawn,
    code: [{ path: "jobs/a.ts", real: "/project/jobs/a.ts", content: "as it was loaded" }],
    contents: "functions and jobs",
    capacity,
    isAwaited: false,
    isRepeatable: true,
    isAskedAgain,
    memoryLimit: 64 * 1024 ** 2,
    logger: quietLogger(log),
    onLost: () => {
      losses += 1;
    },
  });
  return { supervisor, processes, log, losses: () => losses };
}

/** The processes that have a run, once the processes are so many. */
async function withRuns(processes: FakeProcesses, ...runIds: string[]): Promise<FakeProcess[]> {
  const found = (): (FakeProcess | undefined)[] =>
    runIds.map((id) => processes.all.findLast((each) => !each.hasExited && each.runs().has(id)));
  await until(() => found().every((each) => each !== undefined));
  return found().flatMap((each) => each ?? []);
}

test("attempts wait until the process is ready, and while the process is full; an end starts the next attempt", async () => {
  const { supervisor, processes } = open(undefined, { capacity: 2 });
  const outcomes = ["a", "b", "c"].map((id) => supervisor.call(task(id)));
  await supervisor.start(["jobs/a.ts"]);
  const sent = (...ids: string[]): Promise<void> =>
    until(() => [...processes.last.runs().keys()].join() === ids.join());
  await sent("a", "b");
  await processes.last.answer("a", "started");
  expect(supervisor.load).toBe(3);
  await processes.last.answer("a", "completed");
  await sent("a", "b", "c");
  expect(supervisor.load).toBe(2);
  supervisor.stop();
  expect(await Promise.all(outcomes.map(outcomeOf))).toEqual(["completed", "stopped", "stopped"]);
});

describe("a lost process", () => {
  test("has its unstarted attempts made in the next process, before others", async () => {
    const { supervisor, processes } = open(undefined, { capacity: 2 });
    await supervisor.start(["jobs/a.ts"]);
    const outcomes = ["a", "b", "c"].map((id) => supervisor.call(task(id)));
    await withRuns(processes, "a", "b");
    processes.last.end();
    const [next] = await withRuns(processes, "b");
    expect([...(next?.runs().keys() ?? [])]).toEqual(["a", "b"]);
    for (const id of ["a", "b", "c"]) await next?.answer(id, "completed");
    expect(await Promise.all(outcomes.map(outcomeOf))).toEqual(["completed", "completed", "completed"]);
    supervisor.stop();
  });

  test("with a single run in its life: the run has failed, and the next process has the same code", async () => {
    const { supervisor, processes, log, losses } = open();
    await supervisor.start(["jobs/a.ts"]);
    const outcome = supervisor.call(task("a"));
    await processes.last.answer("a", "started");
    processes.last.end("exit code 3");
    expect(await outcomeOf(outcome)).toBe("ended the process (exit code 3)");
    const next = supervisor.call(task("b"));
    const [second] = await withRuns(processes, "b");
    expect(second?.sent[0]).toEqual({
      type: "code",
      files: [{ path: "jobs/a.ts", real: "/project/jobs/a.ts", content: "as it was loaded" }],
    });
    await second?.answer("b", "completed");
    expect(await outcomeOf(next)).toBe("completed");
    expect(losses()).toBe(1);
    expect(log).toContain("WARN The process of functions and jobs was lost: it ended the process (exit code 3)");
    expect(processes.all).toHaveLength(2);
    supervisor.stop();
  });

  test("with several: each runs again alone, other runs go on beside, and only the culprit has failed", async () => {
    const { supervisor, processes, log } = open();
    await supervisor.start(["jobs/a.ts"]);
    const [guilty, innocent] = [supervisor.call(task("guilty")), supervisor.call(task("innocent"))];
    for (const id of ["guilty", "innocent"]) await processes.last.answer(id, "started");
    processes.last.end("signal SIGSEGV", "SIGSEGV");
    const other = supervisor.call(task("other"));
    const [one, two, main] = await withRuns(processes, "guilty", "innocent", "other");
    expect(new Set([one, two, main]).size).toBe(3);
    expect([one, two, main].map((each) => each?.runs().size)).toEqual([1, 1, 1]);
    await main?.answer("other", "completed");
    expect(await outcomeOf(other)).toBe("completed");
    await one?.answer("guilty", "started");
    one?.end("signal SIGSEGV", "SIGSEGV");
    await two?.answer("innocent", "completed");
    expect(await outcomeOf(guilty)).toBe("ended the process (signal SIGSEGV)");
    expect(await outcomeOf(innocent)).toBe("completed");
    expect(log.filter((line) => line.includes("2 runs were in it, each is run again, alone"))).toHaveLength(1);
    await supervisor.drained();
    expect(supervisor.load).toBe(0);
    supervisor.stop();
  });

  test("beyond its memory: the run has failed for the memory, though a signal has ended the process", async () => {
    const { supervisor, processes } = open();
    await supervisor.start(["jobs/a.ts"]);
    const outcome = supervisor.call(task("a"));
    await processes.last.answer("a", "started");
    processes.last.residentBytes = 65 * 1024 ** 2;
    expect(await outcomeOf(outcome)).toBe("used more memory than scripts.memory allows (64 MiB)");
    supervisor.stop();
  });

  test("beyond its memory while nothing runs: the log has the reason, and another process takes its place", async () => {
    const { supervisor, processes, log } = open();
    await supervisor.start(["jobs/a.ts"]);
    processes.last.exceedMemory();
    await until(() => processes.all.length === 2);
    expect(log).toContain(
      "WARN The process of functions and jobs was lost: it used more memory than scripts.memory allows (64 MiB)",
    );
    supervisor.stop();
  });

  test("whose file loads in the main process alone: the run goes back there, and is blamed the third time", async () => {
    let main: FakeProcess | undefined;
    const { supervisor, processes } = open((path, process) => {
      main ??= process;
      if (main.hasExited) main = process;
      // The port of the file is held by the main process.
      return main === process ? loaded(path) : broken(path, "the port is in use");
    });
    await supervisor.start(["jobs/a.ts"]);
    const outcomes = [supervisor.call(task("a")), supervisor.call(task("b"))];
    for (let loss = 0; loss < 3; loss++) {
      const [current] = await withRuns(processes, "a", "b");
      for (const id of ["a", "b"]) await current?.answer(id, "started");
      current?.end("exit code 1");
      await until(() => current?.hasExited === true);
    }
    const messages = await Promise.all(outcomes.map(outcomeOf));
    expect(messages).toEqual(["ended the process (exit code 1)", "ended the process (exit code 1)"]);
    supervisor.stop();
  });
});

describe("a process that does not answer", () => {
  const other = { path: "jobs/b.ts" };

  test("is put aside: the next process has the attempts that had not begun, and the first ends with the last begun attempt", async () => {
    const { supervisor, processes, losses } = open();
    await supervisor.start(["jobs/a.ts", "jobs/b.ts"]);
    const outcomes = [supervisor.call(task("awaits")), supervisor.call(task("loops"))];
    outcomes.push(supervisor.call(task("waits", other)));
    const first = processes.last;
    for (const id of ["awaits", "loops"]) await first.answer(id, "started");
    await until(() => processes.last !== first && processes.last.runs().has("waits"));
    expect([...processes.last.runs().keys()]).toEqual(["waits"]);
    // The process that computes leaves the processor cores to the next process.
    expect(processes.all.map(({ hasStoodBack }) => hasStoodBack)).toEqual([true, false]);
    await processes.last.answer("waits", "completed");
    await first.answer("loops", "completed");
    expect(first.hasExited).toBeFalse();
    await first.answer("awaits", "completed");
    expect(first.hasExited).toBeTrue();
    expect(await Promise.all(outcomes.map(outcomeOf))).toEqual(["completed", "completed", "completed"]);
    expect([supervisor.load, losses(), processes.all.length]).toEqual([0, 0, 2]);
    supervisor.stop();
  });

  test("further attempts of the suspected file go apart, then alone; the other files have the main process", async () => {
    const { supervisor, processes } = open();
    await supervisor.start(["jobs/a.ts", "jobs/b.ts"]);
    const loops = ["1", "2", "3", "4", "5"].map((id) => supervisor.call(task(id)));
    const calm = supervisor.call(task("calm", other));
    const holder = (id: string): FakeProcess | undefined =>
      processes.all.findLast((each) => !each.hasExited && each.runs().has(id));
    const [first] = await withRuns(processes, "1");
    await first?.answer("1", "started");
    await until(() => holder("calm") !== first && holder("2") !== first);
    const [main, apart] = [holder("calm"), holder("2")];
    expect([...(main?.runs().keys() ?? [])]).toEqual(["calm"]);
    expect([...(apart?.runs().keys() ?? [])]).toEqual(["2", "3", "4", "5"]);
    await main?.answer("calm", "completed");
    expect(await outcomeOf(calm)).toBe("completed");
    await apart?.answer("2", "started");
    await until(() => ["3", "4", "5"].every((id) => holder(id) !== apart));
    expect(new Set(["3", "4", "5"].map(holder)).size).toBe(3);
    expect(["3", "4", "5"].map((id) => holder(id)?.runs().size)).toEqual([1, 1, 1]);
    for (const id of ["1", "2", "3", "4", "5"]) await holder(id)?.answer(id, "completed");
    expect(await Promise.all(loops.map(outcomeOf))).toEqual(Array(5).fill("completed"));
    await supervisor.drained();
    // The main process is left.
    await until(() => processes.all.filter(({ hasExited }) => !hasExited).length === 1);
    expect(main?.hasExited).toBeFalse();
    supervisor.stop();
  });

  test("with begun hooks: the hooks are called again, the suspected hook alone; a hook that is alone there goes on", async () => {
    const { supervisor, processes } = open(undefined, { isAskedAgain: true });
    await supervisor.start(["jobs/a.ts", "jobs/b.ts"]);
    const outcomes = [supervisor.call(task("awaits", other)), supervisor.call(task("loops"))];
    const first = processes.last;
    for (const id of ["awaits", "loops"]) await first.answer(id, "started");
    await until(() => first.hasExited);
    const [again, alone] = await withRuns(processes, "awaits", "loops");
    expect([again?.runs().size, alone?.runs().size, again === alone]).toEqual([1, 1, false]);
    for (const [process, id] of [[again, "awaits"] as const, [alone, "loops"] as const])
      await process?.answer(id, "started");
    // Neither answers for another second. An attempt that has no other attempt beside it keeps its process.
    await until(() => processes.all.some((each) => !each.hasExited && each.runs().size === 0));
    expect([again?.hasExited, alone?.hasExited]).toEqual([false, false]);
    await again?.answer("awaits", "completed");
    await alone?.answer("loops", "completed");
    expect(await Promise.all(outcomes.map(outcomeOf))).toEqual(["completed", "completed"]);
    supervisor.stop();
  });

  test("hooks that had begun with the suspected hook in the same file are asked again apart, not in the main process", async () => {
    const { supervisor, processes } = open(undefined, { isAskedAgain: true });
    await supervisor.start(["jobs/a.ts", "jobs/b.ts"]);
    const outcomes = [supervisor.call(task("calm", other)), ...["1", "2"].map((id) => supervisor.call(task(id)))];
    const first = processes.last;
    for (const id of ["calm", "1", "2"]) await first.answer(id, "started");
    await until(() => first.hasExited);
    const holders = await withRuns(processes, "1", "2", "calm");
    expect(holders.map((each) => [...each.runs().keys()])).toEqual([["1"], ["2"], ["calm"]]);
    for (const [n, id] of ["1", "2", "calm"].entries()) await holders[n]?.answer(id, "completed");
    expect(await Promise.all(outcomes.map(outcomeOf))).toEqual(["completed", "completed", "completed"]);
    await until(() => processes.all.filter(({ hasExited }) => !hasExited).length === 1);
    expect([supervisor.load, holders[2]?.hasExited]).toEqual([0, false]);
    supervisor.stop();
  });

  test("the processes are bounded: a third process that does not answer keeps its attempts until another has ended", async () => {
    const { supervisor, processes } = open();
    const files = ["1", "2", "3", "4"].map((name) => `jobs/${name}.ts`);
    await supervisor.start(files);
    const held: FakeProcess[] = [];
    const outcomes = files.map((path) => supervisor.call(task(path, { path })));
    for (const path of files.slice(0, 3)) {
      await until(() => processes.all.some((each) => !held.includes(each) && each.runs().has(path)));
      held.push(processes.last);
      await processes.last.answer(path, "started");
    }
    const third = processes.last;
    const pings = (): number => third.sent.filter(({ type }) => type === "ping").length;
    await until(() => pings() > 15);
    expect(processes.all).toHaveLength(3);
    await held[0]?.answer("jobs/1.ts", "completed");
    await until(() => processes.last !== third && processes.last.runs().has("jobs/4.ts"));
    expect([held[0]?.hasExited, third.hasExited]).toEqual([true, false]);
    supervisor.stop();
    expect(await Promise.all(outcomes.map(outcomeOf))).toEqual(["completed", "stopped", "stopped", "stopped"]);
    await supervisor.drained();
    expect(processes.all.every(({ hasExited }) => hasExited)).toBeTrue();
  });

  test("that is killed aside has its begun runs repeated, alone, beside the main process", async () => {
    const { supervisor, processes } = open();
    await supervisor.start(["jobs/a.ts"]);
    const outcome = supervisor.call(task("a"));
    const beside = supervisor.call(task("b"));
    const first = processes.last;
    for (const id of ["a", "b"]) await first.answer(id, "started");
    await until(() => processes.all.length === 2);
    first.end("signal SIGKILL", "SIGKILL");
    const [one, two] = await withRuns(processes, "a", "b");
    expect([one?.runs().size, two?.runs().size]).toEqual([1, 1]);
    for (const [process, id] of [[one, "a"] as const, [two, "b"] as const]) await process?.answer(id, "completed");
    expect(await Promise.all([outcome, beside].map(outcomeOf))).toEqual(["completed", "completed"]);
    supervisor.stop();
  });
});

describe("loading", () => {
  test("a file that ends the process twice is left out, and the others are loaded", async () => {
    const { supervisor, processes } = open((path, process) => {
      if (path === "jobs/dies.ts") process.end("exit code 9");
      return path === "jobs/dies.ts" ? null : loaded(path);
    });
    const results = await supervisor.start(["jobs/a.ts", "jobs/dies.ts", "jobs/z.ts"]);
    expect(results.get("jobs/dies.ts")).toEqual({
      error: { message: "ended the process while it was loading (exit code 9)" },
    });
    expect([...results.keys()].sort()).toEqual(["jobs/a.ts", "jobs/dies.ts", "jobs/z.ts"]);
    expect(processes.all).toHaveLength(3);
    expect(processes.last.sent.filter(({ type }) => type === "load")).toHaveLength(2);
    supervisor.stop();
  });

  test("a stop while files are loaded again ends the process, and blames no file", async () => {
    let isAgain = false;
    const { supervisor, processes, log } = open((path) => (isAgain ? null : loaded(path)));
    await supervisor.start(["jobs/a.ts"]);
    isAgain = true;
    processes.last.end();
    await until(() => processes.all.length === 2 && processes.last.sent.some(({ type }) => type === "load"));
    await supervisor.end();
    await until(() => processes.all.every(({ hasExited }) => hasExited));
    await Bun.sleep(0);
    expect([processes.all.length, log.filter((line) => line.startsWith("ERROR"))]).toEqual([2, []]);
  });

  test("a file that cannot be loaded again has its runs in quarantine", async () => {
    let failures = 0;
    const { supervisor, processes, log } = open((path, process) => {
      // The second process alone does not load the file.
      const isBroken = process === processes.all[1];
      if (isBroken) failures += 1;
      return isBroken ? broken(path, "gone") : loaded(path);
    });
    await supervisor.start(["jobs/a.ts"]);
    processes.last.end();
    await until(() => failures === 1);
    const outcome = supervisor.call(task("a"));
    const [alone] = await withRuns(processes, "a");
    expect(alone).not.toBe(processes.all[1]);
    await alone?.answer("a", "completed");
    expect(await outcomeOf(outcome)).toBe("completed");
    expect(log).toContain("ERROR jobs/a.ts could not be loaded again, it is tried in a process of its own: gone");
    supervisor.stop();
  });
});

test("a file that no process can load again: quarantine pauses before each further try, until a process loads the file", async () => {
  const { supervisor, processes } = open((path) => {
    // Neither the second process nor the first of quarantine loads the file.
    return [2, 3].includes(processes.all.length) ? broken(path, "gone") : loaded(path);
  });
  await supervisor.start(["jobs/a.ts"]);
  const outcome = supervisor.call(task("a"));
  processes.last.end();
  await until(() => processes.all.length >= 3);
  // The pause is longer than these turns.
  for (let turns = 0; turns < 20; turns++) await nextTurn();
  expect([processes.all.length, supervisor.load]).toEqual([3, 1]);
  const [alone] = await withRuns(processes, "a");
  expect(alone).toBe(processes.all[3]);
  await alone?.answer("a", "completed");
  expect(await outcomeOf(outcome)).toBe("completed");
  supervisor.stop();
});

test("a stop settles everything that waits, runs or is in quarantine, and ends all processes", async () => {
  const { supervisor, processes } = open();
  await supervisor.start(["jobs/a.ts"]);
  const outcomes = ["a", "b"].map((id) => supervisor.call(task(id)));
  for (const id of ["a", "b"]) await processes.last.answer(id, "started");
  processes.last.end();
  await withRuns(processes, "a", "b");
  outcomes.push(supervisor.call(task("c")));
  supervisor.stop();
  outcomes.push(supervisor.call(task("d")));
  expect(await Promise.all(outcomes.map(outcomeOf))).toEqual(["stopped", "stopped", "stopped", "stopped"]);
  await supervisor.drained();
  expect(processes.all.every(({ hasExited }) => hasExited)).toBe(true);
});
