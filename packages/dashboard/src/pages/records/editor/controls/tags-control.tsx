/** The control for a multiple `string`: the texts as tags, typed freely or chosen from the field's values. */
import { MultiSelect, TagsInput } from "@mantine/core";
import { text } from "../../../../texts/index.ts";
import { type ControlProps, inputOrder, inputProps } from "./control.ts";
import classes from "./controls.module.css";
import { itemsOf } from "./items.ts";

export function TagsControl(props: ControlProps) {
  const { field, value, onChange } = props;
  const items = [...itemsOf(value)];
  const shared = {
    ...inputProps(props),
    value: items,
    onChange: (next: string[]) => onChange(next),
    inputWrapperOrder: inputOrder,
    classNames: { label: classes["label"] ?? "" },
    ...(field.max !== undefined && (field.values === undefined ? { maxTags: field.max } : { maxValues: field.max })),
  };
  if (field.values === undefined)
    return <TagsInput {...shared} placeholder={items.length === 0 ? text.editor.typeTag : ""} />;
  // A value that the definition has lost meanwhile stays visible until the user removes the value.
  const data = [...new Set([...field.values, ...items])];
  return (
    <MultiSelect {...shared} data={data} placeholder={items.length === 0 ? text.editor.choose : ""} hidePickedOptions />
  );
}
