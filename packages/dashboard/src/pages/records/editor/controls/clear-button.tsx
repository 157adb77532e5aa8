/**
 * The button that sets a field to null. The page shows the button while the value is not null and the field is not required. In a
 * form, Tab skips the button of a changed field: the button appears with the first character, and Tab goes to the next field.
 */
import { CloseButton } from "@mantine/core";
import type { JsonValue } from "@socle/protocol";
import { createContext, type MouseEvent, useContext } from "react";
import { text } from "../../../../texts/index.ts";
import type { ControlProps } from "./control.ts";

export function canClear({ field, value }: { field: ControlProps["field"]; value: JsonValue }): boolean {
  return value !== null && field.required !== true;
}

/** Whether the field is changed in a form. The form then has a button that takes the change back. */
export const ChangedField = createContext(false);

export function ClearButton({ field, onChange }: Pick<ControlProps, "field" | "onChange">) {
  const isChanged = useContext(ChangedField);
  const label = text.editor.clear(field.name);
  const clear = (event: MouseEvent<HTMLElement>): void => {
    // The button disappears with the value, so the focus moves to the control.
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
