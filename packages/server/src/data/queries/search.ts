/**
 * The parameters `search` and `snippet`: the records whose words match, the best first (contract, "Batch, search, groups").
 *
 * Words are joined by AND; `word*` matches the beginning of a word, and the words of `"two words"` follow each other. Every other
 * character is text. The text for FTS5 contains only words, so no search is an error of the database.
 */

import { quote, type SearchTerm, searchWords } from "../../base/kernel/index.ts";
import { identifier } from "../../store/database/index.ts";
import { type Collection, searchColumn, searchTableName } from "../collections/index.ts";
import type { SearchPlan } from "./plan.ts";
import { type QueryText, refuseParameter } from "./query-text.ts";
import type { Source } from "./read-scope.ts";

const maxCharacters = 1_000;
const maxTerms = 32;

/** A phrase in quotes, or the characters between white space: a beginning of a word ends with a star. */
const part = /"([^"]*)"|([^\s"]+)/g;

/** The terms of a text. */
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
  return {
    table,
    match: `{${columns.join(" ")}} : (${matched})`,
    terms,
    isAlone: isAlone && knowsRank,
    weighed: knowsRank ? null : readable.map((each) => source.column(each)),
    snippets: snippetsOf(text.snippet, { collection, readable }).map((field) => ({
      field,
      column: source.column(field),
    })),
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
