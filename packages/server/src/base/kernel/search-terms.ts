/**
 * Search words: splits a text into the words that full-text search compares, without regard to case and accents. A character
 * of a script without spaces (Chinese, Japanese, Thai, …), and a Korean syllable, is a separate word:
 * a run of these characters is searched as a phrase, so that any part of a text is found.
 */

export interface SearchWord {
  /** The word as compared. */
  readonly word: string;
  /** The place of the word in the text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
}

const run = /[\p{L}\p{N}\p{M}]+/gu;
const ascii = /^[\x20-\x7e\t\n\r]*$/;
/** Characters that are separate words, with the marks after each character. */
const spaceless =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*/u;
const pieces = new RegExp(`${spaceless.source}|[\\p{L}\\p{N}\\p{M}]`, "gu");
/**
 * The accents of Latin, Greek and Cyrillic letters, the points and accents of Hebrew, the vowels and signs of Arabic, with the
 * stroke that lengthens a word. Marks of other scripts tell words apart.
 */
const accents =
  /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]/g;
/** Letters that Unicode does not take apart, as people without the letters on their keyboards write them. */
const letters: { readonly [letter: string]: string } = {
  ...{ ł: "l", ø: "o", đ: "d", ð: "d", ħ: "h", ŧ: "t", ı: "i" },
  ...{ ß: "ss", æ: "ae", œ: "oe", þ: "th" },
};
const written = /[łøđðħŧıßæœþ]/g;

/** The number of the folding of words. Another folding is another number, with which a start cuts the stored texts anew. */
export const wordsVersion = 1;

/** The parts of a run of letters, with places: a character of a script without spaces is a separate part. */
function split(text: string): readonly (readonly [at: number, part: string])[] {
  if (!spaceless.test(text)) return [[0, text]];
  const parts: [at: number, part: string][] = [];
  let [open, from] = ["", 0];
  for (const { 0: piece, index } of text.matchAll(pieces)) {
    if (!spaceless.test(piece)) {
      if (open === "") from = index;
      open += piece;
      continue;
    }
    if (open !== "") parts.push([from, open]);
    open = "";
    parts.push([index, piece]);
  }
  if (open !== "") parts.push([from, open]);
  return parts;
}

/** A run of letters as words. */
function wordsOfRun(text: string): string[] {
  const folded = text
    .normalize("NFKD")
    .replace(accents, "")
    .normalize("NFC")
    .toLowerCase()
    .replace(accents, "")
    .replace(written, (letter) => letters[letter] ?? letter);
  return (folded.match(run) ?? []).flatMap((each) =>
    spaceless.test(each) ? split(each).map(([, word]) => word) : [each],
  );
}

/** The words of a text, in order. */
export function* searchWords(text: string): Generator<SearchWord> {
  for (const { 0: found, index } of text.matchAll(run))
    for (const [at, part] of split(found)) {
      const start = index + at;
      for (const word of wordsOfRun(part)) yield { word, start, end: start + part.length };
    }
}

/** The words of a text, joined by spaces, for an index that splits at spaces. ASCII text is returned unchanged. */
export function searchText(text: string): string {
  if (ascii.test(text)) return text;
  const words: string[] = [];
  for (const { word } of searchWords(text)) words.push(word);
  return words.join(" ");
}

/** A phrase, or a single word; the last word may be the beginning of a word. */
export interface SearchTerm {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
}

/** The most characters of a text that are searched: only the beginning of a longer text counts. */
export const searchedCharacters = 200_000;

/** The constants of BM25, as in FTS5. */
const [k1, b] = [1.2, 0.75];
/** The words of a text of common length. */
const commonLength = 100;

/** Whether a term stands in the words of a text, from a given word on. */
export function standsAt(words: readonly SearchWord[], at: number, { words: wanted, isPrefix }: SearchTerm): boolean {
  return wanted.every((word, i) => {
    const there = words[at + i]?.word;
    if (there === undefined) return false;
    return there === word || (isPrefix && i === wanted.length - 1 && there.startsWith(word));
  });
}

/**
 * The weight of a text for some terms: BM25 with constants in place of the statistics of the other texts, so that the
 * weight tells nothing of other texts. The more often the terms stand in a text, and the shorter the text, the greater
 * the weight; 0 for a text without the terms.
 */
export function matchWeight(text: string, terms: readonly SearchTerm[]): number {
  const words = [...searchWords(text.slice(0, searchedCharacters))];
  const saturation = k1 * (1 - b + (b * words.length) / commonLength);
  let weight = 0;
  for (const term of terms) {
    let found = 0;
    for (const i of words.keys()) if (standsAt(words, i, term)) found += 1;
    weight += (found * (k1 + 1)) / (found + saturation);
  }
  return weight;
}
