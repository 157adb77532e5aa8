/** The limits of attempts and processes, one poll after the other. */
import { describe, expect, test } from "bun:test";
import { attempt } from "../../../test/script-attempts.ts";
import type { Attempt } from "./attempt.ts";
import { type ProcessLimit, RunLimits } from "./limits.ts";

function open(attempts: readonly Attempt[], residentBytes: number | null = 0) {
  const aborted: Attempt[] = [];
  const killed: ProcessLimit[] = [];
  const limits = new RunLimits({
    memoryLimit: 1_000,
    measure: () => ({ attempts, residentBytes }),
    abort: (each) => aborted.push(each),
    kill: (limit) => killed.push(limit),
  });
  return { aborted, killed, poll: (times: number) => Array.from({ length: times }, () => limits.poll()) };
}

function started(runId: string, { agoMs = 0, timeoutMs = 1_000 } = {}): Attempt {
  const each = attempt(runId, { timeoutMs });
  each.startedAt = performance.now() - agoMs;
  return each;
}

describe("time", () => {
  test("an attempt in time is left alone, however often it is looked at", () => {
    const { aborted, killed, poll } = open([started("a", { timeoutMs: 60_000 })]);
    poll(50);
    expect({ aborted, killed }).toEqual({ aborted: [], killed: [] });
  });

  test("one beyond its timeout is aborted once, and its process killed when it does not confirm", () => {
    const late = started("a", { agoMs: 2_000 });
    const { aborted, killed, poll } = open([late]);
    poll(10);
    expect({ aborted, killed }).toEqual({ aborted: [late], killed: [] });
    poll(1);
    expect(killed).toEqual(["hang"]);
    expect(aborted).toHaveLength(1);
  });

  test("one that waits while the last to start computes in time does not end the process", () => {
    const late = started("a", { agoMs: 2_000 });
    const computing = started("b", { timeoutMs: 60_000 });
    const { aborted, killed, poll } = open([late, computing]);
    poll(30);
    expect(aborted).toEqual([late]);
    expect(killed).toEqual([]);
  });

  test("a process that starts nothing of what it was sent is killed", () => {
    const { killed, poll } = open([attempt("a")]);
    poll(10);
    expect(killed).toEqual([]);
    poll(1);
    expect(killed).toEqual(["hang"]);
  });
});

describe("memory", () => {
  test.each([
    [1_001, ["memory"]],
    [1_000, []],
    [null, []],
  ] as const)("%p bytes of 1,000", (bytes, expected) => {
    const { killed, poll } = open([], bytes);
    expect(poll(1)).toEqual([false]);
    expect(killed).toEqual([...expected]);
  });
});
