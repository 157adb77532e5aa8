/** Searches as the model of rules makes them: the words of fields that a caller may read, and snippets of these. */
import type { Generator } from "./generate.ts";
import type { Model, ModelCaller, ModelRecord } from "./model.ts";
import { listQuestion, type Question } from "./question.ts";
import type { Literal } from "./syntax.ts";

/** A search with a sort, whose order the model knows, and the same without one. */
export function searchQuestions(model: Model, name: string, generator: Generator): Question[] {
  const terms = generator.words();
  const snippet = generator.of(["t", "s", null]);
  const query = new URLSearchParams({ search: terms.join(" "), ...(snippet !== null && { snippet }) });
  const asked = {
    refusals: (caller: ModelCaller) => {
      const searched = model.searchedBy(caller, name);
      return new Set(searched.length === 0 || (snippet !== null && !searched.includes(snippet)) ? [400] : []);
    },
    list: (caller: ModelCaller) => {
      const searched = model.searchedBy(caller, name);
      return model.list(caller, name).filter((record) => terms.every((term) => isFound(record, searched, term)));
    },
    shown: (caller: ModelCaller, record: ModelRecord) => ({
      ...model.shown(caller, name, record),
      ...(snippet !== null && { snippet: { [snippet]: snippetOf(record[snippet] ?? null, terms) } }),
    }),
  };
  const counted = `?${query}&sort=-createdAt&count=exact`;
  return [
    listQuestion(model, name, { ...asked, search: counted, total: true }),
    { ...listQuestion(model, name, { ...asked, search: `?${query}` }), isPaged: false, isUnordered: true },
  ];
}

function isFound(record: ModelRecord, searched: readonly string[], term: string): boolean {
  return searched.some((field) => matches(record[field] ?? null, term));
}

/** The texts have one word each. */
function matches(text: Literal, term: string): boolean {
  const word = term.replace(/[*"]/g, "").toLowerCase();
  if (typeof text !== "string") return false;
  return term.endsWith("*") ? text.toLowerCase().startsWith(word) : text.toLowerCase() === word;
}

function snippetOf(text: Literal, terms: readonly string[]): Literal {
  return terms.some((term) => matches(text, term)) ? `<mark>${text}</mark>` : text;
}
