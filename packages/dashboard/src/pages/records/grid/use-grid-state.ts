/** The state of the grid outside the address: the active cell with its edit and its focus, the selected rows, and their keys. */
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { notifyDone } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { type Columns, isInline } from "../columns/use-columns.ts";
import { type Rows, rowAt } from "../data/use-rows.ts";
import type { RowActions } from "./grid-row.tsx";
import type { Step } from "./inline-editor.tsx";
import { type Bounds, type CellPlace, nextCell, takeGridKey } from "./navigation.ts";

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
      saved: (record, column, change) => latest.current.onSaved(record, column, change),
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

const pageRows = 20;
const awaitMs = 5_000;

interface Shown {
  rows: Rows;
  columns: Columns;
}

function boundsOf({ rows, columns }: Shown): Bounds {
  const firstRow = rows.first;
  return { firstRow, lastRow: firstRow + rows.items.length - 1, columns: columns.visible.length, pageRows };
}

function canEdit({ rows, columns }: Shown, place: CellPlace): boolean {
  const column = columns.visible[place.column];
  const row = rowAt(rows, place.row);
  return column !== undefined && row !== undefined && isInline(column) && !row.cut.has(column.name);
}

function useActiveCell(options: Shown & { onOpen: (id: string) => void }) {
  const [active, setActive] = useState<CellPlace>({ row: 0, column: 0 });
  const [editing, setEditing] = useState(false);
  const wantsFocus = useRef(false);
  const latest = useRef({ ...options, active });
  latest.current = { ...options, active };
  const actions = useMemo(
    () => ({
      go: (place: CellPlace): void => {
        wantsFocus.current = true;
        setActive(place);
      },
      /** Focuses the active cell, or the cell of its column in another row. */
      focus: (row?: number): void => {
        wantsFocus.current = true;
        setActive((before) => ({ ...before, ...(row !== undefined && { row }) }));
      },
      activate: (place: CellPlace): void => {
        const { active } = latest.current;
        if (active.row === place.row && active.column === place.column) return;
        setEditing(false);
        setActive(place);
      },
      edit: (place: CellPlace): void => {
        const { rows, columns, onOpen } = latest.current;
        const column = columns.visible[place.column];
        const row = rowAt(rows, place.row);
        if (column === undefined || row === undefined) return;
        setActive(place);
        if (canEdit(latest.current, place)) setEditing(true);
        else if (!column.isSystem || column.name === "id") onOpen(row.id);
        else notifyDone(text.records.readOnly(column.name));
      },
      endEdit: (step: Step): void => {
        const { active } = latest.current;
        const next = step === 0 ? null : nextCell(active, step, boundsOf(latest.current));
        const isEditable = next !== null && canEdit(latest.current, next);
        wantsFocus.current = !isEditable;
        setEditing(isEditable);
        setActive(next ?? { ...active });
      },
      /** Whether the active cell should take the focus; true once after a key has moved the active cell. */
      takesFocus: (): boolean => {
        const wanted = wantsFocus.current;
        wantsFocus.current = false;
        return wanted;
      },
    }),
    [],
  );
  const focusRecord = useKeptCell(options, (change, isFocused) => {
    wantsFocus.current ||= isFocused;
    setActive(change);
  });
  return { active, editing, ...actions, focusRecord };
}

/**
 * Keeps the active cell within the existing rows and columns. Answers a function that waits for a record and then makes the
 * record's cell active: a new record comes with the socket, some time after the answer of the request.
 */
function useKeptCell(
  { rows, columns }: Shown,
  setActive: (change: (before: CellPlace) => CellPlace, isFocused: boolean) => void,
): (id: string) => void {
  const awaited = useRef<{ id: string; until: number } | null>(null);
  const lastRow = rows.first + rows.items.length - 1;
  const lastColumn = columns.visible.length - 1;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new function is no reason.
  useEffect(() => {
    if (rows.items.length === 0) return;
    setActive((before) => {
      const row = before.row < 0 ? before.row : Math.max(rows.first, Math.min(lastRow, before.row));
      const column = Math.max(0, Math.min(lastColumn, before.column));
      return row === before.row && column === before.column ? before : { row, column };
    }, false);
  }, [rows.first, rows.items.length, lastRow, lastColumn]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new function is no reason.
  useEffect(() => {
    if (awaited.current === null) return;
    const { id, until } = awaited.current;
    const at = rows.items.findIndex((row) => row.id === id);
    if (at === -1 && performance.now() < until) return;
    awaited.current = null;
    if (at !== -1) setActive(({ column }) => ({ row: rows.first + at, column }), true);
  }, [rows.items, rows.first]);
  return (id) => {
    awaited.current = { id, until: performance.now() + awaitMs };
  };
}

const nothing: ReadonlySet<string> = new Set();

function useSelection(rows: Rows) {
  const [selected, setSelected] = useState(nothing);
  const anchor = useRef(0);
  const latest = useRef({ rows, selected });
  latest.current = { rows, selected };
  const actions = useMemo(() => {
    const selectAll = (): void => setSelected(new Set(latest.current.rows.items.map(({ id }) => id)));
    const clear = (): void => setSelected(nothing);
    return {
      selectAll,
      clear,
      toggleAll: (): void => {
        const { rows, selected } = latest.current;
        if (selected.size >= rows.items.length) clear();
        else selectAll();
      },
      /** Makes a row the first row of a range. */
      anchorAt: (row: number): void => {
        anchor.current = row;
      },
      select: (place: number, { isRange }: { isRange: boolean }): void => {
        const { rows, selected } = latest.current;
        const row = rowAt(rows, place);
        if (row === undefined) return;
        const from = isRange ? anchor.current : place;
        const first = Math.min(from, place);
        const ids = Array.from({ length: Math.abs(from - place) + 1 }, (_, i) => rowAt(rows, first + i)?.id);
        const isOn = isRange || !selected.has(row.id);
        anchor.current = place;
        setSelected((before) => withIds(before, ids, isOn));
      },
    };
  }, []);
  return { selected, ...actions };
}

function withIds(
  before: ReadonlySet<string>,
  ids: readonly (string | undefined)[],
  isOn: boolean,
): ReadonlySet<string> {
  const next = new Set(before);
  for (const id of ids) {
    if (id === undefined) continue;
    if (isOn) next.add(id);
    else next.delete(id);
  }
  return next;
}
