/** The answer of a statement: rows as the text of a file, and the plan as lines. */
import type { JsonValue, SqlAnswer } from "@socle/protocol";
import { csvLine } from "@socle/protocol/cells";
import { byteOrderMark, csvValue } from "../records/export/csv.ts";

/** The text and the type of a file with the rows. In CSV, null is an empty cell, and no text is a formula. */
export function fileOf({ columns, rows }: SqlAnswer, format: "csv" | "json"): { text: string; type: string } {
  if (format === "json") return { text: JSON.stringify(rows, null, 2), type: "application/json" };
  const lines = rows.map((row) =>
    csvLine(
      columns.map((name) => csvValue(row[name] as JsonValue, typeof row[name] === "string" ? "text" : "float", true)),
    ),
  );
  return { text: byteOrderMark + csvLine(columns) + lines.join(""), type: "text/csv" };
}

interface PlanLine {
  readonly id: number;
  readonly depth: number;
  readonly detail: string;
  /** Whether SQLite reads each row of a table. */
  readonly isFull: boolean;
}

export function planLines(plan: SqlAnswer["plan"]): PlanLine[] {
  const depths = new Map<number, number>();
  return plan.map(({ id, parent, detail }) => {
    const depth = parent === 0 ? 0 : (depths.get(parent) ?? -1) + 1;
    depths.set(id, depth);
    return { id, depth, detail, isFull: /^SCAN (?!CONSTANT ROW)/.test(detail) && !detail.includes("USING") };
  });
}
