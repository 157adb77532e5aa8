/** The editor of a rule that is an expression: its text with completion, the service's complaint, and when it is looked at. */
import { Text } from "@mantine/core";
import type { Operation } from "@socle/protocol";
import { useId } from "react";
import { ExpressionEditor, errorPosition, type Schema } from "../../../kit/expression/index.ts";
import { text } from "../../../texts/index.ts";
import classes from "./permissions.module.css";

const words = text.schema.permissions;

export function RuleEditor(props: {
  collection: string;
  operation: Operation;
  value: string;
  schema: Schema;
  /** The service's complaint about it. */
  mistake: string | undefined;
  autoFocus: boolean;
  onChange: (value: string) => void;
}) {
  const { collection, operation, value, schema, mistake, autoFocus, onChange } = props;
  const errorId = useId();
  const message = value.trim() === "" ? words.emptyRule : mistake;
  return (
    <div className={classes["editor"]}>
      <ExpressionEditor
        collection={collection}
        value={value}
        schema={schema}
        label={words.expressionOf(words.operations[operation])}
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
      <Text size="xs" c="dimmed">
        {words.lookedAt[operation]}
      </Text>
    </div>
  );
}
