/** The control for a `string` with `values`: a choice of the values, in their order. */
import { Select } from "@mantine/core";
import { text } from "../../../../texts/index.ts";
import { type ControlProps, inputOrder, inputProps } from "./control.ts";
import classes from "./controls.module.css";

export function ValuesControl(props: ControlProps) {
  const { field, value, onChange } = props;
  const values = field.values ?? [];
  const chosen = typeof value === "string" ? value : null;
  // A value that the definition has lost meanwhile stays visible until the user chooses a different value.
  const all = chosen === null || values.includes(chosen) ? values : [...values, chosen];
  return (
    <Select
      {...inputProps(props)}
      data={[...all]}
      value={chosen}
      onChange={onChange}
      placeholder={field.required === true ? text.editor.choose : text.editor.notSet}
      clearable={field.required !== true}
      clearButtonProps={{ "aria-label": text.editor.clear(field.name) }}
      allowDeselect={false}
      searchable={all.length > 8}
      limit={200}
      inputWrapperOrder={inputOrder}
      classNames={{ label: classes["label"] ?? "" }}
    />
  );
}
