/** Search terms: words, beginnings of words and phrases that a search asks for, and the weight of a text for them. */
import { type SearchWord, searchWords } from "./search-words.ts";

/** A phrase, or a single word; the last word may be the beginning of one. */
export interface SearchTerm {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
}

/** Of a longer text only the beginning is looked through. */
export const searchedCharacters = 200_000;

/** The constants of BM25, as FTS5 has them. */
const [k1, b] = [1.2, 0.75];
/** The words of a text of common length. */
const commonLength = 100;

/** Whether a term stands in the words of a text, from one of them on. */
export function standsAt(words: readonly SearchWord[], at: number, { words: wanted, isPrefix }: SearchTerm): boolean {
  return wanted.every((word, i) => {
    const there = words[at + i]?.word;
    if (there === undefined) return false;
    return there === word || (isPrefix && i === wanted.length - 1 && there.startsWith(word));
  });
}

/**
 * The weight of a text for some terms: BM25 with constants in place of the statistics of the other texts, so that it tells nothing of
 * them. The more often the terms stand in a text, and the shorter it is, the greater its weight; 0 where none does.
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
