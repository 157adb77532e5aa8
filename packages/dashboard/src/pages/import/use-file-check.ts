/** The check of the whole file, anew whenever the file or the plan changes. */
import { useEffect, useState } from "react";
import { checkFile, type FileCheck } from "./check-file.ts";
import type { ImportPlan } from "./run/prepare.ts";
import { readRows } from "./source/source.ts";
import type { LoadedSource } from "./use-source.ts";

/** Waits until the user has stopped typing or choosing. */
const pauseMs = 300;

export function useFileCheck({ file, format, columns }: LoadedSource, plan: ImportPlan): FileCheck | null {
  const [check, setCheck] = useState<FileCheck | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    setCheck(null);
    const timer = setTimeout(() => {
      // A file that cannot be read on is told by the run, with its place.
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
