/** The columns as TanStack Table lays out columns, from the arrangement in the browser's storage. */
import {
  columnOrderingFeature,
  columnPinningFeature,
  columnResizingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  createColumnHelper,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useCallback, useMemo, useState } from "react";
import type { Row } from "../data/rows.ts";
import {
  type ColumnState,
  clampWidth,
  narrowest,
  orderColumns,
  readColumnState,
  visibleColumns,
  widest,
} from "./column-state.ts";
import type { GridColumn } from "./grid-column.ts";

const features = tableFeatures({
  columnOrderingFeature,
  columnPinningFeature,
  columnResizingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
});
const helper = createColumnHelper<typeof features, Row>();
/** The table library gets no rows: the table only lays out columns. */
const noRows: Row[] = [];

function storageKey(collection: string): string {
  return `socle.columns.${collection}`;
}

function load(collection: string): ColumnState {
  try {
    return readColumnState(localStorage.getItem(storageKey(collection)));
  } catch {
    return readColumnState(null);
  }
}

function store(collection: string, state: ColumnState): void {
  try {
    localStorage.setItem(storageKey(collection), JSON.stringify(state));
  } catch {
    // With a full or forbidden storage, the arrangement is lost at a reload; the grid works on.
  }
}

export interface PlacedColumn extends GridColumn {
  readonly size: number;
  /** Pixels from the left edge of the row's own columns; the column with the checkbox does not count. */
  readonly left: number;
  /** Starts the drag of the column's edge. */
  readonly onResizeStart: (event: unknown) => void;
  readonly isResizing: boolean;
}

export interface Columns {
  /** All columns, in their order. */
  readonly order: readonly string[];
  readonly hidden: ReadonlySet<string>;
  /** The shown columns. The first column stays in place during a horizontal scroll. */
  readonly visible: readonly PlacedColumn[];
  readonly totalWidth: number;
  readonly change: (change: Partial<ColumnState>) => void;
  readonly setWidth: (name: string, width: number) => void;
}

export function useColumns(collection: string, columns: readonly GridColumn[]): Columns {
  const [state, setState] = useState(() => load(collection));
  const change = useCallback(
    (next: Partial<ColumnState>): void =>
      setState((before) => {
        const after = { ...before, ...next };
        store(collection, after);
        return after;
      }),
    [collection],
  );
  const names = useMemo(() => columns.map(({ name }) => name), [columns]);
  const order = useMemo(() => orderColumns(state, names), [state, names]);
  const shown = useMemo(() => visibleColumns(state, names), [state, names]);
  const visibility = useMemo(
    () => Object.fromEntries(names.map((name) => [name, shown.includes(name)])),
    [names, shown],
  );
  const definitions = useMemo(
    () =>
      helper.columns(
        columns.map(({ name, width }) =>
          helper.display({ id: name, size: width, minSize: narrowest, maxSize: widest }),
        ),
      ),
    [columns],
  );
  const pinning = useMemo(() => ({ start: shown.slice(0, 1), end: [] }), [shown]);
  const sizing = useMemo(() => ({ ...state.widths }), [state.widths]);
  const table = useTable({
    features,
    columns: definitions,
    data: noRows,
    columnResizeMode: "onChange",
    state: { columnOrder: [...order], columnVisibility: visibility, columnSizing: sizing, columnPinning: pinning },
    onColumnSizingChange: (updater) => {
      const widths = typeof updater === "function" ? updater({ ...state.widths }) : updater;
      change({ widths });
    },
  });
  const setWidth = useCallback(
    (name: string, width: number): void =>
      setState((before) => {
        const after = { ...before, widths: { ...before.widths, [name]: clampWidth(width) } };
        store(collection, after);
        return after;
      }),
    [collection],
  );
  const headers = table.getFlatHeaders();
  const resizing = table.state.columnResizing.isResizingColumn;
  const byName = new Map(columns.map((column) => [column.name, column]));
  // Rows compare their columns: the list changes its identity only with the columns.
  const placement = table
    .getVisibleLeafColumns()
    .map((column) => `${column.id} ${column.getSize()}`)
    .join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the placement stands for the table's answers.
  const visible = useMemo(() => {
    let left = 0;
    return table.getVisibleLeafColumns().flatMap((column): PlacedColumn[] => {
      const known = byName.get(column.id);
      const header = headers.find(({ id }) => id === column.id);
      if (known === undefined) return [];
      const placed = {
        ...known,
        size: column.getSize(),
        left,
        onResizeStart: header?.getResizeHandler() ?? (() => undefined),
        isResizing: resizing === column.id,
      };
      left += placed.size;
      return [placed];
    });
  }, [placement, columns, resizing]);
  const last = visible.at(-1);
  const hidden = useMemo(() => new Set(names.filter((name) => !shown.includes(name))), [names, shown]);
  const totalWidth = last === undefined ? 0 : last.left + last.size;
  return useMemo(
    () => ({ order, hidden, visible, totalWidth, change, setWidth }),
    [order, hidden, visible, totalWidth, change, setWidth],
  );
}
