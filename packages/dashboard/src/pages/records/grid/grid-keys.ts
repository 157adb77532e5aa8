/** The keys of the grid: keys of the headers, keys of the cells, and keys that move the active cell. */
import type { KeyboardEvent } from "react";
import type { Columns } from "../columns/use-columns.ts";
import type { RowActions } from "./grid-row.tsx";
import { type Bounds, type CellPlace, moveCell } from "./navigation.ts";

const widthStep = 16;

/** The state of the grid for the handling of a key. */
export interface KeyedGrid {
  readonly active: CellPlace;
  readonly columns: Columns;
  readonly actions: RowActions;
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
