/** The columns of the grid with their places, from the arrangement in the browser's storage. */
import { useLocalStorage } from "@mantine/hooks";
import { useMemo } from "react";
import {
  type ColumnState,
  clampWidth,
  emptyColumnState,
  orderColumns,
  readColumnState,
  visibleColumns,
} from "./column-state.ts";
import type { GridColumn } from "./grid-column.ts";

export interface PlacedColumn extends GridColumn {
  readonly size: number;
  /** Pixels from the left edge of the row's own columns; the column with the checkbox does not count. */
  readonly left: number;
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
  const [state, setState] = useLocalStorage<ColumnState>({
    key: `socle.columns.${collection}`,
    defaultValue: emptyColumnState,
    getInitialValueInEffect: false,
    sync: false,
    deserialize: readColumnState,
  });
  return useMemo(
    () => ({
      ...placed(state, columns),
      change: (change) => setState((before) => ({ ...before, ...change })),
      setWidth: (name, width) =>
        setState((before) => ({ ...before, widths: { ...before.widths, [name]: clampWidth(width) } })),
    }),
    [state, columns, setState],
  );
}

function placed(state: ColumnState, columns: readonly GridColumn[]) {
  const names = columns.map(({ name }) => name);
  const shown = visibleColumns(state, names);
  let left = 0;
  const visible = shown.flatMap((name): PlacedColumn[] => {
    const column = columns.find((each) => each.name === name);
    if (column === undefined) return [];
    const size = state.widths[name] ?? clampWidth(column.width);
    left += size;
    return [{ ...column, size, left: left - size }];
  });
  const hidden = new Set(names.filter((name) => !shown.includes(name)));
  return { order: orderColumns(state, names), hidden, visible, totalWidth: left };
}
