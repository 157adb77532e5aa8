/** A value in its cell, by its type. Nothing long reaches the page: a cell shows one line. */
import type { JsonValue } from "@socle/protocol";
import { IconCheck, IconX } from "@tabler/icons-react";
import { formatDateTime, formatFieldTime } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import type { PlacedColumn } from "../columns/use-columns.ts";
import type { Piece } from "../data/found.ts";
import { type Row, shownJson, shownText } from "../data/rows.ts";
import classes from "./cell.module.css";
import { FileCell } from "./file-cell.tsx";
import { RelationCell } from "./relation-cell.tsx";

/** Digits of a number as they are: a grid is for comparing, and an id must not get commas. */
function shownNumber(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

export function CellValue({ row, column }: { row: Row; column: PlacedColumn }) {
  const value: JsonValue = row.record[column.name] ?? null;
  if (value === null) return <span className={classes["null"]}>null</span>;
  const { field } = column;
  if (field.multiple === true) return <ItemsCell row={row} column={column} value={value} />;
  const found = row.found?.get(column.name);
  switch (field.type) {
    case "integer":
    case "float":
      return <span className={classes["number"]}>{shownNumber(Number(value))}</span>;
    case "boolean":
      return (
        <span className={classes["boolean"]} data-is-true={value === true || undefined}>
          {value === true ? <IconCheck size={15} stroke={2.2} aria-hidden /> : <IconX size={14} aria-hidden />}
          <span>{String(value)}</span>
        </span>
      );
    case "datetime":
      return (
        <time className={classes["time"]} dateTime={String(value)} title={String(value)}>
          {(column.isSystem ? formatDateTime : formatFieldTime)(String(value))}
        </time>
      );
    case "json":
      return <span className={classes["json"]}>{shownJson(value, row.cut.has(column.name))}</span>;
    case "relation":
      return <RelationCell row={row} column={column} id={String(value)} />;
    case "file":
      return <FileCell id={String(value)} />;
    default:
      if (value === "") return <span className={classes["null"]}>{text.records.emptyText}</span>;
      return found === undefined ? (
        <span className={classes["text"]}>{shownText(String(value), column.size)}</span>
      ) : (
        <Found pieces={found} />
      );
  }
}

/** Items that a cell shows; the others are counted. */
const mostShown = 6;

/** The first items of a multiple field, side by side. */
function ItemsCell({ row, column, value }: { row: Row; column: PlacedColumn; value: JsonValue }) {
  const items = Array.isArray(value) ? value.map(String) : [];
  if (items.length === 0) return <span className={classes["null"]}>{text.records.noItems}</span>;
  const isMore = items.length > mostShown || row.cut.has(column.name);
  return (
    <span className={classes["items"]}>
      {items.slice(0, mostShown).map((item) => (
        <Item key={item} row={row} column={column} item={item} />
      ))}
      {isMore && <span className={classes["null"]}>…</span>}
    </span>
  );
}

function Item({ row, column, item }: { row: Row; column: PlacedColumn; item: string }) {
  if (column.field.type === "relation") return <RelationCell row={row} column={column} id={item} />;
  if (column.field.type === "file") return <FileCell id={item} />;
  return (
    <span className={classes["chip"]} data-is-text>
      <span className={classes["chipText"]}>{shownText(item)}</span>
    </span>
  );
}

/** The text around what a search has found. */
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
