/**
 * Counts the words of comments and documentation that stand in for a noun (`it`, `those`, `where`, …), the comments
 * that open with a function word, and the comments that only repeat a type ("Bytes."). Fails when a count exceeds the bound,
 * and prints the ten files with the most stand-ins.
 *
 * The check cannot see whether a sentence is plain, nor whether a word is a number.
 */
import { join } from "node:path";
import { Glob } from "bun";
import { commentsOf } from "./check-comments.ts";

/** Stand-ins in 1,000 words that comments and documentation may have. */
const mostStandIns = 15;
/** Comments in 100 that may open with a function word. */
const mostOpenings = 3;

const standIns = new Set("it they them those one none nobody such else there where what who".split(" "));
const functionWords = new Set("of by where those it else what who that".split(" "));

/** Comments that say no more than the type on the next line. */
const repeatsType = /^(?:Bytes|JSON|Milliseconds|Seconds|By (?:name|id|key)|Null for none|A (?:name|text|number))\.$/;

const sources = ["packages/*/{src,test}/**/*.{ts,tsx,mjs}", "{scripts,e2e,bench,examples}/**/*.{ts,tsx,mjs}"];
const pages = ["*.md", "docs/*.md", "{bench,examples}/**/README.md", "packages/*/README.md"];

/** The counts of a single file. */
export interface WordCounts {
  readonly file: string;
  readonly words: number;
  readonly standIns: number;
  readonly comments: number;
  readonly openings: number;
  /** The lines of comments that repeat a type. */
  readonly repeats: readonly number[];
}

function wordsOf(text: string): string[] {
  const prose = text.replaceAll(/`[^`]*`/g, "X");
  return (prose.match(/[A-Za-z']+/g) ?? []).map((word) => word.toLowerCase());
}

/** Counts the words of a source file or of a page. */
export function countWords(file: string, text: string): WordCounts {
  const isPage = file.endsWith(".md");
  const comments = isPage ? [{ line: 1, text: text.replaceAll(/^```.*?^```/gms, "") }] : commentsOf(text);
  const words = comments.map((comment) => wordsOf(comment.text));
  return {
    file,
    words: words.flat().length,
    standIns: words.flat().filter((word) => standIns.has(word)).length,
    comments: isPage ? 0 : comments.length,
    openings: isPage ? 0 : words.filter(([first = ""]) => functionWords.has(first)).length,
    repeats: comments.filter((comment) => repeatsType.test(comment.text.trim())).map(({ line }) => line),
  };
}

async function countAll(root: string): Promise<WordCounts[]> {
  const counts: WordCounts[] = [];
  for (const file of [...sources, ...pages].flatMap((pattern) => [...new Glob(pattern).scanSync(root)])) {
    if (/(^|\/)(node_modules|dist|\.socle)\//.test(file)) continue;
    counts.push(countWords(file, await Bun.file(join(root, file)).text()));
  }
  return counts;
}

/** Every count that exceeds its bound, as a line. */
export function problemsOf(counts: readonly WordCounts[]): string[] {
  const sum = (of: (each: WordCounts) => number): number => counts.reduce((total, each) => total + of(each), 0);
  const problems = counts.flatMap(({ file, repeats }) =>
    repeats.map((line) => `${file}:${line}: the comment repeats the type`),
  );
  const rate =
    (1_000 * sum((each) => each.standIns)) /
    Math.max(
      1,
      sum((each) => each.words),
    );
  if (rate > mostStandIns)
    problems.push(`${rate.toFixed(1)} stand-ins in 1,000 words of comment and documentation; at most ${mostStandIns}`);
  const openings =
    (100 * sum((each) => each.openings)) /
    Math.max(
      1,
      sum((each) => each.comments),
    );
  if (openings > mostOpenings)
    problems.push(`${openings.toFixed(1)} % of the comments open with a function word; at most ${mostOpenings} %`);
  return problems;
}

if (import.meta.main) {
  const counts = await countAll(join(import.meta.dir, ".."));
  const problems = problemsOf(counts);
  for (const problem of problems) console.error(problem);
  const worst = counts.toSorted((a, b) => b.standIns - a.standIns).slice(0, 10);
  console.log("The most stand-ins:");
  for (const each of worst) console.log(`  ${each.standIns} in ${each.words} words  ${each.file}`);
  process.exit(problems.length > 0 ? 1 : 0);
}
