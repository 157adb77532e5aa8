/** The line below the grid: which rows are on the screen, the way to others, a page that failed. */
import { Button, Group, NumberInput, Popover, Text, Tooltip, UnstyledButton } from "@mantine/core";
import { type FormEvent, type RefObject, useState } from "react";
import { messageOf } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { type Rows, spanRows } from "./data/use-rows.ts";
import { rowHeight } from "./grid/grid-row.tsx";
import classes from "./records.module.css";

export function Foot(props: {
  rows: Rows;
  first: number;
  last: number;
  scroller: RefObject<HTMLDivElement | null>;
  onRetry: () => void;
}) {
  const { rows, first, last, scroller, onRetry } = props;
  const [isOpen, setOpen] = useState(false);
  const [wanted, setWanted] = useState<string | number>("");
  const { total } = rows;
  const go = (row: number): void => {
    setOpen(false);
    const target = Math.max(0, Math.min((total ?? row + 1) - 1, row));
    const isInSpan = target >= rows.origin && target < rows.origin + spanRows;
    if (!isInSpan) rows.jump(target);
    // The span that holds the row is drawn first.
    setTimeout(() => {
      const { current } = scroller;
      if (current === null) return;
      const origin = isInSpan ? rows.origin : Math.max(0, target - spanRows / 2);
      current.scrollTop = (target - origin) * rowHeight;
      current.focus({ preventScroll: true });
    }, 0);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (typeof wanted === "number") go(wanted - 1);
  };
  const shownLast = total === undefined ? last + 1 : Math.min(last + 1, total);
  return (
    <div className={classes["foot"]}>
      <Popover opened={isOpen} onChange={setOpen} position="top-start" width={250} trapFocus returnFocus shadow="md">
        <Tooltip label={text.records.goToRow} disabled={isOpen}>
          <Popover.Target>
            <UnstyledButton
              className={classes["range"]}
              onClick={() => setOpen(!isOpen)}
              aria-label={`${text.records.rowsShown(first + 1, shownLast)}. ${text.records.goToRow}`}
            >
              {rows.isLoading ? text.records.loadingMore : text.records.rowsShown(first + 1, shownLast)}{" "}
              {total !== undefined && text.records.rowsOf(total)}
            </UnstyledButton>
          </Popover.Target>
        </Tooltip>
        <Popover.Dropdown p="xs" aria-label={text.records.goToRow}>
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
              <Button size="compact-xs" variant="default" onClick={() => go(0)}>
                {text.records.firstRow}
              </Button>
              {total !== undefined && (
                <Button size="compact-xs" variant="default" onClick={() => go(total - 1)}>
                  {text.records.lastRow}
                </Button>
              )}
            </Group>
            <Text size="xs" c="dimmed" mt={8}>
              {text.records.held}
            </Text>
          </form>
        </Popover.Dropdown>
      </Popover>
      {rows.pageError !== null && (
        <Group gap={6} role="alert" wrap="nowrap" miw={0}>
          <Text size="xs" c="var(--mantine-color-error)" truncate>
            {messageOf(rows.pageError)}
          </Text>
          <Button size="compact-xs" variant="default" onClick={onRetry}>
            {text.common.retry}
          </Button>
        </Group>
      )}
    </div>
  );
}
