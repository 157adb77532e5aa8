/** The log as it grows: what the service remembers, then what comes. It may be held back and cleared. */
import { SocleError } from "@socle/client";
import type { LogEntry } from "@socle/protocol";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type TailState, useTail } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { type LogLine, withCome, withRead } from "./log-lines.ts";

/** The most that one request answers. The service remembers more than that. */
const readLimit = 1_000;
const maxReads = 4;
/** Entries that come within this time are shown together. */
const batchMs = 80;
/** Entries that wait to be shown; more come only where nobody could read them. */
const maxBatch = 5_000;

export interface Log {
  /** Undefined until the first read. */
  readonly lines: readonly LogLine[] | undefined;
  /** Those that came while it was held back. */
  readonly held: readonly LogLine[];
  readonly isPaused: boolean;
  readonly state: TailState;
  /** Why the stream or the read failed, while it does. */
  readonly error: unknown;
  pause(isPaused: boolean): void;
  clear(): void;
  retry(): void;
}

/** Everything that the service remembers, whatever the filter: filters then work at once, and counts are exact. */
async function readAll(): Promise<readonly (readonly LogEntry[])[]> {
  const pages: LogEntry[][] = [];
  for (let page = 0; page < maxReads; page += 1) {
    const { items, total } = await client.admin.logs({ limit: readLimit, offset: page * readLimit });
    pages.push(items);
    if (items.length < readLimit || (page + 1) * readLimit >= total) break;
  }
  return pages;
}

export function useLog(): Log {
  const [all, setAll] = useState<readonly LogLine[] | undefined>(undefined);
  /** Lines up to this key were there when the page was paused, or cleared. */
  const [pausedAt, setPausedAt] = useState<number | null>(null);
  const [clearedAt, setClearedAt] = useState(0);
  const [streamError, setStreamError] = useState<unknown>(null);
  const [readError, setReadError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const batch = useRef<LogEntry[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);

  const flush = useCallback((): void => {
    timer.current = undefined;
    const come = batch.current.splice(0);
    setAll((lines) => withCome(lines ?? [], come));
  }, []);
  const take = (entry: LogEntry): void => {
    if (batch.current.length < maxBatch) batch.current.push(entry);
    timer.current ??= setTimeout(flush, batchMs);
  };
  const read = async (): Promise<void> => {
    try {
      const pages = await readAll();
      // First what has come, then what was read, page by page: the same entry may be in several of them.
      const come = batch.current.splice(0);
      setAll((lines) => pages.reduce(withRead, withCome(lines ?? [], come)));
      setReadError(null);
    } catch (thrown) {
      setReadError(thrown);
    }
  };
  const state = useTail({
    tail: async (options) => {
      try {
        await client.admin.tailLogs(take, options);
      } catch (thrown) {
        if (!options.signal.aborted) setStreamError(thrown);
        // The entries so far can be read without the stream.
        if (!options.signal.aborted && thrown instanceof SocleError) void read();
        throw thrown;
      }
    },
    onGap: () => {
      setStreamError(null);
      void read();
    },
    isPaused: false,
    key: String(attempt),
  });

  const newest = all === undefined ? 0 : all.reduce((key, line) => Math.max(key, line.key), 0);
  const visible = useMemo(() => all?.filter(({ key }) => key > clearedAt), [all, clearedAt]);
  const lines = useMemo(
    () => (pausedAt === null ? visible : visible?.filter(({ key }) => key <= pausedAt)),
    [visible, pausedAt],
  );
  const held = useMemo(
    () => (pausedAt === null ? [] : (visible ?? []).filter(({ key }) => key > pausedAt)),
    [visible, pausedAt],
  );
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
