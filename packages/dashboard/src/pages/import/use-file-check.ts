/** The check of the whole file, repeated after each change of the file or the plan. */
import { useEffect, useState } from "react";
import { checkFile, type FileCheck } from "./check-file.ts";
import type { ImportPlan } from "./run/prepare.ts";
import { readRows } from "./source/source.ts";
import type { LoadedSource } from "./use-source.ts";

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
