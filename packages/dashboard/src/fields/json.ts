/** Any JSON value. */
import { IconBraces } from "@tabler/icons-react";
import { preloadable } from "../kit/preloadable.tsx";
import { JsonCell } from "../pages/records/grid/cells.tsx";
import { callerEmail, callerId, type FieldKind, noValue, nullness, operandWith, words } from "./kind.ts";

export const jsonKind: FieldKind = {
  icon: IconBraces,
  words: words("json"),
  width: 220,
  isInline: false,
  isNumber: false,
  operators: ["~", "!~", ...nullness],
  completions: ["=", "!=", ">", ">=", "<", "<=", "~", "!~", "in"],
  values: [noValue, callerId, callerEmail],
  read: operandWith,
  firstDefault: "{}",
  isDefault: (value, typed) => typed.trim() !== "null" && (typeof value !== "string" || typed.trim().startsWith('"')),
  example: {},
  Cell: JsonCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/json-control.tsx")).JsonControl),
};
