/** The row of headers: sorting, widths, and the order of the columns by drag. */
// biome-ignore-all lint/a11y/useSemanticElements: an HTML table cannot leave out the rows outside the screen.
// biome-ignore-all lint/a11y/useFocusableInteractive: a single cell at a time has the tab index.
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid has the keys of all its cells.
// biome-ignore-all lint/a11y/noStaticElementInteractions: Shift with arrow keys changes the width, as the edge does.

import { closestCenter, DndContext, type DragEndEvent, PointerSensor, useSensor, useSensors } from "@dnd-kit/core";
import { horizontalListSortingStrategy, SortableContext, useSortable } from "@dnd-kit/sortable";
import { Checkbox } from "@mantine/core";
import { memo, useState } from "react";
import { kinds } from "../../../fields/index.ts";
import { IconArrowDown, IconArrowUp } from "../../../icons/index.ts";
import { TypeIcon } from "../../../kit/type-icon.tsx";
import { text } from "../../../texts/index.ts";
import { moveColumn } from "../columns/column-state.ts";
import type { Columns, PlacedColumn } from "../columns/use-columns.ts";
import type { SortStep } from "../data/sort.ts";
import classes from "./grid.module.css";
import { type ShownColumn, selectWidth } from "./grid-row.tsx";

export interface GridHeadProps {
  columns: Columns;
  shown: readonly ShownColumn[];
  sort: readonly SortStep[];
  /** The names of the columns with a hit of the search, with spaces between. */
  found: string;
  width: number;
  /** The column of the active cell if the cell is a header, or -1. */
  active: number;
  onActivate: (column: number) => void;
  onSort: (path: string, isAdded: boolean) => void;
  selection: "none" | "some" | "all";
  onSelectAll: () => void;
}

export const GridHead = memo(function GridHead(props: GridHeadProps) {
  const { columns, shown, width, selection, onSelectAll } = props;
  // A click sorts; a drag begins after 8 pixels.
  const sensors = useSensors(useSensor(PointerSensor, { activationConstraint: { distance: 8 } }));
  const onDragEnd = ({ active, over }: DragEndEvent): void => {
    if (over !== null) columns.change({ order: moveColumn(columns.order, String(active.id), String(over.id)) });
  };
  const [first] = columns.visible;
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={closestCenter}
      onDragEnd={onDragEnd}
      // The announcements of the drag library are placed outside the grid.
      accessibility={{ container: document.body }}
    >
      <div role="row" aria-rowindex={1} className={classes["head"]} style={{ width }}>
        <div className={classes["pinned"]} role="presentation">
          <div role="columnheader" aria-colindex={1} className={classes["select"]}>
            <Checkbox
              size="xs"
              checked={selection === "all"}
              indeterminate={selection === "some"}
              onChange={onSelectAll}
              tabIndex={-1}
              aria-label={text.records.selectLoaded}
            />
          </div>
          {first !== undefined && <Header {...props} column={first} index={0} />}
        </div>
        <SortableContext items={shown.map(({ column }) => column.name)} strategy={horizontalListSortingStrategy}>
          {shown.map(({ column, index }) => (
            <Header key={column.name} {...props} column={column} index={index} />
          ))}
        </SortableContext>
      </div>
    </DndContext>
  );
});

function Header({
  column,
  index,
  sort,
  found,
  active,
  columns,
  onActivate,
  onSort,
}: GridHeadProps & { column: PlacedColumn; index: number }) {
  const { name, field, sortPath } = column;
  const { listeners, setNodeRef, transform, transition, isDragging } = useSortable({ id: name, disabled: index === 0 });
  const place = sort.findIndex(({ path }) => path === sortPath || path === name);
  const step = sort[place];
  const direction = step === undefined ? "none" : step.isDescending ? "descending" : "ascending";
  const Arrow = step?.isDescending === true ? IconArrowDown : IconArrowUp;
  return (
    <div
      ref={setNodeRef}
      role="columnheader"
      aria-colindex={index + 2}
      aria-sort={sortPath === null ? undefined : direction}
      tabIndex={active === index ? 0 : -1}
      data-cell={`-1:${index}`}
      data-align={kinds[field.type].isNumber ? "end" : undefined}
      data-is-sorted={step !== undefined || undefined}
      data-is-found={found.split(" ").includes(name) || undefined}
      data-is-dragging={isDragging || undefined}
      data-can-sort={sortPath !== null || undefined}
      className={classes["header"]}
      style={{
        width: column.size,
        ...(index > 0 && { left: column.left + selectWidth }),
        ...(transform !== null && { transform: `translateX(${transform.x}px)` }),
        transition,
      }}
      title={sortPath === null ? name : text.records.sortHint(name)}
      onClick={(event) => {
        onActivate(index);
        if (sortPath !== null) onSort(sortPath, event.shiftKey);
      }}
      {...listeners}
    >
      <TypeIcon type={field.type} isKey={name === "id"} />
      <span className="cut">{name}</span>
      {step !== undefined && (
        <span className={classes["sortMark"]}>
          <Arrow size={14} aria-hidden />
          {sort.length > 1 && <span>{place + 1}</span>}
        </span>
      )}
      <Edge column={column} onWidth={columns.setWidth} />
    </div>
  );
}

/** The edge of a header: a drag changes the width of the column, a double click restores the width. */
function Edge({ column, onWidth }: { column: PlacedColumn; onWidth: Columns["setWidth"] }) {
  const { name, size, width } = column;
  /** The width of the column with the pointer at the left edge of the window; null without a drag. */
  const [from, setFrom] = useState<number | null>(null);
  return (
    <span
      className={classes["edge"]}
      data-is-resizing={from !== null || undefined}
      aria-hidden
      onPointerDown={(event) => {
        event.stopPropagation();
        event.currentTarget.setPointerCapture(event.pointerId);
        setFrom(size - event.clientX);
      }}
      onPointerMove={(event) => from !== null && onWidth(name, from + event.clientX)}
      onLostPointerCapture={() => setFrom(null)}
      onClick={(event) => event.stopPropagation()}
      onDoubleClick={(event) => {
        event.stopPropagation();
        onWidth(name, width);
      }}
    />
  );
}
