import { containsText } from "../kernel/index.ts";
import type { Connection } from "./connection.ts";

/**
 * A condition that is true and lets a reader notice how far a statement has come. As the first of a WHERE it is asked of
 * every row that the statement looks at, before anything that costs more.
 * @param alias of the table.
 * @param weight the bytes that are looked at in a row, as SQL; null where they are few.
 */
export function visited(alias: string, weight: string | null = null): string {
  return weight === null ? `_visit(${alias}.rowid)` : `_visit(${alias}.rowid, ${weight})`;
}

/**
 * Adds what our SQL uses and SQLite does not have: `_contains(text, wanted)`, without regard to case in every alphabet;
 * `_contains_item(json, wanted)`, the same of a text in a JSON array; and `_visit`, see `visited`.
 * @param onVisit called with the bytes of each row; what it throws ends the statement.
 */
export function addFunctions(connection: Connection, onVisit: (bytes: number) => void): void {
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
  connection.define("_visit", (_row) => {
    onVisit(0);
    return 1;
  });
  connection.define("_visit", (_row, bytes) => {
    onVisit(typeof bytes === "number" ? bytes : 0);
    return 1;
  });
}
