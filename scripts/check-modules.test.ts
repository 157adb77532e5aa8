import { afterAll, afterEach, expect, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCircles, findTwins, findViolations } from "./check-modules.ts";

const root = join(import.meta.dir, "..");

test("this checkout keeps the order", async () => {
  expect(await findViolations(root)).toEqual([]);
});

const planted: [string, string, string, RegExp][] = [
  [
    "an import of a module below",
    "data/records/bad.ts",
    'import { Auth } from "../../people/auth/index.ts";',
    /data\/records must not import people\/auth/,
  ],
  [
    "a type import",
    "base/kernel/bad.ts",
    'import type { Logger } from "../logging/index.ts";',
    /base\/kernel must not import base\/logging/,
  ],
  [
    "an export",
    "store/database/bad.ts",
    'export * from "../../store/events/index.ts";',
    /store\/database must not import store\/events/,
  ],
  [
    "a dynamic import",
    "store/events/bad.ts",
    'await import("../../app/index.ts");',
    /store\/events must not import app/,
  ],
  [
    "an import over several lines",
    "people/auth/bad.ts",
    'import {\n  HttpServer,\n} from "../../edge/http/index.ts";',
    /people\/auth must not import edge\/http/,
  ],
  [
    "a look past index.ts",
    "edge/http/bad.ts",
    'import { Users } from "../../people/auth/users.ts";',
    /not the public face of people\/auth/,
  ],
  [
    "an entry of the script processes in another module than main",
    "app/bad.ts",
    'await import("../code/script-host/child/main.ts");',
    /not the public face of code\/script-host/,
  ],
  [
    "an unknown module",
    "edge/http/bad.ts",
    'import { x } from "../../base/helpers/index.ts";',
    /base\/helpers is not in the table/,
  ],
  [
    "another package",
    "base/kernel/bad.ts",
    'import { SocleClient } from "@socle/client";',
    /server must not import client/,
  ],
];

/** A copy of the server, for all tests of this file. */
const copy = mkdtempSync(join(tmpdir(), "socle-modules-"));
afterAll(() => rmSync(copy, { recursive: true, force: true }));
cpSync(join(root, "ARCHITECTURE.md"), join(copy, "ARCHITECTURE.md"));
cpSync(join(root, "packages/server/src"), join(copy, "packages/server/src"), { recursive: true });

const added: string[] = [];
afterEach(() => {
  for (const path of added.splice(0)) rmSync(path);
});

/** The copy with further files, by the paths below `packages/server/src`, until the end of the test. */
async function copyWith(files: { readonly [path: string]: string }): Promise<string> {
  for (const [name, source] of Object.entries(files)) {
    const path = join(copy, "packages/server/src", name);
    if (existsSync(path)) throw new Error(`${name} is a file of the server`);
    await Bun.write(path, source);
    added.push(path);
  }
  return copy;
}

test("the copy without further files keeps the order", async () => {
  expect(await findViolations(copy)).toEqual([]);
});

test.each(planted)("%s is found", async (_name, file, source, message) => {
  const violations = await findViolations(await copyWith({ [file]: source }));
  expect(violations).toHaveLength(1);
  expect(violations[0]).toMatch(message);
});

test("this checkout has no circle of files or of parts of modules, and no type exported twice", async () => {
  expect(await findCircles(root)).toEqual([]);
  expect(await findTwins(root)).toEqual([]);
});

test("a circle of files is found, also a circle of type imports alone", async () => {
  const files = {
    "base/kernel/a.ts": 'import type { B } from "./b.ts";',
    "base/kernel/b.ts": 'export type { C } from "./c.ts";',
    "base/kernel/c.ts": 'import type { A } from "./a.ts";',
  };
  const circles = await findCircles(await copyWith(files));
  expect(circles).toHaveLength(1);
  for (const file of Object.keys(files)) expect(circles[0]).toContain(file);
});

test("circles are found in the dashboard and in the end-to-end tests, also by an import at run time", async () => {
  const files = {
    "../../dashboard/src/a.tsx": 'const b = import("./b.tsx");',
    "../../dashboard/src/b.tsx": 'import type { A } from "./a.tsx";',
    "../../../e2e/a.ts": 'import "./b.ts";',
    "../../../e2e/b.ts": 'import "./a.ts";',
    "../../../e2e/node_modules/a.ts": 'import "./a.ts";',
  };
  const circles = (await findCircles(await copyWith(files))).map((circle) => circle.replaceAll("\\", "/"));
  expect(circles.toSorted()).toEqual([
    "e2e/a.ts -> e2e/b.ts -> e2e/a.ts is a circle of imports",
    "packages/dashboard/src/a.tsx -> packages/dashboard/src/b.tsx -> packages/dashboard/src/a.tsx is a circle of imports",
  ]);
});

test("a folder of a module that imports a file beside the folder is found, if the file leads back to the folder", async () => {
  const files = {
    "base/kernel/a.ts": 'import "./inner/b.ts";',
    "base/kernel/inner/b.ts": "export {};",
    "base/kernel/inner/c.ts": 'import "../a.ts";',
  };
  expect(await findCircles(await copyWith(files))).toEqual([
    "base/kernel/a.ts -> base/kernel/inner -> base/kernel/a.ts is a circle of imports",
  ]);
});

test("a type that two files export under the same name is found, and a type inside a file is not", async () => {
  const files = {
    "base/kernel/a.ts": "export class Twin {}\ninterface Own {}",
    "data/records/b.ts": "export type Twin = 1;\nexport type Own = 1;",
  };
  expect(await findTwins(await copyWith(files))).toEqual([expect.stringContaining("the type Twin")]);
});
