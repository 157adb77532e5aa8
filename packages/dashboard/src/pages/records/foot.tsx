/** The line below the grid: the rows on the screen, the jump to other rows, the error of a failed page. */
import { Button, Group, NumberInput, Popover, Text, Tooltip, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { type FormEvent, useState, useSyncExternalStore } from "react";
import { Dim, messageOf } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { originFor, spanRows, type Visible } from "./data/use-rows.ts";
import { rowHeight } from "./grid/grid-row.tsx";
import classes from "./records.module.css";
import type { RecordsPage } from "./use-records-page.ts";

/** The rows on the screen. The rows change with every scroll, and only the foot shows their numbers. */
export interface VisibleStore {
  readonly get: () => Visible;
  readonly set: (visible: Visible) => void;
  readonly subscribe: (listener: () => void) => () => void;
}

export function makeVisibleStore(): VisibleStore {
  let current: Visible = { first: 0, last: 0 };
  const listeners = new Set<() => void>();
  return {
    get: () => current,
    set: (visible) => {
      current = visible;
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
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

export function Foot({ page, visible }: { page: RecordsPage; visible: VisibleStore }) {
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
            <UnstyledButton className={classes["range"]} onClick={() => setOpen(!isOpen)}>
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
        {page.note}
      </Dim>
      {rows.pageError !== null && (
        <Group gap={6} role="alert" wrap="nowrap" miw={0}>
          <Text size="xs" c="var(--mantine-color-error)" truncate>
            {messageOf(rows.pageError)}
          </Text>
          <Button size="compact-xs" variant="default" onClick={rows.retry}>
            {text.common.retry}
          </Button>
        </Group>
      )}
    </div>
  );
}

/** @param props.onGo gets the position of the row, from 0. */
function JumpForm({ total, onGo }: { total: number | undefined; onGo: (row: number) => void }) {
  const [wanted, setWanted] = useState<string | number>("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (typeof wanted === "number") onGo(wanted - 1);
  };
  return (
    <form onSubmit={submit}>
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
        <Button size="xs" type="submit">
          {text.records.go}
        </Button>
      </Group>
      <Group gap={6} mt={6}>
        <Button size="compact-xs" variant="default" onClick={() => onGo(0)}>
          {text.records.firstRow}
        </Button>
        {total !== undefined && (
          <Button size="compact-xs" variant="default" onClick={() => onGo(total - 1)}>
            {text.records.lastRow}
          </Button>
        )}
      </Group>
      <Dim mt={8}>{text.records.held}</Dim>
    </form>
  );
}

/** The rows on the screen, in words: the only part of the page that is drawn with every scroll. */
function Range({ visible, total }: { visible: VisibleStore; total: number | undefined }) {
  const { first, last } = useSyncExternalStore(visible.subscribe, visible.get);
  const shownLast = total === undefined ? last + 1 : Math.min(last + 1, total);
  const range = text.records.rowsShown(first + 1, shownLast);
  return total === undefined ? range : `${range} ${text.records.rowsOf(total)}`;
}
