/** The state of the grid that no address holds: the active cell, the edited one, the selected rows, and the keys for them. */
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { notifyDone } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { isInline } from "../columns/grid-column.ts";
import type { Columns } from "../columns/use-columns.ts";
import type { Rows } from "../data/use-rows.ts";
import type { RowActions } from "./grid-row.tsx";
import { type CellPlace, moveCell, nextCell } from "./navigation.ts";

const nothing: ReadonlySet<string> = new Set();
const pageRows = 20;
const widthStep = 16;
const awaitMs = 5_000;

export interface GridState {
  readonly active: CellPlace;
  readonly editing: boolean;
  readonly selected: ReadonlySet<string>;
  readonly actions: RowActions;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  /** Whether the active cell is to have the focus; true once after it was moved by a key. */
  readonly takesFocus: () => boolean;
  readonly focus: () => void;
  /** Brings the focus to a record, as soon as it is among the rows. */
  readonly focusRecord: (id: string) => void;
  readonly toggleAll: () => void;
  readonly selectAll: () => void;
  readonly clear: () => void;
  /** The selected records, or the one of the active row. */
  readonly chosen: () => string[];
  readonly activeId: () => string | undefined;
}

export function useGridState(options: {
  rows: Rows;
  columns: Columns;
  onOpen: (id: string) => void;
  onSort: (path: string, isAdded: boolean) => void;
  onSaved: (saved: Parameters<RowActions["endEdit"]>[0]["saved"]) => void;
}): GridState {
  const [active, setActive] = useState<CellPlace>({ row: 0, column: 0 });
  const [editing, setEditing] = useState(false);
  const [selected, setSelected] = useState(nothing);
  /** Where a range begins. */
  const anchor = useRef(0);
  const wantsFocus = useRef(false);
  const awaited = useRef<{ id: string; until: number } | null>(null);
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
  const go = (place: CellPlace): void => {
    wantsFocus.current = true;
    setActive(place);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: all that changes is read from `latest`.
  const actions = useMemo<RowActions>(() => {
    const edit = (place: CellPlace): void => {
      const { columns, onOpen } = latest.current;
      const column = columns.visible[place.column];
      const row = rowAt(place.row);
      if (column === undefined || row === undefined) return;
      setActive(place);
      if (isInline(column) && !row.cut.has(column.name)) setEditing(true);
      else if (!column.isSystem || place.column === 0) onOpen(row.id);
      else notifyDone(text.records.readOnly(column.name));
    };
    return {
      activate: (place) => {
        const { active } = latest.current;
        if (active.row === place.row && active.column === place.column) return;
        setEditing(false);
        setActive(place);
      },
      open: (id) => latest.current.onOpen(id),
      edit,
      endEdit: ({ saved, step }) => {
        setEditing(false);
        latest.current.onSaved(saved);
        const next = step === 0 ? latest.current.active : nextCell(latest.current.active, step, bounds());
        wantsFocus.current = true;
        if (next === null || step === 0) {
          setActive({ ...latest.current.active });
          return;
        }
        setActive(next);
        const column = latest.current.columns.visible[next.column];
        const row = rowAt(next.row);
        if (column !== undefined && row !== undefined && isInline(column) && !row.cut.has(column.name)) {
          wantsFocus.current = false;
          setEditing(true);
        }
      },
      select: (place, { isRange }) => {
        const from = isRange ? anchor.current : place;
        const row = rowAt(place);
        if (row === undefined) return;
        const isOn = !latest.current.selected.has(row.id);
        anchor.current = place;
        setSelected((before) => {
          const next = new Set(before);
          for (let at = Math.min(from, place); at <= Math.max(from, place); at += 1) {
            const id = rowAt(at)?.id;
            if (id === undefined) continue;
            if (isOn || isRange) next.add(id);
            else next.delete(id);
          }
          return next;
        });
      },
    };
  }, []);

  const selectAll = useCallback(() => setSelected(new Set(latest.current.rows.items.map(({ id }) => id))), []);
  const clear = useCallback(() => setSelected(nothing), []);
  const toggleAll = useCallback(() => {
    const { selected, rows } = latest.current;
    if (selected.size >= rows.items.length) clear();
    else selectAll();
  }, [clear, selectAll]);

  const onHeaderKey = (event: KeyboardEvent): boolean => {
    const { active, columns, onSort } = latest.current;
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
  };

  const onRowKey = (event: KeyboardEvent): boolean => {
    const { active } = latest.current;
    const mod = event.metaKey || event.ctrlKey;
    if (event.key === " ") {
      actions.select(active.row, { isRange: event.shiftKey });
      return true;
    }
    if (event.key === "Enter" && mod && event.target instanceof HTMLElement) {
      event.target.querySelector<HTMLElement>("[data-follow]")?.click();
      return true;
    }
    if (event.key === "Enter" || event.key === "F2") {
      actions.edit(active);
      return true;
    }
    return false;
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const { target } = event;
    // Controls inside the grid have keys of their own.
    if (!(target instanceof HTMLElement) || event.altKey) return;
    const isCell = target.dataset["cell"] !== undefined || target.getAttribute("role") === "grid";
    if (!isCell) return;
    const { active } = latest.current;
    const mod = event.metaKey || event.ctrlKey;
    if (active.row < 0 ? onHeaderKey(event) : onRowKey(event)) {
      event.preventDefault();
      return;
    }
    const next = moveCell(active, { key: event.key, mod }, bounds());
    if (next === null) return;
    event.preventDefault();
    if (event.shiftKey && active.row >= 0 && next.row !== active.row && next.row >= 0) {
      actions.select(active.row, { isRange: true });
      actions.select(next.row, { isRange: true });
    } else if (next.row >= 0) {
      anchor.current = next.row;
    }
    go(next);
  };

  // A row that is gone, or a list that is shorter now, leaves the cell within what there is.
  const { rows, columns } = options;
  const lastRow = rows.first + rows.items.length - 1;
  const lastColumn = columns.visible.length - 1;
  useEffect(() => {
    if (rows.items.length === 0) return;
    setActive((before) => {
      const row = before.row < 0 ? before.row : Math.max(rows.first, Math.min(lastRow, before.row));
      const column = Math.max(0, Math.min(lastColumn, before.column));
      return row === before.row && column === before.column ? before : { row, column };
    });
  }, [rows.first, rows.items.length, lastRow, lastColumn]);

  // A record that was just made comes with the socket, some time after its answer.
  useEffect(() => {
    if (awaited.current === null) return;
    const { id, until } = awaited.current;
    const at = rows.items.findIndex((row) => row.id === id);
    if (at === -1 && performance.now() < until) return;
    awaited.current = null;
    if (at === -1) return;
    wantsFocus.current = true;
    setActive(({ column }) => ({ row: rows.first + at, column }));
  }, [rows.items, rows.first]);

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
    focusRecord: (id) => {
      awaited.current = { id, until: performance.now() + awaitMs };
    },
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
