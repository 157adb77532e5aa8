/**
 * A real process that does not answer: the other attempts complete while a handler loops, and no attempt begins twice. The loops hold the
 * process up as a computation does, and leave the processor to the other tests; e2e/script-faults.test.ts has loops that compute.
 */
// Promises: U2.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";
import { calls, task } from "../../../test/script-attempts.ts";
import { until } from "../../../test/sockets.ts";
import type { CallOutcome, ScriptTask } from "./attempt.ts";
import type { Lane, ScriptKind } from "./load.ts";
import type { ScriptExports } from "./protocol.ts";
import { ScriptHost } from "./script-host.ts";

const LANES: readonly Lane[] = ["runs", "hooks", "endpoints"];

/** The lanes of a property: all in the long form. In the short form each property has a lane of its own. */
function lanesOf<T extends Lane>(all: readonly T[], short: T): readonly T[] {
  return isLong ? all : [short];
}

const kind: ScriptKind = {
  folder: "jobs",
  firstLane: "runs",
  lanesOf: (_exports: ScriptExports) => LANES,
  check: () => undefined,
  use: async () => undefined,
};

interface Open {
  readonly host: ScriptHost;
  readonly log: string[];
  call(lane: Lane, name: string, handler: string, more?: Partial<ScriptTask>): Promise<CallOutcome>;
  /** The ids of the runs that have begun, once for each begin. */
  begun(): string[];
  load(): Promise<void>;
  /** Ends the handlers of this name, which go on until then. */
  release(handler: "computes" | "sleeps"): Promise<unknown>;
}

/** A project with two files, `a` and `b`, with the same handlers. */
async function open(): Promise<Open> {
  const root = temporaryFolder();
  mkdirSync(join(root, "jobs"));
  const handlers = `
    import { appendFileSync, existsSync } from "node:fs";
    const isReleased = (handler) => existsSync(${JSON.stringify(join(root, "released-"))} + handler);
    const begin = (context) => appendFileSync(${JSON.stringify(join(root, "begun"))}, context.runId + "\\n");
    export const calm = (context) => { begin(context); };
    export const awaits = async (context) => { begin(context); await Bun.sleep(300); };
    export const sleeps = async (context) => { begin(context); while (!isReleased("sleeps")) await Bun.sleep(5); };
    export const loop = (context) => { begin(context); for (;;) Bun.sleepSync(20); };
    export const computes = (context) => { begin(context); while (!isReleased("computes")) Bun.sleepSync(5); };
  `;
  for (const name of ["a", "b"]) await Bun.write(join(root, `jobs/${name}.ts`), handlers);
  await Bun.write(join(root, "begun"), "");
  const log: string[] = [];
  const options = { root, env: [], bodyLimit: 1_000, batchBodyLimit: 1_000, umask: 0o022 };
  const environment = { PATH: process.env["PATH"] };
  const host = new ScriptHost({
    root: () => root,
    begunFile: join(root, ".begun"),
    env: [],
    processes: 1,
    process: () => ({ word: "script-host", options, cwd: root, environment }),
    memoryLimit: 256 * 1024 ** 2,
    logger: quietLogger(log),
  });
  afterAll(() => host.stop());
  const load = (): Promise<void> => host.load({ kinds: [kind], calls });
  await load();
  return {
    host,
    log,
    load,
    release: (handler) => Bun.write(join(root, `released-${handler}`), ""),
    call: (lane, runId, handler, more) => {
      const input = { runId, attempt: 1, user: null };
      const path = `jobs/${runId[0]}.ts`;
      const patienceMs = lane === "hooks" ? { patienceMs: 30_000 } : {};
      return host.call(lane, { ...task(runId), path, handler, input, ...patienceMs, ...more });
    },
    begun: () => readFileSync(join(root, "begun"), "utf8").split("\n").filter(Boolean),
  };
}

function statuses(outcomes: readonly Promise<CallOutcome>[]): Promise<string[]> {
  return Promise.all(outcomes.map(async (outcome) => (await outcome).status));
}

const tenCalm = Array.from({ length: 10 }, (_, n) => `${n % 2 === 0 ? "a" : "b"}-calm-${n}`);

test.each(lanesOf(LANES, "hooks"))(
  "%s: the others of a loop complete before the loop ends, each begun once",
  async (lane) => {
    const { call, begun, host } = await open();
    const before = call(lane, "b-awaits", "awaits");
    await until(() => begun().length === 1);
    let isOver = false;
    const loop = call(lane, "a-loop", "loop");
    void loop.then(() => {
      isOver = true;
    });
    await until(() => begun().includes("a-loop"));
    const others = tenCalm.map((id) => call(lane, id, "calm"));
    expect(await statuses(others)).toEqual(Array(10).fill("answered"));
    // A hook that had begun is asked again; an endpoint and a run must not begin again.
    if (lane === "hooks") expect((await before).status).toBe("answered");
    expect(isOver).toBeFalse();
    const begins = begun().filter((id) => id !== "b-awaits" && id !== "a-loop");
    expect(begins.toSorted()).toEqual(tenCalm.toSorted());
    if (lane !== "hooks") expect(begun().filter((id) => id === "b-awaits" || id === "a-loop")).toHaveLength(2);
    host.stop();
    expect((await loop).status).toBe("stopped");
  },
);

test.each(lanesOf(["runs", "endpoints"], "runs"))(
  "%s: a process that responds again begins no attempt that another process has",
  async (lane) => {
    const { call, begun, log, host, release } = await open();
    // Keeps the process alive after the computation.
    const sleeping = call(lane, "b-sleeps", "sleeps");
    await until(() => begun().length === 1);
    const computing = call(lane, "a-computes", "computes");
    const others = tenCalm.map((id) => call(lane, id, "calm"));
    expect(await statuses(others)).toEqual(Array(10).fill("answered"));
    await release("computes");
    expect((await computing).status).toBe("answered");
    expect(log.filter((line) => line.includes("computes for more than a second"))).toHaveLength(1);
    expect((await call(lane, "a-last", "calm")).status).toBe("answered");
    await release("sleeps");
    expect((await sleeping).status).toBe("answered");
    expect(begun().toSorted()).toEqual(["a-last", "a-computes", "b-sleeps", ...tenCalm].toSorted());
    await until(() => host.underWay === 0);
  },
);

test.each(lanesOf(LANES, "endpoints"))(
  "%s: eight loops of a file delay no other file, and a stop ends all",
  async (lane) => {
    const { call, begun, host } = await open();
    const loops = Array.from({ length: 8 }, (_, n) => call(lane, `a-loop-${n}`, "loop"));
    const others = Array.from({ length: 8 }, (_, n) => call(lane, `b-calm-${n}`, "calm"));
    expect(await statuses(others)).toEqual(Array(8).fill("answered"));
    const loopsOf = (): string[] => begun().filter((id) => id.startsWith("a-loop"));
    // A loop in the first process, a loop apart, and three alone.
    await until(() => new Set(loopsOf()).size === 5);
    expect((await call(lane, "b-calm", "calm")).status).toBe("answered");
    expect(new Set(loopsOf()).size).toBe(loopsOf().length);
    host.stop();
    expect(await statuses(loops)).toEqual(Array(8).fill("stopped"));
  },
);

test("a safe request that has begun begins again beside a loop, and another request does not", async () => {
  const { call, begun, host, log, release } = await open();
  const safe = call("endpoints", "b-awaits", "awaits", { isSafe: true });
  const other = call("endpoints", "b-awaits-too", "awaits");
  await until(() => begun().length === 2);
  const computing = call("endpoints", "a-computes", "computes");
  expect((await safe).status).toBe("answered");
  await release("computes");
  expect(log.filter((line) => line.includes("computes for more than a second"))).toHaveLength(1);
  expect(await statuses([safe, other, computing])).toEqual(Array(3).fill("answered"));
  expect(begun().toSorted()).toEqual(["a-computes", "b-awaits", "b-awaits", "b-awaits-too"]);
  await until(() => host.underWay === 0);
});

test("a reload while a process does not answer: the next run has the new process, and the loop keeps its time", async () => {
  const { call, begun, load, host, log } = await open();
  const loop = call("runs", "a-loop", "loop", { timeoutMs: 2_500 });
  await until(() => log.some((line) => line.includes("computes for more than a second")));
  await load();
  expect((await call("runs", "a-calm", "calm")).status).toBe("answered");
  expect(await loop).toMatchObject({ status: "lost" });
  await until(() => host.underWay === 0);
  expect(begun()).toEqual(["a-loop", "a-calm"]);
});

test("the time of a hook does not count its waiting for a process", async () => {
  const { call, begun, release } = await open();
  const computing = call("hooks", "b-computes", "computes");
  await until(() => begun().length === 1);
  // Less than the second after which another process takes the hook.
  const outcome = await call("hooks", "a-calm", "calm", { timeoutMs: 500 });
  expect(outcome.status).toBe("answered");
  await release("computes");
  expect((await computing).status).toBe("answered");
});
