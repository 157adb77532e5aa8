/** The package `@socle/client`: installed from its file, run by Node and read by TypeScript. */
import { describe, expect, test } from "bun:test";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { project, root, serve, socle } from "./kit.ts";

const definition = {
  name: "notes",
  fields: [
    { name: "title", type: "string", required: true },
    { name: "body", type: "text" },
    { name: "writer", type: "relation", collection: "users", owner: true, required: true },
  ],
  permissions: { read: "public", create: "authenticated", delete: "owner" },
};
const cwd = await project({ collections: [definition] });

/** Installs the package as a stranger does: from the file that `npm run build:client` makes, out of reach of the workspace. */
const tarball = join(root, "dist/packages/socle-client-0.2.0.tgz");
writeFileSync(join(cwd, "package.json"), '{ "private": true, "type": "module" }\n');
const installed = Bun.spawnSync(
  ["npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", tarball],
  { cwd },
);
if (installed.exitCode !== 0) throw new Error(installed.stderr.toString());
cpSync(join(root, "node_modules/ws"), join(cwd, "node_modules/ws"), { recursive: true });
const folder = join(cwd, "node_modules/@socle/client");
const files = [...new Glob("**/*").scanSync(folder)];

test("the package has only compiled files, types, source maps, a readme and the licence", () => {
  for (const file of ["package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.js.map", "dist/worker.js"])
    expect(files).toContain(file);
  expect(
    files.filter(
      (path) => !/^(package\.json|README\.md|LICENSE|dist\/[\w/-]+\.js(\.map)?|dist\/types\/.+\.d\.ts)$/.test(path),
    ),
  ).toEqual([]);
});

/** The command that runs a file. Deno reads and connects only where the options say so. */
const runtimes: { readonly [name: string]: readonly string[] } = {
  bun: [process.execPath],
  node: ["node"],
  deno: [join(root, "node_modules/.bin/deno"), "run", "--allow-net=localhost", "--no-prompt"],
};
const env = { ...process.env, DENO_DIR: join(cwd, ".deno"), DENO_NO_UPDATE_CHECK: "1" };

test.each(Object.entries(runtimes))("every entry point is imported by %s", (_name, command) => {
  const script = `const all = await Promise.all(["", "/live", "/auth", "/admin", "/storage", "/store", "/server"].map((name) => import("@socle/client" + name)));
console.log(all.map((module) => Object.keys(module).length > 0).join());`;
  writeFileSync(join(cwd, "entries.mjs"), script);
  const { stdout, stderr } = Bun.spawnSync([...command, "entries.mjs"], { cwd, env });
  expect([stdout.toString().trim(), stderr.toString()]).toEqual(["true,true,true,true,true,true,true", ""]);
});

test.each(Object.entries(runtimes))("a program with a live query runs with %s", async (_name, command) => {
  const server = await serve(await project({ collections: [definition] }));
  cpSync(join(root, "e2e/node/runtime.mjs"), join(cwd, "runtime.mjs"));
  const child = Bun.spawn([...command, "runtime.mjs", server.url], { cwd, env, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toEqual({
    ...{ email: "runtime@example.com", isShownAtOnce: true, isRecord: true, content: "content" },
    ...{ titles: ["one", "two"], aborted: "Error: enough", deleted: "not_found", code: { title: expect.any(String) } },
  });
  expect(await server.stop()).toBe(0);
});

test("Node imports the package, and every part works in Node", async () => {
  const server = await serve(cwd);
  cpSync(join(root, "e2e/node/client.mjs"), join(cwd, "client.mjs"));
  const child = Bun.spawn(["node", "client.mjs", server.url, "content"], { cwd, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect([code, stderr]).toEqual([0, ""]);
  const said = JSON.parse(stdout);
  expect(said).toMatchObject({
    refusal: expect.stringContaining("has no WebSocket"),
    user: { email: "node@example.com" },
    event: { type: "notes.created", payload: { title: "from Node" } },
    items: [{ title: "from Node" }],
    content: "content",
    isError: true,
    code: "validation_error",
  });
  expect(said.items[0].writer).toBe(said.user.id);
  expect(await server.stop()).toBe(0);
});

describe("TypeScript reads its types", async () => {
  expect((await socle(["types"], { cwd })).code).toBe(0);
  const options = { target: "es2022", lib: ["es2022", "dom"], strict: true, noEmit: true, types: [] };
  const before = `/// <reference path="./.socle/types.d.ts" />\nimport { SocleClient } from "@socle/client";
const client = new SocleClient<Collections>({ baseUrl: "" });
const notes = client.collection("notes");\n`;

  const lines: [string, RegExp | null][] = [
    ['await notes.create({ title: "a" });', null],
    ['await notes.create({ title: "a", body: null, writer: "usr_1" });', null],
    ["const [one] = await notes.list(); one?.title.toUpperCase(); one?.body?.toUpperCase();", null],
    ['await notes.create({ body: "a" });', /'title' is missing/],
    ['await notes.update("rec_1", { title: null });', /'null' is not assignable/],
    ['client.collection("note");', /"note"/],
    ["(await notes.where({ title: { contains: 'a' } }).select('body').first())?.body?.length;", null],
    ['notes.where({ titel: "a" });', /titel/],
  ];

  /** The errors of each line, each in a file of its own: a single run of the compiler reads all files. */
  function errorsOf(module: string): string[] {
    const settings = {
      compilerOptions: { ...options, module, moduleResolution: module === "esnext" ? "bundler" : module },
    };
    writeFileSync(
      join(cwd, "tsconfig.json"),
      JSON.stringify({ ...settings, files: lines.map((_, n) => `app${n}.mts`) }),
    );
    for (const [n, [line]] of lines.entries()) writeFileSync(join(cwd, `app${n}.mts`), `${before}${line}\n`);
    const tsc = Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", "."], { cwd });
    // An error that runs over several lines is told in lines with a space in front.
    const told = tsc.stdout.toString().split(/\n(?!\s)/);
    const all = lines.map((_, n) => told.filter((error) => error.startsWith(`app${n}.mts(`)).join("\n"));
    const others = told.filter((error) => error !== "" && !/^app\d+\.mts\(/.test(error));
    expect(others).toEqual([]);
    return all;
  }

  test.each(["esnext", "nodenext"])("with the modules of %s", (module) => {
    for (const [n, error] of errorsOf(module).entries()) {
      const [line, expected] = lines[n] ?? ["", null];
      if (expected === null) expect([line, error]).toEqual([line, ""]);
      else expect([line, error]).toEqual([line, expect.stringMatching(expected)]);
    }
  });
});
