/** Controls for `string` and `text`. The empty string and null are different values, and look different. */
import { Text, Textarea, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { isLarge } from "../../../../kit/index.ts";
import { text } from "../../../../texts/index.ts";
import { TagsControl, ValuesControl } from "./choice-controls.tsx";
import { type ControlProps, isCompact, typedProps } from "./control.tsx";
import { LargeText } from "./large-text.tsx";

export function StringControl(props: ControlProps) {
  const { multiple, values } = props.field;
  if (multiple === true) return <TagsControl {...props} />;
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
    description: lengthNote(content, field.max),
  };
  const hasLines = field.type === "text" || content.includes("\n");
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
