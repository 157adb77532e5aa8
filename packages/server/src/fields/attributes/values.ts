/**
 * The attribute `values`: the texts that a field may hold, in their order. The text is stored; a generated column beside it holds
 * its position among the values, which sorts, and which indexes contain. A new order is a new column: no record is written.
 */
import { literal, type Value } from "../../database/index.ts";
import { nearest, oneOf, quote } from "../../kernel/index.ts";
import { encodeText } from "../texts.ts";
import type { Attribute } from "./attribute.ts";

/** A choice of more is a collection of its own, and a relation to it. */
const maxValues = 200;
const maxLength = 100;
/** A message that lists more helps nobody. */
const maxShown = 20;

/** Each one stands in a line of a form. */
function isValue(text: string): boolean {
  const isLine = text !== "" && text.length <= maxLength && text.trim() === text && !/\p{Cc}/u.test(text);
  return isLine && encodeText(text) !== undefined;
}

function problemsOf(values: readonly string[]): string[] {
  if (values.length === 0 || values.length > maxValues) return [`lists 1 to ${maxValues} texts, not ${values.length}`];
  const odd = values.find((value) => !isValue(value));
  if (odd !== undefined)
    return [`lists texts of one line, 1 to ${maxLength} characters, without space at an end, not ${quote(odd)}`];
  const twin = values.find((value, i) => values.indexOf(value) < i);
  return twin === undefined ? [] : [`lists ${quote(twin)} twice`];
}

export const values: Attribute = {
  name: "values",
  isFor: "string",
  means: ({ type }) => type === "string",
  // Of a multiple field, the bounds count its items.
  excludes: ({ multiple }) => (multiple === true ? ["regex"] : ["min", "max", "regex"]),
  problems: ({ values = [] }) => problemsOf(values),
};

/** The values as a message lists them: `"a", "b" or "c"`. */
function shownValues(all: readonly string[]): string {
  const shown = all.slice(0, maxShown).map(quote);
  return all.length > maxShown ? `${shown.join(", ")}, …` : oneOf(shown);
}

/** The end of a sentence that says that a text is none of the values; null where it is one. */
export function valuesProblem(all: readonly string[], text: Value): string | null {
  if (all.includes(String(text))) return null;
  const near = all.length === 1 ? null : nearest(String(text), all);
  const hint = near === null ? "" : `; did you mean ${quote(near)}?`;
  return `must be ${shownValues(all)}${hint}`;
}

/** The position of a text among the values, from 0, as SQL. It has no parameters, because an index is made of it. */
export function positionSql(all: readonly string[], text: string): string {
  const cases = all.map((value, position) => ` WHEN ${literal(value)} THEN ${position}`);
  return `CASE ${text}${cases.join("")} END`;
}
