/**
 * Checks the prose of the repository. Each source file opens with a comment, which names the subject and the job. No
 * sentence of a comment or of the documentation begins with a word that hides the subject: "What is stored …" instead of
 * "The stored value …". A comment does not begin with `It`.
 *
 * Test files may open without a comment, because the file beside a test names the subject. The check cannot see whether a
 * comment is true, nor comments that stand behind code on the same line.
 */
import { join } from "node:path";
import { Glob } from "bun";

const sources = ["packages/*/{src,test}/**/*.{ts,tsx,mjs}", "{scripts,e2e,bench,examples}/**/*.{ts,tsx,mjs}"];

const pages = ["*.md", "docs/*.md", "{bench,examples}/**/README.md", "packages/*/README.md"];

function isBuilt(file: string): boolean {
  return /(^|\/)(node_modules|dist|\.socle)\//.test(file);
}

/** Whether a file begins with a comment; the line that names the interpreter may stand before the comment. */
export function hasOpening(source: string): boolean {
  return /^(#!.*\n)?\s*\/[/*]/.test(source);
}

interface Comment {
  readonly line: number;
  readonly text: string;
}

/** The comments on separate lines; consecutive lines of `//` are a single comment. */
export function commentsOf(source: string): Comment[] {
  const blocks = /^[ \t]*\/\*+([\s\S]*?)\*\/|^[ \t]*\/\/.*(?:\n[ \t]*\/\/.*)*/gm;
  return [...source.matchAll(blocks)].map(({ 0: all, 1: block, index }) => ({
    line: source.slice(0, index).split("\n").length,
    text: block?.replaceAll(/^[ \t]*\* ?/gm, "") ?? all.replaceAll(/^[ \t]*\/\/ ?/gm, ""),
  }));
}

const paragraphs = /\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.)\s|@)/;
const sentences = /(?<=[.!?])[)"*]*\s+(?=[A-Z`"(*[])/;
const mark = /^(?:[-*|#>]+|\d+\.|\[.\])\s+/;
const hidden = /^[("*_]*(What|Whatever|Who|Whoever|Whom|Whose|That)\b/;

/** The sentences of a text that begin with a word that hides the subject. */
export function hiddenSubjects(text: string): string[] {
  return text
    .split(paragraphs)
    .flatMap((paragraph) => paragraph.trim().split(/\s\|\s/))
    .flatMap((cell) => cell.replace(mark, "").replaceAll(/\s+/g, " ").split(sentences))
    .filter((sentence) => hidden.test(sentence));
}

function problemsIn({ line, text }: Comment): string[] {
  const found = hiddenSubjects(text);
  if (/^\s*It\b/.test(text)) found.unshift(text.trim());
  return found.map((sentence) => `${line}: begins with "${sentence.slice(0, 40).replaceAll("\n", " ")}"`);
}

/** Documentation without the examples. */
function proseOf(markdown: string): string {
  return markdown.replaceAll(/^```.*?^```$/gms, "");
}

/** Every problem of comments and documentation, as a line that names file and reason. */
export async function findCommentProblems(root: string): Promise<string[]> {
  const problems: string[] = [];
  for (const file of sources.flatMap((pattern) => [...new Glob(pattern).scanSync(root)])) {
    if (isBuilt(file)) continue;
    const source = await Bun.file(join(root, file)).text();
    if (!file.endsWith(".test.ts") && !hasOpening(source))
      problems.push(`${file}: no comment at the top says what the file is`);
    problems.push(...commentsOf(source).flatMap((comment) => problemsIn(comment).map((each) => `${file}:${each}`)));
  }
  for (const file of pages.flatMap((pattern) => [...new Glob(pattern).scanSync(root)])) {
    const found = hiddenSubjects(proseOf(await Bun.file(join(root, file)).text()));
    problems.push(...found.map((sentence) => `${file}: begins with "${sentence.slice(0, 40)}"`));
  }
  return problems.sort();
}

if (import.meta.main) {
  const problems = await findCommentProblems(join(import.meta.dir, ".."));
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
