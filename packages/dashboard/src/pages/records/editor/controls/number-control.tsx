/** The control for `integer` and `float`: a text input, because number inputs of browsers and libraries round. */
import { TextInput } from "@mantine/core";
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import { type KeyboardEvent, useState } from "react";
import { text } from "../../../../texts/index.ts";
import { parseNumber, stepNumber } from "../numbers.ts";
import { type ControlProps, inputProps, isCompact, typedProps } from "./control.tsx";

export function NumberControl(props: ControlProps) {
  return props.field.sequence === undefined ? <TypedNumber {...props} /> : <GivenNumber {...props} />;
}

/** The number that the service gives to a record: read-only. */
function GivenNumber(props: ControlProps) {
  return (
    <TextInput
      {...inputProps(props)}
      value={written(props.value)}
      placeholder={text.editor.numbered}
      readOnly
      variant="filled"
    />
  );
}

function written(value: JsonValue): string {
  return typeof value === "number" || typeof value === "string" ? String(value) : "";
}

/** The service checks the same bounds at the save; this control checks the bounds during typing. */
function boundProblem({ min, max }: FieldDefinition, value: number): string | null {
  if (min !== undefined && value < min) return text.editor.problems.atLeast(min);
  return max !== undefined && value > max ? text.editor.problems.atMost(max) : null;
}

function problemOf(field: FieldDefinition, shown: string, read: ReturnType<typeof parseNumber>): string | null {
  if (shown.trim() === "") return null;
  return "problem" in read ? text.editor.problems[read.problem] : boundProblem(field, read.value);
}

function TypedNumber(props: ControlProps) {
  const { field, value, onChange, error } = props;
  const type = field.type === "integer" ? "integer" : "float";
  const [typed, setTyped] = useState(written(value));
  const parsed = parseNumber(typed, type);
  // "1.50" and 1.5 are equal: the typed text stays as long as the text means the value.
  const isTyped = value === null ? typed.trim() === "" : "value" in parsed ? parsed.value === value : typed === value;
  const shown = isTyped ? typed : written(value);
  const current = parseNumber(shown, type);
  const change = (next: string): void => {
    setTyped(next);
    const read = parseNumber(next, type);
    // The control passes on a text that is not a number: the draft keeps the text, and no code takes the text for a value.
    onChange(next.trim() === "" ? null : "value" in read ? read.value : next);
  };
  const step = (event: KeyboardEvent): void => {
    if ((event.key !== "ArrowUp" && event.key !== "ArrowDown") || !("value" in current)) return;
    event.preventDefault();
    const size = (event.shiftKey ? 10 : 1) * (event.key === "ArrowUp" ? 1 : -1);
    const next = stepNumber(current.value, size, field);
    if (next !== null) change(String(next));
  };
  const isRounded = "value" in current && !current.isExact;
  return (
    <TextInput
      {...typedProps({ ...props, error: problemOf(field, shown, current) ?? error })}
      autoComplete="off"
      className="numbers"
      inputMode={type === "integer" ? "numeric" : "decimal"}
      value={shown}
      onChange={(event) => change(event.currentTarget.value)}
      onKeyDown={isCompact(props) ? undefined : step}
      description={isRounded ? text.editor.storedAs(String(current.value)) : null}
    />
  );
}
