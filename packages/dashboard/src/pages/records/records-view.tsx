/** The records page: the filter, the grid with its bars, the dialogs. */
import { Button } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { type RefObject, useCallback, useMemo, useRef, useState } from "react";
import { schemaOf } from "../../kit/expression/index.ts";
import { FilledPage, formatNumber } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { SelectionBar } from "./bars.tsx";
import { ColumnMenu } from "./columns/column-menu.tsx";
import { parseSort } from "./data/sort.ts";
import type { Visible } from "./data/use-rows.ts";
import { FilterBar } from "./filter/filter-bar.tsx";
import { Foot, makeVisibleStore } from "./foot.tsx";
import { Grid } from "./grid/grid.tsx";
import { BackToCollections, HeadActions } from "./head-actions.tsx";
import { GridNotice, noticeOf } from "./notices.tsx";
import { RecordDialogs } from "./record-dialogs.tsx";
import classes from "./records.module.css";
import type { RecordSearch } from "./search.ts";
import { useRecordShortcuts } from "./use-record-shortcuts.ts";
import { type RecordsPage, type RecordsPageProps, useRecordsPage } from "./use-records-page.ts";

/** Free pixels below the last row, so that the bars cover no row. */
const barsRoom = 72;

export function RecordsView(props: RecordsPageProps) {
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
      <Filter page={page} collections={props.collections} searchRef={searchRef} />
      <GridFrame page={page} onFocus={setFocus} />
      <RecordDialogs page={page} />
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

/** The grid with the bars over the grid and the foot below. */
function GridFrame({ page, onFocus }: { page: RecordsPage; onFocus: (hasFocus: boolean) => void }) {
  const { search, shown, live, state, scroller } = page;
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
  const notice = noticeOf(page);
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
          {notice === null ? undefined : <GridNotice notice={notice} page={page} />}
        </Grid>
        {(live.waiting > 0 || live.isStale) && (
          <div className={classes["news"]} role="status">
            <Button size="compact-sm" radius="xl" onClick={page.reload}>
              {live.waiting > 0 ? text.records.newRecords(live.waiting) : text.records.changed}
            </Button>
          </div>
        )}
        {state.selected.size > 0 && <SelectionBar page={page} />}
      </div>
      {notice === null && <Foot page={page} visible={visible} />}
    </>
  );
}
