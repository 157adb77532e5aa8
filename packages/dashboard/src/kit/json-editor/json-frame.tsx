/** The frame around the code: the place of the first error, and the button that formats. */
import { Group, Input, Text, UnstyledButton } from "@mantine/core";
import { IconBraces } from "@tabler/icons-react";
import { useMemo } from "react";
import { text } from "../../texts/index.ts";
import { CodeArea } from "./code-area.tsx";
import classes from "./json-editor.module.css";
import type { JsonEditorProps } from "./json-editor.tsx";
import { jsonErrorPlace } from "./place.ts";

export function JsonFrame(props: JsonEditorProps) {
  const { value, onChange, readOnly = false, label, error, autoFocus = false, minHeight = 96, maxHeight = 360 } = props;
  const place = useMemo(() => (readOnly ? null : jsonErrorPlace(value)), [readOnly, value]);
  const format = (): void => onChange?.(JSON.stringify(JSON.parse(value), null, 2));
  return (
    <div className={classes["frame"]} data-invalid={error !== undefined || undefined}>
      <CodeArea {...{ value, onChange, readOnly, label, autoFocus, minHeight, maxHeight }} />
      {!readOnly && (
        <Group className={classes["bar"]} justify="space-between" wrap="nowrap" gap="sm">
          <Text size="xs" c={place === null ? "dimmed" : "var(--mantine-color-error)"} truncate role="status">
            {place === null
              ? text.editor.jsonEditor
              : `${text.editor.jsonAt(place.line, place.column)}: ${text.editor.problems.notJson}`}
          </Text>
          {place === null && value.trim() !== "" && (
            <UnstyledButton className={classes["format"]} onClick={format}>
              <IconBraces size={12} aria-hidden /> {text.editor.format}
            </UnstyledButton>
          )}
        </Group>
      )}
      {error !== undefined && (
        <Input.Error className={classes["error"] ?? ""} role="alert">
          {error}
        </Input.Error>
      )}
    </div>
  );
}
