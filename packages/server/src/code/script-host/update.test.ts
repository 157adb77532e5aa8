/** Updates in development: running processes load changed modules and the importing modules again, and nothing else. */
import { afterAll, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { calls, task } from "../../../test/script-attempts.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";
import type { ScriptKind } from "./load.ts";
import { ScriptHost } from "./script-host.ts";

/** An endpoint that answers values and the id of the process. */
const answering = (values: string, imports = ""): string =>
  `${imports}\nexport const access = "public";\nexport const GET = () => Response.json([${values}, process.pid]);\n`;

/** A development server with endpoints, and the answers. */
async function open(
  files: { readonly [path: string]: string },
  settings: Record<string, string> = {},
  collections: readonly object[] = [],
) {
  const api = await openScripts({ files, settings, collections });
  api.scripts.watch(() => undefined);
  const ask = async (name: string): Promise<unknown[]> => {
    const { status, bytes } = await api.request("GET", `/api/function/${name}`);
    const text = new TextDecoder().decode(bytes);
    return status === 200 ? JSON.parse(text) : [text];
  };
  /** Writes files, and waits for the end of the reload. */
  const save = async (changed: { readonly [path: string]: string }): Promise<void> => {
    const reloads = (): number => api.log.filter((line) => line.startsWith("INFO Reloaded")).length;
    const before = reloads();
    for (const [path, content] of Object.entries(changed)) await Bun.write(join(api.folder, path), content);
    await until(() => reloads() > before);
  };
  return { ...api, ask, save };
}

const linesWith = ({ log }: Pick<TestScripts, "log">, text: string): number =>
  log.filter((line) => line.includes(text)).length;

test("a saved endpoint is loaded alone: packages, other modules and the states of other modules stay", async () => {
  const api = await open({
    "node_modules/large/index.js": 'console.log("top of large"); module.exports = { n: 1 };',
    "endpoints/a.ts": answering("'one', large.n", 'import large from "large";'),
    "endpoints/b.ts": answering("(count += 1)", 'console.log("top of b"); let count = 0;'),
  });
  const [, , pid] = await api.ask("a");
  expect(await api.ask("b")).toEqual([1, pid]);
  await api.save({ "endpoints/a.ts": answering("'two', large.n", 'import large from "large";') });
  expect(await api.ask("a")).toEqual(["two", 1, pid]);
  expect(await api.ask("b")).toEqual([2, pid]);
  expect([linesWith(api, "top of large"), linesWith(api, "top of b")]).toEqual([1, 1]);
});

test("a change of shared code reaches every importer: through modules, JavaScript, an alias, a middleware", async () => {
  const api = await open({
    "tsconfig.json": '{ "compilerOptions": { "paths": { "@/*": ["./lib/*"] } } }',
    "lib/word.ts": 'export const word: string = "one";',
    "lib/deep/indirect.js": 'export { word } from "../word.ts";',
    "endpoints/alias.ts": answering("word", 'import { word } from "@/word";'),
    "endpoints/script.ts": answering("word", 'import { word } from "@/deep/indirect.js";'),
    "endpoints/late.ts": answering("(await import('../lib/word.ts')).word").replace("() =>", "async () =>"),
    "endpoints/other.ts": answering("'other'", 'console.log("top of other");'),
    "endpoints/under/_middleware.ts":
      'import { word } from "@/word"; export default () => Response.json([word, process.pid]);',
    "endpoints/under/a.ts": answering("'not reached'"),
  });
  const all = (): Promise<unknown[][]> =>
    Promise.all(["alias", "script", "late", "under/a"].map((name) => api.ask(name)));
  const [, pid] = await api.ask("other");
  expect(await all()).toEqual(Array(4).fill(["one", pid]));
  await api.save({ "lib/word.ts": 'export const word: string = "two";' });
  expect(await all()).toEqual(Array(4).fill(["two", pid]));
  expect(linesWith(api, "top of other")).toBe(1);
});

test("an error of a file that was loaded again names the new line", async () => {
  const thrower = (lines: number): string =>
    `export const access = "public";${"\n".repeat(lines)}export const GET = (): Response => { throw new Error("thrown"); };`;
  const api = await open({ "endpoints/a.ts": thrower(1) });
  await api.save({ "endpoints/a.ts": thrower(7) });
  await api.ask("a");
  expect(linesWith(api, "endpoints/a.ts:8:")).toBe(1);
  expect(linesWith(api, "endpoints/a.ts:2:")).toBe(0);
});

test("beside a file that does not load, saved files are in use, the last version keeps running, and the fix is loaded", async () => {
  const api = await open({
    "endpoints/_shared.ts": "export const ok = true;",
    "endpoints/a.ts": answering("'a1'"),
    "endpoints/b.ts": answering("'b1'", 'import { ok } from "./_shared.ts"; if (!ok) throw new Error("not ok");'),
  });
  await api.save({ "endpoints/a.ts": answering("'a2'"), "endpoints/_shared.ts": "export const ok = false;" });
  expect([(await api.ask("a"))[0], (await api.ask("b"))[0]]).toEqual(["a2", "b1"]);
  // While a file is broken, the other files are loaded alone, too.
  const [, pid] = await api.ask("a");
  await api.save({ "endpoints/a.ts": answering("'a3'") });
  expect(await api.ask("a")).toEqual(["a3", pid]);
  expect((await api.ask("b"))[0]).toBe("b1");
  await api.save({ "endpoints/_shared.ts": "export const ok = 1;" });
  expect(await api.ask("b")).toEqual(["b1", pid]);
  expect(api.scripts.host.problems()).toEqual([]);
});

test("a file with exports that the service refuses keeps the earlier handler, not only the earlier exports", async () => {
  const api = await open({ "endpoints/a.ts": answering("'one'") });
  await api.save({ "endpoints/a.ts": answering("'two'").replace('"public"', '"nobody"') });
  expect((await api.ask("a"))[0]).toBe("one");
  expect(api.scripts.host.problems()).toMatchObject([{ path: "endpoints/a.ts" }]);
});

test("new processes load everything after a change of .env, of the set of files, and of a file that is not a module", async () => {
  const api = await open({
    ".env": "WORD=one",
    "endpoints/a.ts": answering("process.env.WORD"),
    "lib/text.txt": "text",
  });
  const pids = new Set<unknown>();
  const isNew = async (word: string): Promise<boolean> => {
    const [answer, pid] = await api.ask("a");
    expect(answer).toBe(word);
    return pids.size < pids.add(pid).size;
  };
  expect(await isNew("one")).toBe(true);
  await api.save({ ".env": "WORD=two" });
  expect(await isNew("two")).toBe(true);
  await api.save({ "endpoints/b.ts": answering("1") });
  expect(await isNew("two")).toBe(true);
  await api.save({ "lib/text.txt": "other" });
  expect(await isNew("two")).toBe(true);
  await rm(join(api.folder, "endpoints/b.ts"));
  while ((await api.ask("b"))[0] === 1) await Bun.sleep(5);
  expect(await isNew("two")).toBe(true);
  // Without a change of content, a saved file is loaded by new processes: the cause of a fault may be elsewhere.
  await api.save({ "endpoints/a.ts": answering("process.env.WORD") });
  expect(await isNew("two")).toBe(true);
  await api.scripts.reload();
  expect(await isNew("two")).toBe(true);
});

test("a process in place of a lost process has the changed code", async () => {
  const api = await open({ "endpoints/a.ts": answering("'one'") });
  const [, pid] = await api.ask("a");
  await api.save({ "endpoints/a.ts": answering("'two'") });
  expect(await api.ask("a")).toEqual(["two", pid]);
  process.kill(Number(pid), "SIGKILL");
  while ([pid, undefined].includes((await api.ask("a"))[1])) await Bun.sleep(5);
  expect((await api.ask("a"))[0]).toBe("two");
});

test("a function that becomes a hook is loaded in the lane of hooks", async () => {
  const notes = { name: "notes", fields: [{ name: "text", type: "string" }] };
  const hook = (text: string): string => `export const beforeCreate = () => ({ text: "${text}" });`;
  const api = await open({ "functions/notes/a.ts": "export const onCreate = () => undefined;" }, {}, [notes]);
  const create = async (): Promise<unknown> =>
    (await api.request("POST", "/api/notes", { body: { text: "own" } })).body;
  expect(await create()).toMatchObject({ text: "own" });
  await api.save({ "functions/notes/a.ts": hook("one") });
  expect(await create()).toMatchObject({ text: "one" });
  await api.save({ "functions/notes/a.ts": hook("two") });
  expect(await create()).toMatchObject({ text: "two" });
});

test("a process with much memory is replaced", async () => {
  const hold = answering("held.push(Buffer.alloc(300 * 1024 ** 2, 1))", "const held: unknown[] = [];");
  const api = await open(
    { "endpoints/a.ts": hold, "endpoints/b.ts": answering("1") },
    { SERVICE_SCRIPTS_MEMORY: "600MiB" },
  );
  const [, pid] = await api.ask("a");
  await api.save({ "endpoints/b.ts": answering("2") });
  const [answer, other] = await api.ask("b");
  expect(answer).toBe(2);
  expect(other).not.toBe(pid);
});

test("after a hundred updates, a new process loads everything: the memory of replaced modules is freed", async () => {
  const root = temporaryFolder();
  const path = "endpoints/a.ts";
  const process = { word: "script-host", cwd: root, environment: {} } as const;
  const options = { root, env: [], bodyLimit: 1_000, batchBodyLimit: 1_000, umask: 0o022 };
  const host = new ScriptHost({
    root: () => root,
    begunFile: join(root, ".begun"),
    env: [],
    processes: 1,
    process: () => ({ ...process, options }),
    memoryLimit: 1024 ** 3,
    logger: quietLogger(),
  });
  afterAll(() => host.stop());
  const check = (): void => undefined;
  const kind: ScriptKind = { folder: "endpoints", firstLane: "hooks", check, use: async () => undefined };
  const input = { runId: "run_1", attempt: 1, user: null };
  const version = async (n: number): Promise<unknown> => {
    await Bun.write(join(root, path), `export const ask = () => [${n}, process.pid];`);
    await (n === 0 ? host.load({ kinds: [kind], calls }) : host.update({ kinds: [kind], calls }));
    const answer = await host.call("hooks", { ...task("run_1"), path, handler: "ask", input });
    return "value" in answer ? JSON.parse(answer.value) : answer;
  };
  const [, pid] = (await version(0)) as number[];
  for (let n = 1; n <= 100; n += 1) expect(await version(n)).toEqual([n, pid]);
  const [n, other] = (await version(101)) as number[];
  expect(n).toBe(101);
  expect(other).not.toBe(pid);
});
