/** The menu of columns: shows, hides and moves columns, by mouse and by keyboard. */

import {
  closestCenter,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  PointerSensor,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import {
  SortableContext,
  sortableKeyboardCoordinates,
  useSortable,
  verticalListSortingStrategy,
} from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { Button, Checkbox, Group, Popover, ScrollArea, TextInput, Tooltip } from "@mantine/core";
import { IconColumns3, IconGripVertical, IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import { IconAction } from "../../../kit/icon-action.tsx";
import { TypeIcon } from "../../../kit/type-icon.tsx";
import { Dim } from "../../../kit/words.tsx";
import { text } from "../../../texts/index.ts";
import classes from "./column-menu.module.css";
import { emptyColumnState, moveColumn } from "./column-state.ts";
import type { GridColumn } from "./grid-column.ts";
import type { Columns } from "./use-columns.ts";

export function ColumnMenu({ columns, all }: { columns: Columns; all: readonly GridColumn[] }) {
  const [search, setSearch] = useState("");
  const [isOpen, setOpen] = useState(false);
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const words = search.trim().toLowerCase();
  const found = columns.order.filter((name) => name.toLowerCase().includes(words));
  const onDragEnd = ({ active, over }: DragEndEvent): void => {
    if (over !== null) columns.change({ order: moveColumn(columns.order, String(active.id), String(over.id)) });
  };
  const show = (name: string, isShown: boolean): void => {
    const hidden = new Set(columns.hidden);
    if (isShown) hidden.delete(name);
    else hidden.add(name);
    columns.change({ hidden: [...hidden] });
  };
  const isOnly = columns.visible.length === 1;
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position="bottom-end"
      width={280}
      trapFocus
      withinPortal
      shadow="md"
      onClose={() => setSearch("")}
    >
      <Tooltip label={text.records.columns} disabled={isOpen}>
        <Popover.Target>
          <Button
            size="xs"
            variant="default"
            onClick={() => setOpen(!isOpen)}
            classNames={{ root: classes["target"] ?? "", label: classes["targetLabel"] ?? "" }}
          >
            <IconColumns3 size={14} aria-hidden />
            <span className={classes["targetText"]}>
              {columns.hidden.size === 0
                ? text.records.columns
                : text.records.columnCount(columns.visible.length, columns.order.length)}
            </span>
          </Button>
        </Popover.Target>
      </Tooltip>
      <Popover.Dropdown p={0} aria-label={text.records.columns}>
        <div className={classes["head"]}>
          <TextInput
            size="xs"
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            placeholder={text.records.searchColumns}
            aria-label={text.records.searchColumns}
            leftSection={<IconSearch size={14} />}
            data-autofocus
          />
        </div>
        <ScrollArea.Autosize mah={320} type="auto" scrollbars="y">
          <DndContext sensors={sensors} collisionDetection={closestCenter} onDragEnd={onDragEnd}>
            <SortableContext items={found} strategy={verticalListSortingStrategy}>
              <ul className={classes["list"]}>
                {found.map((name) => {
                  const column = all.find((each) => each.name === name);
                  if (column === undefined) return null;
                  const isShown = !columns.hidden.has(name);
                  return (
                    <ColumnItem
                      key={name}
                      column={column}
                      isShown={isShown}
                      isFixed={isShown && isOnly}
                      onShow={(next) => show(name, next)}
                    />
                  );
                })}
              </ul>
            </SortableContext>
          </DndContext>
          {found.length === 0 && (
            <Dim size="sm" p="sm">
              {text.records.noColumn}
            </Dim>
          )}
        </ScrollArea.Autosize>
        <Group gap={4} className={classes["foot"]}>
          <Button size="compact-xs" variant="subtle" onClick={() => columns.change({ hidden: [] })}>
            {text.records.showAll}
          </Button>
          <Button size="compact-xs" variant="subtle" onClick={() => columns.change({ hidden: columns.order.slice(1) })}>
            {text.records.hideAll}
          </Button>
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            ml="auto"
            onClick={() => columns.change(emptyColumnState)}
          >
            {text.records.resetColumns}
          </Button>
        </Group>
      </Popover.Dropdown>
    </Popover>
  );
}

function ColumnItem(props: {
  column: GridColumn;
  isShown: boolean;
  /** Whether the column is the last shown column, which cannot be hidden. */
  isFixed: boolean;
  onShow: (isShown: boolean) => void;
}) {
  const { column, isShown, isFixed, onShow } = props;
  const { name, field } = column;
  const { attributes, listeners, setNodeRef, transform, transition, isDragging } = useSortable({ id: name });
  return (
    <li
      ref={setNodeRef}
      className={classes["item"]}
      data-is-dragging={isDragging || undefined}
      style={{ transform: CSS.Translate.toString(transform), transition }}
    >
      <Checkbox
        size="xs"
        checked={isShown}
        disabled={isFixed}
        onChange={(event) => onShow(event.currentTarget.checked)}
        label={
          <span className={classes["name"]}>
            <TypeIcon type={field.type} isKey={name === "id"} />
            <span className="cut" title={name}>
              {name}
            </span>
          </span>
        }
        className={classes["check"]}
        classNames={{ body: classes["checkBody"] ?? "", labelWrapper: classes["checkLabel"] ?? "" }}
      />
      <IconAction
        icon={IconGripVertical}
        iconSize={14}
        label={text.records.moveColumn(name)}
        {...attributes}
        {...listeners}
        className={classes["grip"]}
      />
    </li>
  );
}
