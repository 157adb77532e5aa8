/** The frame of a live log, newest first: its rows, the way back to the newest row, and the states without rows. */
import { Group, Text, VisuallyHidden } from "@mantine/core";
import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useCallback, useLayoutEffect, useRef, useState } from "react";
import { IconArrowUp } from "../icons/index.ts";
import { text } from "../texts/index.ts";
import { Action } from "./action.tsx";
import { formatNumber } from "./format.ts";
import classes from "./live-rows.module.css";
import { useIsNarrow } from "./page.tsx";
import { useShortcut } from "./shortcuts.tsx";
import { ErrorState, messageOf, Notice, RowsSkeleton } from "./states.tsx";

interface LiveListProps<T> extends Omit<LiveRowsProps<T>, "rows" | "isAtStart" | "onStart" | "rowHeight"> {
  /** The rows under the filters, the newest first; undefined until the first read. */
  rows: readonly T[] | undefined;
  /** The height of a row on a wide screen, in pixels. */
  rowHeight: number;
  /** The reason of a failed read or stream; null after a success. */
  error: unknown;
  onRetry: () => void;
  /** The meaning of the error for the list. */
  trouble?: string;
  /** The names of the columns. */
  columns: readonly string[];
  /** The class of a row: the widths of the columns. */
  lineClass: string | undefined;
  /** The level of a row, which the row shows at its edge. */
  levelOf?: (row: T) => string;
  /** The number of rows that came a moment ago, for people who use a screen reader. */
  told?: ReactNode;
  /** Shown without rows. */
  empty: ReactNode;
}

const narrowRowHeight = 52;

export function LiveList<T>(props: LiveListProps<T>) {
  const { rows, rowHeight, error, onRetry, trouble = "", columns, lineClass, levelOf, told, empty, ...list } = props;
  const [isAtStart, setAtStart] = useState(true);
  /** The newest row at the time when the user left the start of the list. */
  const [seen, setSeen] = useState<string | undefined>(undefined);
  const isNarrow = useIsNarrow();
  const toNewest = (): void => setAtStart(true);
  useShortcut({ keys: "e", label: text.tail.toNewest, group: text.shortcuts.page }, toNewest);
  if (rows === undefined)
    return error === null ? <RowsSkeleton rows={14} height={20} /> : <ErrorState error={error} onRetry={onRetry} />;
  const [newest] = rows;
  const onStart = (isThere: boolean): void => {
    setAtStart(isThere);
    if (!isThere) setSeen(newest && list.rowKey(newest));
  };
  const fresh = isAtStart ? 0 : rows.findIndex((row) => list.rowKey(row) === seen);
  return (
    <>
      {error !== null && <Trouble words={`${trouble} ${messageOf(error)}`} onRetry={onRetry} />}
      <VisuallyHidden role="status">{isAtStart && told}</VisuallyHidden>
      {rows.length === 0 && empty}
      {rows.length > 0 && (
        <div className={`stretch ${classes["view"]}`}>
          {/* Hidden from screen readers, because each row names its own values. */}
          <div className={`${classes["line"]} ${classes["head"]} ${lineClass}`} aria-hidden>
            {columns.map((name) => (
              <span key={name}>{name}</span>
            ))}
          </div>
          <LiveRows
            {...list}
            rows={rows}
            rowHeight={isNarrow ? narrowRowHeight : rowHeight}
            isAtStart={isAtStart}
            onStart={onStart}
            render={(row) => (
              <span className={`${classes["line"]} ${lineClass}`} data-level={levelOf?.(row)}>
                {list.render(row)}
              </span>
            )}
          />
          {!isAtStart && (
            <Action
              icon={IconArrowUp}
              label={fresh > 0 ? text.tail.fresh(formatNumber(fresh)) : text.tail.toNewest}
              className={classes["jump"]}
              radius="xl"
              onClick={toNewest}
              variant="filled"
            />
          )}
        </div>
      )}
    </>
  );
}

function Trouble({ words, onRetry }: { words: string; onRetry: () => void }) {
  return (
    <Notice tone="warn" radius={0} py={8}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">{words}</Text>
        <Action label={text.common.retry} size="compact-xs" onClick={onRetry} />
      </Group>
    </Notice>
  );
}

interface LiveRowsProps<T> {
  label: string;
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** The height of every row in pixels. */
  rowHeight: number;
  /** Whether the list is scrolled to its start. True moves the list to the start. */
  isAtStart: boolean;
  onStart: (isAtStart: boolean) => void;
  /** The content of a row, without controls: the row itself is a button. */
  render: (row: T) => ReactNode;
  onOpen: (row: T) => void;
  openKey?: string | undefined;
  /** Whether the row is new: the list marks the row for a moment. */
  isNew?: ((row: T) => boolean) | undefined;
  /** Called when the end is near. */
  onEnd?: (() => void) | undefined;
}

/** Pixels from the start that still count as being at the start. */
const slack = 12;
const pageStep = 10;

const steps: { readonly [key: string]: number } = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: pageStep,
  PageUp: -pageStep,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/**
 * The page holds only the rows on the screen. New rows leave the visible rows in place, except at the start of the list. A
 * single row is the stop of the Tab key; the keys of `steps` move the focus from row to row.
 */
function LiveRows<T>(props: LiveRowsProps<T>) {
  const { label, rows, rowKey, rowHeight, isAtStart, onStart, render, onOpen, openKey, isNew, onEnd } = props;
  const scroller = useRef<HTMLElement>(null);
  const [activeKey, setActiveKey] = useState<string | null>(null);
  const takesFocus = useRef(false);
  /** The first row on the screen, and the pixels of the row above the visible part. */
  const place = useRef<{ key: string; offset: number } | null>(null);

  const active = Math.max(
    0,
    rows.findIndex((row) => rowKey(row) === activeKey),
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    initialRect: { width: 1_000, height: 700 },
    // The row with the focus stays in the page while the row is off the screen.
    rangeExtractor: useCallback(
      (range: Range) => {
        const indexes = defaultRangeExtractor(range);
        return indexes.includes(active) ? indexes : [...indexes, active].sort((a, b) => a - b);
      },
      [active],
    ),
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another height is the reason.
  useLayoutEffect(() => virtual.measure(), [rowHeight, virtual]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the place is kept when rows come or go, not at each render.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    if (isAtStart) {
      element.scrollTop = 0;
      return;
    }
    const { key, offset } = place.current ?? { key: null, offset: 0 };
    const index = key === null ? -1 : rows.findIndex((row) => rowKey(row) === key);
    if (index >= 0) element.scrollTop = index * rowHeight + offset;
  }, [rows, isAtStart, rowHeight]);

  useLayoutEffect(() => {
    if (!takesFocus.current) return;
    takesFocus.current = false;
    scroller.current?.querySelector<HTMLElement>("[data-is-active]")?.focus({ preventScroll: true });
  });

  const onScroll = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const first = rows[Math.floor(scrollTop / rowHeight)];
    place.current = first === undefined ? null : { key: rowKey(first), offset: scrollTop % rowHeight };
    const isThere = scrollTop <= slack;
    if (isThere !== isAtStart) onStart(isThere);
    if (scrollHeight - clientHeight - scrollTop < clientHeight) onEnd?.();
  };

  const move = (event: KeyboardEvent): void => {
    const step = steps[event.key];
    if (step === undefined || rows.length === 0) return;
    event.preventDefault();
    const next = Math.min(rows.length - 1, Math.max(0, active + step));
    const row = rows[next];
    if (row === undefined) return;
    setActiveKey(rowKey(row));
    takesFocus.current = true;
    virtual.scrollToIndex(next, { align: "auto" });
  };

  return (
    <section ref={scroller} className={`fills ${classes["scroller"]}`} aria-label={label} onScroll={onScroll}>
      {rows.length > 0 && (
        // The rows have the focus; the list handles the keys of all rows.
        <ol className={`plain ${classes["rows"]}`} style={{ height: virtual.getTotalSize() }} onKeyDown={move}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const key = rowKey(row);
            return (
              <li
                key={key}
                className={classes["row"]}
                style={{ height: rowHeight, transform: `translateY(${start}px)` }}
                aria-setsize={rows.length}
                aria-posinset={index + 1}
              >
                <button
                  type="button"
                  className={classes["opener"]}
                  tabIndex={index === active ? 0 : -1}
                  data-is-active={index === active || undefined}
                  data-is-open={key === openKey || undefined}
                  data-is-new={isNew?.(row) || undefined}
                  onFocus={() => setActiveKey(key)}
                  onClick={() => onOpen(row)}
                >
                  {render(row)}
                </button>
              </li>
            );
          })}
        </ol>
      )}
    </section>
  );
}
