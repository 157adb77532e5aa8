import { containsText } from "../kernel/index.ts";
import type { Connection } from "./connection.ts";

/**
 * A condition that is true and lets a reader notice how far a statement has come. As the first of a WHERE it is asked of
 * every row that the statement looks at.
 * @param alias of the table.
 */
export function visited(alias: string): string {
  return `_visit(${alias}.rowid)`;
}

/**
 * Adds what our SQL uses and SQLite does not have: `_contains(text, wanted)`, without regard to case in every alphabet, and
 * `_visit`, see `visited`.
 * @param onVisit called for each row; what it throws ends the statement.
 */
export function addFunctions(connection: Connection, onVisit: () => void): void {
  connection.define("_contains", (text, wanted) => {
    if (typeof text !== "string" || typeof wanted !== "string") return null;
    return containsText(text, wanted) ? 1 : 0;
  });
  connection.define("_visit", (_row) => {
    onVisit();
    return 1;
  });
}
