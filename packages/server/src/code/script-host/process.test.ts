/**
 * A script process: the limits, one poll after the other, the loss, and errors after the end of an attempt. On a fake process.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { attempt, FakeProcesses, outcomeOf } from "../../../test/script-attempts.ts";
import { until } from "../../../test/sockets.ts";
import type { Attempt } from "./attempt.ts";
import type { ScriptProcess } from "./process.ts";
import type { ScriptError } from "./protocol.ts";

const opened: ScriptProcess[] = [];
afterEach(() => {
  for (const process of opened.splice(0)) process.close();
});

/** Attempts of the process, in the order of the calls; the begun attempts come first. */
function open(attempts: readonly (Attempt | Begun)[], log: string[] = []) {
  const processes = new FakeProcesses();
  let silences = 0;
  const onSilent = (): void => {
    silences += 1;
  };
  const process = processes.open({ log, onSilent });
  opened.push(process);
  const fake = processes.last;
  for (const each of attempts) {
    process.call("begun" in each ? each.begun : each);
    if ("begun" in each) fake.lastBegun += 1;
  }
  expect(process.begun).toHaveLength(fake.lastBegun);
  for (const each of attempts) if ("begun" in each) each.begun.startedAt = performance.now() - each.agoMs;
  return {
    process,
    fake,
    aborted: () => fake.sent.flatMap((message) => (message.type === "abort" ? [message.attempt] : [])),
    silences: () => silences,
    poll: (times: number) => Array.from({ length: times }, () => process.poll()),
  };
}

/** An attempt that began some time ago. */
interface Begun {
  readonly begun: Attempt;
  readonly agoMs: number;
}

function started(runId: string, { agoMs = 0, timeoutMs = 1_000 } = {}): Begun {
  return { begun: attempt(runId, { timeoutMs }), agoMs };
}

describe("time", () => {
  test("an attempt in time goes on, however often the time is checked", () => {
    const { aborted, fake, poll } = open([started("a", { timeoutMs: 60_000 })]);
    poll(50);
    expect(aborted()).toEqual([]);
    expect(fake.hasExited).toBeFalse();
  });

  test("an attempt beyond its timeout is aborted once, and its process killed without a confirmation", () => {
    const late = started("a", { agoMs: 2_000 });
    const { aborted, fake, poll, process } = open([late]);
    poll(10);
    expect(aborted()).toEqual([late.begun.number]);
    expect(fake.hasExited).toBeFalse();
    poll(1);
    expect(fake.hasExited).toBeTrue();
    expect(aborted()).toHaveLength(1);
    expect(process.release({ how: "signal SIGKILL", signal: "SIGKILL" })).toMatchObject({
      message: "ran past its timeout without giving way (an endless loop?)",
      signal: null,
    });
  });

  test("an attempt that waits while the last started attempt computes in time does not end the process", () => {
    const late = started("a", { agoMs: 2_000 });
    const computing = started("b", { timeoutMs: 60_000 });
    const { aborted, fake, poll } = open([late, computing]);
    poll(30);
    expect(aborted()).toEqual([late.begun.number]);
    expect(fake.hasExited).toBeFalse();
  });

  test("a process that starts nothing of its messages is killed", () => {
    const { fake, poll } = open([attempt("a")]);
    poll(10);
    expect(fake.hasExited).toBeFalse();
    poll(1);
    expect(fake.hasExited).toBeTrue();
  });
});

describe("a process that does not answer", () => {
  test("is reported after a second of silence, however old the silence of an idle time is", async () => {
    const { fake, poll, silences } = open([started("a", { timeoutMs: 60_000 })]);
    poll(10);
    fake.say({ type: "pong" });
    poll(10);
    expect(silences()).toBe(0);
    poll(1);
    expect(silences()).toBe(1);
    await fake.answer("a", "completed");
    poll(30);
    expect(silences()).toBe(1);
  });

  test("is not reported without a begun attempt: nothing of the process is worth the wait", () => {
    const { fake, poll, silences } = open([attempt("a")]);
    poll(11);
    expect([silences(), fake.hasExited]).toEqual([0, true]);
  });

  test("hands back the attempts that have not begun, and may begin no such attempt later", async () => {
    const { begun } = started("a", { timeoutMs: 60_000 });
    const [late, sent, unsent] = [attempt("late"), attempt("b"), attempt("c")];
    const { fake, poll, process } = open([{ begun, agoMs: 0 }, late, sent]);
    await until(() => fake.runs().has("b"));
    fake.say({ type: "doubt", doubt: 1 });
    process.call(unsent);
    // The process has begun another attempt since the last look.
    await fake.answer("late", "started");
    expect(process.takeBack()).toEqual({ unbegun: [sent, unsent], begun: [] });
    expect([process.load, process.begun]).toEqual([2, [begun, late]]);
    fake.say({ type: "doubt", doubt: 2 });
    poll(1);
    await until(() => fake.sent.some(({ type }) => type === "ping"));
    expect(fake.sent.filter(({ type }) => type === "go")).toEqual([{ type: "go", doubt: 1 }]);
    expect([...fake.runs().keys()]).toEqual(["a", "late", "b"]);
    // A process that breaks the promise changes nothing.
    await fake.answer("b", "completed");
    expect(sent.isSettled).toBeFalse();
  });
});

describe("memory", () => {
  test.each([
    [1_001, true],
    [1_000, false],
    [null, false],
  ] as const)("%p bytes of 1,000", (bytes, isKilled) => {
    const { fake, poll } = open([]);
    fake.residentBytes = bytes;
    expect(poll(1)).toEqual([false]);
    expect(fake.hasExited).toBe(isKilled);
  });
});

test("a lost process reports the started attempts; its messages are not read any more", async () => {
  const [a, b] = [attempt("a"), attempt("b")];
  const { process, fake } = open([a, b]);
  await fake.answer("a", "started");
  const loss = process.release({ how: "exit code 1", signal: null });
  expect(loss).toEqual({
    started: [a],
    unstarted: [b],
    everSent: 2,
    message: "ended the process (exit code 1)",
    signal: null,
  });
  expect(a.startedAt).toBeNull();
  await fake.answer("a", "completed");
  expect(a.isSettled).toBeFalse();
});

test("the first error after a completion fails the attempt; later errors, and errors of failed attempts, are logged", async () => {
  const log: string[] = [];
  const strays: ScriptError[] = [];
  const completed = attempt("a", { onStray: (error) => strays.push(error) });
  const failed = attempt("b", { onStray: (error) => strays.push(error) });
  const { fake } = open([completed, failed], log);
  await fake.answer("a", "completed");
  await fake.answer("b", { status: "failed", error: { message: "no" } });
  expect(await outcomeOf(failed)).toBe("no");
  for (const id of [completed.number, completed.number, failed.number, null])
    fake.say({ type: "stray", attempt: id, error: { message: `late ${id}` } });
  expect(strays).toEqual([{ message: `Thrown after the handler had returned: late ${completed.number}` }]);
  expect(log.filter((line) => line.includes("Uncaught error in functions or jobs"))).toHaveLength(3);
});

test("a load that the process does not answer is late, and the process is killed; polls are counted, not time", async () => {
  const processes = new FakeProcesses();
  processes.answerLoad = () => null;
  const process = processes.open();
  opened.push(process);
  const loading = process.loadFile("jobs/a.ts");
  for (let polls = 0; polls < 79; polls++) expect(process.poll()).toBeTrue();
  expect(processes.last.hasExited).toBeFalse();
  process.poll();
  expect(await loading).toEqual({ loaded: { error: { message: "did not finish loading within 5 s" } }, lost: "late" });
  await until(() => processes.last.hasExited);
});

test("a process that answers while a file loads is not late before a minute: a busy machine may not have run the process", async () => {
  const processes = new FakeProcesses();
  processes.answerLoad = () => null;
  const process = processes.open();
  opened.push(process);
  const loading = process.loadFile("jobs/a.ts");
  for (let polls = 1; polls < 600; polls++) {
    expect(process.poll()).toBeTrue();
    if (polls % 79 === 0) processes.last.say({ type: "pong" });
  }
  expect(processes.last.hasExited).toBeFalse();
  process.poll();
  expect(await loading).toEqual({ loaded: { error: { message: "did not finish loading within 5 s" } }, lost: "late" });
  await until(() => processes.last.hasExited);
});
