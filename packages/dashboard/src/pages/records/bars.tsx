/** The bars of the grid: actions for the selected records, and the line below with the visible rows and a jump to other rows. */
import { Group, NumberInput, Popover, Text, Tooltip, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useState } from "react";
import { IconCopy, IconDownload, IconPencil, IconTrash, IconX } from "../../icons/index.ts";
import { Action, Dim, Form, IconAction, messageOf, notifyDone, undoChange } from "../../kit/index.ts";
import { type Store, useStore } from "../../service/store.ts";
import { useIsKept } from "../../service/undo.ts";
import { text } from "../../texts/index.ts";
import { originFor, spanRows, type Visible } from "./data/use-rows.ts";
import { rowHeight } from "./grid/grid-row.tsx";
import classes from "./records.module.css";
import type { RecordsPage } from "./use-records-page.ts";

export function SelectionBar({ page }: { page: RecordsPage }) {
  const { areUsers, isReadOnly, state, shown, setDialog, remove } = page;
  const loaded = shown.rows.items.length;
  const look = { size: "compact-sm", variant: "subtle" } as const;
  const ids = [...state.selected];
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(ids.join("\n"));
    notifyDone(text.records.idsCopied(ids.length));
  };
  const clear = (): void => {
    state.clear();
    state.focus();
  };
  return (
    <div className={classes["bar"]} role="toolbar" aria-label={text.records.selectionBar}>
      <Text size="sm" fw={600} className="numbers" role="status">
        {text.records.selected(ids.length)}
      </Text>
      {ids.length < loaded && (
        <Action {...look} label={text.records.selectAllLoaded(loaded)} onClick={state.selectAll} />
      )}
      <Group gap={4}>
        {!isReadOnly && (
          <Action
            {...look}
            color="gray"
            icon={IconDownload}
            label={text.records.exportSelected(ids.length)}
            onClick={() => setDialog({ type: "export", ids })}
          />
        )}
        {!areUsers && !isReadOnly && (
          <Action
            {...look}
            color="gray"
            icon={IconPencil}
            label={text.records.editSelected(ids.length)}
            onClick={() => setDialog({ type: "edit", ids })}
          />
        )}
        <Action {...look} color="gray" icon={IconCopy} label={text.records.copyIds} onClick={copy} />
        {!areUsers && !isReadOnly && (
          <Action
            size="compact-sm"
            variant="filled"
            color="red.8"
            icon={IconTrash}
            label={text.records.deleteMany(ids.length)}
            onClick={() => remove(ids)}
          />
        )}
        <IconAction icon={IconX} iconSize={14} label={text.records.clearSelection} onClick={clear} />
      </Group>
    </div>
  );
}

/** Scrolls to a row, also to a row that is not loaded. */
function goTo(row: number, { shown: { rows }, scroller }: RecordsPage): void {
  const target = Math.max(0, Math.min((rows.total ?? row + 1) - 1, row));
  const isInSpan = target >= rows.origin && target < rows.origin + spanRows;
  if (!isInSpan) rows.jump(target);
  // The span with the row must be drawn before the scroll.
  setTimeout(() => {
    const { current } = scroller;
    if (current === null) return;
    const origin = isInSpan ? rows.origin : originFor(target);
    current.scrollTop = (target - origin) * rowHeight;
    current.focus({ preventScroll: true });
  }, 0);
}

/** The button that takes the last change of a cell back. */
function UndoNote({ page: { note, state } }: { page: RecordsPage }) {
  const change = note?.change ?? null;
  const isKept = useIsKept(change);
  if (change === null || !isKept) return null;
  const undo = (): void => {
    state.focus();
    void undoChange(change);
  };
  return <Action label={text.common.undo} size="compact-xs" variant="subtle" onClick={undo} />;
}

/** @param props.visible the rows on the screen. The rows change with every scroll, and only the foot shows their numbers. */
export function Foot({ page, visible }: { page: RecordsPage; visible: Store<Visible> }) {
  const { rows } = page.shown;
  const [isOpen, setOpen] = useState(false);
  const go = (row: number): void => {
    setOpen(false);
    goTo(row, page);
  };
  return (
    <div className={classes["foot"]}>
      <Popover opened={isOpen} onChange={setOpen} position="top-start" width={250} trapFocus returnFocus shadow="md">
        <Tooltip label={text.records.goToRow} disabled={isOpen}>
          <Popover.Target>
            <UnstyledButton className={`numbers ${classes["range"]}`} onClick={() => setOpen(!isOpen)}>
              <Range visible={visible} total={rows.total} />
              <VisuallyHidden>– {text.records.goToRow}</VisuallyHidden>
            </UnstyledButton>
          </Popover.Target>
        </Tooltip>
        <Popover.Dropdown p="xs" aria-label={text.records.goToRow}>
          <JumpForm total={rows.total} onGo={go} />
        </Popover.Dropdown>
      </Popover>
      <Dim role="status" truncate>
        {page.note?.words}
      </Dim>
      <UndoNote page={page} />
      {rows.pageError !== null && (
        <Group gap={6} role="alert" wrap="nowrap" miw={0}>
          <Text size="xs" c="var(--mantine-color-error)" truncate>
            {messageOf(rows.pageError)}
          </Text>
          <Action label={text.common.retry} size="compact-xs" onClick={rows.retry} />
        </Group>
      )}
    </div>
  );
}

/** @param props.onGo gets the position of the row, from 0. */
function JumpForm({ total, onGo }: { total: number | undefined; onGo: (row: number) => void }) {
  const [wanted, setWanted] = useState<string | number>("");
  return (
    <Form onSubmit={() => typeof wanted === "number" && onGo(wanted - 1)}>
      <Group gap={6} wrap="nowrap" align="flex-end">
        <NumberInput
          size="xs"
          label={text.records.goToRow}
          min={1}
          {...(total !== undefined && { max: total })}
          allowDecimal={false}
          thousandSeparator=","
          hideControls
          value={wanted}
          onChange={setWanted}
          flex={1}
          data-autofocus
        />
        <Action label={text.records.go} type="submit" variant="filled" />
      </Group>
      <Group gap={6} mt={6}>
        <Action label={text.records.firstRow} size="compact-xs" onClick={() => onGo(0)} />
        {total !== undefined && (
          <Action label={text.records.lastRow} size="compact-xs" onClick={() => onGo(total - 1)} />
        )}
      </Group>
      <Dim mt={8}>{text.records.held}</Dim>
    </Form>
  );
}

/** The rows on the screen, in words: the only part of the page that is drawn with every scroll. */
function Range({ visible, total }: { visible: Store<Visible>; total: number | undefined }) {
  const { first, last } = useStore(visible);
  const shownLast = total === undefined ? last + 1 : Math.min(last + 1, total);
  const range = text.records.rowsShown(first + 1, shownLast);
  return total === undefined ? range : `${range} ${text.records.rowsOf(total)}`;
}
