/** The control for a value of a field, by its type. */
import { TextInput } from "@mantine/core";
import type { FieldDefinition, JsonValue } from "@socle/protocol";

export interface FieldControlProps {
  field: FieldDefinition;
  value: JsonValue;
  onChange: (value: JsonValue) => void;
  /** The service's or the control's own complaint. */
  error?: string | undefined;
  /** A label above it; without one it has the field's name as its accessible name only, as in a cell of a grid. */
  label?: string | undefined;
  autoFocus?: boolean | undefined;
}

export function FieldControl({ field, value, onChange, error, label }: FieldControlProps) {
  return (
    <TextInput
      label={label}
      aria-label={field.name}
      value={String(value ?? "")}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
    />
  );
}
