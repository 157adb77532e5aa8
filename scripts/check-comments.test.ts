import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCommentProblems } from "./check-comments.ts";

test("the comments of this checkout keep the rules", async () => {
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
  const problems = await problemsOf("packages/server/src/edge/http/bad.ts", source);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain("bad.ts: no comment at the top");
});

test.each([
  ["a block", "packages/server/src/edge/http/good.ts", `/** Three. */\n${code}`],
  ["a line", "scripts/good.ts", `// Three.\n${code}`],
  ["an interpreter and a line", "e2e/good.mjs", `#!/usr/bin/env node\n// Three.\n${code}`],
])("a file that opens with %s is fine", async (_name, file, source) => {
  expect(await problemsOf(file, source)).toEqual([]);
});

test("a test file needs no opening comment", async () => {
  expect(await problemsOf("packages/server/src/edge/http/good.test.ts", code)).toEqual([]);
});

test.each([
  ["the first sentence", "/** What is stored. */"],
  ["a later sentence", "// The caller. Whoever asks is one."],
  ["a wrapped sentence", "/**\n * The value. Who\n * wrote it is not known.\n */"],
  ["a sentence in brackets", "/** The value. (That is null.) */"],
  ["an item of a list", "/**\n * The phases:\n *\n * 1. What is first.\n */"],
  ["a comment inside a function", "function one() {\n  // Whose it is, is not known.\n}"],
  ["It at the start of a comment", "// It was checked."],
])("a hidden subject is found in %s", async (_name, comment) => {
  const problems = await problemsOf("scripts/bad.test.ts", `${code}${comment}\n`);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/^scripts\/bad\.test\.ts:\d+: begins with "/);
});

test.each([
  ["a sentence", "Text.\n\nWhat is stored\nstays."],
  ["a heading", "## What it promises"],
  ["a cell of a table", "| name | Who may read it |"],
  ["an item in bold letters", "- **Who may read it** gets 403."],
])("a hidden subject is found in the documentation: %s", async (_name, text) => {
  expect(await problemsOf("docs/bad.md", `# Page\n\n${text}\n`)).toHaveLength(1);
});

test.each([
  ["a clause", "/** The value, and what it was before. Whether it changed is not said. */"],
  ["It in a later sentence", "/** The value. It was checked. */"],
  ["text of the program", 'const text = "What is it? Who knows.";'],
])("%s is fine", async (_name, source) => {
  expect(await problemsOf("scripts/good.test.ts", `${source}\n`)).toEqual([]);
});

test("an example in the documentation is not prose", async () => {
  expect(await problemsOf("docs/good.md", "# Page\n\n```ts\n// What is it?\n```\n")).toEqual([]);
});
