/** Search terms: the words, beginnings of words and phrases of a search, and the weight of a text for the terms. */
import { type SearchWord, searchWords } from "./search-words.ts";

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
