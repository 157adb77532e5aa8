/**
 * The grid's reads: pages of records in both directions from a starting row, and the count. Pages go by cursor. Only a
 * jump to a row inside the list goes by offset. Pages far from the last read page are dropped.
 */
import type { StoredRecord } from "@socle/protocol";
import { type InfiniteData, infiniteQueryOptions, type QueryClient, queryOptions } from "@tanstack/react-query";
import { client } from "../../../service/client.ts";
import { lookAtList, lookedSize } from "../view-as/look.ts";
import type { RowPage } from "./live-merge.ts";
import { toFoundRow, toRow } from "./rows.ts";

export interface ListQuery {
  readonly collection: string;
  /** The caller by whose rules the records are read; undefined for the admin. */
  readonly as: string | undefined;
  readonly filter: string | undefined;
  /** The searched words, in a collection with a search. */
  readonly search: string | undefined;
  /** The searched fields with snippets, in the form of the API. */
  readonly snippet: string | undefined;
  readonly sort: string | undefined;
  /** In the form of the API; undefined for all fields. */
  readonly selection: string | undefined;
}

/** The start of a page: the cursor of the page before, or the offset when the cursor is null. */
interface PageStart {
  readonly start: number;
  readonly cursor: string | null;
  readonly limit: number;
  /** The way back: the page before this page, if known. */
  readonly previous: PageStart | null;
}

export type RecordPages = InfiniteData<RowPage, PageStart>;

/** The first page is small, so that the first rows appear at once. */
const firstPageSize = 100;
const largestPage = 250;
/** The most pages in memory: about 4,000 rows. */
const mostPages = 16;

/** The prefix of all query keys of a collection's grid. */
export function recordsKey(collection: string): readonly string[] {
  return ["records", collection];
}

export type PageChange = (pages: readonly RowPage[]) => readonly RowPage[];

/** Changes the rows of every list of the collection in the cache. */
export function changePages(queryClient: QueryClient, collection: string, change: PageChange): void {
  const queryKey = [...recordsKey(collection), "pages"];
  queryClient.setQueriesData<RecordPages>({ queryKey }, (all) =>
    all === undefined ? all : { ...all, pages: [...change(all.pages)] },
  );
}

export function recordPagesQuery(list: ListQuery, start: number) {
  const { collection, as, filter, search, snippet, sort, selection } = list;
  const pageSize = as === undefined ? largestPage : lookedSize;
  const limit = start === 0 ? firstPageSize : pageSize;
  const hasSnippets = search !== undefined && snippet !== undefined;
  const first: PageStart = { start, cursor: null, limit, previous: null };
  return infiniteQueryOptions({
    queryKey: [...recordsKey(collection), "pages", as, { filter, search, snippet, sort, selection, start }],
    queryFn: async ({ pageParam, signal }): Promise<RowPage> => {
      const { cursor, limit } = pageParam;
      const query = {
        limit,
        ...(filter !== undefined && { filter }),
        ...(search !== undefined && { search }),
        ...(hasSnippets && { snippet }),
        ...(sort !== undefined && { sort }),
        ...(selection !== undefined && { fields: selection }),
        ...(cursor !== null ? { cursor } : pageParam.start > 0 && { offset: pageParam.start }),
      };
      const { items, nextCursor } =
        as === undefined
          ? await client.collection(collection).page<StoredRecord>(query, { signal })
          : await lookAtList(collection, as, { query, signal });
      return { start: pageParam.start, rows: items.map(hasSnippets ? toFoundRow : toRow), nextCursor };
    },
    initialPageParam: first,
    getNextPageParam: (last, _pages, lastStart): PageStart | null =>
      last.nextCursor === null
        ? null
        : { start: last.start + last.rows.length, cursor: last.nextCursor, limit: pageSize, previous: lastStart },
    getPreviousPageParam: (page, _pages, pageStart): PageStart | null => {
      if (page.start <= 0) return null;
      if (pageStart.previous !== null) return pageStart.previous;
      const before = Math.max(0, page.start - pageSize);
      return { start: before, cursor: null, limit: page.start - before, previous: null };
    },
    // The old rows stay during a change of filter or sort. Rows of another offset would be wrong here.
    // The rows of another caller are never shown.
    placeholderData: (before: RecordPages | undefined, query) =>
      start === 0 && before?.pages[0]?.start === 0 && query?.queryKey[3] === as ? before : undefined,
    maxPages: mostPages,
    // A comparison of thousands of rows costs more than drawing the few rows on the screen.
    structuralSharing: false,
    // The socket announces changes.
    staleTime: 30_000,
    refetchOnWindowFocus: false,
    gcTime: 30_000,
  });
}

export function countQuery({ collection, filter, search }: Pick<ListQuery, "collection" | "filter" | "search">) {
  return queryOptions({
    queryKey: [...recordsKey(collection), "count", { filter, search }],
    queryFn: async ({ signal }) => {
      const query = {
        count: "exact" as const,
        limit: 1,
        fields: "id",
        ...(filter !== undefined && { filter }),
        ...(search !== undefined && { search }),
      };
      const page = await client.collection(collection).page<{ id: string }>(query, { signal });
      return page.total ?? 0;
    },
    staleTime: 30_000,
    refetchOnWindowFocus: false,
    // The number of an unfiltered list stays during the next read.
    gcTime: 30_000,
  });
}
