/** A live tail of the service: logs or events. After a break the tail opens again by itself; its items are shown in batches. */
import { useEffect, useRef, useState } from "react";

export type TailState = "connecting" | "live" | "paused" | "broken";

const firstDelayMs = 500;
const longestDelayMs = 15_000;

/**
 * Runs `tail` while the component is on the page; restarts `tail` after an end or a break.
 * @param tail resolves or rejects when the stream ends; calls `onOpen` when the stream is open.
 * @param onGap called when the stream opens, also after a break: the caller has to read the earlier entries.
 */
export function useTail(options: {
  tail: (options: { signal: AbortSignal; onOpen: () => void }) => Promise<void>;
  onGap: () => void;
  /** A change of the key starts a new tail. */
  key: string;
}): TailState {
  const { key } = options;
  const latest = useRef(options);
  latest.current = options;
  const [state, setState] = useState<TailState>("connecting");
  // biome-ignore lint/correctness/useExhaustiveDependencies: another key is another tail.
  useEffect(() => {
    const stop = new AbortController();
    void (async () => {
      let failures = 0;
      while (!stop.signal.aborted) {
        setState(failures === 0 ? "connecting" : "broken");
        const onOpen = (): void => {
          failures = 0;
          setState("live");
          latest.current.onGap();
        };
        await latest.current.tail({ signal: stop.signal, onOpen }).catch(() => undefined);
        if (stop.signal.aborted) return;
        const delay = Math.min(longestDelayMs, firstDelayMs * 2 ** failures);
        failures += 1;
        setState("broken");
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    })();
    return () => stop.abort();
  }, [key]);
  return state;
}

/** Items within this time are shown together. */
const batchMs = 80;
/** Most items that wait to be shown. Further items are dropped: a reader could not follow so many. */
const maxBatch = 5_000;

interface Batch<T> {
  add(item: T): void;
  /** Takes the waiting items at once. */
  drain(): T[];
}

export function useBatch<T>(take: (items: T[]) => void): Batch<T> {
  const latest = useRef(take);
  latest.current = take;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const items = useRef<T[]>([]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const drain = (): T[] => items.current.splice(0);
  return {
    add(item) {
      if (items.current.length < maxBatch) items.current.push(item);
      timer.current ??= setTimeout(() => {
        timer.current = undefined;
        latest.current(drain());
      }, batchMs);
    },
    drain,
  };
}
