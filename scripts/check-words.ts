/**
 * Counts, in each group of texts, the words that stand in for a noun (`it`, `those`, `where`, …) and the texts that open
 * with a function word. The groups: comments with the documentation, titles of tests, messages of the server, texts of the
 * dashboard. Prints the figures of each group; for a group above a bound, also the lines with the most stand-ins. Fails when
 * a group exceeds a bound, or when a comment only repeats a type ("Bytes.").
 *
 * `bun scripts/check-words.ts PART` prints each line with a stand-in or such an opening in files whose path contains PART.
 *
 * The check cannot see whether a sentence is plain, nor whether a word is a number.
 */
import { join } from "node:path";
import { Glob } from "bun";
import { commentPassages, type Passage, pagePassages, prosePassages, type Reading, titlePassages } from "./passages.ts";

/** Stand-ins in 1,000 words that a group may have. */
const mostStandIns = 15;
/** Texts in 100 of a group that may open with a function word. */
const mostOpenings = 3;
/** The lines of a group above its bound that are printed. */
const printed = 20;

const standIns = new Set("it they them those one none nobody such else there where what who".split(" "));
const functionWords = new Set("of by where those it else what who that".split(" "));

/** Comments that say no more than the type on the next line. */
const repeatsType = /^(?:Bytes|JSON|Milliseconds|Seconds|By (?:name|id|key)|Null for none|A (?:name|text|number))\.$/;

const tests = /\.test\.tsx?$|^packages\/server\/src\/testing\//;

/** A group of texts with one bound. */
interface Group {
  readonly name: string;
  /** Where the texts are, and how they are read. */
  readonly parts: readonly {
    readonly patterns: readonly string[];
    readonly read: Reading;
    readonly without?: RegExp;
  }[];
}

const sources = ["packages/*/{src,test}/**/*.{ts,tsx,mjs}", "{scripts,e2e,bench,examples}/**/*.{ts,tsx,mjs}"];
const pages = ["*.md", "docs/*.md", "{bench,examples}/**/README.md", "packages/*/README.md"];

const groups: readonly Group[] = [
  {
    name: "comments and documentation",
    parts: [
      { patterns: sources, read: commentPassages },
      { patterns: pages, read: pagePassages },
    ],
  },
  { name: "titles of tests", parts: [{ patterns: sources, read: titlePassages }] },
  {
    name: "messages of the server",
    parts: [{ patterns: ["packages/{server,protocol}/src/**/*.ts"], read: prosePassages, without: tests }],
  },
  {
    name: "texts of the dashboard",
    parts: [{ patterns: ["packages/dashboard/src/**/*.{ts,tsx}"], read: prosePassages, without: tests }],
  },
];

function wordsOf(text: string): string[] {
  const prose = text.replaceAll(/`[^`]*`/g, "X");
  return (prose.match(/[A-Za-z']+/g) ?? []).map((word) => word.toLowerCase());
}

/** The stand-ins of a text. */
export function standInsOf(text: string): string[] {
  return wordsOf(text).filter((word) => standIns.has(word));
}

/** Whether a text opens with a function word. */
export function opensEmpty({ text, isOpening }: Passage): boolean {
  const [first = ""] = wordsOf(text);
  return isOpening && functionWords.has(first);
}

export interface Figures {
  /** Stand-ins in 1,000 words. */
  readonly standIns: number;
  /** Texts in 100 that open with a function word. */
  readonly openings: number;
}

/** The figures of the texts of a group. */
export function figuresOf(passages: readonly Passage[]): Figures {
  const rate = (part: number, of: number): number => part / Math.max(1, of);
  const opening = passages.filter(({ isOpening }) => isOpening);
  return {
    standIns:
      1_000 *
      rate(
        passages.flatMap(({ text }) => standInsOf(text)).length,
        passages.flatMap(({ text }) => wordsOf(text)).length,
      ),
    openings: 100 * rate(opening.filter(opensEmpty).length, opening.length),
  };
}

/** Whether the figures exceed a bound. */
export function exceeds({ standIns: rate, openings }: Figures): boolean {
  return rate > mostStandIns || openings > mostOpenings;
}

/** The comments that only repeat a type, as lines. */
export function repeatsOf(comments: readonly Passage[]): string[] {
  return comments
    .filter(({ text, isOpening }) => isOpening && repeatsType.test(text.trim()))
    .map(({ file, line }) => `${file}:${line}: the comment repeats the type`);
}

/** The texts with a stand-in or an empty opening, the most stand-ins first, as lines. */
function offending(passages: readonly Passage[]): string[] {
  return passages
    .map((passage) => ({ passage, found: standInsOf(passage.text) }))
    .filter(({ passage, found }) => found.length > 0 || opensEmpty(passage))
    .toSorted((a, b) => b.found.length - a.found.length)
    .map(({ passage: { file, line, text }, found }) => {
      const why = found.length > 0 ? found.join(", ") : "opening";
      return `  ${file}:${line}: ${text.trim().replaceAll(/\s+/g, " ").slice(0, 100)} (${why})`;
    });
}

async function passagesOf(root: string, { parts }: Group): Promise<Passage[]> {
  const found: Passage[] = [];
  for (const { patterns, read, without } of parts)
    for (const file of patterns.flatMap((pattern) => [...new Glob(pattern).scanSync(root)])) {
      if (/(^|\/)(node_modules|dist|\.socle)\//.test(file) || without?.test(file)) continue;
      found.push(...read(file, await Bun.file(join(root, file)).text()));
    }
  return found;
}

if (import.meta.main) {
  const [, , part] = process.argv;
  let hasFailed = false;
  for (const group of groups) {
    const passages = await passagesOf(join(import.meta.dir, ".."), group);
    const figures = figuresOf(passages);
    const isAbove = exceeds(figures);
    console.log(
      `${group.name}: ${figures.standIns.toFixed(1)} stand-ins in 1,000 words (at most ${mostStandIns}), ` +
        `${figures.openings.toFixed(1)} % open with a function word (at most ${mostOpenings} %)`,
    );
    if (part !== undefined) {
      for (const line of offending(passages.filter(({ file }) => file.includes(part)))) console.log(line);
      continue;
    }
    const repeats = repeatsOf(passages);
    for (const line of [...repeats, ...(isAbove ? offending(passages).slice(0, printed) : [])]) console.error(line);
    if (repeats.length > 0 || isAbove) hasFailed = true;
  }
  process.exit(hasFailed ? 1 : 0);
}
