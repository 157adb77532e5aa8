/** Controls for `string` and `text`: a typed text, a choice, or tags. The empty string and null are different values, and look different. */
import { Anchor, MultiSelect, Select, TagsInput, Text, Textarea, TextInput } from "@mantine/core";
import type { FieldDefinition } from "@socle/protocol";
import { type ReactNode, useState } from "react";
import { isLarge } from "../../../../kit/index.ts";
import { text } from "../../../../texts/index.ts";
import { addressLink } from "../../data/addresses.ts";
import { type ControlProps, inputProps, isCompact, typedProps } from "./control.tsx";
import { itemsOf } from "./items.ts";
import { LargeText } from "./large-text.tsx";
import { MarkdownControl } from "./markdown-control.tsx";

export function StringControl(props: ControlProps) {
  const { multiple, values, format } = props.field;
  if (multiple === true) return <TagsControl {...props} />;
  if (format === "markdown" && !isCompact(props))
    return (
      <MarkdownControl {...props}>
        <TypedText {...props} label={undefined} />
      </MarkdownControl>
    );
  return values === undefined ? <TypedText {...props} /> : <ValuesControl {...props} />;
}

function TypedText(props: ControlProps) {
  const { field, value, onChange } = props;
  const [isForced, force] = useState(false);
  const [wasLarge] = useState(() => typeof value === "string" && isLarge(value));
  const content = typeof value === "string" ? value : "";
  if (wasLarge && !isForced && isLarge(content))
    return <LargeText {...props} content={content} onEdit={() => force(true)} />;
  const typed = typedProps(props);
  const shared = {
    ...typed,
    value: content,
    placeholder: value === null ? typed.placeholder : text.editor.empty,
    description: lengthNote(content, field.max) ?? linkNote(field, content),
    ...(field.format === "email" || field.format === "url" ? { inputMode: field.format } : {}),
  };
  const hasLines =
    field.type === "text" || content.includes("\n") || (field.format === "markdown" && !isCompact(props));
  if (!hasLines) return <TextInput {...shared} onChange={(event) => onChange(event.currentTarget.value)} />;
  // Measuring a long text at each key takes longer than typing: a long text scrolls in a fixed height.
  const isLong = content.length > 20_000;
  const rows = isCompact(props) ? { minRows: 1, maxRows: 5 } : { minRows: 2, maxRows: 14 };
  return (
    <Textarea
      {...shared}
      rightSectionProps={{ style: { alignItems: "flex-start", paddingTop: isCompact(props) ? 4 : 7 } }}
      {...(isLong ? { rows: rows.maxRows } : { autosize: true, ...rows })}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** The length beside its bound, when the text uses four fifths of the bound. */
function lengthNote(content: string, max: number | undefined): ReactNode {
  // A code point is 1 or 2 code units, so a short text needs no counting.
  if (max === undefined || content.length < max * 0.8) return null;
  let length = 0;
  for (const _ of content) length += 1;
  if (length < max * 0.8) return null;
  return (
    <Text span size="xs" className="numbers" c={length > max ? "var(--mantine-color-error)" : "dimmed"}>
      {text.editor.length(length, max)}
    </Text>
  );
}

/** The link of an address; null for any other text. */
function linkNote(field: FieldDefinition, content: string): ReactNode {
  const link = addressLink(field, content);
  if (link === null) return null;
  return (
    <Anchor {...link} size="xs">
      {text.editor.openAddress[field.format === "email" ? "email" : "url"]}
    </Anchor>
  );
}

/** A choice of the field's values, in their order. */
function ValuesControl(props: ControlProps) {
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
function TagsControl(props: ControlProps) {
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
