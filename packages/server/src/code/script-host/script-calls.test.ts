/** Calls with an answer in a real process: values, refusals, and handlers that answer with what is no value. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { calls, task } from "../../../test/script-attempts.ts";
import { until } from "../../../test/sockets.ts";
import type { CallOutcome } from "./attempt.ts";
import type { ScriptKind } from "./load.ts";
import type { ScriptExports } from "./protocol.ts";
import { ScriptHost } from "./script-host.ts";

const root = temporaryFolder();
const path = "functions/posts/calls.ts";
mkdirSync(join(root, "functions/posts"), { recursive: true });

const handlers = `
export const value = ({ record }) => ({ doubled: record.n * 2 });
export const nothing = () => undefined;
export const late = async ({ signal }) => { await new Promise((r) => signal.addEventListener("abort", r)); };
export const loop = () => { for (;;); };
export const refusal = () => { throw new Refusal("no posts on Sundays"); };
export const field = async () => { throw new Refusal("too long", { field: "title" }); };
export const forbidden = () => { throw new Refusal("not you", { status: 403 }); };
export const teapot = () => { throw new Refusal("tea", { status: 418 }); };
export const fails = () => { throw new Error("broken"); };
export const cyclic = () => { const a = {}; a.a = a; return a; };
export const getter = () => ({ get title() { throw new Error("read"); } });
export const bigint = () => ({ n: 1n });
export const fn = () => () => 1;
export const huge = () => "x".repeat(2_000);
export const thenable = () => ({ then(resolve) { resolve(1); resolve(2); throw new Error("after"); } });
export const leaves = () => { setTimeout(() => { globalThis.kept = new Uint8Array(300 * 1024 ** 2).fill(1); }, 300); };
export const liar = () => { throw Object.setPrototypeOf({ get message() { throw 1; } }, Refusal.prototype); };
export const inherited = () => Bun.spawnSync(["ls", "-l", "/proc/self/fd"]).stdout.toString().split("\\n").filter((line) => line.includes("begun"));
export const closes = () => process.getBuiltinModule("node:fs").closeSync(3);
`;

const kind: ScriptKind = {
  folder: "functions",
  firstLane: "hooks",
  lanesOf: (_exports: ScriptExports) => ["hooks"],
  check: () => undefined,
  use: async () => undefined,
};

async function open(): Promise<ScriptHost> {
  await Bun.write(join(root, path), handlers);
  const host = new ScriptHost({
    root: () => root,
    begunFile: join(root, ".begun"),
    env: [],
    processes: 1,
    process: () => ({
      word: "script-host",
      options: { root, env: [], bodyLimit: 1_000, batchBodyLimit: 1_000, umask: 0o022 },
      cwd: root,
      environment: { PATH: process.env["PATH"] },
    }),
    memoryLimit: 256 * 1024 ** 2,
    logger: quietLogger(),
  });
  afterAll(() => host.stop());
  await host.load({ kinds: [kind], calls });
  return host;
}

const host = await open();

function call(handler: string, timeoutMs = 20_000): Promise<CallOutcome> {
  const input = { runId: "run_1", attempt: 1, user: null, record: { n: 21 } };
  return host.call("hooks", { ...task("run_1"), path, handler, input, timeoutMs });
}

test("a value arrives as JSON, and a missing value as null", async () => {
  expect(await call("value")).toEqual({ status: "answered", value: '{"doubled":42}' });
  expect(await call("nothing")).toEqual({ status: "answered", value: "null" });
  expect(await call("thenable")).toEqual({ status: "answered", value: "1" });
});

test("a Refusal arrives as data", async () => {
  const refused = (code: string, message: string, more: object = {}) => ({
    status: "refused",
    refusal: { code, message, ...more },
  });
  const details = [{ field: "title", rule: "refused", message: "too long" }];
  expect<unknown>(await call("refusal")).toEqual(refused("bad_request", "no posts on Sundays"));
  expect<unknown>(await call("field")).toEqual(refused("validation_error", "too long", { details }));
  expect<unknown>(await call("forbidden")).toEqual(refused("forbidden", "not you"));
});

describe("fails, with a reason:", () => {
  const reasons: { readonly [handler: string]: string } = {
    fails: "broken (functions/posts/calls.ts:10:",
    teapot: "TypeError: The status of a Refusal is 400 or 403, not 418",
    cyclic: "cyclic",
    getter: "read",
    bigint: "BigInt",
    fn: "The handler returned a function",
    huge: "The handler returned 2002 bytes, and limits.body allows 1000",
    liar: "cannot be described",
    missing: "does not export missing",
  };
  test.each(Object.entries(reasons))("%s", async (handler, reason) => {
    const outcome = await call(handler);
    expect(outcome.status).toBe("failed");
    expect(outcome.status === "failed" && outcome.error.message).toContain(reason);
  });
});

test("a handler that does not end, or loops, is late; later calls complete", async () => {
  expect(await call("late", 100)).toEqual({ status: "late" });
  const [looping, beside] = [call("loop", 300), call("value")];
  expect(await looping).toEqual({ status: "late" });
  expect(await beside).toEqual({ status: "answered", value: '{"doubled":42}' });
  expect(await call("value")).toEqual({ status: "answered", value: '{"doubled":42}' });
});

test("a file that is not loaded is gone", async () => {
  const outcome = await host.call("hooks", { ...task("a"), path: "functions/posts/b.ts" });
  expect(outcome).toEqual({ status: "gone" });
});

test("a process that takes too much memory while no handler runs is replaced", async () => {
  const before = host.processesLost;
  expect(await call("leaves")).toEqual({ status: "answered", value: "null" });
  await until(() => host.processesLost > before);
  expect(await call("value")).toEqual({ status: "answered", value: '{"doubled":42}' });
});

test("processes that the code starts do not have the file of begun attempts", async () => {
  expect(await call("inherited")).toEqual({ status: "answered", value: "[]" });
});

test("a handler whose begin cannot be noted is not called", async () => {
  expect(await call("closes")).toEqual({ status: "answered", value: "null" });
  const outcome = await call("value");
  expect(outcome.status === "failed" && outcome.error.message).toContain("The begin of the handler cannot be noted");
});
