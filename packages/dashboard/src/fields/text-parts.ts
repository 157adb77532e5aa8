/** The parts that `string` and `text` share: both hold text. */
import { preloadable } from "../kit/preloadable.tsx";
import { TextCell } from "../pages/records/grid/cells.tsx";
import { callerEmail, callerId, type FieldKind, noValue, nullness, operandWith } from "./kind.ts";

export const textParts = {
  isNumber: false,
  operators: ["~", "!~", "=", "!=", "in", ...nullness],
  completions: ["=", "!=", "~", "!~", "in", ">", ">=", "<", "<="],
  values: [noValue, callerId, callerEmail],
  read: operandWith,
  firstDefault: "",
  isDefault: () => true,
  example: "Hello",
  Cell: TextCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/string-control.tsx")).StringControl),
} satisfies Partial<FieldKind>;
