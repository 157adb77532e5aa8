/** The menu of columns: shows, hides and moves columns, by mouse and by keyboard. */
import { useSortable } from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { Button, Checkbox, Group, Popover, ScrollArea, Tooltip } from "@mantine/core";
import { useState } from "react";
import { IconColumns3, IconGripVertical } from "../../../icons/index.ts";
import { Action, Dim, IconAction, SearchInput } from "../../../kit/index.ts";
import { Sortable } from "../../../kit/sortable.tsx";
import { TypeIcon } from "../../../kit/type-icon.tsx";
import { text } from "../../../texts/index.ts";
import classes from "./column-menu.module.css";
import { emptyColumnState, moveColumn } from "./column-state.ts";
import type { Columns, GridColumn } from "./use-columns.ts";

interface ColumnMenuProps {
  columns: Columns;
  all: readonly GridColumn[];
}

export function ColumnMenu(props: ColumnMenuProps) {
  const { hidden, visible, order } = props.columns;
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" width={280} trapFocus withinPortal shadow="md">
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
              {hidden.size === 0 ? text.records.columns : text.records.columnCount(visible.length, order.length)}
            </span>
          </Button>
        </Popover.Target>
      </Tooltip>
      <Popover.Dropdown p={0} aria-label={text.records.columns}>
        <ColumnList {...props} />
      </Popover.Dropdown>
    </Popover>
  );
}

/** The columns with a search, and buttons for all columns. */
function ColumnList({ columns, all }: ColumnMenuProps) {
  const { order, hidden, visible, change } = columns;
  const [search, setSearch] = useState("");
  const words = search.trim().toLowerCase();
  const found = order
    .filter((name) => name.toLowerCase().includes(words))
    .flatMap((name) => all.find((column) => column.name === name) ?? []);
  const names = found.map(({ name }) => name);
  const move = (from: number, to: number): void =>
    change({ order: moveColumn(order, names[from] ?? "", names[to] ?? "") });
  const show = (name: string, isShown: boolean): void => {
    const others = [...hidden].filter((each) => each !== name);
    change({ hidden: isShown ? others : [...others, name] });
  };
  const reset = (): void => change(emptyColumnState);
  const look = { size: "compact-xs", variant: "subtle" } as const;
  return (
    <>
      <div className={classes["head"]}>
        <SearchInput label={text.records.searchColumns} value={search} onChange={setSearch} data-autofocus />
      </div>
      <ScrollArea.Autosize mah={320} type="auto" scrollbars="y">
        <Sortable ids={names} nameOf={(at) => names[at] ?? ""} onMove={move}>
          <ul className={`plain ${classes["list"]}`}>
            {found.map((column) => {
              const isShown = !hidden.has(column.name);
              const isFixed = isShown && visible.length === 1;
              return <ColumnItem key={column.name} {...{ column, isShown, isFixed }} onShow={show} />;
            })}
          </ul>
        </Sortable>
        {found.length === 0 && (
          <Dim size="sm" p="sm">
            {text.records.noColumn}
          </Dim>
        )}
      </ScrollArea.Autosize>
      <Group gap={4} className={classes["foot"]}>
        <Action {...look} label={text.records.showAll} onClick={() => change({ hidden: [] })} />
        <Action {...look} label={text.records.hideAll} onClick={() => change({ hidden: order.slice(1) })} />
        <Action {...look} color="gray" ml="auto" label={text.records.resetColumns} onClick={reset} />
      </Group>
    </>
  );
}

interface ColumnItemProps {
  column: GridColumn;
  isShown: boolean;
  /** Whether the column is the last shown column, which cannot be hidden. */
  isFixed: boolean;
  onShow: (name: string, isShown: boolean) => void;
}

function ColumnItem({ column, isShown, isFixed, onShow }: ColumnItemProps) {
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
        onChange={(event) => onShow(name, event.currentTarget.checked)}
        label={
          <span className={classes["name"]}>
            <TypeIcon type={field.type} isKey={name === "id"} />
            <span className="cut" title={name}>
              {name}
            </span>
          </span>
        }
        flex={1}
        miw={0}
        styles={{ body: { minWidth: 0 }, labelWrapper: { minWidth: 0 } }}
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
