/** Items of a stream that are shown together: each batch is taken a moment after its first item. */
import { useEffect, useRef } from "react";

/** Items within this time are shown together. */
const batchMs = 80;
/** Most items that wait to be shown. Further items are dropped: a reader could not follow so many. */
const maxBatch = 5_000;

export interface Batch<T> {
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
