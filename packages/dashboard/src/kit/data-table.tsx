/**
 * A plain table of a page of a list: a fixed head, its own scrolling in both directions, rows that open with a
 * click or with the keyboard (Enter on the first cell, arrows from row to row).
 */
import { Checkbox, Skeleton, UnstyledButton, VisuallyHidden } from "@mantine/core";
import type { KeyboardEvent, ReactNode } from "react";
import { text } from "../texts/index.ts";
import classes from "./data-table.module.css";
import { useIsNarrow } from "./page.tsx";
import { RelativeTime } from "./time.tsx";

export interface Column<T> {
  /** The name of the column, different from every other name of the table. */
  header: string;
  width?: number | string;
  align?: "right";
  /** On a narrow screen: in the second line of the row, in a cell of its own, or hidden. The first column is the first line. */
  narrow?: "line" | "cell" | "hidden";
  /** Whether the head is for screen readers alone. */
  isHeaderHidden?: boolean;
  render: (row: T) => ReactNode;
}

/** A column of times; null leaves the cell empty. */
export function timeColumn<T>(header: string, at: (row: T) => string | null): Column<T> {
  const render = (row: T): ReactNode => {
    const time = at(row);
    return time !== null && <RelativeTime at={time} />;
  };
  return { header, width: 120, render };
}

/** A column of buttons. */
export function actionColumn<T>(width: number, render: Column<T>["render"]): Column<T> {
  return { header: text.table.action, isHeaderHidden: true, align: "right", width, narrow: "cell", render };
}

export interface Selection {
  selected: ReadonlySet<string>;
  onChange: (selected: ReadonlySet<string>) => void;
}

export interface DataTableProps<T> {
  /** The table's name for screen readers. */
  label: string;
  columns: readonly Column<T>[];
  /** Undefined while the rows are loading. */
  rows: readonly T[] | undefined;
  rowKey: (row: T) => string;
  /** Makes rows open. The first column then names the row and must hold no control. */
  onOpen?: ((row: T) => void) | undefined;
  /** The key of the row that is open. */
  openKey?: string | undefined;
  selection?: Selection | undefined;
  /** Whether the rows belong to the request before. */
  isOld?: boolean;
}

const skeletonRows = 12;

/** Moves the focus from a row's button to the button of the row above or below. */
function moveFocus(event: KeyboardEvent<HTMLTableSectionElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !(event.target instanceof HTMLElement)) return;
  const openers = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-opener]")];
  const at = openers.indexOf(event.target);
  const next = at === -1 ? undefined : openers[at + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

/** Whether a click was meant for a control inside the row, or ends a selection of text. */
function isForControl(target: EventTarget): boolean {
  const isControl = target instanceof Element && target.closest("a, button:not([data-opener]), input, label") !== null;
  return isControl || (window.getSelection()?.toString() ?? "") !== "";
}

export function DataTable<T>(props: DataTableProps<T>) {
  const { label, rows, rowKey, onOpen, openKey, selection, isOld = false } = props;
  const isNarrow = useIsNarrow();
  const below = isNarrow ? props.columns.filter(({ narrow = "line" }, at) => at > 0 && narrow === "line") : [];
  const columns = isNarrow ? props.columns.filter(({ narrow }, at) => at === 0 || narrow === "cell") : props.columns;
  return (
    // A table without focusable rows takes the focus itself, so that the keyboard can scroll the table.
    <section className={`fills ${classes["frame"]}`} aria-label={label} tabIndex={onOpen === undefined ? 0 : undefined}>
      <table
        className={classes["table"]}
        aria-label={label}
        aria-busy={rows === undefined || isOld}
        data-is-old={isOld || undefined}
        data-is-narrow={isNarrow || undefined}
      >
        <Head columns={columns} keys={(rows ?? []).map(rowKey)} selection={selection} />
        <tbody onKeyDown={moveFocus}>
          {rows === undefined && <SkeletonRows columns={columns} hasChecks={selection !== undefined} />}
          {rows?.map((row) => {
            const key = rowKey(row);
            return (
              // The keyboard opens the row with the button in its first cell.
              <tr
                key={key}
                data-is-open={key === openKey || undefined}
                data-opens={onOpen !== undefined || undefined}
                data-is-selected={selection?.selected.has(key) || undefined}
                onClick={(event) => {
                  if (!isForControl(event.target)) onOpen?.(row);
                }}
              >
                {selection !== undefined && (
                  <td className={classes["check"]}>
                    <CheckRow id={key} selection={selection} />
                  </td>
                )}
                {columns.map(({ header, align, render }, index) => (
                  <td key={header} data-align={align}>
                    {index === 0 ? (
                      <FirstCell row={row} render={render} below={below} isOpener={onOpen !== undefined} />
                    ) : (
                      render(row)
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function Head<T>(props: { columns: readonly Column<T>[]; keys: readonly string[]; selection: Selection | undefined }) {
  const { columns, keys, selection } = props;
  return (
    <thead>
      <tr>
        {selection !== undefined && (
          <th className={classes["check"]} scope="col">
            <CheckAll keys={keys} selection={selection} />
          </th>
        )}
        {columns.map(({ header, width, align, isHeaderHidden }) => (
          <th key={header} scope="col" style={{ width }} data-align={align}>
            {isHeaderHidden === true ? <VisuallyHidden>{header}</VisuallyHidden> : header}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function SkeletonRows({ columns, hasChecks }: { columns: readonly { header: string }[]; hasChecks: boolean }) {
  return Array.from({ length: skeletonRows }, (_, row) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all the same.
    <tr key={row} aria-hidden>
      {hasChecks && <td className={classes["check"]} />}
      {columns.map(({ header }, column) => (
        <td key={header}>
          <Skeleton height={12} width={`${[62, 40, 54, 48][(row + column) % 4]}%`} />
        </td>
      ))}
    </tr>
  ));
}

/** The first cell, which opens the row, and on a narrow screen holds the cells of the second line. */
function FirstCell<T>(props: { row: T; render: Column<T>["render"]; below: readonly Column<T>[]; isOpener: boolean }) {
  const { row, render, below, isOpener } = props;
  return (
    <>
      {isOpener ? (
        <UnstyledButton className={classes["opener"]} data-opener>
          {render(row)}
        </UnstyledButton>
      ) : (
        render(row)
      )}
      {below.length > 0 && (
        <div className={classes["below"]}>
          {below.map((each) => (
            <span key={each.header}>{each.render(row)}</span>
          ))}
        </div>
      )}
    </>
  );
}

function CheckAll({ keys, selection }: { keys: readonly string[]; selection: Selection }) {
  const { selected, onChange } = selection;
  const chosen = keys.filter((key) => selected.has(key)).length;
  return (
    <Checkbox
      size="xs"
      aria-label={text.table.selectAll}
      checked={chosen > 0 && chosen === keys.length}
      indeterminate={chosen > 0 && chosen < keys.length}
      disabled={keys.length === 0}
      onChange={(event) => onChange(new Set(event.currentTarget.checked ? keys : []))}
    />
  );
}

export function CheckRow(props: { id: string; selection: Selection; label?: string; className?: string | undefined }) {
  const { id, selection, label, className = "" } = props;
  const { selected, onChange } = selection;
  return (
    <Checkbox
      size="xs"
      className={className}
      aria-label={label ?? text.table.select}
      checked={selected.has(id)}
      onChange={(event) => {
        const next = new Set(selected);
        if (event.currentTarget.checked) next.add(id);
        else next.delete(id);
        onChange(next);
      }}
    />
  );
}
