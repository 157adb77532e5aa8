/** The records page: the filter, the grid with its bars, the dialogs. */
import { Button } from "@mantine/core";
import { useCallback, useRef, useState } from "react";
import { FilledPage, formatNumber } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { SelectionBar } from "./bars.tsx";
import { ColumnMenu } from "./columns/column-menu.tsx";
import type { Visible } from "./data/use-rows.ts";
import { FilterBar } from "./filter/filter-bar.tsx";
import { Foot, makeVisibleStore } from "./foot.tsx";
import { Grid } from "./grid/grid.tsx";
import { BackToCollections, HeadActions } from "./head-actions.tsx";
import { GridNotice, noticeOf } from "./notices.tsx";
import { RecordDialogs } from "./record-dialogs.tsx";
import classes from "./records.module.css";
import { useRecordShortcuts } from "./use-record-shortcuts.ts";
import { type RecordsPage, type RecordsPageProps, useRecordsPage } from "./use-records-page.ts";

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
      <FilterBar page={page} collections={props.collections} searchRef={searchRef}>
        <ColumnMenu columns={page.shown.columns} all={page.shown.all} />
      </FilterBar>
      <GridFrame page={page} onFocus={setFocus} />
      <RecordDialogs page={page} />
    </FilledPage>
  );
}

/** The grid with the bars over the grid and the foot below. */
function GridFrame({ page, onFocus }: { page: RecordsPage; onFocus: (hasFocus: boolean) => void }) {
  const { live, state } = page;
  const { rows } = page.shown;
  const [visible] = useState(makeVisibleStore);
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
        <Grid page={page} onShow={onShow} onFocus={onFocus}>
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
