/** True or false. */
import { IconCheck, IconToggleLeft, IconX } from "@tabler/icons-react";
import { preloadable } from "../kit/preloadable.tsx";
import classes from "./cell.module.css";
import { type CellProps, type FieldKind, noValue, nullness, operandWith, words } from "./kind.ts";

function BooleanCell({ value }: CellProps) {
  return (
    <span className={classes["boolean"]} data-is-true={value === true || undefined}>
      {value === true ? <IconCheck size={15} stroke={2.2} aria-hidden /> : <IconX size={14} aria-hidden />}
      <span>{String(value)}</span>
    </span>
  );
}

export const booleanKind: FieldKind = {
  icon: IconToggleLeft,
  words: words("boolean"),
  width: 104,
  isInline: true,
  choices: ["true", "false"],
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
