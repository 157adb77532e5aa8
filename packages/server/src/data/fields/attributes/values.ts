/**
 * The attribute `values`: the allowed texts, in their order. The column holds the text; a generated column beside the text
 * holds its position among the values, for sorting and for indexes. A new order is a new generated column: no record is
 * written.
 */

import { nearest, oneOf, quote } from "../../../base/kernel/index.ts";
import { literal, type Value } from "../../../store/database/index.ts";
import type { Attribute } from "../field-type.ts";
import { encodeText } from "../types/string.ts";

/** A longer choice is a collection, with a relation to the collection. */
const maxValues = 200;
const maxLength = 100;
/** The most values that a message lists. */
const maxShown = 20;

/** A value stands in one line of a form. */
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
  // For a multiple field, the bounds count the items.
  excludes: ({ multiple }) => (multiple === true ? ["regex"] : ["min", "max", "regex"]),
  problems: ({ values = [] }) => problemsOf(values),
};

/** The values in a message: `"a", "b" or "c"`. */
function shownValues(all: readonly string[]): string {
  const shown = all.slice(0, maxShown).map(quote);
  return all.length > maxShown ? `${shown.join(", ")}, …` : oneOf(shown);
}

/** The problem of a text that is not among the values, as the end of a sentence; null for an allowed text. */
export function valuesProblem(all: readonly string[], text: Value): string | null {
  if (all.includes(String(text))) return null;
  const near = all.length === 1 ? null : nearest(String(text), all);
  const hint = near === null ? "" : `; did you mean ${quote(near)}?`;
  return `must be ${shownValues(all)}${hint}`;
}

/** The position of a text among the values, from 0, as SQL without parameters: an index contains the expression. */
export function positionSql(all: readonly string[], text: string): string {
  const cases = all.map((value, position) => ` WHEN ${literal(value)} THEN ${position}`);
  return `CASE ${text}${cases.join("")} END`;
}
