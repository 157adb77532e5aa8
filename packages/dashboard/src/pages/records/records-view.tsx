/** The records page: connects address, rows, columns, live changes, deletions and dialogs. */
import { Button } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { SocleError } from "@socle/client";
import type { CollectionEntry } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type RefObject, useCallback, useMemo, useRef, useState } from "react";
import { schemaOf } from "../../kit/expression/index.ts";
import { FilledPage, formatNumber } from "../../kit/index.ts";
import { deleteLater } from "../../service/deletes.ts";
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

/** The state of the page: its address, its list, the grid with live changes, and the actions of its buttons and keys. */
function useRecordsPage({ collection, collections }: RecordsViewProps) {
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
  return {
    ...{ name, collection, search, setSearch, open, isNarrow, isPartial, dialog, setDialog, note, scroller },
    ...{ shown, live, sort, state, toTop, reload },
    /** The refusals of the service: each names its parameter. */
    filterError: errorOf(rows.error, "filter"),
    searchError: errorOf(rows.error, "search"),
  };
}

type RecordsPage = ReturnType<typeof useRecordsPage>;

interface RecordsViewProps {
  collection: CollectionEntry;
  collections: readonly CollectionEntry[];
}

export function RecordsView(props: RecordsViewProps) {
  const page = useRecordsPage(props);
  const { name, search, setSearch, shown, live, state, setDialog } = page;
  const { rows } = shown;
  const searchRef = useRef<HTMLInputElement>(null);
  const [hasFocus, setFocus] = useState(false);
  const remove = (ids: readonly string[]): void => {
    deleteLater(name, ids);
    state.clear();
    if (search.record !== undefined && ids.includes(search.record)) setSearch({ record: undefined });
    else state.focus();
  };
  useRecordShortcuts({
    state,
    isFree: search.record === undefined,
    hasFocus,
    onOpen: page.open,
    onSearch: () => searchRef.current?.focus(),
    onDelete: remove,
  });
  // The count does not yet contain the new records that wait above a complete list.
  const count = rows.total === undefined ? undefined : rows.total + (rows.isComplete ? live.waiting : 0);
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
          exportLabel={!page.isPartial ? text.records.exportAll : text.records.exportFiltered(rows.total)}
          onNew={() => page.open("new")}
          onExport={() => setDialog({ type: "export" })}
          onCode={() => setDialog({ type: "code" })}
          onRefresh={page.reload}
        />
      }
    >
      <Filter page={page} collections={props.collections} searchRef={searchRef} />
      <GridFrame page={page} onFocus={setFocus} onDelete={remove} />
      <Dialogs page={page} />
    </FilledPage>
  );
}

interface FilterProps {
  page: RecordsPage;
  collections: readonly CollectionEntry[];
  searchRef: RefObject<HTMLInputElement | null>;
}

/** The filter of the address in its bar. */
function Filter({ page, collections, searchRef }: FilterProps) {
  const { collection, search, shown } = page;
  const { rows } = shown;
  const schema = useMemo(() => schemaOf(collections), [collections]);
  const isSearched = (collection.definition.search ?? []).length > 0;
  /** Changes the filter or the searched words: the list begins at its first row. */
  const find = (change: RecordSearch, replace = false): void => {
    page.state.clear();
    page.toTop();
    page.setSearch(change, replace);
  };
  return (
    <FilterBar
      collection={collection}
      filter={search.filter ?? ""}
      onFilter={(filter) => find({ filter: filter === "" ? undefined : filter })}
      schema={schema}
      error={page.filterError}
      search={isSearched ? (search.search ?? "") : null}
      onSearch={(words) =>
        find({ search: words === "" ? undefined : words }, search.search !== undefined && words !== "")
      }
      searchError={page.searchError}
      isAnswered={rows.error === null && !rows.isLoading && !rows.isOld}
      searchRef={searchRef}
    >
      <ColumnMenu columns={shown.columns} all={shown.all} />
    </FilterBar>
  );
}

function Dialogs({ page }: { page: RecordsPage }) {
  const { collection, search, setSearch, shown, state, dialog, setDialog } = page;
  return (
    <RecordDialogs
      collection={collection}
      search={search}
      shown={shown}
      dialog={dialog}
      onClose={() => {
        setDialog(null);
        if (search.export === true) setSearch({ export: undefined }, true);
        state.focus();
      }}
      onRecordClose={() => {
        setSearch({ record: undefined });
        state.focus();
      }}
      onSaved={(record) => {
        shown.merge(record);
        if (search.record === "new") state.focusRecord(record.id);
      }}
    />
  );
}

interface GridFrameProps {
  page: RecordsPage;
  onFocus: (hasFocus: boolean) => void;
  onDelete: (ids: readonly string[]) => void;
}

/** The grid with the bars over the grid and the foot below. */
function GridFrame({ page, onFocus, onDelete }: GridFrameProps) {
  const { search, setSearch, shown, live, state, scroller, isPartial, setDialog } = page;
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
  const hasTextError = page.filterError !== undefined || page.searchError !== undefined;
  const notice = noticeOf(rows, { isPartial, hasTextError });
  return (
    <>
      <div className={classes["frame"]}>
        <Grid
          collection={page.name}
          {...{ rows, columns, state, scroller, onShow, onFocus }}
          sort={steps}
          onSort={page.sort}
          flashing={live.flashing}
          fading={live.fading}
          openId={search.record}
          room={state.selected.size > 0 || hidden.size > 0 ? barsRoom : 0}
        >
          {notice === null ? undefined : (
            <GridNotice
              notice={notice}
              collection={page.collection}
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
            state={state}
            loaded={rows.items.length}
            onExport={(ids) => setDialog({ type: "export", ids })}
            onDelete={onDelete}
          />
        )}
      </div>
      {notice === null && <Foot rows={rows} visible={visible} scroller={scroller} note={page.note} />}
    </>
  );
}

/** The service names the refused parameter. */
function errorOf(error: Error | null, parameter: "filter" | "search"): string | undefined {
  return error instanceof SocleError && error.status === 400 && error.message.startsWith(`"${parameter}"`)
    ? error.message
    : undefined;
}
