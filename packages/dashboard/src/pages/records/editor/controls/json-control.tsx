/**
 * The control for `json`: the shared editor. The control keeps the typed text, because the text is not valid JSON at every
 * moment. A large value is shown by its beginning until the user asks for the editor.
 */
import { Group, Input } from "@mantine/core";
import { useEffect, useMemo, useState } from "react";
import { isLarge, JsonEditor } from "../../../../kit/index.ts";
import { text } from "../../../../texts/index.ts";
import { fingerprint, formatJson, parseJson } from "../edits.ts";
import { ClearButton, canClear } from "./clear-button.tsx";
import { type ControlProps, isCompact } from "./control.ts";
import classes from "./controls.module.css";
import { LargeText } from "./large-text.tsx";

export function JsonControl(props: ControlProps) {
  const { field, value, onChange, error, label, autoFocus, onInvalid, typed, onTyped } = props;
  /** The text that was typed here; null before the first key. */
  const [own, setOwn] = useState<string | null>(null);
  const [isForced, force] = useState(false);
  const shown = useMemo(() => {
    const read = own === null ? null : parseJson(own);
    const isOwn = read !== null && ("problem" in read || fingerprint(read.value) === fingerprint(value));
    return typed ?? (isOwn && own !== null ? own : formatJson(value));
  }, [own, typed, value]);
  const problem = "problem" in parseJson(shown) ? text.editor.problems.notJson : null;
  useEffect(() => onInvalid(problem), [problem, onInvalid]);

  const change = (next: string): void => {
    setOwn(next);
    onTyped?.(next);
    const parsed = parseJson(next);
    if ("value" in parsed) onChange(parsed.value);
  };
  if (own === null && !isForced && isLarge(shown))
    return <LargeText content={shown} field={field} label={label} error={error} onEdit={() => force(true)} />;
  const editor = (
    <JsonEditor
      value={shown}
      onChange={change}
      label={field.name}
      error={error}
      autoFocus={autoFocus || isForced}
      minHeight={isCompact(props) ? 64 : 72}
      maxHeight={isCompact(props) ? 200 : 360}
    />
  );
  if (isCompact(props)) return editor;
  const title = (
    <Group gap={4} wrap="nowrap" w="100%">
      {label}
      {canClear({ field, value: shown === "" ? null : shown }) && (
        <ClearButton
          field={field}
          onChange={() => {
            change("");
          }}
        />
      )}
    </Group>
  );
  return (
    <Input.Wrapper label={title} labelElement="div" classNames={{ label: classes["label"] ?? "" }}>
      {editor}
    </Input.Wrapper>
  );
}
