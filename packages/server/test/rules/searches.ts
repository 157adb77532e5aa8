/** Searches by the model of rules: the words of fields that a caller may read, and snippets of these fields. */
import type { Generator } from "./generate.ts";
import type { Model, ModelCaller, ModelRecord } from "./model.ts";
import { listQuestion, type Question } from "./question.ts";
import type { Value } from "./syntax.ts";

/** A search with a sort, whose order the model knows, and the same search without a sort. */
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
  // Each text is a single word, so the weight is the number of matching terms; records of equal weight keep their order.
  const weighed = (caller: ModelCaller): ModelRecord[] => {
    const searched = model.searchedBy(caller, name);
    const weightOf = (record: ModelRecord): number =>
      searched.flatMap((field) => terms.filter((term) => matches(record[field] ?? null, term))).length;
    return asked.list(caller).sort((left, right) => weightOf(right) - weightOf(left));
  };
  const counted = `?${query}&sort=-createdAt&count=exact`;
  return [
    listQuestion(model, name, { ...asked, search: counted, total: true }),
    {
      ...listQuestion(model, name, { ...asked, list: weighed, search: `?${query}` }),
      isUnordered: (caller) => isRanked(model, caller, name),
    },
  ];
}

/** Whether a caller gets the order of the rank, which the model does not know: the rank depends on the words of all records. */
function isRanked(model: Model, caller: ModelCaller, name: string): boolean {
  const { rules, search } = model.collection(name);
  return model.standing(rules.read, caller) === "all" && model.searchedBy(caller, name).length === search?.length;
}

function isFound(record: ModelRecord, searched: readonly string[], term: string): boolean {
  return searched.some((field) => matches(record[field] ?? null, term));
}

/** Whether a text matches a term; each text is a single word. */
function matches(text: Value, term: string): boolean {
  const word = term.replace(/[*"]/g, "").toLowerCase();
  if (typeof text !== "string") return false;
  return term.endsWith("*") ? text.toLowerCase().startsWith(word) : text.toLowerCase() === word;
}

function snippetOf(text: Value, terms: readonly string[]): Value {
  return terms.some((term) => matches(text, term)) ? `<mark>${text}</mark>` : text;
}
