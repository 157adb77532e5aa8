/**
 * The check of all rows of a file against the rules that the page knows: formats, bounds, patterns, repeated values. The service
 * checks whether a referenced record exists, when the row is sent.
 */
import type { JsonValue } from "@socle/protocol";
import { text } from "../../texts/index.ts";
import { brokenRule } from "./mapping/rules.ts";
import { type ImportPlan, prepareRow } from "./run/prepare.ts";
import type { SourceRow } from "./source/source.ts";

export interface FileCheck {
  readonly rows: number;
  /** Rows with problems. */
  readonly bad: number;
  /** The first rows with problems. */
  readonly first: readonly SourceRow[];
  readonly isDone: boolean;
}

/** Most bad rows that are shown. */
const mostShown = 50;
/** Rows between two pauses for the browser's other work. */
const batch = 500;

/** The check assumes that every referenced record exists. */
const known = async (): Promise<string> => "known";

async function isBad(row: SourceRow, plan: ImportPlan, seen: Map<string, Set<JsonValue>>): Promise<boolean> {
  const { values, problems } = await prepareRow(row, plan, known);
  let isWrong = problems.length > 0;
  for (const { field, source } of plan.mappings) {
    if (source.kind === "skip") continue;
    const value = values[field.name];
    if (value === undefined && plan.match !== null) continue;
    if (brokenRule(field, value) !== null) isWrong = true;
    if (field.unique !== true || plan.match !== null || value === null || value === undefined) continue;
    const before = seen.get(field.name) ?? new Set();
    seen.set(field.name, before);
    if (before.has(value)) isWrong = true;
    before.add(value);
  }
  return isWrong;
}

/** @param options.onProgress is called now and then, and at the end. Ends early on abort. @throws errors of the reader. */
export async function checkFile(
  rows: AsyncIterable<SourceRow>,
  plan: ImportPlan,
  options: { signal: AbortSignal; onProgress: (check: FileCheck) => void },
): Promise<void> {
  const { signal, onProgress } = options;
  const seen = new Map<string, Set<JsonValue>>();
  const first: SourceRow[] = [];
  let count = 0;
  let bad = 0;
  for await (const row of rows) {
    if (signal.aborted) return;
    count += 1;
    if (await isBad(row, plan, seen)) {
      bad += 1;
      if (first.length < mostShown) first.push(row);
    }
    if (count % batch > 0) continue;
    onProgress({ rows: count, bad, first: [...first], isDone: false });
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  if (!signal.aborted) onProgress({ rows: count, bad, first, isDone: true });
}

/** The result in words: "12 of 3,400 rows with problems", "no problems in 3,400 rows". */
export function checkWords({ rows, bad, isDone }: FileCheck): string {
  if (!isDone) return text.import.checking(rows, bad);
  return bad === 0 ? text.import.fileFine(rows) : text.import.previewProblems(bad, rows);
}
