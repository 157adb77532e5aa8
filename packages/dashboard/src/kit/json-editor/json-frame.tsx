/** The frame around the code: the place of the first error, and the button that formats. */
import { Group, Input, Text, UnstyledButton } from "@mantine/core";
import { IconBraces } from "@tabler/icons-react";
import { useMemo } from "react";
import { text } from "../../texts/index.ts";
import { CodeArea } from "./code-area.tsx";
import classes from "./json-editor.module.css";
import type { JsonEditorProps } from "./json-editor.tsx";
import { isLarge } from "./large.ts";
import { isJson, jsonErrorPlace } from "./place.ts";

/** The message for invalid JSON. A large text gets a message without a place, because the grammar would need seconds for megabytes. */
function complaintOf(value: string): string | null {
  if (isLarge(value)) return isJson(value) ? null : text.editor.problems.notJson;
  const place = jsonErrorPlace(value);
  return place && `${text.editor.jsonAt(place.line, place.column)}: ${text.editor.problems.notJson}`;
}

export function JsonFrame(props: JsonEditorProps) {
  const { value, onChange, readOnly = false, error, minHeight = 96, maxHeight = 360 } = props;
  const complaint = useMemo(() => (readOnly ? null : complaintOf(value)), [readOnly, value]);
  const format = (): void => onChange?.(JSON.stringify(JSON.parse(value), null, 2));
  return (
    <div className={classes["frame"]} data-invalid={error !== undefined || undefined}>
      <CodeArea {...props} style={{ minHeight, maxHeight }} />
      {!readOnly && (
        <Group className={classes["bar"]} justify="space-between" wrap="nowrap" gap="sm">
          <Text size="xs" c={complaint === null ? "dimmed" : "var(--mantine-color-error)"} truncate role="status">
            {complaint ?? text.editor.jsonEditor}
          </Text>
          {complaint === null && value.trim() !== "" && (
            <UnstyledButton className={classes["format"]} onClick={format}>
              <IconBraces size={12} aria-hidden /> {text.editor.format}
            </UnstyledButton>
          )}
        </Group>
      )}
      {error !== undefined && (
        <Input.Error px={8} pb={6} role="alert">
          {error}
        </Input.Error>
      )}
    </div>
  );
}
