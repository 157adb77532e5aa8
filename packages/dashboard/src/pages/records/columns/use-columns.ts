/** The columns of a grid: the fields of a collection in the arrangement of the user. */
import { useLocalStorage } from "@mantine/hooks";
import {
  type CollectionEntry,
  type FieldDefinition,
  type FieldType,
  isAccountField,
  isView,
  RECORD_TIMES,
  type SavedView,
} from "@socle/protocol";
import { useMemo, useState } from "react";
import { kinds } from "../../../fields/index.ts";
import { expanded, type Row } from "../data/rows.ts";
import type { Target, Targets } from "../data/targets.ts";
import { nameField } from "../editor/naming.ts";
import {
  type ColumnState,
  clampWidth,
  emptyColumnState,
  orderColumns,
  readColumnState,
  visibleColumns,
} from "./column-state.ts";

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
  readonly state: ColumnState;
  /** Takes the changes of the columns of a view back. */
  readonly reset: () => void;
  readonly change: (change: Partial<ColumnState>) => void;
  readonly setWidth: (name: string, width: number) => void;
}

/** @param view the open view, whose columns change on this page alone until the view is saved. */
export function useColumns(collection: string, columns: readonly GridColumn[], view: SavedView | null): Columns {
  const [kept, setKept] = useLocalStorage<ColumnState>({
    key: `socle.columns.${collection}`,
    defaultValue: emptyColumnState,
    getInitialValueInEffect: false,
    sync: false,
    deserialize: readColumnState,
  });
  const of = view === null ? null : `${view.name} ${view.updatedAt}`;
  const [own, setOwn] = useState<{ of: string; state: ColumnState } | null>(null);
  const ofView = own !== null && own.of === of ? own.state : (view?.columns ?? emptyColumnState);
  const state = of === null ? kept : ofView;
  return useMemo(() => {
    const set = (change: Partial<ColumnState>): void => {
      const next = { ...state, ...change };
      if (of === null) setKept(next);
      else setOwn({ of, state: next });
    };
    return {
      ...placed(state, columns),
      state,
      reset: () => setOwn(null),
      change: set,
      setWidth: (name, width) => set({ widths: { ...state.widths, [name]: clampWidth(width) } }),
    };
  }, [state, columns, of, setKept]);
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

export interface GridColumn {
  readonly name: string;
  readonly field: FieldDefinition;
  /** Whether the service manages the value. The user cannot edit the value. */
  readonly isSystem: boolean;
  readonly width: number;
  /** The path for a sort; null when the API cannot sort by the field. A relation is sorted by the name in its cells. */
  readonly sortPath: string | null;
  readonly target: Target | undefined;
}

/** Whether the user edits the value in its cell; other values need the drawer. */
export function isInline({ field, isSystem }: GridColumn): boolean {
  return !isSystem && field.sequence === undefined && field.multiple !== true && kinds[field.type].isInline === true;
}

/** The columns: the field that names a record comes first and stays in place, or the id in a collection without such a field. */
export function gridColumns(
  { name: collection, fields, definition }: Pick<CollectionEntry, "name" | "fields" | "definition">,
  targets: Targets,
): GridColumn[] {
  const system = (name: string, type: FieldType, width: number): GridColumn => ({
    name,
    field: { name, type },
    isSystem: true,
    width,
    sortPath: name,
    target: undefined,
  });
  const title = nameField(fields);
  const id = system("id", "string", 128);
  const inOrder = title === null ? fields : [title, ...fields.filter((field) => field !== title)];
  return [
    ...(title === null ? [id] : []),
    ...inOrder.map((field): GridColumn => {
      const target = targets[field.name];
      const path = target === undefined || target.label === null ? field.name : `${field.name}.${target.label}`;
      return {
        name: field.name,
        field,
        isSystem: isView(definition) || isAccountField(collection, field.name),
        // A long name needs room for its icon and its sort arrow.
        width: Math.max(kinds[field.type].width, Math.min(260, field.name.length * 8 + 56)),
        sortPath: ["json", "geo", "vector"].includes(field.type) || field.multiple === true ? null : path,
        target,
      };
    }),
    ...(title === null ? [] : [id]),
    // The times of a view are fields of its query.
    ...(isView(definition) ? [] : RECORD_TIMES.map((time) => system(time, "datetime", kinds.datetime.width))),
  ];
}

/** Pixels of a letter in the grid's font, of the padding of a cell, of the button that opens the record, of a chip, and of the widest column. */
const [letter, padding, opener, chip, widestFitted, widestNarrow] = [7, 28, 28, 16, 360, 168];
/** The rows whose values decide the widths. */
const sampled = 50;
/** Values longer than nine of ten are cut. */
const fittedPart = 0.9;

function textOf({ record }: Row, { name, target }: GridColumn): string {
  const value = record[name] ?? null;
  if (target === undefined || target.label === null || typeof value !== "string") return String(value);
  return String(expanded(record, name, value)?.[target.label] ?? "");
}

/**
 * Columns as wide as their values in the first rows; the width of a type with a fixed form, such as a time, stays.
 * @param isNarrow whether the pinned first column must leave room for other columns.
 */
export function fitted(columns: readonly GridColumn[], rows: readonly Row[], isNarrow: boolean): GridColumn[] {
  return columns.map((column, place): GridColumn => {
    const { type, multiple, values } = column.field;
    const isFitted =
      !column.isSystem && multiple !== true && (kinds[type].isText || kinds[type].isNumber || type === "relation");
    const most = isNarrow && place === 0 ? widestNarrow : widestFitted;
    if (!isFitted) return { ...column, width: Math.min(column.width, most) };
    const lengths = rows
      .slice(0, sampled)
      .map((row) => Math.min(80, textOf(row, column).length))
      .sort((a, b) => a - b);
    const longest = lengths[Math.floor((lengths.length - 1) * fittedPart)] ?? 0;
    const head = column.name.length * 8 + 56;
    const wanted =
      longest * letter +
      padding +
      (place === 0 ? opener : 0) +
      (type === "relation" || values !== undefined ? chip : 0);
    return { ...column, width: Math.max(Math.min(head, 260, most), Math.min(most, wanted)) };
  });
}
