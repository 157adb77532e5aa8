/** The list of the grid: the query from the address, its columns and its rows, and functions that change loaded rows. */
import type { CollectionEntry, StoredRecord } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { onDeletes, useDeletions } from "../../service/deletes.ts";
import { gridColumns } from "./columns/grid-column.ts";
import { useColumns } from "./columns/use-columns.ts";
import { searchOf } from "./data/found.ts";
import { mergeChanges, withoutRows } from "./data/live-merge.ts";
import { changePages, type PageChange, recordsKey } from "./data/record-query.ts";
import { selectionOf, snippetsOf, targetsOf } from "./data/targets.ts";
import { useRows } from "./data/use-rows.ts";
import { useTargetDeletes } from "./data/use-target-deletes.ts";
import type { RecordSearch } from "./search.ts";

const nothingSearched: readonly string[] = [];

/** @param options.isNarrow whether the columns have little room. */
export function useRecordList(options: {
  collection: CollectionEntry;
  collections: readonly CollectionEntry[];
  search: RecordSearch;
  isNarrow: boolean;
}) {
  const { collection, collections, search, isNarrow } = options;
  const { name, fields, definition } = collection;
  const targets = useMemo(() => targetsOf(fields, collections), [fields, collections]);
  const all = useMemo(() => gridColumns({ fields }, targets, isNarrow), [fields, targets, isNarrow]);
  const searched = definition.search ?? nothingSearched;
  const list = useMemo(
    () => ({
      collection: name,
      filter: search.filter,
      search: searched.length === 0 ? undefined : searchOf(search.search ?? ""),
      snippet: snippetsOf(searched, fields),
      sort: search.sort,
      selection: selectionOf(fields, targets),
    }),
    [name, search.filter, search.search, search.sort, searched, fields, targets],
  );
  const deletions = useDeletions();
  const hidden = useMemo(
    () => new Set(deletions.filter(({ collection: from }) => from === name).flatMap(({ ids }) => ids)),
    [deletions, name],
  );
  const rows = useRows(list, hidden);
  useTargetDeletes(name, targets);
  const merge = usePageChanges(name);
  /** `all`: also the hidden columns. `hidden`: records with a delayed deletion. `merge`: puts a changed record into its row. */
  return { list, rows, columns: useColumns(name, all), all, hidden, merge };
}

/** Removes deleted rows. Answers a function that puts a changed record into its row. */
function usePageChanges(name: string): (record: StoredRecord) => void {
  const queryClient = useQueryClient();
  const change = useCallback(
    (update: PageChange): void => {
      changePages(queryClient, name, update);
      void queryClient.invalidateQueries({ queryKey: [...recordsKey(name), "count"] });
      void queryClient.invalidateQueries({ queryKey: ["collections"], exact: true });
    },
    [queryClient, name],
  );
  useEffect(
    () =>
      onDeletes(({ collection: from, deleted }) => {
        if (from === name) change((pages) => withoutRows(pages, deleted));
      }),
    [name, change],
  );
  return (record) =>
    change((pages) => mergeChanges(pages, new Map([[record.id, { type: "updated", record }]]), 0).pages);
}
