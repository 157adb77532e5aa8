/** The records page: connects address, rows, columns, live changes, deletions and dialogs. */
import { Button } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { SocleError } from "@socle/client";
import type { CollectionEntry } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, useState } from "react";
import { schemaOf } from "../../kit/expression/index.ts";
import { FilledPage, formatNumber, notifyDone } from "../../kit/index.ts";
import { deleteLater } from "../../service/deletes.ts";
import { useIsLive } from "../../service/socket.ts";
import { text } from "../../texts/index.ts";
import { BackToCollections } from "./back.tsx";
import { SelectionBar } from "./bars.tsx";
import { ColumnMenu } from "./columns/column-menu.tsx";
import { recordsKey } from "./data/record-query.ts";
import { parseSort, toggleSort, writeSort } from "./data/sort.ts";
import { useLive } from "./data/use-live.ts";
import type { Visible } from "./data/use-rows.ts";
import { FilterBar } from "./filter/filter-bar.tsx";
import { Foot, makeVisibleStore } from "./foot.tsx";
import { Grid } from "./grid/grid.tsx";
import { useGridState } from "./grid/use-grid-state.ts";
import { HeadActions } from "./head-actions.tsx";
import { GridNotice, noticeOf } from "./notices.tsx";
import { type Dialog, RecordDialogs } from "./record-dialogs.tsx";
import classes from "./records.module.css";
import type { RecordSearch } from "./search.ts";
import { useRecordList } from "./use-record-list.ts";
import { useRecordShortcuts } from "./use-record-shortcuts.ts";

/** Free pixels below the last row, so that the bars cover no row. */
const barsRoom = 72;

/** The time until an opened drawer is on the screen. */
const openingMs = 600;

/** Below this width a drawer covers the page. */
const narrow = "(max-width: 48em)";

/** The state of the page: its address, its list, the grid with live changes, and the actions of its buttons and keys. */
function useRecordsPage(collection: CollectionEntry, collections: readonly CollectionEntry[]) {
  const { name } = collection;
  const search = useSearch({ from: "/inside/collections/$name" });
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const isNarrow = useMediaQuery(narrow, false, { getInitialValueInEffect: false }) === true;
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [note, setNote] = useState("");
  const scroller = useRef<HTMLDivElement>(null);
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
  const shown = useRecordList({ collection, collections, search, isNarrow });
  const { rows, list, columns } = shown;
  const isPartial = search.filter !== undefined || list.search !== undefined;
  const toTop = (): void => scroller.current?.scrollTo({ top: 0 });
  const live = useLive({
    collection: name,
    queryKey: rows.queryKey,
    isPartial,
    isArranged: isPartial || search.sort !== undefined,
    isAtTop: () => rows.first === 0 && (scroller.current?.scrollTop ?? 0) < 8,
  });
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
  const sort = useCallback(
    (path: string, isAdded: boolean): void => {
      setSearch({ sort: writeSort(toggleSort(parseSort(search.sort), path, isAdded)) });
      scroller.current?.scrollTo({ top: 0 });
    },
    [search.sort, setSearch],
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
  return {
    ...{
      name,
      search,
      setSearch,
      shown,
      live,
      state,
      isNarrow,
      isPartial,
      dialog,
      setDialog,
      note,
      scroller,
      open,
      sort,
    },
    reload: (): void => {
      live.settle();
      if (rows.first === 0) toTop();
      void queryClient.invalidateQueries({ queryKey: recordsKey(name) });
    },
    remove: (ids: readonly string[]): void => {
      deleteLater(name, ids);
      state.clear();
      if (search.record !== undefined && ids.includes(search.record)) setSearch({ record: undefined });
      else state.focus();
    },
    /** Changes the filter or the searched words: the list begins at its first row. */
    find: (change: RecordSearch, replace = false): void => {
      state.clear();
      toTop();
      setSearch(change, replace);
    },
    closeDialog: (): void => {
      setDialog(null);
      if (search.export === true) setSearch({ export: undefined }, true);
      state.focus();
    },
  };
}

type RecordsPage = ReturnType<typeof useRecordsPage>;

export function RecordsView(props: { collection: CollectionEntry; collections: readonly CollectionEntry[] }) {
  const { collection, collections } = props;
  const page = useRecordsPage(collection, collections);
  const { name, search, setSearch, shown, live, state, isPartial, setDialog } = page;
  const { rows, columns } = shown;
  const searchRef = useRef<HTMLInputElement>(null);
  const [hasFocus, setFocus] = useState(false);
  useRecordShortcuts({
    state,
    isFree: search.record === undefined,
    hasFocus,
    onOpen: page.open,
    onSearch: () => searchRef.current?.focus(),
    onDelete: page.remove,
  });
  const isLive = useIsLive();
  // The count does not yet contain the new records that wait above a complete list.
  const count = rows.total === undefined ? undefined : rows.total + (rows.isComplete ? live.waiting : 0);
  const [filterError, searchError] = [errorOf(rows.error, "filter"), errorOf(rows.error, "search")];
  const isSearched = (collection.definition.search ?? []).length > 0;
  return (
    <FilledPage
      title={name}
      back={<BackToCollections />}
      note={count === undefined ? undefined : formatNumber(count)}
      actions={
        <HeadActions
          name={name}
          isNarrow={page.isNarrow}
          isBusy={rows.isFetching}
          isLive={isLive}
          exportLabel={!isPartial ? text.records.exportAll : text.records.exportFiltered(rows.total)}
          onNew={() => page.open("new")}
          onExport={() => setDialog({ type: "export" })}
          onCode={() => setDialog({ type: "code" })}
          onRefresh={page.reload}
        />
      }
    >
      <FilterBar
        collection={collection}
        filter={search.filter ?? ""}
        onFilter={(filter) => page.find({ filter: filter === "" ? undefined : filter })}
        schema={schemaOf(collections)}
        error={filterError}
        search={isSearched ? (search.search ?? "") : null}
        onSearch={(words) =>
          page.find({ search: words === "" ? undefined : words }, search.search !== undefined && words !== "")
        }
        searchError={searchError}
        isAnswered={rows.error === null && !rows.isLoading && !rows.isOld}
        searchRef={searchRef}
      >
        <ColumnMenu columns={columns} all={shown.all} />
      </FilterBar>
      <GridFrame
        page={page}
        collection={collection}
        hasTextError={filterError !== undefined || searchError !== undefined}
        onFocus={setFocus}
      />
      <RecordDialogs
        collection={collection}
        search={search}
        shown={shown}
        dialog={page.dialog}
        onClose={page.closeDialog}
        onRecordClose={() => {
          setSearch({ record: undefined });
          state.focus();
        }}
        onSaved={(record) => {
          shown.merge(record);
          if (search.record === "new") state.focusRecord(record.id);
        }}
      />
    </FilledPage>
  );
}

interface GridFrameProps {
  page: RecordsPage;
  collection: CollectionEntry;
  /** Whether the service has refused the filter or the searched words. */
  hasTextError: boolean;
  onFocus: (hasFocus: boolean) => void;
}

/** The grid with the bars over the grid and the foot below. */
function GridFrame({ page, collection, hasTextError, onFocus }: GridFrameProps) {
  const { search, setSearch, shown, live, state, scroller, setDialog } = page;
  const { rows, columns, hidden } = shown;
  const [visible] = useState(makeVisibleStore);
  const steps = useMemo(() => parseSort(search.sort), [search.sort]);
  const onShow = useCallback(
    (now: Visible): void => {
      visible.set(now);
      rows.show(now);
    },
    [visible, rows.show],
  );
  const copyIds = async (ids: readonly string[]): Promise<void> => {
    await navigator.clipboard.writeText(ids.join("\n"));
    notifyDone(text.records.idsCopied(ids.length));
  };
  const notice = noticeOf(rows, { isPartial: page.isPartial, hasTextError });
  return (
    <>
      <div className={classes["frame"]}>
        <Grid
          collection={page.name}
          rows={rows}
          columns={columns}
          sort={steps}
          onSort={page.sort}
          state={state}
          flashing={live.flashing}
          fading={live.fading}
          openId={search.record}
          scroller={scroller}
          onShow={onShow}
          room={state.selected.size > 0 || hidden.size > 0 ? barsRoom : 0}
          onFocus={onFocus}
        >
          {notice === null ? undefined : (
            <GridNotice
              notice={notice}
              collection={collection}
              rows={rows}
              onNew={() => page.open("new")}
              onClear={() => setSearch({ filter: undefined, search: undefined })}
              onUnsort={() => setSearch({ sort: undefined })}
            />
          )}
        </Grid>
        {(live.waiting > 0 || live.isStale) && (
          <div className={classes["news"]} role="status">
            <Button size="compact-sm" radius="xl" onClick={page.reload}>
              {live.waiting > 0 ? text.records.newRecords(live.waiting) : text.records.changed}
            </Button>
          </div>
        )}
        {state.selected.size > 0 && (
          <SelectionBar
            selected={state.selected.size}
            loaded={rows.items.length}
            onSelectAll={state.selectAll}
            onExport={() => setDialog({ type: "export", ids: [...state.selected] })}
            onCopy={() => void copyIds([...state.selected])}
            onDelete={() => page.remove([...state.selected])}
            onClear={() => {
              state.clear();
              state.focus();
            }}
          />
        )}
      </div>
      {notice === null && (
        <Foot rows={rows} visible={visible} scroller={scroller} note={page.note} onRetry={rows.retry} />
      )}
    </>
  );
}

/** The service names the refused parameter. */
function errorOf(error: Error | null, parameter: "filter" | "search"): string | undefined {
  return error instanceof SocleError && error.status === 400 && error.message.startsWith(`"${parameter}"`)
    ? error.message
    : undefined;
}
