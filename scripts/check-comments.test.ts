import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCommentProblems } from "./check-comments.ts";

test("this checkout has comments as they should be", async () => {
  expect(await findCommentProblems(join(import.meta.dir, ".."))).toEqual([]);
});

async function problemsOf(file: string, source: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "socle-comments-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  await Bun.write(join(folder, file), source);
  return findCommentProblems(folder);
}

const code = "export const three = 3;\n";

test.each([
  ["no comment", code],
  ["a comment below an import", `import "./other.ts";\n/** Three. */\n${code}`],
  ["a comment below the line of the interpreter alone", `#!/usr/bin/env bun\n${code}// Three.\n`],
])("a file that opens with %s is found", async (_name, source) => {
  const problems = await problemsOf("packages/server/src/http/bad.ts", source);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain("bad.ts: no comment at the top");
});

test.each([
  ["a block", "packages/server/src/http/good.ts", `/** Three. */\n${code}`],
  ["a line", "scripts/good.ts", `// Three.\n${code}`],
  ["an interpreter and a line", "e2e/good.mjs", `#!/usr/bin/env node\n// Three.\n${code}`],
])("a file that opens with %s is fine", async (_name, file, source) => {
  expect(await problemsOf(file, source)).toEqual([]);
});

test("a test file needs no opening comment", async () => {
  expect(await problemsOf("packages/server/src/http/good.test.ts", code)).toEqual([]);
});
