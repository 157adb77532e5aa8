/** The permissions as a matrix: an operation a row, a rule a column, and each row in words. */
import { Alert, Anchor, Code, List, Radio, Text, Tooltip } from "@mantine/core";
import { OPERATIONS, type Operation, PERMISSION_RULES } from "@socle/protocol";
import { IconAlertTriangle } from "@tabler/icons-react";
import { text } from "../../../texts/index.ts";
import type { PermissionDraft, SchemaDraft } from "../draft/draft.ts";
import type { Edit } from "../draft/edits.ts";
import schemaClasses from "../schema.module.css";
import classes from "./permissions.module.css";
import { type EffectiveRule, effectiveRule, isWord, sentenceOf, warningsOf } from "./rules.ts";

const words = text.schema.permissions;

export function PermissionsTab({ draft, apply }: { draft: SchemaDraft; apply: (edit: Edit) => void }) {
  const warnings = warningsOf(draft.permissions);
  return (
    <div className={classes["tab"]}>
      <table className={classes["matrix"]}>
        <caption className={classes["caption"]}>{words.caption}</caption>
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
              <Tooltip label={words.inheritHint} multiline w={240}>
                <span>{words.inherit}</span>
              </Tooltip>
            </th>
          </tr>
        </thead>
        <tbody>
          {OPERATIONS.map((operation) => (
            <OperationRow key={operation} operation={operation} permissions={draft.permissions} apply={apply} />
          ))}
        </tbody>
      </table>
      {warnings.length > 0 && (
        <Alert
          className={schemaClasses["warning"]}
          icon={<IconAlertTriangle aria-hidden />}
          title={words.risksTitle}
          mt="lg"
        >
          <List size="sm" spacing={2}>
            {warnings.map((warning) => (
              <List.Item key={warning}>{warning}</List.Item>
            ))}
          </List>
        </Alert>
      )}
    </div>
  );
}

/** "Same as Create", or that nothing is set. */
function originOf(from: EffectiveRule["from"]): string | null {
  if (from === null) return null;
  return from === "default" ? words.byDefault : words.inherited(words.operations[from]);
}

function OperationRow(props: { operation: Operation; permissions: PermissionDraft; apply: (edit: Edit) => void }) {
  const { operation, permissions, apply } = props;
  const own = permissions[operation];
  const { rule, from } = effectiveRule(permissions, operation);
  const label = words.operations[operation];
  const origin = originOf(from);
  return (
    <>
      <tr className={classes["operation"]}>
        <th scope="row">{label}</th>
        {own !== null && !isWord(own) ? (
          <td colSpan={PERMISSION_RULES.length + 1} className={classes["custom"]}>
            <Code block aria-label={words.customOf}>
              {own}
            </Code>
            <Anchor
              component="button"
              type="button"
              size="xs"
              underline="always"
              onClick={() => apply({ edit: "rule", operation, rule: "admin" })}
            >
              {words.replaceCustom}
            </Anchor>
          </td>
        ) : (
          <>
            {PERMISSION_RULES.map((choice) => (
              <td key={choice} data-inherited={(own === null && rule === choice) || undefined}>
                <Radio
                  name={`rule ${operation}`}
                  aria-label={words.choice(label, words.rules[choice])}
                  checked={own === choice}
                  onChange={() => apply({ edit: "rule", operation, rule: choice })}
                  className={classes["radio"]}
                />
              </td>
            ))}
            <td>
              <Radio
                name={`rule ${operation}`}
                aria-label={words.choice(label, operation === "read" ? words.inheritDefault : words.inherit)}
                checked={own === null}
                onChange={() => apply({ edit: "rule", operation, rule: null })}
                className={classes["radio"]}
              />
            </td>
          </>
        )}
      </tr>
      <tr className={classes["sentence"]}>
        <td colSpan={PERMISSION_RULES.length + 2}>
          <Text size="sm" c="dimmed">
            {sentenceOf(operation, rule)}
            {origin !== null && ` ${origin}.`}
          </Text>
        </td>
      </tr>
    </>
  );
}
