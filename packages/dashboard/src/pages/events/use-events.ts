/** The live event log: a first page, older events on demand, new events as the service sends each; the marks of the newest events; a single event. */
import type { EventEntry } from "@socle/protocol";
import { queryOptions } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { type TailState, useBatch, useTail } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import type { EventSearch } from "../search.ts";
import { isWanted, merged, olderThan, timeOfId } from "./event-list.ts";

const pageSize = 100;

interface Events {
  /** Undefined until the first page is loaded. */
  readonly list: readonly EventEntry[] | undefined;
  /** The number of all events in the log that match the filter, at the last read. */
  readonly total: number;
  readonly state: TailState;
  readonly error: unknown;
  readonly isLoadingOlder: boolean;
  readonly hasOlder: boolean;
  loadOlder(): void;
  retry(): void;
}

/** @param onArrival is called with the ids of new events that match the filter, while the list is shown. */
export function useEvents(search: EventSearch, onArrival: (ids: readonly string[]) => void): Events {
  const { type, from, to, actor, about } = search;
  const key = JSON.stringify([type, from, to, actor, about]);
  const [found, setFound] = useState<{ key: string; list: readonly EventEntry[]; total: number } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isLoadingOlder, setLoadingOlder] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const current = useRef({ key, search });
  current.current = { key, search };

  /**
   * Puts events into the list of their filter. Does nothing when the filter has changed since the read.
   */
  const put = (readKey: string, events: readonly EventEntry[], total?: number): void => {
    if (current.current.key !== readKey) return;
    setFound((before) => {
      const known = before?.key === readKey ? before : null;
      return { key: readKey, list: merged(known?.list ?? [], events), total: total ?? known?.total ?? 0 };
    });
  };
  const query = { type, from, to, actor, about, limit: pageSize };
  const read = async (): Promise<void> => {
    try {
      const { items, total } = await client.admin.events(query);
      setError(null);
      put(key, items, total);
    } catch (thrown) {
      if (current.current.key === key) setError(thrown);
    }
  };
  const loadOlder = async (): Promise<void> => {
    const start = olderThan(found?.list ?? []);
    if (start === null || isLoadingOlder) return;
    setLoadingOlder(true);
    try {
      const { items } = await client.admin.events({ ...query, ...start });
      put(key, items);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setLoadingOlder(false);
    }
  };
  const batch = useBatch<EventEntry>((events) => {
    const come = events.filter((event) => isWanted(event, current.current.search));
    if (come.length === 0) return;
    onArrival(come.map(({ id }) => id));
    setFound((before) => {
      if (before?.key !== current.current.key) return before;
      const list = merged(before.list, come);
      return { ...before, list, total: before.total + come.length };
    });
  });
  const state = useTail({
    tail: (options) => client.admin.tailEvents(batch.add, options),
    // The stream lacks events from before its start and from a break: the page reads these events.
    onGap: () => void read(),
    key: String(attempt),
  });
  // A change of the filter starts a new list.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the filter is the reason.
  useEffect(() => void read(), [key, attempt]);

  const list = found?.key === key ? found.list : undefined;
  const total = found?.key === key ? found.total : 0;
  return {
    list,
    total,
    state,
    error,
    isLoadingOlder,
    hasOlder: list !== undefined && list.length < total,
    loadOlder: () => void loadOlder(),
    retry: () => setAttempt((n) => n + 1),
  };
}

/** An event outside the loaded list: its id gives its time. Null when the log has dropped the event. */
export function eventQuery(id: string) {
  return queryOptions({
    queryKey: ["events", "one", id],
    queryFn: async () => {
      const at = timeOfId(id);
      if (at === null) return null;
      const { items } = await client.admin.events({ from: at, to: at, limit: 1_000 });
      return items.find((event) => event.id === id) ?? null;
    },
    staleTime: 60_000,
  });
}

const markMs = 2_000;
/** Events within this time are announced together. */
const tellMs = 2_000;

interface Arrivals {
  readonly ids: ReadonlySet<string>;
  /** Events of the last moments, announced when the moments are over; 0 for no events. */
  readonly told: number;
  add(ids: readonly string[]): void;
}

const none: ReadonlySet<string> = new Set();

/** The new events: the list marks each event for a moment, and a screen reader hears only their number. */
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
