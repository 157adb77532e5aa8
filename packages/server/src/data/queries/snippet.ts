/** Snippets: the part of a text around the found words, as HTML with the words marked. */
import {
  type SearchTerm,
  type SearchWord,
  searchedCharacters,
  searchWords,
  standsAt,
} from "../../base/kernel/index.ts";

/** Characters of a snippet, about. */
const width = 160;

/** A part of the text, in UTF-16 units. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** The snippet of a found text. HTML, but for `<mark>` escaped. */
export function snippetOf(text: string, terms: readonly SearchTerm[]): string {
  const words = [...searchWords(text.slice(0, searchedCharacters))];
  const found = foundIn(words, terms);
  const { start, end } = windowOf(text, words, found);
  let html = start > 0 ? "…" : "";
  let at = start;
  for (const span of found) {
    if (span.start < at || span.end > end) continue;
    html += `${escaped(text.slice(at, span.start))}<mark>${escaped(text.slice(span.start, span.end))}</mark>`;
    at = span.end;
  }
  return `${html}${escaped(text.slice(at, end))}${end < text.length ? "…" : ""}`;
}

/** The places of the terms, in the order of the text and without overlaps. */
function foundIn(words: readonly SearchWord[], terms: readonly SearchTerm[]): Span[] {
  const spans: Span[] = [];
  for (const [i, { start }] of words.entries()) {
    let length = 0;
    for (const term of terms) if (standsAt(words, i, term)) length = Math.max(length, term.words.length);
    const last = words[i + length - 1];
    if (length > 0 && last !== undefined && start >= (spans.at(-1)?.end ?? 0)) spans.push({ start, end: last.end });
  }
  return spans;
}

/** The part with the most found words, from the beginning of a word to the end of a word. */
function windowOf(text: string, words: readonly SearchWord[], found: readonly Span[]): Span {
  let [best, most] = [0, -1];
  for (const [i, { start }] of found.entries()) {
    let inside = 0;
    while ((found[i + inside]?.end ?? Number.POSITIVE_INFINITY) <= start + width) inside += 1;
    if (inside > most) [best, most] = [start, inside];
  }
  const wanted = Math.max(0, Math.min(best - Math.floor(width / 4), text.length - width));
  const first = words.find((word) => word.start >= wanted);
  const start = wanted === 0 || first === undefined ? 0 : Math.min(first.start, best);
  let end = Math.min(text.length, start + width);
  const cut = words.find((word) => word.start < end && word.end > end);
  // A word as long as the snippet is cut all the same.
  if (cut !== undefined) end = cut.start > start && cut.start > best ? cut.start : Math.min(cut.end, start + 2 * width);
  return { start, end: isWithinPair(text, end) ? end + 1 : end };
}

/** Whether a place lies within a character of two UTF-16 units. */
function isWithinPair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
