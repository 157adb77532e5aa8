/** Calls with an answer: the caller gets an answer within the timeout, whatever the process does. On fake processes. */
import { describe, expect, test } from "bun:test";
import type { FakeProcess } from "../../../test/fake-process.ts";
import { quietLogger } from "../../../test/kit.ts";
import { calls, FakeProcesses, task } from "../../../test/script-attempts.ts";
import { until } from "../../../test/sockets.ts";
import type { ScriptCall } from "./attempt.ts";
import type { Invocation, InvocationAnswer } from "./protocol.ts";
import { Supervisor } from "./supervisor.ts";

function call(runId: string, more: Partial<ScriptCall> = {}): ScriptCall {
  return { ...task(runId), isRepeatable: true, ...more };
}

async function open() {
  const processes = new FakeProcesses();
  const supervisor = new Supervisor({
    calls,
    contents: "hooks",
    capacity: 64,
    spawn: processes.spawn,
    code: [],
    memoryLimit: 64 * 1024 ** 2,
    logger: quietLogger(),
    onLost: () => undefined,
  });
  await supervisor.start(["jobs/a.ts"]);
  return { supervisor, processes };
}

/** The handlers that a process was asked to call, by the id of the run. */
function invoked(process: FakeProcess): Map<string, Invocation> {
  const calls = process.sent.flatMap((message) => (message.type === "invoke" ? message.calls : []));
  return new Map(calls.map((each) => [JSON.parse(each.input).runId as string, each]));
}

/** The process that has received a call, as soon as a process has, and the call's attempt in that process. */
async function holding(processes: FakeProcesses, runId: string): Promise<{ process: FakeProcess; attempt: number }> {
  const find = () => processes.all.findLast((each) => !each.hasExited && invoked(each).has(runId));
  await until(() => find() !== undefined);
  const process = find();
  if (process === undefined) throw new Error(`No process has ${runId}`);
  return { process, attempt: invoked(process).get(runId)?.attempt ?? 0 };
}

async function answer(processes: FakeProcesses, runId: string, more: object): Promise<void> {
  const { process, attempt } = await holding(processes, runId);
  process.say({ type: "entered", attempts: [attempt] });
  process.say({ type: "answers", answers: [{ attempt, ...more } as InvocationAnswer] });
}

describe("the answer", () => {
  test("is the value, the refusal or the error of the handler; calls of one turn share a message", async () => {
    const { supervisor, processes } = await open();
    const outcomes = ["a", "b", "c"].map((id) => supervisor.call(call(id)));
    const refusal = { message: "no", status: 403, field: null };
    await answer(processes, "a", { value: '{"n":1}' });
    await answer(processes, "b", { refusal });
    await answer(processes, "c", { error: { message: "broken" } });
    expect(await Promise.all<unknown>(outcomes)).toEqual([
      { status: "answered", value: '{"n":1}' },
      { status: "refused", refusal },
      { status: "failed", error: { message: "broken" } },
    ]);
    expect(processes.last.sent.filter(({ type }) => type === "invoke")).toHaveLength(1);
    expect(supervisor.load).toBe(0);
    supervisor.stop();
  });

  test("counts once: a second one changes nothing", async () => {
    const { supervisor, processes } = await open();
    const outcome = supervisor.call(call("a"));
    await answer(processes, "a", { value: "1" });
    await answer(processes, "a", { value: "2" });
    expect(await outcome).toEqual({ status: "answered", value: "1" });
    supervisor.stop();
  });
});

describe("a call that nobody waits for", () => {
  test("whose time is up: late, aborted in the process, and over once that is confirmed", async () => {
    const { supervisor, processes } = await open();
    const outcome = supervisor.call(call("a", { timeoutMs: 20 }));
    const { process, attempt } = await holding(processes, "a");
    process.say({ type: "entered", attempts: [attempt] });
    expect(await outcome).toEqual({ status: "late" });
    expect(process.sent).toContainEqual({ type: "abort", attempt });
    expect(supervisor.load).toBe(1);
    process.say({ type: "aborted", attempt });
    expect(supervisor.load).toBe(0);
    supervisor.stop();
  });

  test("whose process does not confirm: the process is killed", async () => {
    const { supervisor, processes } = await open();
    const outcome = supervisor.call(call("a", { timeoutMs: 20 }));
    const { process, attempt } = await holding(processes, "a");
    process.say({ type: "entered", attempts: [attempt] });
    expect(await outcome).toEqual({ status: "late" });
    await until(() => process.hasExited);
    await until(() => processes.all.length === 2);
    const next = supervisor.call(call("b"));
    await answer(processes, "b", { value: "1" });
    expect(await next).toEqual({ status: "answered", value: "1" });
    // The late call is not made again.
    expect(processes.all).toHaveLength(2);
    supervisor.stop();
  });

  test("whose caller leaves: left; one that had left before is not sent", async () => {
    const { supervisor, processes } = await open();
    const caller = new AbortController();
    const outcome = supervisor.call(call("a", { caller: caller.signal }));
    const { process, attempt } = await holding(processes, "a");
    caller.abort();
    expect(await outcome).toEqual({ status: "left" });
    expect(process.sent).toContainEqual({ type: "abort", attempt });
    expect(await supervisor.call(call("b", { caller: caller.signal }))).toEqual({ status: "left" });
    expect(invoked(process).has("b")).toBeFalse();
    supervisor.stop();
  });
});

describe("a process that is lost with", () => {
  test("one call that it ever had: the call is lost with it", async () => {
    const { supervisor, processes } = await open();
    const outcome = supervisor.call(call("a"));
    const { process, attempt } = await holding(processes, "a");
    process.say({ type: "entered", attempts: [attempt] });
    process.end("exit code 3");
    expect(await outcome).toEqual({ status: "lost", message: "ended the process (exit code 3)" });
    supervisor.stop();
  });

  test("several: those that may be called again are, alone; the others are lost", async () => {
    const { supervisor, processes } = await open();
    const again = supervisor.call(call("again"));
    const once = supervisor.call(call("once", { isRepeatable: false }));
    const { process } = await holding(processes, "once");
    process.say({ type: "entered", attempts: [...invoked(process).values()].map((each) => each.attempt) });
    process.end("exit code 3");
    expect(await once).toEqual({ status: "lost", message: "ended the process (exit code 3)" });
    await answer(processes, "again", { value: "1" });
    expect(await again).toEqual({ status: "answered", value: "1" });
    expect(processes.all.filter((each) => invoked(each).has("once"))).toHaveLength(1);
    supervisor.stop();
  });

  test("one that it had not entered: it is called in the next process, whether or not it may be repeated", async () => {
    const { supervisor, processes } = await open();
    const outcome = supervisor.call(call("a", { isRepeatable: false }));
    (await holding(processes, "a")).process.end("exit code 3");
    await answer(processes, "a", { value: "1" });
    expect(await outcome).toEqual({ status: "answered", value: "1" });
    supervisor.stop();
  });
});

test("the end of the service stops calls", async () => {
  const { supervisor, processes } = await open();
  const outcome = supervisor.call(call("a"));
  await holding(processes, "a");
  supervisor.stop();
  expect(await outcome).toEqual({ status: "stopped" });
  expect(await supervisor.call(call("b"))).toEqual({ status: "stopped" });
});
