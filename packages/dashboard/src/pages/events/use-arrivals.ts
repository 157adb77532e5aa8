/** The newest events: marked in the list for a moment, and counted for people who use a screen reader. */
import { useEffect, useRef, useState } from "react";

const markMs = 2_000;
/** Events within this time are announced together. */
const tellMs = 2_000;

export interface Arrivals {
  readonly ids: ReadonlySet<string>;
  /** Events of the last moments, announced when the moments are over; 0 for no events. */
  readonly told: number;
  add(ids: readonly string[]): void;
}

const none: ReadonlySet<string> = new Set();

export function useArrivals(): Arrivals {
  const [ids, setIds] = useState(none);
  const [told, setTold] = useState(0);
  const waiting = useRef(0);
  const timers = useRef<{ mark?: ReturnType<typeof setTimeout>; tell?: ReturnType<typeof setTimeout> }>({});
  useEffect(() => {
    const { current } = timers;
    return () => {
      clearTimeout(current.mark);
      clearTimeout(current.tell);
    };
  }, []);
  const tell = (): void => {
    delete timers.current.tell;
    setTold(waiting.current);
    waiting.current = 0;
  };
  return {
    ids,
    told,
    add(come) {
      setIds((before) => new Set([...before, ...come]));
      clearTimeout(timers.current.mark);
      timers.current.mark = setTimeout(() => setIds(none), markMs);
      if (waiting.current === 0) setTold(0);
      waiting.current += come.length;
      timers.current.tell ??= setTimeout(tell, tellMs);
    },
  };
}
