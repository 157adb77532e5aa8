/** Calls with an answer: the caller gets an answer within the timeout, whatever the process does. On fake processes. */
import { describe, expect, test } from "bun:test";
import type { FakeProcess } from "../../../test/fake-process.ts";
import { quietLogger } from "../../../test/kit.ts";
import { calls, FakeProcesses, task } from "../../../test/script-attempts.ts";
import { until } from "../../../test/sockets.ts";
import type { HandlerOutcome, RequestData } from "./protocol.ts";
import { Supervisor } from "./supervisor.ts";

async function open({ isRepeatable = true, isAskedAgain = false } = {}) {
  const processes = new FakeProcesses();
  const supervisor = new Supervisor({
    calls,
    contents: "hooks",
    capacity: 64,
    isAwaited: true,
    isRepeatable,
    isAskedAgain,
    spawn: processes.spawn,
    code: [],
    memoryLimit: 64 * 1024 ** 2,
    logger: quietLogger(),
    onLost: () => undefined,
  });
  await supervisor.start(["jobs/a.ts"]);
  return { supervisor, processes };
}

/** The process that has received a call, as soon as a process has, and the call's attempt in that process. */
async function holding(processes: FakeProcesses, runId: string): Promise<{ process: FakeProcess; attempt: number }> {
  const find = () => processes.all.findLast((each) => !each.hasExited && each.runs().has(runId));
  await until(() => find() !== undefined);
  const process = find();
  if (process === undefined) throw new Error(`No process has ${runId}`);
  return { process, attempt: process.runs().get(runId)?.attempt ?? 0 };
}

async function answer(processes: FakeProcesses, runId: string, outcome: HandlerOutcome): Promise<void> {
  const { process } = await holding(processes, runId);
  await process.answer(runId, "started");
  await process.answer(runId, outcome);
}

function value(json: string): HandlerOutcome {
  return { status: "answered", value: json };
}

describe("the result", () => {
  test("is the value, the refusal or the error of the handler; calls of the same turn share a message", async () => {
    const { supervisor, processes } = await open();
    const outcomes = ["a", "b", "c"].map((id) => supervisor.call(task(id)));
    const refusal = { code: "forbidden", message: "no" } as const;
    await answer(processes, "a", value('{"n":1}'));
    await answer(processes, "b", { status: "refused", refusal });
    await answer(processes, "c", { status: "failed", error: { message: "broken" } });
    expect(await Promise.all<unknown>(outcomes)).toEqual([
      { status: "answered", value: '{"n":1}' },
      { status: "refused", refusal },
      { status: "failed", error: { message: "broken" } },
    ]);
    expect(processes.last.sent.filter(({ type }) => type === "invoke")).toHaveLength(1);
    expect(supervisor.load).toBe(0);
    supervisor.stop();
  });

  test("counts once: a second result changes nothing", async () => {
    const { supervisor, processes } = await open();
    const outcome = supervisor.call(task("a"));
    await answer(processes, "a", value("1"));
    await answer(processes, "a", value("2"));
    expect(await outcome).toEqual({ status: "answered", value: "1" });
    supervisor.stop();
  });
});

describe("a call without a waiting caller", () => {
  test("beyond its time: late, aborted in the process, and over after the confirmation", async () => {
    const { supervisor, processes } = await open();
    const outcome = supervisor.call(task("a", { timeoutMs: 20 }));
    const { process, attempt } = await holding(processes, "a");
    await process.answer("a", "started");
    expect(await outcome).toEqual({ status: "late" });
    expect(process.sent).toContainEqual({ type: "abort", attempt });
    expect(supervisor.load).toBe(1);
    process.say({ type: "aborted", attempt });
    expect(supervisor.load).toBe(0);
    supervisor.stop();
  });

  test("whose process does not confirm: the process is killed", async () => {
    const { supervisor, processes } = await open();
    const outcome = supervisor.call(task("a", { timeoutMs: 20 }));
    const { process } = await holding(processes, "a");
    await process.answer("a", "started");
    expect(await outcome).toEqual({ status: "late" });
    await until(() => process.hasExited);
    await until(() => processes.all.length === 2);
    const next = supervisor.call(task("b"));
    await answer(processes, "b", value("1"));
    expect(await next).toEqual({ status: "answered", value: "1" });
    // The late call is not made again.
    expect(processes.all).toHaveLength(2);
    supervisor.stop();
  });

  test("whose caller leaves: left; a call whose caller has left before is not sent", async () => {
    const { supervisor, processes } = await open();
    const caller = new AbortController();
    const outcome = supervisor.call(task("a", { caller: caller.signal }));
    const { process, attempt } = await holding(processes, "a");
    caller.abort();
    expect(await outcome).toEqual({ status: "left" });
    expect(process.sent).toContainEqual({ type: "abort", attempt });
    expect(await supervisor.call(task("b", { caller: caller.signal }))).toEqual({ status: "left" });
    expect(process.runs().has("b")).toBeFalse();
    supervisor.stop();
  });
});

describe("a lost process with", () => {
  test("a single call in its life: the call is lost with the process", async () => {
    const { supervisor, processes } = await open();
    const outcome = supervisor.call(task("a"));
    const { process } = await holding(processes, "a");
    await process.answer("a", "started");
    process.end("exit code 3");
    expect(await outcome).toEqual({ status: "lost", message: "ended the process (exit code 3)" });
    supervisor.stop();
  });

  test("several calls that may be repeated: each is called again, alone", async () => {
    const { supervisor, processes } = await open();
    const outcomes = ["a", "b"].map((id) => supervisor.call(task(id)));
    const { process } = await holding(processes, "b");
    await process.answer("b", "started");
    process.end("exit code 3");
    for (const id of ["a", "b"]) await answer(processes, id, value("1"));
    expect(await Promise.all(outcomes)).toEqual([value("1"), value("1")]);
    // The lost process, one process for each call, and the main process, without any call.
    expect(processes.all.map((each) => each.runs().size).toSorted()).toEqual([0, 1, 1, 2]);
    supervisor.stop();
  });

  test("several calls that may not be repeated: all are lost", async () => {
    const { supervisor, processes } = await open({ isRepeatable: false });
    const outcomes = ["a", "b"].map((id) => supervisor.call(task(id)));
    const { process } = await holding(processes, "b");
    await process.answer("b", "started");
    process.end("exit code 3");
    const lost = { status: "lost", message: "ended the process (exit code 3)" } as const;
    expect(await Promise.all(outcomes)).toEqual([lost, lost]);
    expect(processes.all.filter((each) => each.runs().size > 0)).toHaveLength(1);
    supervisor.stop();
  });

  test("several requests: the safe requests without a result are called again, alone", async () => {
    const { supervisor, processes } = await open({ isRepeatable: false });
    const request: RequestData = { method: "GET", url: "http://x/", headers: [], body: null };
    const exchange = { request, pieces: null, onResponse: () => undefined };
    const safe = { exchange, isSafe: true };
    const outcomes = [task("a", safe), task("b", { exchange }), task("c", safe)].map((each) => supervisor.call(each));
    const { process, attempt } = await holding(processes, "c");
    await process.answer("c", "started");
    process.say({ type: "answers", answers: [{ attempt, response: { status: 200, headers: [], body: "pieces" } }] });
    process.end("exit code 3");
    await answer(processes, "a", value("1"));
    const lost = { status: "lost", message: "ended the process (exit code 3)" } as const;
    expect(await Promise.all(outcomes)).toEqual([value("1"), lost, lost]);
    expect(processes.all.map((each) => each.runs().size).toSorted()).toEqual([0, 1, 3]);
    // A safe request that is alone in a process that ends is not called again.
    const alone = supervisor.call(task("d", safe));
    const { process: next } = await holding(processes, "d");
    await next.answer("d", "started");
    next.end("signal SIGKILL", "SIGKILL");
    expect(await alone).toEqual({ status: "lost", message: "ended the process (signal SIGKILL)" });
    expect(processes.all.filter((each) => each.runs().has("d"))).toHaveLength(1);
    supervisor.stop();
  });

  test("a call that had not started: the next process gets the call, repeatable or not", async () => {
    const { supervisor, processes } = await open({ isRepeatable: false });
    const outcome = supervisor.call(task("a"));
    (await holding(processes, "a")).process.end("exit code 3");
    await answer(processes, "a", value("1"));
    expect(await outcome).toEqual({ status: "answered", value: "1" });
    supervisor.stop();
  });
});

test("the end of the service stops calls", async () => {
  const { supervisor, processes } = await open();
  const outcome = supervisor.call(task("a"));
  await holding(processes, "a");
  supervisor.stop();
  expect(await outcome).toEqual({ status: "stopped" });
  expect(await supervisor.call(task("b"))).toEqual({ status: "stopped" });
});
