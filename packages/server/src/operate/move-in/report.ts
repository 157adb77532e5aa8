/** The report of a move, as text: what becomes what, and the findings by their kind. */
import { count, printable } from "../../base/kernel/index.ts";
import { findingKinds, type MoveFinding, type MoveSource } from "./source.ts";
import type { Survey } from "./survey.ts";

export function reportOf({ label, tables }: MoveSource, { findings, records, files }: Survey): string {
  const rows = tables.map(
    ({ from, count: n, definition: { name, permissions = {} } }) =>
      `  ${from} -> ${name}: ${count(n, "record")}\n${Object.entries(permissions)
        .map(([operation, rule]) => `      ${operation.padEnd(6)}  ${rule}\n`)
        .join("")}`,
  );
  const parts = Object.entries(findingKinds).map(([kind, title]) => {
    const lines = linesOf(findings, kind);
    return lines.length === 0 ? "" : `\n${title}\n${lines.join("")}`;
  });
  return `From ${label}: ${count(tables.length, "collection")}, ${count(records, "record")}, ${count(files, "file")}\n${rows.join("")}${parts.join("")}`;
}

function linesOf(findings: readonly MoveFinding[], kind: string): string[] {
  return [...new Set(findings.filter((each) => each.kind === kind).map(({ text }) => `  - ${printable(text)}\n`))];
}
