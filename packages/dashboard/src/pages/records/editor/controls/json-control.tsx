/**
 * The control for `json` and `vector`: the shared editor. The form keeps the typed text, because the text is not valid JSON at every
 * moment. A large value is shown by its beginning until the user asks for the editor.
 */
import { Group } from "@mantine/core";
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import { useMemo, useState } from "react";
import { isLarge, JsonEditor } from "../../../../kit/index.ts";
import { ClearButton, ControlFrame, type ControlProps } from "./control.tsx";
import { LargeText } from "./large-text.tsx";

function writtenJson(value: JsonValue, { type }: FieldDefinition): string {
  if (value === null) return "";
  // The numbers of a vector stand in a line, which breaks at the spaces.
  return type === "vector" && Array.isArray(value) ? `[${value.join(", ")}]` : JSON.stringify(value, null, 2);
}

export function JsonControl(props: ControlProps) {
  const { field, value, error, label, autoFocus, typed, onTyped } = props;
  const [isForced, force] = useState(false);
  const shown = useMemo(() => typed ?? writtenJson(value, field), [typed, value, field]);
  if (!isForced && isLarge(shown)) return <LargeText {...props} content={shown} onEdit={() => force(true)} />;
  const change = (next: string): void => {
    // A text that grows in the editor stays in the editor.
    force(true);
    onTyped?.(next);
  };
  const title = (
    <Group gap={4} wrap="nowrap" w="100%">
      {label}
      <ClearButton field={field} value={shown === "" ? null : shown} onChange={() => change("")} />
    </Group>
  );
  return (
    <ControlFrame label={title}>
      <JsonEditor
        value={shown}
        onChange={change}
        label={field.name}
        error={error}
        autoFocus={autoFocus || isForced}
        minHeight={72}
        maxHeight={360}
      />
    </ControlFrame>
  );
}
