/** The frame of a live log, newest first: its rows, the way back to the newest row, and the states without rows. */
import { Button, Group, Text, VisuallyHidden } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconArrowUp } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { text } from "../texts/index.ts";
import { Action } from "./action.tsx";
import { formatNumber } from "./format.ts";
import classes from "./live-rows.module.css";
import { LiveRows, type LiveRowsProps } from "./live-rows.tsx";
import { Notice } from "./notice.tsx";
import { useShortcut } from "./shortcuts.tsx";
import { ErrorState, messageOf, RowsSkeleton } from "./states.tsx";

interface LiveListProps<T> extends Omit<LiveRowsProps<T>, "rows" | "isAtStart" | "onStart" | "rowHeight"> {
  /** The rows under the filters, the newest first; undefined until the first read. */
  rows: readonly T[] | undefined;
  /** The height of a row on a wide screen, in pixels. */
  rowHeight: number;
  /** The reason of a failed read or stream; null after a success. */
  error: unknown;
  onRetry: () => void;
  /** The meaning of the error for the list. */
  trouble?: string;
  /** The names of the columns. */
  columns: readonly string[];
  /** The class of a row: the widths of the columns. */
  lineClass: string | undefined;
  /** The level of a row, which the row shows at its edge. */
  levelOf?: (row: T) => string;
  /** The number of rows that came a moment ago, for people who use a screen reader. */
  told?: ReactNode;
  /** Shown without rows. */
  empty: ReactNode;
}

const narrowRowHeight = 52;

export function LiveList<T>(props: LiveListProps<T>) {
  const { rows, rowHeight, error, onRetry, trouble = "", columns, lineClass, levelOf, told, empty, ...list } = props;
  const [isAtStart, setAtStart] = useState(true);
  /** The newest row at the time when the user left the start of the list. */
  const [seen, setSeen] = useState<string | undefined>(undefined);
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const toNewest = (): void => setAtStart(true);
  useShortcut({ keys: "e", label: text.tail.toNewest, group: text.shortcuts.page }, toNewest);
  if (rows === undefined)
    return error === null ? <RowsSkeleton rows={14} height={20} /> : <ErrorState error={error} onRetry={onRetry} />;
  const [newest] = rows;
  const onStart = (isThere: boolean): void => {
    setAtStart(isThere);
    if (!isThere) setSeen(newest && list.rowKey(newest));
  };
  const fresh = isAtStart ? 0 : rows.findIndex((row) => list.rowKey(row) === seen);
  return (
    <>
      {error !== null && <Trouble words={`${trouble} ${messageOf(error)}`} onRetry={onRetry} />}
      <VisuallyHidden role="status">{isAtStart && told}</VisuallyHidden>
      {rows.length === 0 && empty}
      {rows.length > 0 && (
        <div className={`stretch ${classes["view"]}`}>
          {/* Hidden from screen readers, because each row names its own values. */}
          <div className={`${classes["line"]} ${classes["head"]} ${lineClass}`} aria-hidden>
            {columns.map((name) => (
              <span key={name}>{name}</span>
            ))}
          </div>
          <LiveRows
            {...list}
            rows={rows}
            rowHeight={isNarrow ? narrowRowHeight : rowHeight}
            isAtStart={isAtStart}
            onStart={onStart}
            render={(row) => (
              <span className={`${classes["line"]} ${lineClass}`} data-level={levelOf?.(row)}>
                {list.render(row)}
              </span>
            )}
          />
          {!isAtStart && (
            <Button
              className={classes["jump"]}
              size="xs"
              radius="xl"
              leftSection={<IconArrowUp size={14} />}
              onClick={toNewest}
            >
              {fresh > 0 ? text.tail.fresh(formatNumber(fresh)) : text.tail.toNewest}
            </Button>
          )}
        </div>
      )}
    </>
  );
}

function Trouble({ words, onRetry }: { words: string; onRetry: () => void }) {
  return (
    <Notice tone="warn" radius={0} py={8}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">{words}</Text>
        <Action label={text.common.retry} size="compact-xs" onClick={onRetry} />
      </Group>
    </Notice>
  );
}
