/**
 * The rows of the grid: the loaded rows, their positions in the whole list, and the reads of further rows. A browser
 * cannot scroll over a million rows at once, so the user sees the list through a span of rows.
 */
import { type InfiniteData, type UseInfiniteQueryResult, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { RowPage } from "./live-merge.ts";
import { countQuery, type ListQuery, recordPagesQuery } from "./record-query.ts";
import type { Row } from "./rows.ts";

/** The rows of a span: within the height that every browser can scroll. */
export const spanRows = 300_000;
/** A jump farther than this from the loaded rows starts a new read. */
const farRows = 600;
/** Pages are requested this many rows before their rows come into view. */
const aheadRows = 80;
const marginRows = 100;
const settleMs = 120;
/** Rows drawn as outlines before the first read. */
const outlineRows = 40;

export interface Visible {
  readonly first: number;
  readonly last: number;
}

/** The first row of the span for a far row. */
export function originFor(row: number): number {
  return Math.max(0, row - spanRows / 2);
}

interface Place {
  /** The row of the first read. */
  readonly start: number;
  /** The first row of the span. */
  readonly origin: number;
}

export interface Rows {
  readonly items: readonly Row[];
  /** The position of the first loaded row in the whole list. */
  readonly first: number;
  readonly origin: number;
  /** Rows of the span, loaded or not. */
  readonly spanCount: number;
  /** The number of all matches; undefined until the count is known. */
  readonly total: number | undefined;
  /** Whether the last page of the list is read. */
  readonly isComplete: boolean;
  readonly isLoading: boolean;
  readonly isFetching: boolean;
  /** Whether the rows belong to the filter or sort before, until the new rows come. */
  readonly isOld: boolean;
  readonly error: Error | null;
  /** The error of a further page. */
  readonly pageError: Error | null;
  readonly queryKey: readonly unknown[];
  readonly retry: () => void;
  /** Reads the pages for these positions. Positions count from the first row of the whole list. */
  readonly show: (visible: Visible) => void;
  readonly jump: (row: number) => void;
}

/** The loaded row at a position of the whole list. */
export function rowAt({ first, items }: Pick<Rows, "first" | "items">, place: number): Row | undefined {
  return place < first ? undefined : items[place - first];
}

export function useRows(list: ListQuery, hidden: ReadonlySet<string>): Rows {
  const [place, setPlace] = usePlace(list);
  const options = recordPagesQuery(list, place.start);
  const query = useInfiniteQuery(options);
  const { data, hasNextPage } = query;
  const { data: counted } = useQuery({ ...countQuery(list), enabled: data !== undefined && list.as === undefined });

  const all = useMemo(() => data?.pages.flatMap(({ rows }) => rows) ?? [], [data]);
  const items = useMemo(() => (hidden.size === 0 ? all : all.filter(({ id }) => !hidden.has(id))), [all, hidden]);
  const first = data?.pages[0]?.start ?? place.start;
  const end = first + items.length;
  const isComplete = data !== undefined && !hasNextPage;
  // The length of a list is known after the read of its last page.
  const total = isComplete ? end : counted === undefined ? undefined : Math.max(counted - hidden.size, end);
  const known = data === undefined ? place.start + outlineRows : hasNextPage ? end + outlineRows : end;
  const count = Math.max(total ?? 0, known);
  const jump = useCallback((row: number): void => setPlace(({ origin }) => placeFor(row, origin)), [setPlace]);
  const show = useShow({ query, first, end, count, origin: place.origin, jump });
  return {
    ...{ items, first, total, isComplete, show, jump },
    origin: place.origin,
    spanCount: Math.max(0, Math.min(count - place.origin, spanRows)),
    isLoading: data === undefined && !query.isError,
    isFetching: query.isFetching,
    isOld: query.isPlaceholderData,
    error: data === undefined ? query.error : null,
    pageError: data === undefined ? null : query.error,
    queryKey: options.queryKey,
    retry: () => void (isMoving(query) || query.isFetchNextPageError ? query.fetchNextPage() : query.refetch()),
  };
}

/** The place in the list. A new list begins at its first row. */
function usePlace({ collection, as, filter, search, sort }: ListQuery) {
  const state = useState<Place>({ start: 0, origin: 0 });
  const identity = JSON.stringify([collection, as, filter, search, sort]);
  const [shown, setShown] = useState(identity);
  if (shown !== identity) {
    setShown(identity);
    state[1]({ start: 0, origin: 0 });
  }
  return state;
}

/** The place for a jump to a row. The span stays when the row is well inside the span. */
function placeFor(row: number, origin: number): Place {
  const isInside = row >= origin + marginRows && row < origin + spanRows - marginRows;
  return {
    // The read begins some rows earlier, so that the page before is not requested at once: a read by offset is as slow as this read.
    start: Math.max(0, row - marginRows),
    origin: isInside || (origin === 0 && row < spanRows - marginRows) ? origin : originFor(row),
  };
}

type PagesQuery = UseInfiniteQueryResult<InfiniteData<RowPage>>;

function isMoving({ isFetchingNextPage, isFetchingPreviousPage }: PagesQuery): boolean {
  return isFetchingNextPage || isFetchingPreviousPage;
}

interface ShowOptions extends Pick<Rows, "first" | "origin" | "jump"> {
  query: PagesQuery;
  end: number;
  count: number;
}

/** Answers the function that reads the pages for the rows on the screen. */
function useShow(options: ShowOptions): Rows["show"] {
  const { query } = options;
  const latest = useRef(options);
  latest.current = options;
  const settle = useRef<ReturnType<typeof setTimeout>>(undefined);
  const seen = useRef<Visible>({ first: 0, last: 0 });
  const show = useCallback((visible: Visible): void => {
    seen.current = visible;
    clearTimeout(settle.current);
    const { query, first, end, count, origin, jump } = latest.current;
    if (query.data === undefined || query.isError || query.isPlaceholderData) return;
    const isFar = visible.first > end + farRows || visible.last < first - farRows;
    const spanEnd = origin + spanRows;
    const isAtEdge = (visible.last >= spanEnd - 1 && count > spanEnd) || (visible.first <= origin && origin > 0);
    if (isFar || isAtEdge) {
      settle.current = setTimeout(() => jump(visible.first), settleMs);
      return;
    }
    if (isMoving(query)) return;
    if (query.hasNextPage && visible.last + aheadRows >= end) void query.fetchNextPage();
    else if (query.hasPreviousPage && visible.first - aheadRows < first) void query.fetchPreviousPage();
  }, []);
  const isBusy = isMoving(query);
  // The user may have scrolled past the new page meanwhile.
  // biome-ignore lint/correctness/useExhaustiveDependencies: new data is the reason.
  useEffect(() => {
    if (!isBusy) show(seen.current);
  }, [query.data, isBusy, show]);
  useEffect(() => () => clearTimeout(settle.current), []);
  return show;
}
