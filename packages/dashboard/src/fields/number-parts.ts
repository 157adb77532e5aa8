/** The parts that `integer` and `float` share. */
import { preloadable } from "../kit/preloadable.tsx";
import { NumberCell } from "../pages/records/grid/cells.tsx";
import { type FieldKind, noValue, nullness, operandWith, ordered } from "./kind.ts";

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
