/** The states of an attempt that the scheduler draws, on a fake process. */
import { expect, test } from "bun:test";
import type { FakeProcess } from "../../../test/fake-process.ts";
import { quietLogger } from "../../../test/kit.ts";
import { attempt, FakeProcesses, outcomeOf } from "../../../test/script-attempts.ts";
import type { ScriptError } from "./protocol.ts";
import { Scheduler } from "./scheduler.ts";

function open({ capacity = 2, log = [] as string[] } = {}): { scheduler: Scheduler; process: FakeProcess } {
  const scheduler = new Scheduler({ capacity, memoryLimit: 1_000, logger: quietLogger(log) });
  const processes = new FakeProcesses();
  scheduler.attach(processes.open(scheduler));
  return { scheduler, process: processes.last };
}

test("attempts wait until the process is ready, and while it is full; an end makes room", async () => {
  const { scheduler, process } = open();
  const [a, b, c] = [attempt("a"), attempt("b"), attempt("c")];
  for (const each of [a, b, c]) scheduler.add(each);
  expect([...process.runs().keys()]).toEqual([]);
  scheduler.ready();
  expect([...process.runs().keys()]).toEqual(["a", "b"]);
  await process.answer("a", "started");
  expect(scheduler.load).toBe(3);
  await process.answer("a", "completed");
  expect(await outcomeOf(a)).toBe("completed");
  expect([...process.runs().keys()]).toEqual(["a", "b", "c"]);
  expect(scheduler.load).toBe(2);
  scheduler.stop();
  expect([await outcomeOf(b), await outcomeOf(c)]).toEqual(["stopped", "stopped"]);
});

test("of a lost process, the attempts that it had not started wait again, before the others", async () => {
  const { scheduler, process } = open();
  for (const id of ["a", "b", "c"]) scheduler.add(attempt(id));
  scheduler.ready();
  await process.answer("a", "started");
  const loss = scheduler.detach({ how: "exit code 1", signal: null });
  expect(loss.started.map(({ task }) => task.input.runId)).toEqual(["a"]);
  expect(loss).toMatchObject({ everSent: 2, message: "ended the process (exit code 1)", signal: null });
  expect(loss.started[0]?.startedAt).toBeNull();
  // A message that the lost process had sent comes late.
  process.say({ type: "completed", attempt: loss.started[0]?.id ?? 0 });
  const next = new FakeProcesses();
  scheduler.attach(next.open(scheduler));
  scheduler.ready();
  expect([...next.last.runs().keys()]).toEqual(["b", "c"]);
  scheduler.stop();
});

test("attempts for files that the process has not loaded are handed on", () => {
  const handed: string[] = [];
  const logger = quietLogger();
  const scheduler = new Scheduler({
    capacity: 1,
    memoryLimit: 1_000,
    logger,
    onUnloaded: ({ task }) => handed.push(task.input.runId),
  });
  const processes = new FakeProcesses();
  scheduler.attach(processes.open(scheduler));
  scheduler.add(attempt("a", { path: "jobs/broken.ts" }));
  scheduler.add(attempt("b"));
  scheduler.ready((path) => path !== "jobs/broken.ts");
  expect(handed).toEqual(["a"]);
  expect([...processes.last.runs().keys()]).toEqual(["b"]);
  scheduler.stop();
});

test("the first error after a completion makes the attempt a failed one; later ones, and those of failed ones, are logged", async () => {
  const log: string[] = [];
  const { scheduler, process } = open({ log });
  const strays: ScriptError[] = [];
  scheduler.ready();
  const completed = attempt("a", { onStray: (error) => strays.push(error) });
  const failed = attempt("b", { onStray: (error) => strays.push(error) });
  for (const each of [completed, failed]) scheduler.add(each);
  await process.answer("a", "completed");
  process.say({ type: "failed", attempt: failed.id, error: { message: "no" } });
  expect(await outcomeOf(failed)).toBe("no");
  for (const id of [completed.id, completed.id, failed.id, null])
    process.say({ type: "stray", attempt: id, error: { message: `late ${id}` } });
  expect(strays).toEqual([{ message: `Thrown after the handler had returned: late ${completed.id}` }]);
  expect(log.filter((line) => line.includes("Uncaught error in functions or jobs"))).toHaveLength(3);
  scheduler.stop();
});
