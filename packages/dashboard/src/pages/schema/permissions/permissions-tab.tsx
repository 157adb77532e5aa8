/** The permissions as a matrix: an operation per row, a rule per column; the editor of an expression is below its row. */
import { Box, List, Radio, Tooltip, VisuallyHidden } from "@mantine/core";
import { isRuleWord, type Operation, PERMISSION_RULES, USERS } from "@socle/protocol";
import { type ReactNode, useId, useState } from "react";
import { Dim, Notice } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { operationsOf, type PermissionDraft, rulesOfUsers, type SchemaDraft } from "../draft/draft.ts";
import type { Edit } from "../draft/edits.ts";
import classes from "./permissions.module.css";
import { RuleEditor, useRuleHelp } from "./rule-help.tsx";
import { type EffectiveRule, effectiveRule, expressionFor, mistakeIn, sentenceOf, warningsOf } from "./rules.ts";

const words = text.schema.permissions;

export function PermissionsTab(props: {
  draft: SchemaDraft;
  apply: (edit: Edit) => void;
  /** Shown beside the matrix. */
  children?: ReactNode;
}) {
  const { draft, apply, children } = props;
  const areUsers = draft.name.trim() === USERS;
  const permissions = areUsers ? rulesOfUsers(draft.permissions) : draft.permissions;
  const warnings = warningsOf(permissions);
  return (
    <div className={classes["frame"]}>
      <div className={classes["tab"]}>
        <div className={classes["main"]}>
          <table className={classes["matrix"]}>
            <VisuallyHidden component="caption">{words.caption}</VisuallyHidden>
            <thead>
              <tr>
                <th scope="col">{words.operation}</th>
                {PERMISSION_RULES.map((rule) => (
                  <th key={rule} scope="col">
                    <Tooltip label={words.ruleHints[rule]}>
                      <span>{words.rules[rule]}</span>
                    </Tooltip>
                  </th>
                ))}
                <th scope="col">
                  <Tooltip label={words.expressionHint} multiline w={240}>
                    <span>{words.expression}</span>
                  </Tooltip>
                </th>
                {!areUsers && (
                  <th scope="col">
                    <Tooltip label={words.inheritHint} multiline w={240}>
                      <span>{words.inherit}</span>
                    </Tooltip>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {operationsOf(draft.name).map((operation) => (
                <OperationRows
                  key={operation}
                  operation={operation}
                  permissions={permissions}
                  mayInherit={!areUsers}
                  apply={apply}
                />
              ))}
            </tbody>
          </table>
          {warnings.length > 0 && (
            <Notice tone="warn" title={words.risksTitle} mt="lg">
              <List size="sm" spacing={2}>
                {warnings.map((warning) => (
                  <List.Item key={warning}>{warning}</List.Item>
                ))}
              </List>
            </Notice>
          )}
        </div>
        {children !== undefined && <Box miw={0}>{children}</Box>}
      </div>
    </div>
  );
}

/** Columns of the matrix: the operation, the four words, an expression, and no rule. */
const columns = PERMISSION_RULES.length + 3;

/** The source of a rule in words; null for a rule of its own. */
function originOf(from: EffectiveRule["from"]): string | null {
  return from === null ? null : words.origins[from];
}

function OperationRows(props: {
  operation: Operation;
  permissions: PermissionDraft;
  mayInherit: boolean;
  apply: (edit: Edit) => void;
}) {
  const { operation, permissions, mayInherit, apply } = props;
  const { ownerField, mistake } = useRuleHelp();
  const own = permissions[operation];
  const { rule, from } = effectiveRule(permissions, operation);
  const origin = originOf(from);
  // The user types the word `owner` on the way to `owner = …`: the editor stays during typing.
  const [isWriting, setWriting] = useState(false);
  const [wasChosen, setChosen] = useState(false);
  // The expression before the choice of a word: the choice of "expression" restores the expression.
  const [written, setWritten] = useState("");
  const isExpression = own !== null && (isWriting || !isRuleWord(own));
  const set = (next: string | null): void => apply({ edit: "rule", operation, rule: next });
  const choose = (next: string | null): void => {
    if (isExpression && !isRuleWord(own)) setWritten(own);
    setWriting(false);
    set(next);
  };
  const write = (): void => {
    setWriting(true);
    setChosen(true);
    set(written === "" ? expressionFor(rule, ownerField) : written);
  };
  const choice = { operation, inherited: own === null };
  return (
    <>
      <tr className={classes["operation"]}>
        <th scope="row">{words.operations[operation]}</th>
        {PERMISSION_RULES.map((word) => (
          <Choice
            key={word}
            {...choice}
            name={words.rules[word]}
            isChecked={own === word && !isExpression}
            isEffective={rule === word}
            onPick={() => choose(word)}
          />
        ))}
        <Choice
          {...choice}
          name={words.expression}
          isChecked={isExpression}
          isEffective={!isRuleWord(rule)}
          onPick={write}
        />
        {mayInherit && (
          <Choice
            {...choice}
            name={operation === "read" ? words.inheritDefault : words.inherit}
            isChecked={own === null}
            isEffective={false}
            onPick={() => choose(null)}
          />
        )}
      </tr>
      <tr className={classes["sentence"]}>
        <td colSpan={mayInherit ? columns : columns - 1}>
          {isExpression ? (
            <RuleEditor
              label={words.expressionOf(words.operations[operation])}
              value={own}
              hint={words.lookedAt[operation]}
              mistake={isRuleWord(own) ? words.isWord(own) : mistakeIn(mistake, null, operation)}
              autoFocus={wasChosen}
              onChange={(next) => {
                setWriting(true);
                set(next);
              }}
            />
          ) : (
            <Dim size="sm">
              {sentenceOf(operation, rule)}
              {origin !== null && ` ${origin}.`}
            </Dim>
          )}
          {own === null && !isRuleWord(rule) && <code className={classes["rule"]}>{rule}</code>}
        </td>
      </tr>
    </>
  );
}

function Choice(props: {
  operation: Operation;
  name: string;
  isChecked: boolean;
  /** Whether the rule is in force, chosen here or inherited from the operation before. */
  isEffective: boolean;
  inherited: boolean;
  onPick: () => void;
}) {
  const { operation, name, isChecked, isEffective, inherited, onPick } = props;
  const id = useId();
  return (
    <td data-inherited={(inherited && isEffective) || undefined}>
      <label className={classes["choice"]} htmlFor={id}>
        <Radio
          id={id}
          name={`rule ${operation}`}
          aria-label={words.choice(words.operations[operation], name)}
          checked={isChecked}
          onChange={onPick}
          className={classes["radio"]}
        />
        <span className={classes["choiceName"]}>{name}</span>
      </label>
    </td>
  );
}
