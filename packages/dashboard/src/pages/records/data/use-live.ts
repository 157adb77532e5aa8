/**
 * Live changes of the grid. Events are gathered and merged at most once a frame, and less often under a flood. The list
 * itself is read again only after a long break, when the service can no longer send the missed events.
 */
import type { Event } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { client } from "../../../service/client.ts";
import { isOwnDelete } from "../../../service/deletes.ts";
import { type Change, type Changes, changeOf, collect, mergeChanges, withoutRows } from "./live-merge.ts";
import { changePages, countQuery, type RecordPages, recordsKey } from "./record-query.ts";

/** The number of changes in a merge that delays the next merge. */
const floodSize = 40;
const floodMs = 300;
/** Bound for the new records of a merge at the top, and for the growth of the top before the next read. */
const mostEntering = 50;
const mostEntered = 500;
/** The most ids remembered between two merges; beyond, the list only reports that the collection has changed. */
const mostGathered = 5_000;
const flashMs = 1_200;
const fadeMs = 500;
const countMs = 2_000;

const nothing: ReadonlySet<string> = new Set();

/** The rows that flash or fade, each for a moment. */
function useMarks() {
  const [flashing, setFlashing] = useState(nothing);
  const [fading, setFading] = useState(nothing);
  /** Also for changes by this page, because the event of an own change brings nothing new. */
  const flash = useCallback((ids: readonly string[]): void => {
    if (ids.length === 0) return;
    const now = new Set(ids);
    setFlashing(now);
    setTimeout(() => setFlashing((shown) => (shown === now ? nothing : shown)), flashMs);
  }, []);
  const fade = useCallback((gone: readonly string[], onFaded: (ids: ReadonlySet<string>) => void): void => {
    if (gone.length === 0) return;
    const ids = new Set(gone);
    setFading((shown) => new Set([...shown, ...ids]));
    setTimeout(() => {
      setFading((shown) => new Set([...shown].filter((id) => !ids.has(id))));
      onFaded(ids);
    }, fadeMs);
  }, []);
  return { flashing, fading, flash, fade };
}

/** Changes of a collection between two merges. Merges run at most once a frame, and a few times a second under a flood. */
class Gathering {
  readonly #merge: (changes: Changes) => void;
  #changes: Changes = new Map();
  #frame: number | undefined;
  #lastSize = 0;
  #lastAt = 0;

  constructor(merge: (changes: Changes) => void) {
    this.#merge = merge;
  }

  /** Answers false, and drops the change, when too many changes wait. */
  add(change: Change): boolean {
    if (this.#changes.size >= mostGathered) return false;
    collect(this.#changes, change);
    this.#frame ??= requestAnimationFrame(this.#tick);
    return true;
  }

  stop(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  readonly #tick = (): void => {
    const now = performance.now();
    if (this.#lastSize >= floodSize && now - this.#lastAt < floodMs) {
      this.#frame = requestAnimationFrame(this.#tick);
      return;
    }
    const changes = this.#changes;
    this.#frame = undefined;
    this.#changes = new Map();
    this.#lastSize = changes.size;
    this.#lastAt = now;
    this.#merge(changes);
  };
}

interface LiveOptions {
  collection: string;
  /** Whether the list is shown as another caller sees the list: the socket has the changes for the admin. */
  isOff: boolean;
  queryKey: readonly unknown[];
  /** Whether the list holds only some records: changes then do not give its count. */
  isPartial: boolean;
  /** Whether new records belong at the top of the visible rows. */
  isAtTop: () => boolean;
  /** Whether the list has another order, or shows only some records. */
  isArranged: boolean;
}

/** The merge of changes into the pages of the list, and the changes that the list does not show. */
function useMerge(latest: RefObject<LiveOptions>) {
  const queryClient = useQueryClient();
  const { flashing, fading, flash, fade } = useMarks();
  const [state, setState] = useState({ waiting: 0, isStale: false });
  const entered = useRef(0);
  const settle = useCallback((): void => {
    entered.current = 0;
    setState({ waiting: 0, isStale: false });
  }, []);
  const setStale = useCallback(
    (): void => setState((before) => (before.isStale ? before : { ...before, isStale: true })),
    [],
  );
  const merge = useCallback(
    (changes: Changes): void => {
      const { collection, queryKey, isArranged, isAtTop } = latest.current;
      const pages = queryClient.getQueryData<RecordPages>(queryKey);
      if (pages === undefined) return;
      const mayEnter = !isArranged && isAtTop() && entered.current < mostEntered ? mostEntering : 0;
      const merged = mergeChanges(pages.pages, changes, mayEnter);
      entered.current += merged.entered.length;
      const isChanged = merged.pages.some((page, i) => page !== pages.pages[i]);
      if (isChanged) queryClient.setQueryData<RecordPages>(queryKey, { ...pages, pages: [...merged.pages] });
      flash([...merged.updated, ...merged.entered]);
      fade(merged.gone, (ids) => changePages(queryClient, collection, (now) => withoutRows(now, ids)));
      if (merged.waiting > 0) setState((before) => ({ ...before, waiting: before.waiting + merged.waiting }));
      if (merged.isStale && isArranged) setStale();
    },
    [queryClient, latest, flash, fade, setStale],
  );
  return { flashing, fading, ...state, settle, flash, merge, setStale };
}

/** The live changes: marked rows, `waiting` new records that are not shown, and whether rows outside the pages are `isStale`. */
export function useLive(options: LiveOptions) {
  const { collection } = options;
  const queryClient = useQueryClient();
  const latest = useRef(options);
  latest.current = options;
  const { merge, setStale, ...live } = useMerge(latest);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has nothing that waits.
  useEffect(live.settle, [JSON.stringify(options.queryKey), live.settle]);

  useEffect(() => {
    const gathering = new Gathering(merge);
    let counting: ReturnType<typeof setTimeout> | undefined;
    const countAgain = (): void => {
      counting = undefined;
      void queryClient.invalidateQueries(countQuery({ collection, filter: undefined, search: undefined }));
    };
    const hear = (event: Event): void => {
      if (latest.current.isOff) return;
      if (!latest.current.isPartial) counting ??= setTimeout(countAgain, countMs);
      const change = changeOf(event);
      // The grid has removed the record already when this tab deleted the record.
      if (change === null || (change.type === "deleted" && isOwnDelete(change.id))) return;
      if (!gathering.add(change)) setStale();
    };
    const stop = client.subscribe(`${collection}.*`, hear, {
      onReset: () => {
        // Fresh data from a request is not read again.
        const read = queryClient.getQueryState(latest.current.queryKey)?.dataUpdatedAt ?? 0;
        if (read > 0 && Date.now() - read > 1_000)
          void queryClient.invalidateQueries({ queryKey: recordsKey(collection) });
      },
    });
    return () => {
      stop();
      gathering.stop();
      clearTimeout(counting);
    };
  }, [collection, queryClient, merge, setStale]);
  return live;
}
