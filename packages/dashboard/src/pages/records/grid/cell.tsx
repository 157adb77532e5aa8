/** A value in its cell: null, the items of a multiple field, or a value of the field's type. */
import type { JsonValue } from "@socle/protocol";
import classes from "../../../fields/cell.module.css";
import { type CellProps, kinds } from "../../../fields/index.ts";
import { text } from "../../../texts/index.ts";
import type { PlacedColumn } from "../columns/use-columns.ts";
import { type Row, shownText } from "../data/rows.ts";

export function CellValue({ row, column }: { row: Row; column: PlacedColumn }) {
  const value: JsonValue = row.record[column.name] ?? null;
  if (value === null) return <span className={classes["null"]}>null</span>;
  const { Cell } = kinds[column.field.type];
  const Shown = column.field.multiple === true ? ItemsCell : Cell;
  return <Shown row={row} column={column} value={value} />;
}

/** Most items in a cell; a sign stands for further items. */
const mostShown = 6;

/** The first items of a multiple field, side by side. */
function ItemsCell({ row, column, value }: CellProps) {
  const items = Array.isArray(value) ? value.map(String) : [];
  if (items.length === 0) return <span className={classes["null"]}>{text.records.noItems}</span>;
  const isMore = items.length > mostShown || row.cut.has(column.name);
  const { Cell } = kinds[column.field.type];
  return (
    <span className={classes["items"]}>
      {items.slice(0, mostShown).map((item) =>
        column.field.type === "string" ? (
          <span key={item} className={classes["chip"]} data-is-text>
            <span className="cut">{shownText(item)}</span>
          </span>
        ) : (
          <Cell key={item} row={row} column={column} value={item} />
        ),
      )}
      {isMore && <span className={classes["null"]}>…</span>}
    </span>
  );
}
