/**
 * A long list that gets rows while a person reads: the page holds only the rows on the screen. A list at its start, where new rows
 * arrive, stays at the start; otherwise the visible rows keep their position. A single row is the list's only stop of the Tab
 * key; arrows, Home and End move from row to row, Enter opens.
 */
import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useCallback, useLayoutEffect, useRef, useState } from "react";
import classes from "./live-rows.module.css";

export interface LiveRowsProps<T> {
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

export function LiveRows<T>(props: LiveRowsProps<T>) {
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
    <section ref={scroller} className={classes["scroller"]} aria-label={label} onScroll={onScroll}>
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
