/**
 * The check of all rows of a file against the rules that the page knows: formats, bounds, patterns, repeated values. The service
 * checks whether a referenced record exists, when the row is sent.
 */
import { useEffect, useState } from "react";
import { text } from "../../texts/index.ts";
import type { LoadedSource } from "./file-step.tsx";
import { isBad, RowCheck } from "./preview.ts";
import type { ImportPlan } from "./run/prepare.ts";
import { readRows, type SourceRow } from "./source/source.ts";

export interface FileCheck {
  readonly rows: number;
  /** Rows with problems. */
  readonly bad: number;
  /** Rows without any value. */
  readonly skipped: number;
  /** The first rows with problems. */
  readonly first: readonly SourceRow[];
  readonly isDone: boolean;
}

/** Most bad rows that are shown. */
const mostShown = 50;
/** Rows between two pauses for the browser's other work. */
const batch = 500;

/** @param options.onProgress is called now and then, and at the end. Ends early on abort. @throws errors of the reader. */
export async function checkFile(
  rows: AsyncIterable<SourceRow>,
  plan: ImportPlan,
  options: { signal: AbortSignal; onProgress: (check: FileCheck) => void },
): Promise<void> {
  const { signal, onProgress } = options;
  const check = new RowCheck(plan, null);
  const first: SourceRow[] = [];
  let count = 0;
  let bad = 0;
  let skipped = 0;
  for await (const row of rows) {
    if (signal.aborted) return;
    if (row.isEmpty) {
      skipped += 1;
      continue;
    }
    count += 1;
    if (isBad(await check.read(row))) {
      bad += 1;
      if (first.length < mostShown) first.push(row);
    }
    if (count % batch > 0) continue;
    onProgress({ rows: count, bad, skipped, first: [...first], isDone: false });
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  if (!signal.aborted) onProgress({ rows: count, bad, skipped, first, isDone: true });
}

/** The result in words: "12 of 3,400 rows with problems", "no problems in 3,400 rows". */
export function checkWords({ rows, bad, skipped, isDone }: FileCheck): string {
  if (!isDone) return text.import.checking(rows, bad);
  const found = bad === 0 ? text.import.fileFine(rows) : text.import.previewProblems(bad, rows);
  return skipped === 0 ? found : `${found}, ${text.import.skipped(skipped)}`;
}

/** Wait after the last change by the user. */
const pauseMs = 300;

export function useFileCheck({ file, format, columns }: LoadedSource, plan: ImportPlan): FileCheck | null {
  const [check, setCheck] = useState<FileCheck | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    setCheck(null);
    const timer = setTimeout(() => {
      // The run reports an unreadable part of the file, with its position.
      checkFile(readRows(file, format, columns), plan, { signal: stop.signal, onProgress: setCheck }).catch(
        () => undefined,
      );
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [file, format, columns, plan]);
  return check;
}
