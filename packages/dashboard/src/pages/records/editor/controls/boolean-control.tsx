/** The control for `boolean`: a checkbox for a required value; yes, no and null for any other field. */
import { Checkbox, SegmentedControl } from "@mantine/core";
import { useId } from "react";
import { text } from "../../../../texts/index.ts";
import { ControlFrame, type ControlProps, isCompact } from "./control.tsx";

const choices = [
  { value: "true", label: text.editor.yes },
  { value: "false", label: text.editor.no },
  { value: "null", label: text.editor.null },
];

export function BooleanControl(props: ControlProps) {
  const { field, value, onChange, error, label, size, autoFocus } = props;
  const labelId = useId();
  const shared = {
    ...(label === undefined ? { "aria-label": field.name } : { "aria-labelledby": labelId }),
    autoFocus,
    "data-autofocus": autoFocus || undefined,
  };
  const state = value === true ? text.editor.yes : value === false ? text.editor.no : text.editor.notChosen;
  return (
    <ControlFrame label={label} error={error} labelProps={{ id: labelId }}>
      <div>
        {field.required === true ? (
          <Checkbox
            {...(!isCompact(props) && { label: state })}
            {...shared}
            size={size}
            checked={value === true}
            indeterminate={value === null}
            onChange={(event) => onChange(event.currentTarget.checked)}
            py={isCompact(props) ? 4 : 6}
          />
        ) : (
          <SegmentedControl
            {...shared}
            size="xs"
            data={choices}
            value={String(value)}
            onChange={(next) => onChange(next === "null" ? null : next === "true")}
            maw="100%"
          />
        )}
      </div>
    </ControlFrame>
  );
}
