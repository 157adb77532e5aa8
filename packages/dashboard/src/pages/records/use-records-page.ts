/** The state of the records page: connects address, rows, columns, live changes and deletions. */
import { useMediaQuery } from "@mantine/hooks";
import { SocleError } from "@socle/client";
import type { CollectionEntry } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useRef, useState } from "react";
import { deleteLater } from "../../service/deletes.ts";
import { text } from "../../texts/index.ts";
import { recordsKey } from "./data/record-query.ts";
import { parseSort, toggleSort, writeSort } from "./data/sort.ts";
import { useLive } from "./data/use-live.ts";
import { useGridState } from "./grid/use-grid-state.ts";
import type { RecordSearch } from "./search.ts";
import { useRecordList } from "./use-record-list.ts";

export type Dialog = { readonly type: "code" } | { readonly type: "export"; readonly ids?: readonly string[] };

/** The time until an opened drawer is on the screen. */
const openingMs = 600;

/** Below this width a drawer covers the page. */
const narrow = "(max-width: 48em)";

/** The address of the page, and the functions that change the address. */
function useAddress(name: string) {
  const search = useSearch({ from: "/inside/collections/$name" });
  const navigate = useNavigate();
  const setSearch = useCallback(
    (change: RecordSearch, replace = false): void =>
      void navigate({
        to: "/collections/$name",
        params: { name },
        search: (before) => ({ ...before, ...change }),
        replace,
      }),
    [navigate, name],
  );
  const openedAt = useRef(Number.NEGATIVE_INFINITY);
  const open = useCallback(
    (id: string): void => {
      // Until the drawer is open, typed letters are for the drawer, and not for the page below.
      if (performance.now() - openedAt.current < openingMs) return;
      openedAt.current = performance.now();
      setSearch({ record: id });
    },
    [setSearch],
  );
  return { search, setSearch, open };
}

export interface RecordsPageProps {
  collection: CollectionEntry;
  collections: readonly CollectionEntry[];
}

/** The state of the page: its address, its list, the grid with live changes, and the actions of its buttons and keys. */
export function useRecordsPage({ collection, collections }: RecordsPageProps) {
  const { name } = collection;
  const { search, setSearch, open } = useAddress(name);
  const queryClient = useQueryClient();
  const isNarrow = useMediaQuery(narrow, false, { getInitialValueInEffect: false }) === true;
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [note, setNote] = useState("");
  const scroller = useRef<HTMLDivElement>(null);
  const toTop = useCallback((): void => scroller.current?.scrollTo({ top: 0 }), []);
  const shown = useRecordList({ collection, collections, search, isNarrow });
  const { rows, list, columns } = shown;
  const isPartial = search.filter !== undefined || list.search !== undefined;
  const live = useLive({
    collection: name,
    queryKey: rows.queryKey,
    isPartial,
    isArranged: isPartial || search.sort !== undefined,
    isAtTop: () => rows.first === 0 && (scroller.current?.scrollTop ?? 0) < 8,
  });
  const sort = useCallback(
    (path: string, isAdded: boolean): void => {
      setSearch({ sort: writeSort(toggleSort(parseSort(search.sort), path, isAdded)) });
      toTop();
    },
    [search.sort, setSearch, toTop],
  );
  const state = useGridState({
    rows,
    columns,
    onOpen: open,
    onSort: sort,
    onSaved: (saved, column) => {
      shown.merge(saved);
      live.flash([saved.id]);
      setNote(text.records.cellSaved(column));
    },
  });
  const reload = (): void => {
    live.settle();
    if (rows.first === 0) toTop();
    void queryClient.invalidateQueries({ queryKey: recordsKey(name) });
  };
  const remove = (ids: readonly string[]): void => {
    deleteLater(name, ids);
    state.clear();
    if (search.record !== undefined && ids.includes(search.record)) setSearch({ record: undefined });
    else state.focus();
  };
  return {
    ...{ name, collection, search, setSearch, open, isNarrow, isPartial, dialog, setDialog, note, scroller },
    ...{ shown, live, sort, state, toTop, reload, remove },
    /** The refusals of the service: each names its parameter. */
    filterError: errorOf(rows.error, "filter"),
    searchError: errorOf(rows.error, "search"),
  };
}

export type RecordsPage = ReturnType<typeof useRecordsPage>;

/** The service names the refused parameter. */
function errorOf(error: Error | null, parameter: "filter" | "search"): string | undefined {
  return error instanceof SocleError && error.status === 400 && error.message.startsWith(`"${parameter}"`)
    ? error.message
    : undefined;
}
