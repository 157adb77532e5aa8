/** The parts that `integer` and `float` share. */
import { preloadable } from "../kit/preloadable.tsx";
import classes from "./cell.module.css";
import { type CellProps, type FieldKind, noValue, nullness, operandWith, ordered } from "./kind.ts";

/** Digits without separators: a grid is for comparing, and an id must not get commas. */
function NumberCell({ value }: CellProps) {
  return <span className={`cut ${classes["number"]}`}>{Object.is(value, -0) ? "-0" : String(value)}</span>;
}

export const numberParts = {
  width: 110,
  isInline: true,
  isNumber: true,
  operators: [...ordered, ...nullness],
  completions: ordered,
  values: [noValue],
  read: (typed) => (typed.trim() === "" || !Number.isFinite(Number(typed)) ? null : operandWith(Number(typed))),
  firstDefault: "0",
  Cell: NumberCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/number-control.tsx")).NumberControl),
} satisfies Partial<FieldKind>;
