/** Controls for a `string` with fixed values, and for several texts: a choice, or tags. */
import { MultiSelect, Select, TagsInput } from "@mantine/core";
import { text } from "../../../../texts/index.ts";
import { type ControlProps, inputProps } from "./control.tsx";
import { itemsOf } from "./items.ts";

/** A choice of the field's values, in their order. */
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
    />
  );
}

/** The texts of a multiple field as tags, typed freely or chosen from the field's values. */
export function TagsControl(props: ControlProps) {
  const { field, value, onChange } = props;
  const items = [...itemsOf(value)];
  const shared = { ...inputProps(props), value: items, onChange: (next: string[]) => onChange(next) };
  const most = field.max ?? Number.POSITIVE_INFINITY;
  if (field.values === undefined)
    return <TagsInput {...shared} maxTags={most} placeholder={items.length === 0 ? text.editor.typeTag : ""} />;
  // A value that the definition has lost meanwhile stays visible until the user removes the value.
  const data = [...new Set([...field.values, ...items])];
  const placeholder = items.length === 0 ? text.editor.choose : "";
  return <MultiSelect {...shared} maxValues={most} data={data} placeholder={placeholder} hidePickedOptions />;
}
