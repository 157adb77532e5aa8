/** The props and helpers shared by all controls. */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import type { ReactNode } from "react";

export interface ControlProps {
  field: FieldDefinition;
  value: JsonValue;
  onChange: (value: JsonValue) => void;
  error: string | undefined;
  /** The visible label with its hints; undefined in a cell, where the field's name is only the accessible name. */
  label: ReactNode | undefined;
  size: "xs" | "sm";
  autoFocus: boolean;
  /** Called with a problem when the text in the control is no value of the field; with null when the text is a value again. */
  onInvalid: (problem: string | null) => void;
  /** For json: the typed text, if the form keeps the text. */
  typed?: string | undefined;
  onTyped?: ((text: string) => void) | undefined;
}

/** Whether a control is in a cell of the grid. */
export function isCompact({ size }: Pick<ControlProps, "size">): boolean {
  return size === "xs";
}

/** Order of the parts of an input: the note is below the input. */
export const inputOrder: ("label" | "input" | "description" | "error")[] = ["label", "input", "description", "error"];

/** Props shared by all controls with an input: the label, the accessible name, the error and the focus. */
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
