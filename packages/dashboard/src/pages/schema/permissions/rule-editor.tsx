/** The editor of a rule that is an expression: its text with completion, the service's complaint, and a hint. */
import { Stack, Text } from "@mantine/core";
import { useId } from "react";
import { ExpressionEditor, errorPosition } from "../../../kit/expression/index.ts";
import { Dim } from "../../../kit/words.tsx";
import { text } from "../../../texts/index.ts";
import { useRuleHelp } from "./rule-help.tsx";

const words = text.schema.permissions;

export function RuleEditor(props: {
  /** The accessible name. */
  label: string;
  value: string;
  /** The time of the check, in words. */
  hint: string;
  mistake: string | undefined;
  autoFocus: boolean;
  onChange: (value: string) => void;
}) {
  const { label, value, hint, mistake, autoFocus, onChange } = props;
  const { collection, schema } = useRuleHelp();
  const errorId = useId();
  const message = value.trim() === "" ? words.emptyRule : mistake;
  return (
    <Stack gap={6}>
      <ExpressionEditor
        collection={collection}
        value={value}
        schema={schema}
        label={label}
        placeholder={words.expressionPlaceholder}
        errorAt={message === undefined ? null : errorPosition(message)}
        errorId={message === undefined ? undefined : errorId}
        isWrapped
        autoFocus={autoFocus}
        onChange={onChange}
      />
      {message !== undefined && (
        <Text id={errorId} size="xs" c="var(--mantine-color-error)" role="alert">
          {message}
        </Text>
      )}
      <Dim>{hint}</Dim>
    </Stack>
  );
}
