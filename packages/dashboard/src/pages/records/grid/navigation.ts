/** The keys that move the active cell. Row -1 is the row of headers. */

export interface CellPlace {
  readonly row: number;
  readonly column: number;
}

export interface Bounds {
  /** The rows that the keys can reach: `firstRow` to `lastRow`. */
  readonly firstRow: number;
  readonly lastRow: number;
  readonly columns: number;
  /** Rows of a step with PageUp or PageDown. */
  readonly pageRows: number;
}

interface Key {
  readonly key: string;
  readonly mod: boolean;
}

/** The target cell of a key, or null for a key that does not move the active cell. */
export function moveCell(from: CellPlace, { key, mod }: Key, bounds: Bounds): CellPlace | null {
  const { firstRow, lastRow, columns, pageRows } = bounds;
  const row = (to: number): CellPlace => ({ ...from, row: Math.max(firstRow, Math.min(lastRow, to)) });
  const column = (to: number): CellPlace => ({ ...from, column: Math.max(0, Math.min(columns - 1, to)) });
  switch (key) {
    case "ArrowDown":
      return mod ? row(lastRow) : from.row < 0 ? row(firstRow) : row(from.row + 1);
    case "ArrowUp":
      if (from.row < 0) return from;
      if (mod) return row(firstRow);
      return from.row <= firstRow ? { ...from, row: -1 } : row(from.row - 1);
    case "ArrowRight":
      return column(mod ? columns - 1 : from.column + 1);
    case "ArrowLeft":
      return column(mod ? 0 : from.column - 1);
    case "PageDown":
      return from.row < 0 ? row(firstRow) : row(from.row + pageRows);
    case "PageUp":
      return from.row < 0 ? from : row(from.row - pageRows);
    case "Home":
      return mod ? { row: firstRow, column: 0 } : column(0);
    case "End":
      return mod ? { row: lastRow, column: columns - 1 } : column(columns - 1);
    default:
      return null;
  }
}

/** The cell after or before the given cell, row by row; null at the end. */
export function nextCell(from: CellPlace, step: 1 | -1, bounds: Bounds): CellPlace | null {
  const column = from.column + step;
  if (column >= 0 && column < bounds.columns) return { row: from.row, column };
  const row = from.row + step;
  if (row < bounds.firstRow || row > bounds.lastRow) return null;
  return { row, column: step === 1 ? 0 : bounds.columns - 1 };
}
