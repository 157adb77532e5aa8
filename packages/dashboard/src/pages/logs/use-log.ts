/** The live log: first the entries in the service's memory, then new entries. The user can pause and clear the log. */
import { SocleError } from "@socle/client";
import type { LogEntry } from "@socle/protocol";
import { useMemo, useState } from "react";
import { type TailState, useBatch, useTail } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { type LogLine, withCome, withRead } from "./log-lines.ts";

/** The most entries in an answer. The service remembers more entries. */
const readLimit = 1_000;
const maxReads = 4;

export interface Log {
  /** Undefined until the first read. */
  readonly lines: readonly LogLine[] | undefined;
  /** Lines that came during the pause. */
  readonly held: readonly LogLine[];
  readonly isPaused: boolean;
  readonly state: TailState;
  /** The reason of a failed stream or read, until the next success. */
  readonly error: unknown;
  pause(isPaused: boolean): void;
  clear(): void;
  retry(): void;
}

/** Reads all entries in the service's memory, without the filter: a filter then needs no request, and counts are exact. */
async function readAll(): Promise<readonly (readonly LogEntry[])[]> {
  const pages: LogEntry[][] = [];
  for (let page = 0; page < maxReads; page += 1) {
    const { items, total } = await client.admin.logs({ limit: readLimit, offset: page * readLimit });
    pages.push(items);
    if (items.length < readLimit || (page + 1) * readLimit >= total) break;
  }
  return pages;
}

/** The lines after the clearing: the lines up to the pause, and the lines that came during the pause. */
function split(all: readonly LogLine[] | undefined, clearedAt: number, pausedAt: number | null) {
  const lines = all?.filter(({ key }) => key > clearedAt);
  if (pausedAt === null) return { lines, held: [] };
  return {
    lines: lines?.filter(({ key }) => key <= pausedAt),
    held: (lines ?? []).filter(({ key }) => key > pausedAt),
  };
}

export function useLog(): Log {
  const [all, setAll] = useState<readonly LogLine[] | undefined>(undefined);
  /** Lines up to this key were on the page at the pause, or at the clearing. */
  const [pausedAt, setPausedAt] = useState<number | null>(null);
  const [clearedAt, setClearedAt] = useState(0);
  const [streamError, setStreamError] = useState<unknown>(null);
  const [readError, setReadError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const batch = useBatch<LogEntry>((come) => setAll((lines) => withCome(lines ?? [], come)));
  const read = async (): Promise<void> => {
    try {
      const pages = await readAll();
      // First the streamed entries, then the read entries, page by page: pages and stream may contain the same entry.
      const come = batch.drain();
      setAll((lines) => pages.reduce(withRead, withCome(lines ?? [], come)));
      setReadError(null);
    } catch (thrown) {
      setReadError(thrown);
    }
  };
  const state = useTail({
    tail: async (options) => {
      try {
        await client.admin.tailLogs(batch.add, options);
      } catch (thrown) {
        if (!options.signal.aborted) setStreamError(thrown);
        // Without the stream, the page can still read the entries so far.
        if (!options.signal.aborted && thrown instanceof SocleError) void read();
        throw thrown;
      }
    },
    onGap: () => {
      setStreamError(null);
      void read();
    },
    key: String(attempt),
  });

  const newest = (all ?? []).reduce((key, line) => Math.max(key, line.key), 0);
  // Both lists stay the same between changes: the page filters them.
  const { lines, held } = useMemo(() => split(all, clearedAt, pausedAt), [all, clearedAt, pausedAt]);
  return {
    lines,
    held,
    isPaused: pausedAt !== null,
    state,
    error: streamError ?? readError,
    pause: (isPaused) => setPausedAt(isPaused ? newest : null),
    clear: () => setClearedAt(pausedAt ?? newest),
    retry: () => {
      setStreamError(null);
      setReadError(null);
      setAttempt((n) => n + 1);
    },
  };
}
