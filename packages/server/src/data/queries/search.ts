/**
 * The parameters `search` and `snippet`: the records with words that match, the best first, and the part of a text
 * around the found words (contract, "Batch, search, groups").
 *
 * Words are joined by AND; `word*` matches the beginning of a word, and the words of `"two words"` follow each other. Every other
 * character is text. The text for FTS5 contains only words, so no search is an error of the database.
 */

import type { StoredRecord } from "@socle/protocol";
import {
  matchWeight,
  quote,
  type SearchTerm,
  type SearchWord,
  searchedCharacters,
  searchWords,
  standsAt,
} from "../../base/kernel/index.ts";
import { identifier } from "../../store/database/index.ts";
import { type Collection, searchColumn, searchTableName } from "../collections/index.ts";
import type { KeyPlan, SearchPlan } from "./plan.ts";
import { type QueryText, refuseParameter } from "./query-text.ts";
import type { Source } from "./read-scope.ts";

const maxCharacters = 1_000;
const maxTerms = 32;

/** A phrase in quotes, or the characters between white space: a beginning of a word ends with a star. */
const part = /"([^"]*)"|([^\s"]+)/g;

function termsOf(text: string): SearchTerm[] {
  const terms: SearchTerm[] = [];
  for (const [, phrase, loose = ""] of text.matchAll(part)) {
    if (phrase !== undefined) {
      const words = [...searchWords(phrase)].map(({ word }) => word);
      if (words.length > 0) terms.push({ words, isPrefix: false });
      continue;
    }
    // Words without a space between, as Chinese characters, stand side by side.
    const found = [...searchWords(loose)];
    for (const [i, { word, start, end }] of found.entries()) {
      const isPrefix = loose[end] === "*";
      const before = found[i - 1];
      const last = terms.at(-1);
      const isJoined = before !== undefined && (before.end === start || before.start === start);
      if (isJoined && last !== undefined) terms[terms.length - 1] = { words: [...last.words, word], isPrefix };
      else terms.push({ words: [word], isPrefix });
    }
  }
  return terms;
}

/** Null without a search. @throws AppError `bad_request`. */
export function parseSearchText(
  text: Pick<QueryText, "search"> & { readonly snippet?: string | undefined },
  { collection, source, isAlone }: { collection: Collection; source: Source } & Pick<SearchPlan, "isAlone">,
): SearchPlan | null {
  if (text.search === undefined) {
    if (text.snippet !== undefined) throw refuseParameter("snippet", 'it needs "search"');
    return null;
  }
  const { definition, name } = collection;
  const fields = definition.search ?? [];
  // A search must not tell of fields that are hidden from the caller in some records.
  const readable = fields.filter((each) => source.field(each) !== null && !source.conditional.has(each));
  if (readable.length === 0)
    throw refuseParameter("search", `the definition of ${quote(name)} names no fields that are searched`);
  if (text.search.length > maxCharacters)
    throw refuseParameter("search", `at most ${maxCharacters} characters are allowed`);
  const terms = termsOf(text.search);
  if (terms.length === 0) throw refuseParameter("search", `there is no word in ${quote(text.search)}`);
  if (terms.length > maxTerms) throw refuseParameter("search", `at most ${maxTerms} words are allowed`);
  const table = identifier(searchTableName(name));
  // The rank would tell of the words of hidden records and fields.
  const knowsRank = readable.length === fields.length && source.decision.access === "all";
  const columns = readable.map((each) => searchColumn(fields.indexOf(each)));
  const matched = terms.map(({ words, isPrefix }) => `"${words.join(" ")}"${isPrefix ? " *" : ""}`).join(" AND ");
  const shown = snippetsOf(text.snippet, { collection, readable });
  return {
    table,
    match: `{${columns.join(" ")}} : (${matched})`,
    terms,
    isAlone: isAlone && knowsRank,
    weighed: knowsRank ? null : readable.map((each) => source.column(each)),
    snippets: shown.map((field) => ({ field, column: source.column(field) })),
  };
}

function snippetsOf(
  text: string | undefined,
  { collection, readable }: { collection: Collection; readable: readonly string[] },
): string[] {
  const names = text === undefined ? [] : [...new Set(text.split(",").map((name) => name.trim()))];
  for (const name of names)
    if (!readable.includes(name))
      throw refuseParameter(
        "snippet",
        `${quote(name)} is no field that is searched; there are: ${readable.join(", ")}`,
      );
  if (names.length > 0 && collection.definition.fields.some((field) => field.name === "snippet"))
    throw refuseParameter("snippet", "the collection has a field of this name, which would be hidden");
  return names;
}

/** The weight of a record for a search, by the texts that the record shows to the caller: records of several collections compare. */
export function recordWeight({ definition }: Collection, record: StoredRecord, search: string): number {
  const terms = termsOf(search);
  const texts = (definition.search ?? []).map((field) => record[field]).filter((text) => typeof text === "string");
  return texts.reduce((weight, text) => weight + matchWeight(text, terms), 0);
}

/** The best matches first: by the rank of FTS5, least for the best, or by the weight of the texts that the caller may read. */
export function matchOrder({ table, weighed, terms }: SearchPlan): KeyPlan {
  const key = { isNullable: false, valueType: "number" } as const;
  if (weighed === null) return { ...key, text: `${table}.rank`, values: [], isDescending: false };
  const sought = JSON.stringify(terms);
  return {
    ...key,
    text: `(${weighed.map((column) => `_match_weight(${column}, ?)`).join(" + ")})`,
    values: weighed.map(() => sought),
    isDescending: true,
  };
}

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
  const found = placesOf(words, terms);
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
function placesOf(words: readonly SearchWord[], terms: readonly SearchTerm[]): Span[] {
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
  // No character of two UTF-16 units is cut.
  return { start, end: text.slice(start, end).isWellFormed() ? end : end + 1 };
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
