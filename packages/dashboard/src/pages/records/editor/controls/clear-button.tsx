/**
 * The button that sets a field to null. It is there as long as the field may be null and is not. In a form, Tab passes it over
 * where a change can be taken back: it comes with the first character, and Tab goes to the next field.
 */
import { CloseButton } from "@mantine/core";
import type { JsonValue } from "@socle/protocol";
import { createContext, type MouseEvent, useContext } from "react";
import { text } from "../../../../texts/index.ts";
import type { ControlProps } from "./control.ts";

export function canClear({ field, value }: { field: ControlProps["field"]; value: JsonValue }): boolean {
  return value !== null && field.required !== true;
}

/** Whether the field around has been changed in a form, which has a button to take that back. */
export const ChangedField = createContext(false);

export function ClearButton({ field, onChange }: Pick<ControlProps, "field" | "onChange">) {
  const isChanged = useContext(ChangedField);
  const label = text.editor.clear(field.name);
  const clear = (event: MouseEvent<HTMLElement>): void => {
    // The button goes with the value: the focus moves to the control.
    const control = event.currentTarget.closest("[data-control]");
    control?.querySelector<HTMLElement>('input, textarea, [contenteditable="true"], [role="combobox"]')?.focus();
    onChange(null);
  };
  return (
    <CloseButton
      size="sm"
      iconSize={14}
      aria-label={label}
      title={label}
      onClick={clear}
      tabIndex={isChanged ? -1 : undefined}
    />
  );
}
