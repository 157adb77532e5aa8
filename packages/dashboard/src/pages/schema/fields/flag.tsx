/** An option of a field that is on or off. */
import { Switch, type SwitchProps } from "@mantine/core";

interface FlagProps extends Omit<SwitchProps, "description" | "checked" | "onChange"> {
  hint: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
}

export function Flag({ hint, isOn, onChange, ...flag }: FlagProps) {
  return (
    <Switch
      size="xs"
      description={hint}
      checked={isOn}
      onChange={(event) => onChange(event.currentTarget.checked)}
      {...flag}
    />
  );
}
