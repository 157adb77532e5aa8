/** The rules of a field: which users may read and write its value, in addition to the record's rules. */
import { Stack } from "@mantine/core";
import { FIELD_OPERATIONS, type FieldOperation, isRuleWord, type Rule } from "@socle/protocol";
import { useState } from "react";
import { Choice } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import type { FieldDraft } from "../draft/draft.ts";
import type { FieldPatch } from "../draft/edits.ts";
import { RuleEditor, useRuleHelp } from "../permissions/rule-help.tsx";
import { expressionFor, mistakeIn } from "../permissions/rules.ts";

const words = text.schema.fields.rules;

interface FieldRulesProps {
  field: FieldDraft;
  onPatch: (patch: FieldPatch) => void;
  /** Whether the field follows an account: then the rule says who reads the field. */
  isOfAccount?: boolean;
}

export function FieldRules({ field, onPatch, isOfAccount = false }: FieldRulesProps) {
  const { permissions } = field;
  const operations: readonly FieldOperation[] = isOfAccount ? ["read"] : FIELD_OPERATIONS;
  return (
    <Stack gap="sm" maw={640}>
      {operations.map((operation) => (
        <FieldRule
          key={operation}
          isOptional={!isOfAccount}
          name={field.name.trim()}
          operation={operation}
          rule={permissions[operation]}
          onRule={(rule) => onPatch({ permissions: { ...permissions, [operation]: rule } })}
        />
      ))}
    </Stack>
  );
}

function FieldRule(props: {
  name: string;
  operation: FieldOperation;
  /** Whether the field may go without a rule. */
  isOptional: boolean;
  rule: Rule | null;
  onRule: (rule: Rule | null) => void;
}) {
  const { name, operation, isOptional, rule, onRule } = props;
  const { ownerField, mistake } = useRuleHelp();
  // Many expressions begin with a word, for example `owner`: the editor stays during typing.
  const [isWriting, setWriting] = useState(false);
  const isExpression = rule !== null && (isWriting || !isRuleWord(rule));
  const choice: string = rule === null ? "none" : isExpression ? "expression" : rule;
  const choices: Readonly<Record<string, string>> = {
    ...(isOptional && { none: words.none[operation] }),
    ...text.schema.permissions.rules,
    expression: text.schema.permissions.expression,
  };
  const choose = (next: string): void => {
    setWriting(next === "expression");
    if (next === "expression") onRule(expressionFor(rule ?? "authenticated", ownerField));
    else onRule(next === "none" ? null : next);
  };
  return (
    <>
      <Choice
        label={words.labels[operation]}
        description={rule === null ? words.nothing[operation] : words.hints[operation]}
        inputWrapperOrder={["label", "input", "description", "error"]}
        words={choices}
        value={choice}
        onChange={choose}
        maw={420}
      />
      {isExpression && (
        <RuleEditor
          label={words.expressionOf(words.labels[operation])}
          value={rule}
          hint={words.lookedAt[operation]}
          mistake={isRuleWord(rule) ? text.schema.permissions.isWord(rule) : mistakeIn(mistake, name, operation)}
          autoFocus={isWriting}
          onChange={(next) => {
            setWriting(true);
            onRule(next);
          }}
        />
      )}
    </>
  );
}
