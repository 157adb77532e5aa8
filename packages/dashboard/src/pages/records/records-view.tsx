/** The parts of the records page, put together: address, rows, columns, live changes, deletions, dialogs. */
import { Button } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { SocleError } from "@socle/client";
import type { CollectionEntry, StoredRecord } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { schemaOf } from "../../kit/expression/index.ts";
import { FilledPage, formatNumber, notifyDone, useListedShortcut, useShortcut } from "../../kit/index.ts";
import { preloadable } from "../../kit/preloadable.tsx";
import { deleteLater, onDeletes, useDeletions } from "../../service/deletes.ts";
import { useIsLive } from "../../service/socket.ts";
import { text } from "../../texts/index.ts";
import { BackToCollections } from "./back.tsx";
import { SelectionBar } from "./bars.tsx";
import { ColumnMenu } from "./columns/column-menu.tsx";
import { gridColumns } from "./columns/grid-column.ts";
import { useColumns } from "./columns/use-columns.ts";
import { searchOf } from "./data/found.ts";
import { mergeChanges, withoutRows } from "./data/live-merge.ts";
import { type RecordPages, recordsKey } from "./data/record-query.ts";
import { parseSort, toggleSort, writeSort } from "./data/sort.ts";
import { selectionOf, snippetsOf, targetsOf } from "./data/targets.ts";
import { useLive } from "./data/use-live.ts";
import { useRows, type Visible } from "./data/use-rows.ts";
import { useTargetDeletes } from "./data/use-target-deletes.ts";
import type { RecordDrawerProps } from "./editor/index.ts";
import { FilterBar } from "./filter/filter-bar.tsx";
import { Foot, makeVisibleStore } from "./foot.tsx";
import { Grid } from "./grid/grid.tsx";
import { inlineEditor } from "./grid/grid-row.tsx";
import { useGridState } from "./grid/use-grid-state.ts";
import { HeadActions } from "./head-actions.tsx";
import { GridNotice, noticeOf } from "./notices.tsx";
import classes from "./records.module.css";
import type { RecordSearch } from "./search.ts";

const drawer = preloadable<RecordDrawerProps>(async () => (await import("./editor/index.ts")).RecordDrawer);
const ExportDialog = lazy(async () => ({ default: (await import("./export/index.ts")).ExportDialog }));
const SnippetsDialog = lazy(async () => ({ default: (await import("./snippets/index.ts")).SnippetsDialog }));

type Dialog = { readonly type: "code" } | { readonly type: "export"; readonly ids?: readonly string[] };

const nothingSearched: readonly string[] = [];

/** Below the last row, so that the bars cover none. */
const barsRoom = 72;

/** A drawer is there by then. */
const openingMs = 600;

/** Below this width a drawer covers the page. */
const narrow = "(max-width: 48em)";

export function RecordsView(props: { collection: CollectionEntry; collections: readonly CollectionEntry[] }) {
  const { collection, collections } = props;
  const { name, fields, definition } = collection;
  const search = useSearch({ from: "/inside/collections/$name" });
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const isNarrow = useMediaQuery(narrow, false, { getInitialValueInEffect: false }) === true;
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const searchRef = useRef<HTMLInputElement>(null);
  const [visible] = useState(makeVisibleStore);
  const [hasFocus, setFocus] = useState(false);

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
  const columns = useColumns(name, all);
  const steps = useMemo(() => parseSort(search.sort), [search.sort]);

  const changePages = useRef((_: (pages: RecordPages) => RecordPages): void => undefined);
  useEffect(
    () =>
      onDeletes(({ collection: from, deleted }) => {
        if (from === name) changePages.current((pages) => ({ ...pages, pages: withoutRows(pages.pages, deleted) }));
      }),
    [name],
  );
  const deletions = useDeletions();
  const hidden = useMemo(
    () => new Set(deletions.filter(({ collection: from }) => from === name).flatMap(({ ids }) => ids)),
    [deletions, name],
  );
  const rows = useRows(list, hidden);
  const { queryKey } = rows;
  changePages.current = (change) => {
    queryClient.setQueryData<RecordPages>(queryKey, (pages) => (pages === undefined ? pages : change(pages)));
    void queryClient.invalidateQueries({ queryKey: [...recordsKey(name), "count"] });
    void queryClient.invalidateQueries({ queryKey: ["collections"], exact: true });
  };
  const merge = (record: StoredRecord): void =>
    changePages.current((pages) => ({
      ...pages,
      pages: [...mergeChanges(pages.pages, new Map([[record.id, { type: "updated", record }]]), 0).pages],
    }));

  const isPartial = search.filter !== undefined || list.search !== undefined;
  const isArranged = isPartial || search.sort !== undefined;
  const live = useLive({
    collection: name,
    queryKey,
    isPartial,
    isArranged,
    isAtTop: () => rows.first === 0 && (scroller.current?.scrollTop ?? 0) < 8,
  });
  useTargetDeletes(targets, queryKey);
  const isLive = useIsLive();

  // The modules of the editor are loaded before a record is opened: keys that are typed at once are not lost.
  useEffect(() => {
    const timer = setTimeout(async () => {
      await Promise.all([drawer.preload(), inlineEditor.preload()]);
      await (await import("./editor/index.ts")).preloadEditor();
    }, 300);
    return () => clearTimeout(timer);
  }, []);

  const openedAt = useRef(Number.NEGATIVE_INFINITY);
  const openRecord = useCallback(
    (id: string): void => {
      // Until the drawer is there, letters are meant for it, and not for the page below.
      if (performance.now() - openedAt.current < openingMs) return;
      openedAt.current = performance.now();
      setSearch({ record: id });
    },
    [setSearch],
  );
  const onSort = useCallback(
    (path: string, isAdded: boolean): void => {
      const next = toggleSort(parseSort(search.sort), path, isAdded);
      setSearch({ sort: writeSort(next) });
      scroller.current?.scrollTo({ top: 0 });
    },
    [search.sort, setSearch],
  );
  const state = useGridState({
    rows,
    columns,
    onOpen: openRecord,
    onSort,
    onSaved: (saved) => saved !== null && merge(saved),
  });

  const reload = (): void => {
    live.settle();
    if (rows.first === 0) scroller.current?.scrollTo({ top: 0 });
    void queryClient.invalidateQueries({ queryKey: recordsKey(name) });
  };
  const remove = (ids: readonly string[]): void => {
    deleteLater(name, ids);
    state.clear();
    if (search.record !== undefined && ids.includes(search.record)) setSearch({ record: undefined });
    else state.focus();
  };
  const closeDialog = (): void => {
    setDialog(null);
    if (search.export === true) setSearch({ export: undefined }, true);
    state.focus();
  };
  const copyIds = async (ids: readonly string[]): Promise<void> => {
    await navigator.clipboard.writeText(ids.join("\n"));
    notifyDone(text.records.idsCopied(ids.length));
  };
  const onShow = useCallback(
    (shown: Visible): void => {
      visible.set(shown);
      rows.show(shown);
    },
    [visible, rows.show],
  );

  const group = text.shortcuts.page;
  const words = text.records.shortcuts;
  // A drawer that is about to open has the keys already.
  const isFree = search.record === undefined;
  useShortcut({ keys: "n", label: words.new, group }, () => openRecord("new"), isFree);
  useShortcut({ keys: "/", label: words.search, group }, () => searchRef.current?.focus(), isFree);
  useShortcut(
    { keys: "o", label: words.open, group },
    () => {
      const id = state.activeId();
      if (id !== undefined) openRecord(id);
    },
    isFree,
  );
  useShortcut(
    { keys: "Delete", label: words.delete, group },
    () => remove(state.chosen()),
    isFree && (hasFocus || state.selected.size > 0),
  );
  useShortcut({ keys: "mod+a", label: words.selectAll, group }, state.selectAll, hasFocus && !state.editing);
  useShortcut({ keys: "Escape", label: words.clear, group }, state.clear, state.selected.size > 0);

  useListedShortcut({ keys: "ArrowUp ArrowDown ArrowLeft ArrowRight", label: words.move, group });
  useListedShortcut({ keys: "Enter", label: words.edit, group });
  useListedShortcut({ keys: "Space", label: words.select, group });
  useListedShortcut({ keys: "mod+s", label: words.save, group });

  // New records that wait above a list that is read to its end are in no count yet.
  const count = rows.total === undefined ? undefined : rows.total + (rows.isComplete ? live.waiting : 0);
  const [filterError, searchError] = [errorOf(rows.error, "filter"), errorOf(rows.error, "search")];
  const hasTextError = filterError !== undefined || searchError !== undefined;
  const notice = noticeOf(rows, { isPartial, hasTextError });
  return (
    <FilledPage
      title={name}
      back={<BackToCollections />}
      note={count === undefined ? undefined : formatNumber(count)}
      actions={
        <HeadActions
          name={name}
          isNarrow={isNarrow}
          isBusy={rows.isFetching}
          isLive={isLive}
          exportLabel={!isPartial ? text.records.exportAll : text.records.exportFiltered(rows.total)}
          onNew={() => openRecord("new")}
          onExport={() => setDialog({ type: "export" })}
          onCode={() => setDialog({ type: "code" })}
          onRefresh={reload}
        />
      }
    >
      <FilterBar
        collection={collection}
        filter={search.filter ?? ""}
        onFilter={(filter) => {
          state.clear();
          scroller.current?.scrollTo({ top: 0 });
          setSearch({ filter: filter === "" ? undefined : filter });
        }}
        schema={schemaOf(collections)}
        error={filterError}
        search={searched.length === 0 ? null : (search.search ?? "")}
        onSearch={(words) => {
          state.clear();
          scroller.current?.scrollTo({ top: 0 });
          setSearch({ search: words === "" ? undefined : words }, search.search !== undefined && words !== "");
        }}
        searchError={searchError}
        isAnswered={rows.error === null && !rows.isLoading && !rows.isOld}
        searchRef={searchRef}
      >
        <ColumnMenu columns={columns} all={all} />
      </FilterBar>
      <div className={classes["frame"]}>
        <Grid
          collection={name}
          rows={rows}
          columns={columns}
          sort={steps}
          onSort={onSort}
          state={state}
          flashing={live.flashing}
          fading={live.fading}
          openId={search.record}
          scroller={scroller}
          onShow={onShow}
          room={state.selected.size > 0 || hidden.size > 0 ? barsRoom : 0}
          onFocus={setFocus}
        >
          {notice === null ? undefined : (
            <GridNotice
              notice={notice}
              collection={collection}
              rows={rows}
              onNew={() => openRecord("new")}
              onClear={() => setSearch({ filter: undefined, search: undefined })}
              onUnsort={() => setSearch({ sort: undefined })}
            />
          )}
        </Grid>
        {(live.waiting > 0 || live.isStale) && (
          <div className={classes["news"]} role="status">
            <Button size="compact-sm" radius="xl" onClick={reload}>
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
            onDelete={() => remove([...state.selected])}
            onClear={() => {
              state.clear();
              state.focus();
            }}
          />
        )}
      </div>
      {notice === null && <Foot rows={rows} visible={visible} scroller={scroller} onRetry={rows.retry} />}
      <Suspense>
        {search.record !== undefined && (
          <drawer.Component
            collection={collection}
            recordId={search.record}
            onClose={() => {
              setSearch({ record: undefined });
              state.focus();
            }}
            onSaved={(record) => {
              merge(record);
              if (search.record === "new") state.focusRecord(record.id);
            }}
          />
        )}
        {(dialog?.type === "export" || search.export === true) && (
          <ExportDialog
            collection={collection}
            filter={search.filter}
            search={list.search}
            sort={search.sort}
            ids={dialog?.type === "export" ? dialog.ids : undefined}
            columns={columns.visible.map((column) => column.name)}
            onClose={closeDialog}
          />
        )}
        {dialog?.type === "code" && (
          <SnippetsDialog
            collection={collection}
            filter={search.filter}
            search={list.search}
            sort={search.sort}
            recordId={search.record === "new" ? undefined : search.record}
            onClose={closeDialog}
          />
        )}
      </Suspense>
    </FilledPage>
  );
}

/** The service names the parameter that it refuses. */
function errorOf(error: Error | null, parameter: "filter" | "search"): string | undefined {
  return error instanceof SocleError && error.status === 400 && error.message.startsWith(`"${parameter}"`)
    ? error.message
    : undefined;
}
