/**
 * The grid: the page holds only the rows and columns on the screen. A single cell is active and is the grid's only
 * stop of the Tab key; the active cell stays in the page while scrolled out of view.
 */
// biome-ignore-all lint/a11y/useSemanticElements: an HTML table cannot leave out the rows outside the screen.
// biome-ignore-all lint/a11y/useFocusableInteractive: a single cell at a time has the tab index.
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid has the keys of all its cells.
import { defaultRangeExtractor, type Range, useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import {
  type ClipboardEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
} from "react";
import { notifyDone } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { parseSort } from "../data/sort.ts";
import { rowAt, type Visible } from "../data/use-rows.ts";
import type { RecordsPage } from "../use-records-page.ts";
import classes from "./grid.module.css";
import { GridHead } from "./grid-head.tsx";
import { GridRow, rowHeight, type ShownColumn, selectWidth } from "./grid-row.tsx";

const headHeight = 36;

interface GridProps {
  page: RecordsPage;
  /** Called with the positions on the screen, counted from the first row of the whole list. */
  onShow: (visible: Visible) => void;
  onFocus: (hasFocus: boolean) => void;
  /** Shown in place of rows: an empty list, or an error. */
  children: ReactNode | undefined;
}

/** Pixels that the grid keeps free below the last row, so that the bars cover no row. */
const barsRoom = 72;

/** The range with the index added, so that the active cell stays in the page. */
function withIndex(range: Range, index: number): number[] {
  const indexes = defaultRangeExtractor(range);
  if (index < 0 || index >= range.count || indexes.includes(index)) return indexes;
  return [...indexes, index].sort((a, b) => a - b);
}

/** The visible rows. */
function useShownRows({ page: { shown, state, scroller }, onShow }: GridProps) {
  const { rows, hidden } = shown;
  const room = state.selected.size > 0 || hidden.size > 0 ? barsRoom : 0;
  const { origin, spanCount } = rows;
  const activeRow = state.active.row - origin;
  const vertical = useVirtualizer({
    count: spanCount,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    scrollPaddingStart: headHeight,
    scrollPaddingEnd: room,
    paddingEnd: room,
    rangeExtractor: useCallback((range: Range) => withIndex(range, activeRow), [activeRow]),
    initialRect: { width: 1_000, height: 700 },
  });
  const firstShown = (vertical.range?.startIndex ?? 0) + origin;
  const lastShown = (vertical.range?.endIndex ?? 0) + origin;
  useEffect(() => onShow({ first: firstShown, last: lastShown }), [firstShown, lastShown, onShow]);

  // A new span begins at another row: the visible rows keep their place on the screen.
  const shownOrigin = useRef(origin);
  useLayoutEffect(() => {
    const moved = shownOrigin.current - origin;
    shownOrigin.current = origin;
    if (moved !== 0 && scroller.current !== null) scroller.current.scrollTop += moved * rowHeight;
  }, [origin, scroller]);
  return vertical;
}

/** The visible columns behind the pinned column. */
function useShownColumns({ page: { shown: list, state, scroller } }: GridProps) {
  const { columns } = list;
  const [pinned] = columns.visible;
  const centre = useMemo(() => columns.visible.slice(1), [columns.visible]);
  const pinnedWidth = selectWidth + (pinned?.size ?? 0);
  const activeColumn = state.active.column - 1;
  const horizontal = useVirtualizer({
    horizontal: true,
    count: centre.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => centre[index]?.size ?? 0,
    overscan: 3,
    paddingStart: pinnedWidth,
    scrollPaddingStart: pinnedWidth,
    rangeExtractor: useCallback((range: Range) => withIndex(range, activeColumn), [activeColumn]),
    initialRect: { width: 1_000, height: 700 },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other columns have other sizes.
  useLayoutEffect(() => horizontal.measure(), [centre, horizontal]);
  const indexes = horizontal.getVirtualIndexes().join();
  const shown = useMemo(
    () =>
      indexes.split(",").flatMap((index): ShownColumn[] => {
        const column = index === "" ? undefined : centre[Number(index)];
        return column === undefined ? [] : [{ column, index: Number(index) + 1 }];
      }),
    [indexes, centre],
  );
  return { horizontal, shown };
}

/** A paste onto a cell; a paste into a control of a cell is for the control. */
function takePaste(event: ClipboardEvent, { state, areUsers, isReadOnly, setDialog }: RecordsPage): void {
  const pasted = event.clipboardData.getData("text/plain");
  const isOnCell = event.target instanceof HTMLElement && event.target.dataset["cell"] !== undefined;
  if (!isOnCell || state.editing || state.active.row < 0 || pasted === "") return;
  event.preventDefault();
  if (areUsers || isReadOnly) notifyDone(text.records.paste.notHere);
  else setDialog({ type: "paste", text: pasted });
}

/** Runs after the first layout, and after each layout with another value. */
function useChange(value: string | undefined, run: () => void): void {
  const last = useRef<string | null | undefined>(null);
  useLayoutEffect(() => {
    if (last.current === value) return;
    last.current = value;
    run();
  });
}

/** The visible rows and columns, and the scrolls that follow the active cell. */
function useShownPart(props: GridProps) {
  const { state, scroller, shown: list } = props.page;
  const { active, editing } = state;
  useFastScroll(scroller);
  const vertical = useShownRows(props);
  const { horizontal, shown } = useShownColumns(props);
  const show = (): void => {
    const row = active.row - list.rows.origin;
    if (row >= 0) vertical.scrollToIndex(row, { align: "auto" });
    if (active.column > 0) horizontal.scrollToIndex(active.column - 1, { align: "auto" });
  };
  // With the keyboard, the focus moves with the active cell.
  useLayoutEffect(() => {
    if (!state.takesFocus()) return;
    show();
    const cell = scroller.current?.querySelector<HTMLElement>(`[data-cell="${active.row}:${active.column}"]`);
    cell?.focus({ preventScroll: true });
  });
  // The row of the open record stays in view while a person goes from record to record.
  const open = list.rows.items.findIndex(({ id }) => id === props.page.search.record);
  useChange(props.page.search.record, () => {
    if (open >= 0) vertical.scrollToIndex(list.rows.first + open - list.rows.origin, { align: "auto" });
  });
  // The first column with a hit of a search comes into view. The pinned column is always in view.
  useChange(list.found, () => {
    const first = list.columns.visible.findIndex(({ name }) => list.found.split(" ").includes(name));
    if (first > 0) horizontal.scrollToIndex(first - 1, { align: "auto" });
  });
  // A cell is scrolled fully into view before the edit, also after a double click on its visible part.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the edit of another cell is the reason.
  useLayoutEffect(() => {
    if (editing) show();
  }, [editing, active.row, active.column]);
  return { vertical, shown };
}

/** A row at its place; the row may not be loaded yet. */
function rowOf(
  { name, shown: list, state, live, search, hasRecords }: RecordsPage,
  { index, start }: VirtualItem,
  { width, shown }: { width: number; shown: readonly ShownColumn[] },
) {
  const { rows, columns } = list;
  const { active, editing, selected, actions } = state;
  const place = index + rows.origin;
  const row = rowAt(rows, place);
  const activeColumn = active.row === place ? active.column : -1;
  return (
    <GridRow
      key={row?.id ?? place}
      collection={name}
      index={place}
      top={start}
      width={width}
      row={row}
      first={columns.visible[0]}
      columns={shown}
      active={activeColumn}
      editing={editing ? activeColumn : -1}
      isSelected={row !== undefined && selected.has(row.id)}
      isFlashing={row !== undefined && live.flashing.has(row.id)}
      isFading={row !== undefined && live.fading.has(row.id)}
      canOpen={hasRecords}
      isOpen={row !== undefined && row.id === search.record}
      actions={actions}
    />
  );
}

export function Grid(props: GridProps) {
  const { page, onFocus, children } = props;
  const { state, scroller, search } = page;
  const { rows, columns } = page.shown;
  const { active, selected, actions } = state;
  const { items } = rows;
  const width = columns.totalWidth + selectWidth;
  const { vertical, shown } = useShownPart(props);
  const steps = useMemo(() => parseSort(search.sort), [search.sort]);
  const activateHeader = useCallback((column: number) => actions.activate({ row: -1, column }), [actions]);
  return (
    <>
      <div
        ref={scroller}
        role="grid"
        aria-label={text.records.grid(page.name)}
        aria-rowcount={(rows.total ?? -2) + 1}
        aria-colcount={columns.visible.length + 1}
        aria-multiselectable
        aria-busy={rows.isLoading || rows.isOld}
        className={`fills ${classes["grid"]}`}
        data-has-notice={children !== undefined || undefined}
        data-is-old={rows.isOld || undefined}
        onFocus={() => onFocus(true)}
        onBlur={() => onFocus(false)}
        onKeyDown={state.onKeyDown}
        onPaste={(event) => takePaste(event, page)}
        tabIndex={children !== undefined || items.length === 0 ? 0 : -1}
      >
        <GridHead
          columns={columns}
          shown={shown}
          sort={steps}
          found={page.shown.found}
          width={width}
          active={active.row < 0 ? active.column : -1}
          onActivate={activateHeader}
          onSort={page.sort}
          selection={
            items.length === 0 || selected.size === 0 ? "none" : selected.size >= items.length ? "all" : "some"
          }
          onSelectAll={state.toggleAll}
        />
        {children === undefined && (
          <div role="presentation" className={classes["body"]} style={{ height: vertical.getTotalSize(), width }}>
            {vertical.getVirtualItems().map((item) => rowOf(page, item, { width, shown }))}
          </div>
        )}
      </div>
      {children}
    </>
  );
}

/** Pixels of a fast scroll step: four rows. */
const fastStep = 144;
/** The mark ends after this time without a fast step. */
const restMs = 150;

/** Marks the grid during a fast scroll: a pinned cell then has a fixed place, because a sticky cell in each row costs half of the frames. */
function useFastScroll(scroller: RefObject<HTMLDivElement | null>): void {
  useLayoutEffect(() => {
    const { current: grid } = scroller;
    if (grid === null) return undefined;
    let { scrollTop: top, scrollLeft: left } = grid;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const rest = (): void => {
      clearTimeout(timer);
      timer = undefined;
      grid.removeAttribute("data-is-fast");
    };
    const onScroll = (): void => {
      const { scrollTop, scrollLeft } = grid;
      const step = Math.abs(scrollTop - top);
      const isSideways = scrollLeft !== left;
      top = scrollTop;
      left = scrollLeft;
      if (isSideways) rest();
      else if (step >= fastStep) {
        if (timer === undefined) {
          grid.style.setProperty("--scrolled", `${left}px`);
          grid.setAttribute("data-is-fast", "");
        }
        clearTimeout(timer);
        timer = setTimeout(rest, restMs);
      }
    };
    grid.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      grid.removeEventListener("scroll", onScroll);
      rest();
    };
  }, [scroller]);
}
