/** The saved views of a collection: what a view has, what has changed since, and the fields of the view that are gone. */
import type { SavedView, SavedViewContent } from "@socle/protocol";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { client } from "../../../service/client.ts";
import type { RecordSearch } from "../../search.ts";
import { type ColumnState, emptyColumnState } from "../columns/column-state.ts";
import { parseSort } from "../data/sort.ts";

export function savedViewsQuery(collection: string) {
  return queryOptions({
    queryKey: ["saved-views", collection],
    queryFn: () => client.admin.collections.savedViews(collection),
    staleTime: 30_000,
  });
}

/** The parts of an address that a view keeps. */
export function addressOf({ filter, search, sort }: Pick<RecordSearch, "filter" | "search" | "sort">) {
  return { filter, search, sort };
}

/** The content of a view, for a save. */
export function contentOf(search: RecordSearch, columns: ColumnState): SavedViewContent {
  const given = Object.entries(addressOf(search)).filter(([, value]) => value !== undefined);
  return {
    ...Object.fromEntries(given),
    columns: { order: [...columns.order], hidden: [...columns.hidden], widths: { ...columns.widths } },
  };
}

/** Whether the list differs from its view. A view without columns has all columns, as they are by default. */
export function differs(view: SavedView, search: RecordSearch, columns: ColumnState): boolean {
  const written = (of: Pick<RecordSearch, "filter" | "search" | "sort">, state: ColumnState): string =>
    JSON.stringify([of.filter, of.search, of.sort, state.order, state.hidden, Object.entries(state.widths).sort()]);
  return written(view, view.columns ?? emptyColumnState) !== written(search, columns);
}

/** The columns and the fields of the sort that a view names and the collection does not have. @param names of all columns. */
export function goneFields({ columns, sort }: SavedView, names: readonly string[]): string[] {
  const named = [...(columns?.order ?? []), ...(columns?.hidden ?? []), ...Object.keys(columns?.widths ?? {})];
  const sorted = parseSort(sort).map(({ path }) => path.split(".")[0] ?? path);
  return [...new Set([...named, ...sorted])].filter((name) => !names.includes(name));
}

export interface SavedViews {
  /** Undefined until the views are known. */
  readonly all: readonly SavedView[] | undefined;
  /** The view of the address; null without a view, and for a view that is gone. */
  readonly active: SavedView | null;
}

/** The views, and the view of the address. An address with nothing but the name of a view gets the filter, the words and the sort of the view. */
export function useSavedViews(
  collection: string,
  search: RecordSearch,
  setSearch: (change: RecordSearch, replace: boolean) => void,
): SavedViews {
  const { data: all } = useQuery(savedViewsQuery(collection));
  const active = all?.find(({ name }) => name === search.view) ?? null;
  const opened = useRef<string | undefined>(undefined);
  const isBare = Object.values(addressOf(search)).every((value) => value === undefined);
  // A cleared filter of a view that was open before stays cleared.
  useEffect(() => {
    if (active !== null && isBare && opened.current !== active.name) setSearch(addressOf(active), true);
    opened.current = active?.name;
  }, [active, isBare, setSearch]);
  return { all, active };
}
