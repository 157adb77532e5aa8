/** The control for the number that the service gives to a record: read-only. */
import { TextInput } from "@mantine/core";
import { text } from "../../../../texts/index.ts";
import { type ControlProps, inputOrder } from "./control.ts";
import classes from "./controls.module.css";

export function SequenceControl({ field, value, error, label, size }: ControlProps) {
  return (
    <TextInput
      label={label}
      size={size}
      error={error}
      aria-label={label === undefined ? field.name : undefined}
      value={value === null ? "" : String(value)}
      placeholder={text.editor.numbered}
      readOnly
      variant="filled"
      inputWrapperOrder={inputOrder}
      classNames={{ label: classes["label"] ?? "" }}
    />
  );
}
