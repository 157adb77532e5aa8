/** A row of the grid: drawn again only after a change of the row. */
// biome-ignore-all lint/a11y/useSemanticElements: an HTML table cannot leave out the rows outside the screen.
// biome-ignore-all lint/a11y/useFocusableInteractive: a single cell at a time has the tab index.
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid has the keys of all its cells.

import type { JsonValue } from "@socle/protocol";
import { memo, Suspense } from "react";
import cellClasses from "../../../fields/cell.module.css";
import { type CellProps, kinds } from "../../../fields/index.ts";
import { preloadable } from "../../../kit/preloadable.tsx";
import { text } from "../../../texts/index.ts";
import type { PlacedColumn } from "../columns/use-columns.ts";
import { type Row, shownText } from "../data/rows.ts";
import classes from "./grid.module.css";
import type { InlineEditorProps, Step } from "./inline-editor.tsx";
import type { CellPlace } from "./navigation.ts";

// The first edit loads the controls.
export const inlineEditor = preloadable<InlineEditorProps>(
  async () => (await import("./inline-editor.tsx")).InlineEditor,
);

/** Actions of the grid for its rows. The object stays the same for the life of the grid. */
export interface RowActions {
  readonly activate: (place: CellPlace) => void;
  readonly open: (id: string) => void;
  readonly edit: (place: CellPlace) => void;
  readonly endEdit: (step: Step) => void;
  readonly saved: InlineEditorProps["onSaved"];
  readonly select: (row: number, how: { isRange: boolean }) => void;
}

export interface ShownColumn {
  readonly index: number;
  readonly column: PlacedColumn;
}

interface GridRowProps {
  collection: string;
  /** The position in the whole list. */
  index: number;
  top: number;
  width: number;
  /** Undefined while the row is not loaded. */
  row: Row | undefined;
  first: PlacedColumn | undefined;
  columns: readonly ShownColumn[];
  /** The column of the active cell, or -1. */
  active: number;
  /** The edited column, or -1. */
  editing: number;
  isSelected: boolean;
  isFlashing: boolean;
  isFading: boolean;
  isOpen: boolean;
  /** Whether the row has a record to open: a row of a view has none. */
  canOpen: boolean;
  actions: RowActions;
}

export const rowHeight = 36;
export const selectWidth = 40;

/** A cell of the row. A component would cost more than the cell: rows are many. */
function cell(
  { collection, index, row, active, editing, canOpen, actions }: GridRowProps,
  { column, index: at }: ShownColumn,
) {
  return (
    <div
      key={column.name}
      role="gridcell"
      aria-colindex={at + 2}
      tabIndex={active === at ? 0 : -1}
      className={classes["cell"]}
      data-cell={`${index}:${at}`}
      data-align={kinds[column.field.type].isNumber && "end"}
      data-is-first={at === 0 || undefined}
      style={at === 0 ? { width: column.size } : { width: column.size, left: column.left + selectWidth }}
      onClick={(event) => {
        actions.activate({ row: index, column: at });
        const isOpener = event.target instanceof HTMLButtonElement || (at === 0 && column.name === "id");
        if (isOpener && row !== undefined && editing < 0) actions.open(row.id);
      }}
      onDoubleClick={() => column.name !== "id" && actions.edit({ row: index, column: at })}
    >
      {row === undefined ? (
        <span className={classes["outline"]} style={{ width: `${35 + ((index * 7 + at * 13) % 50)}%` }} />
      ) : (
        <Value row={row} column={column} isLink={at === 0} />
      )}
      {row !== undefined && canOpen && at === 0 && column.name !== "id" && (
        <button type="button" tabIndex={-1} className={classes["opener"]} aria-label={text.records.openRecord} />
      )}
      {row !== undefined && editing === at && (
        <Suspense>
          <inlineEditor.Component
            collection={collection}
            row={row}
            column={column}
            onEnd={actions.endEdit}
            onSaved={actions.saved}
          />
        </Suspense>
      )}
    </div>
  );
}

export const GridRow = memo(function GridRow(props: GridRowProps) {
  const { index, top, width, row, first, columns, editing, isSelected, actions } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      aria-busy={row === undefined || undefined}
      className={classes["row"]}
      data-is-selected={isSelected || undefined}
      data-is-flashing={props.isFlashing || undefined}
      data-is-fading={props.isFading || undefined}
      data-is-open={props.isOpen || undefined}
      data-is-editing={editing >= 0 || undefined}
      style={{ transform: `translateY(${top}px)`, width }}
    >
      <div className={classes["pinned"]} role="presentation">
        <div
          role="gridcell"
          aria-colindex={1}
          className={classes["select"]}
          // A Shift-click selects rows; without this line the browser would select the text between.
          onMouseDown={(event) => event.shiftKey && event.preventDefault()}
          onClick={(event) => row !== undefined && actions.select(index, { isRange: event.shiftKey })}
        >
          {row !== undefined && (
            <input
              type="checkbox"
              className={classes["box"]}
              checked={isSelected}
              readOnly
              tabIndex={-1}
              aria-label={text.records.selectRow(`…${row.id.slice(-8)}`)}
            />
          )}
        </div>
        {first !== undefined && cell(props, { column: first, index: 0 })}
      </div>
      {columns.map((column) => cell(props, column))}
    </div>
  );
});

function Value({ row, column, isLink }: { row: Row; column: PlacedColumn; isLink: boolean }) {
  if (column.name !== "id") return <CellValue row={row} column={column} />;
  return (
    <span className={`mono ${classes["id"]}`} title={row.id} data-is-link={isLink || undefined}>
      {column.size > 300 ? row.id : `…${row.id.slice(-Math.max(6, Math.floor((column.size - 36) / 8)))}`}
    </span>
  );
}

function CellValue({ row, column }: { row: Row; column: PlacedColumn }) {
  const value: JsonValue = row.record[column.name] ?? null;
  if (value === null) return <span className={cellClasses["null"]}>null</span>;
  const { Cell } = kinds[column.field.type];
  const Shown = column.field.multiple === true ? ItemsCell : Cell;
  return <Shown row={row} column={column} value={value} />;
}

/** Most items in a cell; a sign stands for further items. */
const mostShown = 6;

/** The first items of a multiple field, side by side. */
function ItemsCell({ row, column, value }: CellProps) {
  const items = Array.isArray(value) ? value.map(String) : [];
  if (items.length === 0) return <span className={cellClasses["null"]}>{text.records.noItems}</span>;
  const isMore = items.length > mostShown || row.cut.has(column.name);
  const { Cell } = kinds[column.field.type];
  return (
    <span className={cellClasses["items"]}>
      {items.slice(0, mostShown).map((item) =>
        column.field.type === "string" && column.field.values === undefined ? (
          <span key={item} className={cellClasses["chip"]} data-is-text>
            <span className="cut">{shownText(item)}</span>
          </span>
        ) : (
          <Cell key={item} row={row} column={column} value={item} />
        ),
      )}
      {isMore && <span className={cellClasses["null"]}>…</span>}
    </span>
  );
}
