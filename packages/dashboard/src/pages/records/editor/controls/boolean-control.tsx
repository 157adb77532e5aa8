/** The control for `boolean`: a checkbox for a required value; yes, no and null for any other field. */
import { Checkbox, Input, SegmentedControl } from "@mantine/core";
import { useId } from "react";
import { text } from "../../../../texts/index.ts";
import { type ControlProps, isCompact } from "./control.ts";
import classes from "./controls.module.css";

const choices = [
  { value: "true", label: text.editor.yes },
  { value: "false", label: text.editor.no },
  { value: "null", label: text.editor.null },
];

export function BooleanControl(props: ControlProps) {
  const { field, value, onChange, error, label, size, autoFocus } = props;
  const labelId = useId();
  const naming = label === undefined ? { "aria-label": field.name } : { "aria-labelledby": labelId };
  const state = value === true ? text.editor.yes : value === false ? text.editor.no : text.editor.notChosen;
  const control =
    field.required === true ? (
      <Checkbox
        {...(isCompact(props) ? naming : { label: state, ...naming })}
        size={size}
        checked={value === true}
        indeterminate={value === null}
        autoFocus={autoFocus}
        data-autofocus={autoFocus || undefined}
        onChange={(event) => onChange(event.currentTarget.checked)}
        py={isCompact(props) ? 4 : 6}
      />
    ) : (
      <SegmentedControl
        {...naming}
        size="xs"
        data={choices}
        autoFocus={autoFocus}
        data-autofocus={autoFocus || undefined}
        value={String(value)}
        onChange={(next) => onChange(next === "null" ? null : next === "true")}
        className={classes["segments"]}
      />
    );
  return (
    <Input.Wrapper
      label={label}
      error={error}
      labelElement="div"
      labelProps={{ id: labelId }}
      classNames={{ label: classes["label"] ?? "" }}
    >
      <div>{control}</div>
    </Input.Wrapper>
  );
}
