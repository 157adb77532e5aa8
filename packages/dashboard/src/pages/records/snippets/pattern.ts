/**
 * Sample text for a pattern of a definition: characters, classes, groups, alternatives, repetitions. Any other construct
 * gives null. The caller tests the sample against the pattern.
 */

/** A text for a part of the pattern, and the end position of the part. */
interface Part {
  text: string;
  end: number;
}

const shorthands: { readonly [letter: string]: string } = {
  d: "1",
  w: "a",
  s: " ",
  D: "a",
  W: "-",
  S: "a",
  n: "\n",
  t: "\t",
};
/** Characters to try for a class, the most readable first. */
const characters = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@ /:+#,;!?()[]{}<>=*&%$'"~|\\^`;

/** @param length the wished least number of characters, reached by repetitions if possible. */
export function sampleOf(pattern: string, length: number): string | null {
  for (const repeat of [1, length]) {
    try {
      const { text, end } = alternatives(pattern, 0, repeat);
      if (end === pattern.length && [...text].length >= length) return text;
    } catch {
      return null;
    }
  }
  return null;
}

/** The first alternative up to the end of the group. */
function alternatives(pattern: string, from: number, repeat: number): Part {
  let first: string | null = null;
  let at = from;
  for (;;) {
    const part = sequence(pattern, at, repeat);
    first ??= part.text;
    at = part.end;
    if (pattern[at] !== "|") return { text: first, end: at };
    at += 1;
  }
}

function sequence(pattern: string, from: number, repeat: number): Part {
  let text = "";
  let at = from;
  while (at < pattern.length && pattern[at] !== "|" && pattern[at] !== ")") {
    const atom = single(pattern, at, repeat);
    const times = quantifier(pattern, atom.end, repeat);
    text += atom.text.repeat(times.count);
    at = times.end;
  }
  return { text, end: at };
}

function single(pattern: string, at: number, repeat: number): Part {
  const char = pattern[at] ?? "";
  if (char === "^" || char === "$") return { text: "", end: at + 1 };
  if (char === ".") return { text: "a", end: at + 1 };
  if (char === "(") {
    const opening = /^\((?:\?(?::|<\w+>))?/.exec(pattern.slice(at))?.[0] ?? "(";
    const inner = alternatives(pattern, at + opening.length, repeat);
    if (pattern[inner.end] !== ")") throw new Error("an open group");
    return { text: inner.text, end: inner.end + 1 };
  }
  if (char === "[") return characterClass(pattern, at);
  if (char !== "\\") return { text: char, end: at + 1 };
  const escaped = pattern[at + 1] ?? "";
  if (/[bBpPuxk0-9]/.test(escaped)) throw new Error("an escape that is not known");
  return { text: shorthands[escaped] ?? escaped, end: at + 2 };
}

function characterClass(pattern: string, at: number): Part {
  let end = at + 1;
  while (end < pattern.length && (pattern[end] !== "]" || end === at + 1)) end += pattern[end] === "\\" ? 2 : 1;
  const matches = new RegExp(pattern.slice(at, end + 1), "u");
  const found = [...characters].find((char) => matches.test(char));
  if (found === undefined) throw new Error("a class without a readable character");
  return { text: found, end: end + 1 };
}

function quantifier(pattern: string, at: number, repeat: number): { count: number; end: number } {
  const found = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/.exec(pattern.slice(at));
  if (found === null) return { count: 1, end: at };
  const [all, sign, least, range, most] = found;
  const end = at + all.length;
  if (sign === "?") return { count: repeat > 1 ? 1 : 0, end };
  if (sign !== undefined) return { count: Math.min(200, Math.max(1, repeat)), end };
  const min = Number(least);
  const max = range === undefined ? min : most === "" ? 200 : Number(most);
  return { count: Math.min(max, 200, Math.max(min, repeat > 1 ? repeat : min)), end };
}
