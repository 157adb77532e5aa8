/** The file and line of errors of the user's code, in a real process: also where the runtime inlines or leaves out code. */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { task } from "../../../test/script-attempts.ts";
import { AppError } from "../../base/kernel/index.ts";
import type { CallOutcome } from "./attempt.ts";
import type { ScriptKind } from "./load.ts";
import type { ScriptExports } from "./protocol.ts";
import { ScriptHost } from "./script-host.ts";

/** A handler throws in the line that ends with the handler's name in a comment. */
const handlers = `import { fail, LIMIT } from "./_shared.ts";
import type { Unused } from "./_types.ts";

const DEBUG = false;
const ADDRESS = "http://127.0.0.1:1/" +
  "path" +
  "/more";
const TEXT = \`a
b\`;
enum Kind {
  A = "a",
  B = "b",
}
const enum Hidden {
  One = 1,
  Two = 2,
}
type Big = {
  a: string;
  b: { c: number };
};
if (DEBUG) {
  console.log("one");
  console.log("two");
}
function check(n: number): number {
  if (DEBUG) {
    throw new Error("never");
  }
  const limit = Hidden.Two;
  if (n < limit) return n;
  throw new Error(TEXT + limit + Kind.A); // check
}
const second = (n: number) => check(n);
export const returned = ({ record }: { record: { n: number } }) => second(record.n); // returned
export const arrow = ({ record }: any) => JSON.parse("{" + record.n); // arrow
export const method = ({ record }: any) => {
  const text = "{" + record.n;
  return JSON.parse(text); // method
};
export const constant = () => {
  const message = TEXT + ADDRESS;
  const values = [
    ADDRESS,
    Kind.B,
    Hidden.One,
  ];
  const error = new Error(message + values); // constant
  throw error;
};
export const later = async ({ record }: any) => {
  await Bun.sleep(1);
  const missing: any = record.missing;
  const text = TEXT;
  return missing[text]; // later
};
export const loop = ({ record }: any) =>
  [record.n]
    .map((n) => n + Hidden.One)
    .forEach((n) => {
      const why = "because";
      if (n > 1) throw new Error(why + n); // loop
    });
export const shared = () => fail(LIMIT); // shared
export const fetched = () => fetch(ADDRESS); // fetched
export const fetchedAsync = async () => {
  return fetch(ADDRESS); // fetchedAsync
};
export const asked = ({ db }: any) => db.collection("posts").get("x"); // asked
export const askedAsync = async ({ db }: any) => {
  const posts = db.collection("posts");
  return posts.create({ n: 1 }); // askedAsync
};
`;
const sharedCode = `export const LIMIT = 5;

export function fail(n: number): never {
  throw new RangeError("failed " + n); // fail
}
`;
const names = [...handlers.matchAll(/export const (\w+)/g)].map(([, name = ""]) => name);

/** Lines of comments in a file, by the comment. */
function linesOf(code: string): Map<string, number> {
  const found = code.split("\n").map((line, i) => [/\/\/ (\w+)$/.exec(line)?.[1] ?? "", i + 1] as const);
  return new Map(found.filter(([name]) => name !== ""));
}

const kind: ScriptKind = {
  folder: "functions",
  firstLane: "hooks",
  lanesOf: (_exports: ScriptExports) => ["hooks"],
  check: () => undefined,
  use: async () => undefined,
};

const root = temporaryFolder();

async function open(): Promise<ScriptHost> {
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
    memoryLimit: 512 * 1024 ** 2,
    logger: quietLogger(),
  });
  afterAll(() => host.stop());
  await host.load({
    kinds: [kind],
    calls: { answer: () => Promise.reject(new AppError("not_found", "refused")) },
  });
  return host;
}

function call(path: string, handler: string): Promise<CallOutcome> {
  const input = { runId: "run_1", attempt: 1, user: null, record: { n: 21 } };
  return host.call("hooks", { ...task("run_1"), path, handler, input, timeoutMs: 20_000 });
}

/** The message and the frames of the error that a handler ends with. */
async function errorOf(handler: string): Promise<{ message: string; stack: string }> {
  const outcome = await call("functions/posts/a.ts", handler);
  if (outcome.status !== "failed") throw new Error(`${handler} ended as ${outcome.status}`);
  return { message: outcome.error.message, stack: outcome.error.stack ?? "" };
}

/** Modules of all forms that the runtime knows, with the value of the handler. */
const forms: { readonly [file: string]: string } = {
  "common.ts": 'import common from "./_common.ts"; export const value = () => common.five;',
  "_common.ts": "const n: number = 5; module.exports = { five: n };",
  "_types.ts": "export interface Shape { n: number }\nexport const five = 5;",
  "old.ts":
    'var a = 1; var a = 2; const text = `\nvar b`; export const value = () => a + text.split("var ").length + 1;',
  "enums.ts": "enum A { B = 2 } enum A { C = 3 } export const value = () => A.B + A.C;",
  "early.ts":
    "export const value = () => { try { return first(); } catch { return 5; } }; const first = () => second; { value(); } const second = 5;",
  "data.ts":
    'import data from "./_data.json"; import text from "./_five.txt" with { type: "text" }; export const value = () => data.n + text.length;',
  "_data.json": '{ "n": 4 }',
  "_five.txt": "5",
  "decorated.ts": `function twice(_: object, name: string, about: PropertyDescriptor) { const run = about.value; about.value = () => run() + 3; void name; }
    class Numbers { @twice run(): number { return 2; } }
    export const value = () => new Numbers().run();`,
  "required.ts": 'const { five } = require("./_types.ts"); export const value = () => five;',
  "lazy.ts": 'const name = "types"; export const value = async () => (await import("./_" + name + ".ts")).five;',
  "place.ts":
    'export const value = () => (import.meta.path.endsWith("forms/place.ts") && process.env.NODE_ENV === undefined ? 5 : 0);',
  "star.ts": 'export * from "./_star.ts";',
  "_star.ts": "export function value(): number { return 5; }",
};

mkdirSync(join(root, "functions"));
// A folder that is a link is named by the name in the project.
symlinkSync(temporaryFolder(), join(root, "functions/posts"));
await Bun.write(join(root, "functions/posts/a.ts"), handlers);
await Bun.write(join(root, "functions/posts/_shared.ts"), sharedCode);
await Bun.write(join(root, "tsconfig.json"), '{ "compilerOptions": { "experimentalDecorators": true } }');
for (const [name, code] of Object.entries(forms)) await Bun.write(join(root, "functions/forms", name), code);
const broken = "export const value = 1;\n\nexport const value = 2;";
await Bun.write(join(root, "functions/forms/broken.ts"), broken);
const circle = [
  'import { b } from "./_circle.ts"; export const a = 1; export const value = () => b;',
  'import { a } from "./circle.ts"; export const b = a + 1;',
] as const;
await Bun.write(join(root, "functions/forms/circle.ts"), circle[0]);
await Bun.write(join(root, "functions/forms/_circle.ts"), circle[1]);
const host = await open();

test.each(names)("%s: the line that throws, and the line of the handler", async (name) => {
  const { message, stack } = await errorOf(name);
  const own = `functions/posts/a.ts:${linesOf(handlers).get(name)}:`;
  expect(stack).toContain(own);
  const inner: { readonly [name: string]: string } = {
    returned: `functions/posts/a.ts:${linesOf(handlers).get("check")}:`,
    shared: `functions/posts/_shared.ts:${linesOf(sharedCode).get("fail")}:`,
  };
  // The message names the line that has thrown.
  expect(message).toContain(`(${inner[name] ?? own}`);
});

test.each(Object.keys(forms).filter((name) => !name.startsWith("_")))("%s runs as written", async (name) => {
  expect(await call(`functions/forms/${name}`, "value")).toEqual({ status: "answered", value: "5" });
});

function problemOf(path: string): string | undefined {
  return host.problems().find((problem) => problem.path === path)?.message;
}

test("a value of a circular import is not read before its assignment", () => {
  expect(problemOf("functions/forms/circle.ts")).toContain("before initialization");
});

test("a file that does not compile is named with its line", () => {
  expect(problemOf("functions/forms/broken.ts")).toContain("(functions/forms/broken.ts:3:14)");
});
