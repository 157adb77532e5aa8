/**
 * The control for `json`: the shared editor. The typed text is kept as text, because it is not valid JSON at each
 * moment.
 */
import { Group, Input } from "@mantine/core";
import { useEffect, useState } from "react";
import { JsonEditor } from "../../../../kit/index.ts";
import { text } from "../../../../texts/index.ts";
import { fingerprint, formatJson, parseJson } from "../edits.ts";
import { ClearButton, canClear } from "./clear-button.tsx";
import { type ControlProps, isCompact } from "./control.ts";
import classes from "./controls.module.css";

export interface JsonControlProps extends ControlProps {
  /** The text, where a form keeps it. */
  typed: string | undefined;
  onTyped: ((text: string) => void) | undefined;
}

export function JsonControl(props: JsonControlProps) {
  const { field, value, onChange, error, label, autoFocus, onInvalid, typed, onTyped } = props;
  const [own, setOwn] = useState(() => formatJson(value));
  const read = parseJson(own);
  const isOwn = "problem" in read || fingerprint(read.value) === fingerprint(value);
  const shown = typed ?? (isOwn ? own : formatJson(value));
  const isBroken = "problem" in parseJson(shown);
  const problem = isBroken ? text.editor.problems.notJson : null;
  useEffect(() => onInvalid(problem), [problem, onInvalid]);

  const change = (next: string): void => {
    setOwn(next);
    onTyped?.(next);
    const parsed = parseJson(next);
    if ("value" in parsed) onChange(parsed.value);
  };
  const editor = (
    <JsonEditor
      value={shown}
      onChange={change}
      label={field.name}
      error={error}
      autoFocus={autoFocus}
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
