/** The parts that every control gets. */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import type { ReactNode } from "react";

export interface ControlProps {
  field: FieldDefinition;
  value: JsonValue;
  onChange: (value: JsonValue) => void;
  error: string | undefined;
  /** The visible label with its hints; undefined in a cell, where the field's name is the accessible name alone. */
  label: ReactNode | undefined;
  size: "xs" | "sm";
  autoFocus: boolean;
  /** Told when what stands in the control is no value of the field, and when it is one again. */
  onInvalid: (problem: string | null) => void;
}

/** Whether a control stands in a cell. */
export function isCompact({ size }: Pick<ControlProps, "size">): boolean {
  return size === "xs";
}

/** Order of the parts of an input: a note stands below it. */
export const inputOrder: ("label" | "input" | "description" | "error")[] = ["label", "input", "description", "error"];

/** The props of an input that every control of one gives it: its label, its accessible name, its error and its focus. */
export function inputProps(props: Pick<ControlProps, "field" | "label" | "size" | "error" | "autoFocus">) {
  const { field, label, size, error, autoFocus } = props;
  return {
    label,
    size,
    error,
    autoFocus,
    "data-autofocus": autoFocus || undefined,
    "aria-label": label === undefined ? field.name : undefined,
    "aria-required": field.required === true || undefined,
  };
}
