/** The active cell of the grid: its place, its edit, and the focus that follows the place. */
import { useEffect, useMemo, useRef, useState } from "react";
import { notifyDone } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { isInline } from "../columns/grid-column.ts";
import type { Columns } from "../columns/use-columns.ts";
import { type Rows, rowAt } from "../data/use-rows.ts";
import type { Step } from "./inline-editor.tsx";
import { type Bounds, type CellPlace, nextCell } from "./navigation.ts";

const pageRows = 20;
const awaitMs = 5_000;

interface Shown {
  rows: Rows;
  columns: Columns;
}

export function boundsOf({ rows, columns }: Shown): Bounds {
  const firstRow = rows.first;
  return { firstRow, lastRow: firstRow + rows.items.length - 1, columns: columns.visible.length, pageRows };
}

function canEdit({ rows, columns }: Shown, place: CellPlace): boolean {
  const column = columns.visible[place.column];
  const row = rowAt(rows, place.row);
  return column !== undefined && row !== undefined && isInline(column) && !row.cut.has(column.name);
}

export function useActiveCell(options: Shown & { onOpen: (id: string) => void }) {
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
      focus: (): void => {
        wantsFocus.current = true;
        setActive((before) => ({ ...before }));
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
        else if (!column.isSystem || place.column === 0) onOpen(row.id);
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
