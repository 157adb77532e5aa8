/** The state of the grid outside the address: the active cell, the edited cell, the selected rows, and their keys. */
import { type KeyboardEvent, useMemo, useRef } from "react";
import type { Columns } from "../columns/use-columns.ts";
import { type Rows, rowAt } from "../data/use-rows.ts";
import { takeGridKey } from "./grid-keys.ts";
import type { RowActions } from "./grid-row.tsx";
import { boundsOf, useActiveCell } from "./use-active-cell.ts";
import { useSelection } from "./use-selection.ts";

interface GridOptions {
  rows: Rows;
  columns: Columns;
  onOpen: (id: string) => void;
  onSort: (path: string, isAdded: boolean) => void;
  onSaved: RowActions["saved"];
}

export function useGridState(options: GridOptions) {
  const { rows, columns, onSort } = options;
  const { active, editing, go, activate, edit, endEdit, takesFocus, focus, focusRecord } = useActiveCell(options);
  const { selected, select, anchorAt, toggleAll, selectAll, clear } = useSelection(rows);
  const latest = useRef(options);
  latest.current = options;
  const actions = useMemo<RowActions>(
    () => ({
      ...{ activate, edit, endEdit, select },
      open: (id) => latest.current.onOpen(id),
      saved: (record, column) => latest.current.onSaved(record, column),
    }),
    [activate, edit, endEdit, select],
  );
  const activeId = rowAt(rows, active.row)?.id;
  return {
    ...{ active, editing, selected, actions, takesFocus, focus, focusRecord, toggleAll, selectAll, clear, activeId },
    onKeyDown: (event: KeyboardEvent): void =>
      takeGridKey(event, { active, columns, actions, bounds: boundsOf(options), onSort, go, anchorAt }),
    /** The selected records, or the record of the active row. */
    chosen: (): string[] => (selected.size > 0 ? [...selected] : activeId === undefined ? [] : [activeId]),
  };
}
