/** Numbers: `integer`, a whole number, and `float`, a number with decimals. */
import { Icon123, IconDecimal } from "@tabler/icons-react";
import { preloadable } from "../kit/preloadable.tsx";
import { parseNumber } from "../pages/records/editor/numbers.ts";
import classes from "./cell.module.css";
import { type CellProps, type FieldKind, noValue, nullness, operandWith, ordered, words } from "./kind.ts";

/** Digits without separators: a grid is for comparing, and an id must not get commas. */
function NumberCell({ value }: CellProps) {
  return <span className={`cut ${classes["number"]}`}>{Object.is(value, -0) ? "-0" : String(value)}</span>;
}

const numberParts = {
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

export const integerKind: FieldKind = {
  icon: Icon123,
  words: words("integer"),
  ...numberParts,
  parse: (typed) => parseNumber(typed, "integer"),
  isDefault: (value) => Number.isSafeInteger(value),
  example: 42,
};

export const floatKind: FieldKind = {
  icon: IconDecimal,
  words: words("float"),
  ...numberParts,
  parse: (typed) => parseNumber(typed, "float"),
  isDefault: (value) => typeof value === "number" && Number.isFinite(value),
  example: 4.5,
};
