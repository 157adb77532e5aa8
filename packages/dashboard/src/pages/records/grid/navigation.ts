/** The keys of the grid: keys of the headers, keys of the cells, and keys that move the active cell. Row -1 is the row of headers. */
import type { KeyboardEvent } from "react";
import type { Columns } from "../columns/use-columns.ts";

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

const widthStep = 16;

/** The state of the grid for the handling of a key. */
interface KeyedGrid {
  readonly active: CellPlace;
  readonly columns: Columns;
  readonly actions: {
    readonly edit: (place: CellPlace) => void;
    readonly select: (row: number, how: { isRange: boolean }) => void;
  };
  readonly bounds: Bounds;
  readonly onSort: (path: string, isAdded: boolean) => void;
  readonly go: (place: CellPlace) => void;
  /** Makes a row the first row of a range. */
  readonly anchorAt: (row: number) => void;
}

function isMod({ metaKey, ctrlKey }: KeyboardEvent): boolean {
  return metaKey || ctrlKey;
}

function takesHeaderKey(event: KeyboardEvent, { active, columns, onSort }: KeyedGrid): boolean {
  const column = columns.visible[active.column];
  if (column === undefined) return false;
  if (event.key === "Enter" || event.key === " ") {
    if (column.sortPath !== null) onSort(column.sortPath, event.shiftKey);
    return true;
  }
  if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    columns.setWidth(column.name, column.size + (event.key === "ArrowRight" ? widthStep : -widthStep));
    return true;
  }
  return false;
}

function takesRowKey(event: KeyboardEvent, { active, actions }: KeyedGrid): boolean {
  if (event.key === " ") {
    actions.select(active.row, { isRange: event.shiftKey });
    return true;
  }
  if (event.key === "Enter" && isMod(event) && event.target instanceof HTMLElement) {
    event.target.querySelector<HTMLElement>("[data-follow]")?.click();
    return true;
  }
  if (event.key === "Enter" || event.key === "F2") {
    actions.edit(active);
    return true;
  }
  return false;
}

export function takeGridKey(event: KeyboardEvent, grid: KeyedGrid): void {
  const { target } = event;
  // Controls inside the grid handle their own keys.
  if (!(target instanceof HTMLElement) || event.altKey) return;
  if (target.dataset["cell"] === undefined && target.getAttribute("role") !== "grid") return;
  const { active, actions } = grid;
  if (active.row < 0 ? takesHeaderKey(event, grid) : takesRowKey(event, grid)) {
    event.preventDefault();
    return;
  }
  const next = moveCell(active, { key: event.key, mod: isMod(event) }, grid.bounds);
  if (next === null) return;
  event.preventDefault();
  if (event.shiftKey && active.row >= 0 && next.row !== active.row && next.row >= 0) {
    actions.select(active.row, { isRange: true });
    actions.select(next.row, { isRange: true });
  } else if (next.row >= 0) grid.anchorAt(next.row);
  grid.go(next);
}
