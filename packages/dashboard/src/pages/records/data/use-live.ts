/**
 * Live changes of the grid. Events are gathered and merged at most once a frame, and less often under a flood; the list
 * itself is read again only after a break that was too long to bring what was missed.
 */
import type { Event, StoredRecord } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { client } from "../../../service/client.ts";
import { isOwnDelete } from "../../../service/deletes.ts";
import { type Changes, collect, mergeChanges, withoutRows } from "./live-merge.ts";
import { countQuery, type RecordPages, recordsKey } from "./record-query.ts";

/** From this many changes at once on, the next merge waits. */
const floodSize = 40;
const floodMs = 300;
/** New records that one merge puts at the top, and the most that the top may grow by before it is read again. */
const mostEntering = 50;
const mostEntered = 500;
/** The most ids that are remembered between two merges; beyond, the list only says that it has changed. */
const mostGathered = 5_000;
const flashMs = 1_200;
const fadeMs = 500;
const countMs = 2_000;

const nothing: ReadonlySet<string> = new Set();

export interface Live {
  /** Rows that changed or came just now. */
  readonly flashing: ReadonlySet<string>;
  /** Rows that are on their way out. */
  readonly fading: ReadonlySet<string>;
  /** New records that are not shown. */
  readonly waiting: number;
  /** Whether records changed that are not loaded. */
  readonly isStale: boolean;
  readonly settle: () => void;
}

function isRecord(payload: Event["payload"]): payload is StoredRecord {
  return typeof payload["id"] === "string" && typeof payload["updatedAt"] === "string";
}

export function useLive(options: {
  collection: string;
  queryKey: readonly unknown[];
  /** Whether the list holds some of the records: then changes do not tell its count. */
  isPartial: boolean;
  /** Whether new records belong at the top of what is seen. */
  isAtTop: () => boolean;
  /** Whether the list shows records in another order or not all of them. */
  isArranged: boolean;
}): Live {
  const { collection } = options;
  const queryClient = useQueryClient();
  const latest = useRef(options);
  latest.current = options;
  const [flashing, setFlashing] = useState(nothing);
  const [fading, setFading] = useState(nothing);
  const [state, setState] = useState({ waiting: 0, isStale: false });
  const entered = useRef(0);

  const settle = useCallback((): void => {
    entered.current = 0;
    setState({ waiting: 0, isStale: false });
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has nothing that waits.
  useEffect(settle, [JSON.stringify(options.queryKey), settle]);

  useEffect(() => {
    let changes: Changes = new Map();
    let frame: number | undefined;
    let lastSize = 0;
    let lastAt = 0;
    let counting: ReturnType<typeof setTimeout> | undefined;
    const timers = new Set<ReturnType<typeof setTimeout>>();
    const later = (ms: number, run: () => void): void => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        run();
      }, ms);
      timers.add(timer);
    };
    const countAgain = (): void => {
      if (counting !== undefined || latest.current.isPartial) return;
      counting = setTimeout(() => {
        counting = undefined;
        void queryClient.invalidateQueries(countQuery({ collection, filter: undefined, search: undefined }));
      }, countMs);
    };

    const merge = (): void => {
      const { queryKey, isArranged, isAtTop } = latest.current;
      const gathered = changes;
      changes = new Map();
      lastSize = gathered.size;
      lastAt = performance.now();
      const pages = queryClient.getQueryData<RecordPages>(queryKey);
      if (pages === undefined) return;
      const mayEnter = !isArranged && isAtTop() && entered.current < mostEntered ? mostEntering : 0;
      const merged = mergeChanges(pages.pages, gathered, mayEnter);
      entered.current += merged.entered.length;
      const isChanged = merged.pages.some((page, i) => page !== pages.pages[i]);
      if (isChanged) queryClient.setQueryData<RecordPages>(queryKey, { ...pages, pages: [...merged.pages] });
      const lit = [...merged.updated, ...merged.entered];
      if (lit.length > 0) {
        const now = new Set(lit);
        setFlashing(now);
        later(flashMs, () => setFlashing((shown) => (shown === now ? nothing : shown)));
      }
      if (merged.gone.length > 0) {
        const ids = new Set(merged.gone);
        setFading((shown) => new Set([...shown, ...ids]));
        later(fadeMs, () => {
          setFading((shown) => new Set([...shown].filter((id) => !ids.has(id))));
          queryClient.setQueryData<RecordPages>(latest.current.queryKey, (now) =>
            now === undefined ? now : { ...now, pages: withoutRows(now.pages, ids) },
          );
        });
      }
      if (merged.waiting > 0 || (merged.isStale && isArranged))
        setState(({ waiting, isStale }) => ({
          waiting: waiting + merged.waiting,
          isStale: isStale || (merged.isStale && isArranged),
        }));
    };

    const schedule = (): void => {
      if (frame !== undefined) return;
      const tick = (): void => {
        frame = undefined;
        // A flood is merged a few times a second, whatever its rate.
        if (lastSize >= floodSize && performance.now() - lastAt < floodMs) frame = requestAnimationFrame(tick);
        else merge();
      };
      frame = requestAnimationFrame(tick);
    };

    const hear = ({ type, payload }: Event): void => {
      countAgain();
      if (changes.size >= mostGathered) {
        setState((before) => (before.isStale ? before : { ...before, isStale: true }));
        return;
      }
      if (type === `${collection}.deleted`) {
        // The grid has taken out what this tab has deleted.
        if (typeof payload["id"] !== "string" || isOwnDelete(payload["id"])) return;
        collect(changes, { type: "deleted", id: payload["id"] });
      } else if (isRecord(payload)) {
        collect(changes, { type: type === `${collection}.created` ? "created" : "updated", record: payload });
      }
      schedule();
    };
    const stop = client.subscribe(`${collection}.*`, hear, {
      onReset: () => {
        // Data that a request has just brought is not read again.
        const read = queryClient.getQueryState(latest.current.queryKey)?.dataUpdatedAt ?? 0;
        if (read > 0 && Date.now() - read > 1_000)
          void queryClient.invalidateQueries({ queryKey: recordsKey(collection) });
      },
    });
    return () => {
      stop();
      if (frame !== undefined) cancelAnimationFrame(frame);
      clearTimeout(counting);
      for (const timer of timers) clearTimeout(timer);
    };
  }, [collection, queryClient]);

  return { flashing, fading, ...state, settle };
}
