/** The SQL functions that our statements use and SQLite does not have. */
import { containsText, matchWeight, searchText } from "../../kernel/index.ts";
import type { Connection } from "./connection.ts";

/**
 * A condition that is always true and calls back once for each row that a statement looks at, so that a statement on a
 * thread can be stopped. It stands first in a WHERE, before anything that costs more.
 */
export function stopProbe(alias: string, column = "rowid"): string {
  return `_probe(${alias}.${column})`;
}

/**
 * Adds `_contains(text, wanted)`, without regard to case in every alphabet; `_contains_item(json, wanted)`, the same of
 * a text in a JSON array; `_lower(text)` in every alphabet; `_match_weight(text, terms)`, see `matchWeight`, the terms as JSON; and
 * `_probe`, see `stopProbe`.
 * @param onProbe its error ends the statement.
 */
export function addFunctions(connection: Connection, onProbe: () => void): void {
  connection.define("_contains", (text, wanted) => {
    if (typeof text !== "string" || typeof wanted !== "string") return null;
    return containsText(text, wanted) ? 1 : 0;
  });
  connection.define("_contains_item", (json, wanted) => {
    if (typeof json !== "string" || typeof wanted !== "string") return null;
    const items: unknown = JSON.parse(json);
    if (!Array.isArray(items)) return null;
    return items.some((item) => typeof item === "string" && containsText(item, wanted)) ? 1 : 0;
  });
  connection.define("_lower", (text) => (typeof text === "string" ? text.toLowerCase() : null));
  connection.define("_match_weight", (text, terms) =>
    typeof text === "string" && typeof terms === "string" ? matchWeight(text, JSON.parse(terms)) : 0,
  );
  addTriggerFunctions(connection);
  connection.define("_probe", (_row) => {
    onProbe();
    return 1;
  });
}

/** Adds `_search_text(text)`, the words of a text, which triggers of searched collections call. */
export function addTriggerFunctions(connection: Connection): void {
  connection.define("_search_text", (text) => (typeof text === "string" ? searchText(text) : null));
}
