/** The page of the records of a collection: the filter, the grid with its bars, the dialogs. */

import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { IconDatabaseOff } from "../../icons/index.ts";
import { Action, EmptyState, ErrorState, FilledPage, formatNumber, LinkAction, RowsSkeleton } from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { Store } from "../../service/store.ts";
import { text } from "../../texts/index.ts";
import { Foot, SelectionBar } from "./bars.tsx";
import { ColumnMenu } from "./columns/column-menu.tsx";
import type { Visible } from "./data/use-rows.ts";
import { preloadEditor, RecordDrawer } from "./editor/record-drawer.tsx";
import { FilterBar } from "./filter/filter-bar.tsx";
import { Grid } from "./grid/grid.tsx";
import { inlineEditor } from "./grid/grid-row.tsx";
import { BackToCollections, HeadActions } from "./head-actions.tsx";
import { MapSwitch, RecordsMap } from "./map/records-map.tsx";
import { GridNotice, noticeOf } from "./notices.tsx";
import classes from "./records.module.css";
import {
  type RecordsPage as PageState,
  type RecordsPageProps,
  useRecordShortcuts,
  useRecordsPage,
} from "./use-records-page.ts";
import { ViewAsBanner, ViewAsDialog, ViewAsRecord } from "./view-as/view-as.tsx";
import { ViewMenu, ViewNotice } from "./views/view-menu.tsx";

function RecordsView(props: RecordsPageProps) {
  const page = useRecordsPage(props);
  const { rows } = page.shown;
  const searchRef = useRef<HTMLInputElement>(null);
  const [hasFocus, setFocus] = useState(false);
  useRecordShortcuts(page, { hasFocus, onSearch: () => searchRef.current?.focus() });
  // The count does not yet contain the new records that wait above a complete list.
  const count = rows.total === undefined ? undefined : rows.total + (rows.isComplete ? page.live.waiting : 0);
  return (
    <FilledPage
      title={page.name}
      back={<BackToCollections />}
      note={count === undefined ? undefined : formatNumber(count)}
      actions={<HeadActions page={page} />}
    >
      <FilterBar page={page} collections={props.collections} searchRef={searchRef}>
        <MapSwitch page={page} />
        <ViewMenu page={page} />
        {page.search.map === undefined && <ColumnMenu columns={page.shown.columns} all={page.shown.all} />}
      </FilterBar>
      <ViewNotice page={page} />
      <ViewAsBanner page={page} />
      {page.search.map === undefined ? (
        <GridFrame page={page} onFocus={setFocus} />
      ) : (
        <div className={`stretch ${classes["frame"]}`}>
          <RecordsMap page={page} field={page.search.map} />
        </div>
      )}
      <RecordDialogs page={page} />
    </FilledPage>
  );
}

/** The grid with the bars over the grid and the foot below. */
function GridFrame({ page, onFocus }: { page: PageState; onFocus: (hasFocus: boolean) => void }) {
  const { live, state } = page;
  const { rows } = page.shown;
  const [visible] = useState(() => new Store<Visible>({ first: 0, last: 0 }));
  const onShow = useCallback(
    (now: Visible): void => {
      visible.set(now);
      rows.show(now);
    },
    [visible, rows.show],
  );
  const notice = noticeOf(page);
  return (
    <>
      <div className={`stretch ${classes["frame"]}`}>
        <Grid page={page} onShow={onShow} onFocus={onFocus}>
          {notice === null ? undefined : <GridNotice notice={notice} page={page} />}
        </Grid>
        {(live.waiting > 0 || live.isStale) && (
          <div className={classes["news"]} role="status">
            <Action
              label={live.waiting > 0 ? text.records.newRecords(live.waiting) : text.records.changed}
              size="compact-sm"
              radius="xl"
              onClick={page.reload}
              variant="filled"
            />
          </div>
        )}
        {state.selected.size > 0 && <SelectionBar page={page} />}
      </div>
      {notice === null && <Foot page={page} visible={visible} />}
    </>
  );
}

export function RecordsPage() {
  const { name } = useParams({ from: "/inside/collections/$name" });
  const query = useQuery(collectionsQuery);
  const collection = query.data?.find((each) => each.name === name);
  if (query.data !== undefined && collection !== undefined)
    return <RecordsView key={name} collection={collection} collections={query.data} />;
  return (
    <FilledPage title={name}>
      {query.data !== undefined ? (
        <EmptyState icon={IconDatabaseOff} title={text.records.noCollection(name)} body={text.records.noCollectionBody}>
          <LinkAction label={text.records.toCollections} to="/collections" variant="light" size="sm" />
        </EmptyState>
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={query.refetch} />
      ) : (
        <RowsSkeleton rows={16} height={24} />
      )}
    </FilledPage>
  );
}

const ExportDialog = lazy(async () => ({ default: (await import("./export/export-dialog.tsx")).ExportDialog }));
const EditManyDialog = lazy(async () => ({
  default: (await import("./edit-many/edit-many-dialog.tsx")).EditManyDialog,
}));
const PasteDialog = lazy(async () => ({ default: (await import("./paste/paste-dialog.tsx")).PasteDialog }));
const SnippetsDialog = lazy(async () => ({ default: (await import("./snippets/snippets-dialog.tsx")).SnippetsDialog }));

/** Loads the editor before a record opens, so that early keys are not lost. */
function usePreloadedEditor(): void {
  useEffect(() => {
    const timer = setTimeout(() => Promise.all([preloadEditor(), inlineEditor.preload()]), 300);
    return () => clearTimeout(timer);
  }, []);
}

function RecordDialogs({ page }: { page: PageState }) {
  const { collection, search, setSearch, shown, state, dialog, setDialog } = page;
  usePreloadedEditor();
  const close = (): void => {
    setDialog(null);
    if (search.export === true) setSearch({ export: undefined }, true);
    state.focus();
  };
  const { filter, sort, record: recordId } = search;
  const { rows } = shown;
  const at = rows.items.findIndex(({ id }) => id === recordId);
  const shared = { collection, filter, sort, search: shown.list.search, onClose: close };
  return (
    <Suspense>
      {recordId !== undefined && search.as !== undefined && (
        <ViewAsRecord page={page} as={search.as} id={recordId} onClose={() => setSearch({ record: undefined })} />
      )}
      {dialog?.type === "viewAs" && <ViewAsDialog page={page} onClose={close} />}
      {recordId !== undefined && search.as === undefined && (
        <RecordDrawer
          collection={collection}
          recordId={recordId}
          handlers={page.editor}
          previous={rows.items[at - 1]?.id}
          next={at === -1 ? undefined : rows.items[at + 1]?.id}
          onStep={(id) => setSearch({ record: id }, true)}
          onViewAs={page.areUsers ? null : () => setDialog({ type: "viewAs" })}
          onClose={() => {
            setSearch({ record: undefined });
            // The row of the record gets the focus, also after steps from record to record; a focus in the grid stays in its row.
            const isInGrid = page.scroller.current?.contains(document.activeElement);
            state.focus(at === -1 || isInGrid ? undefined : rows.first + at);
          }}
          onSaved={(record) => {
            shown.merge(record);
            if (recordId === "new") state.focusRecord(record.id);
          }}
        />
      )}
      {(dialog?.type === "export" || search.export === true) && (
        <ExportDialog
          {...shared}
          ids={dialog?.type === "export" ? dialog.ids : undefined}
          columns={shown.columns.visible.map((column) => column.name)}
        />
      )}
      {dialog?.type === "edit" && <EditManyDialog {...shared} ids={dialog.ids} total={rows.total} />}
      {dialog?.type === "paste" && <PasteDialog page={page} pasted={dialog.text} onClose={close} />}
      {dialog?.type === "code" && <SnippetsDialog {...shared} recordId={recordId === "new" ? undefined : recordId} />}
    </Suspense>
  );
}
