/** The state of the grid outside the address: the active cell, the edited cell, the selected rows, and their keys. */
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { notifyDone } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { isInline } from "../columns/grid-column.ts";
import type { Columns } from "../columns/use-columns.ts";
import type { Rows } from "../data/use-rows.ts";
import { takeGridKey } from "./grid-keys.ts";
import type { RowActions } from "./grid-row.tsx";
import { type CellPlace, nextCell } from "./navigation.ts";

const nothing: ReadonlySet<string> = new Set();
const pageRows = 20;
const awaitMs = 5_000;

export interface GridState {
  readonly active: CellPlace;
  readonly editing: boolean;
  readonly selected: ReadonlySet<string>;
  readonly actions: RowActions;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  /** Whether the active cell should take the focus; true once after a key has moved the active cell. */
  readonly takesFocus: () => boolean;
  readonly focus: () => void;
  /** Moves the focus to a record, as soon as the rows contain the record. */
  readonly focusRecord: (id: string) => void;
  readonly toggleAll: () => void;
  readonly selectAll: () => void;
  readonly clear: () => void;
  /** The selected records, or the record of the active row. */
  readonly chosen: () => string[];
  readonly activeId: () => string | undefined;
}

export function useGridState(options: {
  rows: Rows;
  columns: Columns;
  onOpen: (id: string) => void;
  onSort: (path: string, isAdded: boolean) => void;
  onSaved: RowActions["saved"];
}): GridState {
  const [active, setActive] = useState<CellPlace>({ row: 0, column: 0 });
  const [editing, setEditing] = useState(false);
  const [selected, setSelected] = useState(nothing);
  /** The first row of a range. */
  const anchor = useRef(0);
  const wantsFocus = useRef(false);
  const latest = useRef({ ...options, active, selected });
  latest.current = { ...options, active, selected };

  const bounds = () => {
    const { rows, columns } = latest.current;
    const firstRow = rows.first;
    return { firstRow, lastRow: firstRow + rows.items.length - 1, columns: columns.visible.length, pageRows };
  };
  const rowAt = (place: number) => {
    const { rows } = latest.current;
    return place < rows.first ? undefined : rows.items[place - rows.first];
  };
  const canEdit = (place: CellPlace): boolean => {
    const column = latest.current.columns.visible[place.column];
    const row = rowAt(place.row);
    return column !== undefined && row !== undefined && isInline(column) && !row.cut.has(column.name);
  };
  const edit = (place: CellPlace): void => {
    const { columns, onOpen } = latest.current;
    const column = columns.visible[place.column];
    const row = rowAt(place.row);
    if (column === undefined || row === undefined) return;
    setActive(place);
    if (canEdit(place)) setEditing(true);
    else if (!column.isSystem || place.column === 0) onOpen(row.id);
    else notifyDone(text.records.readOnly(column.name));
  };
  const go = (place: CellPlace): void => {
    wantsFocus.current = true;
    setActive(place);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: all that changes is read from `latest`.
  const actions = useMemo<RowActions>(
    () => ({
      activate: (place) => {
        const { active } = latest.current;
        if (active.row === place.row && active.column === place.column) return;
        setEditing(false);
        setActive(place);
      },
      open: (id) => latest.current.onOpen(id),
      edit: (place) => edit(place),
      saved: (record, column) => latest.current.onSaved(record, column),
      endEdit: (step) => {
        setEditing(false);
        const { active } = latest.current;
        const next = step === 0 ? null : nextCell(active, step, bounds());
        wantsFocus.current = true;
        setActive(next ?? { ...active });
        if (next === null || !canEdit(next)) return;
        wantsFocus.current = false;
        setEditing(true);
      },
      select: (place, { isRange }) => {
        const from = isRange ? anchor.current : place;
        const row = rowAt(place);
        if (row === undefined) return;
        const isOn = isRange || !latest.current.selected.has(row.id);
        anchor.current = place;
        const first = Math.min(from, place);
        const ids = Array.from({ length: Math.abs(from - place) + 1 }, (_, i) => rowAt(first + i)?.id);
        setSelected((before) => withIds(before, ids, isOn));
      },
    }),
    [],
  );
  const selectAll = useCallback(() => setSelected(new Set(latest.current.rows.items.map(({ id }) => id))), []);
  const clear = useCallback(() => setSelected(nothing), []);
  const toggleAll = useCallback(() => {
    const { selected, rows } = latest.current;
    if (selected.size >= rows.items.length) clear();
    else selectAll();
  }, [clear, selectAll]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const { active, columns, onSort } = latest.current;
    const anchorAt = (row: number): void => {
      anchor.current = row;
    };
    takeGridKey(event, { active, columns, actions, bounds: bounds(), onSort, go, anchorAt });
  };
  const awaitRecord = useKeptCell(options, (change, isFocused) => {
    wantsFocus.current ||= isFocused;
    setActive(change);
  });
  return {
    active,
    editing,
    selected,
    actions,
    onKeyDown,
    takesFocus: () => {
      const wanted = wantsFocus.current;
      wantsFocus.current = false;
      return wanted;
    },
    focus: () => go({ ...latest.current.active }),
    focusRecord: awaitRecord,
    toggleAll,
    selectAll,
    clear,
    chosen: () => {
      const { selected, active } = latest.current;
      if (selected.size > 0) return [...selected];
      const row = rowAt(active.row);
      return row === undefined ? [] : [row.id];
    },
    activeId: () => rowAt(latest.current.active.row)?.id,
  };
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

/**
 * Keeps the active cell within the existing rows and columns. Answers a function that waits for a record and then makes the
 * record's cell active: a new record comes with the socket, some time after the answer of the request.
 */
function useKeptCell(
  { rows, columns }: { rows: Rows; columns: Columns },
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
