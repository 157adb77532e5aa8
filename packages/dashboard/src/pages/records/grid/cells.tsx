/** A value in its cell, for each field type. No long value reaches the page: a cell shows a single line. */
import { IconCheck, IconX } from "@tabler/icons-react";
import type { CellProps } from "../../../fields/kind.ts";
import { formatDateTime, formatFieldTime } from "../../../kit/format.ts";
import { text } from "../../../texts/index.ts";
import type { Piece } from "../data/found.ts";
import { shownJson, shownText } from "../data/rows.ts";
import classes from "./cell.module.css";
import { FileCell } from "./file-cell.tsx";
import { RelationCell } from "./relation-cell.tsx";

/** Digits without separators: a grid is for comparing, and an id must not get commas. */
export function NumberCell({ value }: CellProps) {
  return <span className={classes["number"]}>{Object.is(value, -0) ? "-0" : String(value)}</span>;
}

export function BooleanCell({ value }: CellProps) {
  return (
    <span className={classes["boolean"]} data-is-true={value === true || undefined}>
      {value === true ? <IconCheck size={15} stroke={2.2} aria-hidden /> : <IconX size={14} aria-hidden />}
      <span>{String(value)}</span>
    </span>
  );
}

export function TimeCell({ column, value }: CellProps) {
  return (
    <time className={classes["time"]} dateTime={String(value)} title={String(value)}>
      {(column.isSystem ? formatDateTime : formatFieldTime)(String(value))}
    </time>
  );
}

export function JsonCell({ row, column, value }: CellProps) {
  return <span className={classes["json"]}>{shownJson(value, row.cut.has(column.name))}</span>;
}

export function RelationValueCell({ row, column, value }: CellProps) {
  return <RelationCell row={row} column={column} id={String(value)} />;
}

export function FileValueCell({ value }: CellProps) {
  return <FileCell id={String(value)} />;
}

export function TextCell({ row, column, value }: CellProps) {
  const found = row.found?.get(column.name);
  if (value === "") return <span className={classes["null"]}>{text.records.emptyText}</span>;
  if (found !== undefined) return <Found pieces={found} />;
  return <span className={classes["text"]}>{shownText(String(value), column.size)}</span>;
}

/** The text around the matches of a search. */
function Found({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <span className={classes["text"]}>
      {pieces.map(({ text, isMatch }, i) =>
        isMatch ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place.
          <mark key={i} className={classes["match"]}>
            {shownText(text)}
          </mark>
        ) : (
          shownText(text)
        ),
      )}
    </span>
  );
}
