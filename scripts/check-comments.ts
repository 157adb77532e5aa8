/**
 * Checks the comments of the source files: each file opens with one, which names its subject and its job, and no sentence
 * begins with a word that keeps its subject back ("What is stored …" instead of "The stored value …").
 *
 * Test files may open without a comment: the name of the file beside them says their subject. The check cannot see whether
 * a comment is true, nor comments that stand behind code on its line.
 */
import { join } from "node:path";
import { Glob } from "bun";

const sources = ["packages/*/{src,test}/**/*.{ts,tsx,mjs}", "{scripts,e2e,bench,examples}/**/*.{ts,tsx,mjs}"];

/** Folders that are being changed by others; each goes from this list when its files have their comments. */
const later = /^packages\/server\/src\/(app|auth|database|events|storage)\//;

function isBuilt(file: string): boolean {
  return /(^|\/)(node_modules|dist|\.socle)\//.test(file);
}

/** Whether a file begins with a comment; the line that names its interpreter may stand above it. */
export function hasOpening(source: string): boolean {
  return /^(#!.*\n)?\s*\/[/*]/.test(source);
}

/** Every problem of the comments, as a line that names file and reason. */
export async function findCommentProblems(root: string): Promise<string[]> {
  const problems: string[] = [];
  for (const file of sources.flatMap((pattern) => [...new Glob(pattern).scanSync(root)])) {
    if (isBuilt(file)) continue;
    const source = await Bun.file(join(root, file)).text();
    if (!file.endsWith(".test.ts") && !later.test(file) && !hasOpening(source))
      problems.push(`${file}: no comment at the top says what the file is`);
  }
  return problems.sort();
}

if (import.meta.main) {
  const problems = await findCommentProblems(join(import.meta.dir, ".."));
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
