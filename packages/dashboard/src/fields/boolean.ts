/** True or false. */
import { IconToggleLeft } from "@tabler/icons-react";
import { preloadable } from "../kit/preloadable.tsx";
import { BooleanCell } from "../pages/records/grid/cells.tsx";
import { type FieldKind, noValue, nullness, operandWith, words } from "./kind.ts";

export const booleanKind: FieldKind = {
  icon: IconToggleLeft,
  words: words("boolean"),
  width: 104,
  isInline: true,
  isNumber: false,
  operators: ["=", "!=", ...nullness],
  completions: ["=", "!=", "in"],
  values: [["true", ""], ["false", ""], noValue],
  read: (typed) => (typed === "true" || typed === "false" ? operandWith(typed === "true") : null),
  firstDefault: "false",
  isDefault: (value) => typeof value === "boolean",
  example: true,
  Cell: BooleanCell,
  control: preloadable(
    async () => (await import("../pages/records/editor/controls/boolean-control.tsx")).BooleanControl,
  ),
};
