/** The button that sets a field to null. It is there as long as the field may be null and is not. */
import { CloseButton } from "@mantine/core";
import type { JsonValue } from "@socle/protocol";
import type { MouseEvent } from "react";
import { text } from "../../../../texts/index.ts";
import type { ControlProps } from "./control.ts";

export function canClear({ field, value }: { field: ControlProps["field"]; value: JsonValue }): boolean {
  return value !== null && field.required !== true;
}

export function ClearButton({ field, onChange }: Pick<ControlProps, "field" | "onChange">) {
  const label = text.editor.clear(field.name);
  const clear = (event: MouseEvent<HTMLElement>): void => {
    // The button goes with the value: the focus moves to the control.
    const control = event.currentTarget.closest("[data-control]");
    control?.querySelector<HTMLElement>('input, textarea, [contenteditable="true"], [role="combobox"]')?.focus();
    onChange(null);
  };
  return <CloseButton size="sm" iconSize={14} aria-label={label} title={label} onClick={clear} />;
}
