import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, tool } from "./run.ts";

/** The output of the linter for a folder with this checkout's rules and a single file. */
async function lint(file: string, source: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "socle-lint-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(root, "biome.json"), join(folder, "biome.json"));
  await Bun.write(join(folder, file), source);
  const child = Bun.spawn([tool("biome"), "lint", "."], { cwd: folder, stdout: "pipe", stderr: "pipe" });
  const output = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  return output.join("");
}

const planted: [string, string][] = [
  ["a function", "export function four(a: 1, b: 2, c: 3, d: 4): number {\n  return a + b + c + d;\n}\n"],
  ["an arrow function", "export const four = (a: 1, b: 2, c: 3, d: 4): number => a + b + c + d;\n"],
  ["a method", "export class Four {\n  four(a: 1, b: 2, c: 3, d: 4): number {\n    return a + b + c + d;\n  }\n}\n"],
  [
    "a constructor",
    "export class Four {\n  constructor(a: 1, b: 2, c: 3, d: 4) {\n    console.log(a, b, c, d);\n  }\n}\n",
  ],
];

test.each(planted)("%s with four parameters is found", async (_name, source) => {
  expect(await lint("packages/server/src/edge/http/bad.ts", source)).toContain("useMaxParams");
});

test("a row of a table test may have more cells", async () => {
  expect(await lint("packages/server/src/edge/http/good.test.ts", planted[0]?.[1] ?? "")).toContain("Checked 2 files");
});
