/** The rejected rows as a file: the original cells of the imported file, with the problems in a column "error". */
import { csvLine } from "@socle/protocol/cells";
import { isObject } from "../../../kit/diff.ts";
import { WrittenNumber } from "../source/exact-json.ts";
import type { FileFormat } from "../source/source.ts";
import type { RejectedRow } from "./import-run.ts";

const errorColumn = "error";

/** The problems in a single line: "title is required; publishedAt: is no date …". Messages of the service name the field already. */
function reasonOf({ problems }: RejectedRow): string {
  return problems
    .map(({ field, message }) => (field === null || message.startsWith(`${field} `) ? message : `${field}: ${message}`))
    .join("; ");
}

/** The parts of the file. CSV stays CSV with the same delimiter and quotes; JSON becomes JSON with an object per line. */
export function rejectedFile(
  rejected: readonly RejectedRow[],
  format: FileFormat,
  columns: readonly string[],
): { parts: string[]; extension: string; type: string } {
  if (format.kind !== "csv") {
    const parts = rejected.map((each) => {
      const { original } = each.row;
      return `${JSON.stringify({ ...(isObject(original) && !(original instanceof WrittenNumber) ? original : { value: original ?? null }), [errorColumn]: reasonOf(each) })}\n`;
    });
    return { parts, extension: "jsonl", type: "application/x-ndjson" };
  }
  // The cells come from the file unchanged: the protection against spreadsheet formulas is present already.
  const style = { delimiter: format.delimiter, quote: format.quote || '"' };
  // An imported file of rejected rows has the column "error" already.
  const kept = columns.map((name, i) => ({ name, i })).filter(({ name }) => name !== errorColumn);
  const lines = rejected.map((each) => {
    const cells = kept.map(({ i }) => each.row.cells[i]).map((cell) => (cell === undefined ? null : cell));
    const surplus = each.row.cells.slice(columns.length).map((cell) => cell ?? null);
    return csvLine([...cells.map(textOf), reasonOf(each), ...surplus.map(textOf)], style);
  });
  const head = format.hasHeader ? [csvLine([...kept.map(({ name }) => name), errorColumn], style)] : [];
  return { parts: ["\ufeff", ...head, ...lines], extension: "csv", type: "text/csv" };
}

function textOf(cell: unknown): string | null {
  if (cell === null) return null;
  return typeof cell === "string" ? cell : JSON.stringify(cell);
}
