/** The field type whose value is a vector: a fixed count of numbers, shown as the count and edited as JSON. */
import { IconTimeline } from "../icons/index.ts";
import { preloadable } from "../kit/preloadable.tsx";
import { text } from "../texts/index.ts";
import classes from "./cell.module.css";
import { type CellProps, type FieldKind, noValue, nullness, words } from "./kind.ts";

function VectorCell({ column }: CellProps) {
  return <span className={`cut ${classes["json"]}`}>{text.records.numbers(column.field.dimensions ?? 0)}</span>;
}

export const vectorKind: FieldKind = {
  icon: IconTimeline,
  words: words("vector"),
  width: 130,
  operators: nullness,
  completions: ["=", "!="],
  values: [noValue],
  read: () => null,
  firstDefault: "[]",
  isDefault: (value) => Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "number"),
  Cell: VectorCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/json-control.tsx")).JsonControl),
};
