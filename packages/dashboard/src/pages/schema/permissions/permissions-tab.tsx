/** The permissions as a matrix: an operation a row, a rule a column; an expression is edited below its row. */
import { Alert, List, Tooltip } from "@mantine/core";
import { OPERATIONS, PERMISSION_RULES } from "@socle/protocol";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { schemaOf } from "../../../kit/expression/index.ts";
import { collectionsQuery } from "../../../service/queries.ts";
import { text } from "../../../texts/index.ts";
import { changeOf } from "../draft/change.ts";
import { definitionOf, keptFields, type SchemaDraft } from "../draft/draft.ts";
import type { StoredDefinition } from "../draft/draft-store.ts";
import type { Edit } from "../draft/edits.ts";
import schemaClasses from "../schema.module.css";
import { OperationRows } from "./operation-rows.tsx";
import classes from "./permissions.module.css";
import { warningsOf } from "./rules.ts";
import { useRuleCheck } from "./use-rule-check.ts";

const words = text.schema.permissions;

export function PermissionsTab(props: {
  draft: SchemaDraft;
  /** The stored definition that the draft began with; null for a new collection. */
  base: StoredDefinition | null;
  apply: (edit: Edit) => void;
  /** Beside the matrix. */
  children?: ReactNode;
}) {
  const { draft, base, apply, children } = props;
  const warnings = warningsOf(draft.permissions);
  const definition = useMemo(() => definitionOf(draft), [draft]);
  const change = useMemo(() => (base === null ? null : changeOf(draft, base.definition)), [draft, base]);
  const mistake = useRuleCheck({ name: base?.definition.name ?? null, definition, change });
  const { data: collections } = useQuery(collectionsQuery);
  // The fields as they will be, under their new names.
  const schema = useMemo(() => {
    const others = (collections ?? []).filter(({ name }) => name !== definition.name);
    return schemaOf([...others, definition]);
  }, [collections, definition]);
  const ownerField = keptFields(draft).find(({ isOwner }) => isOwner)?.name;
  return (
    <div className={classes["frame"]}>
      <div className={classes["tab"]}>
        <div className={classes["main"]}>
          <table className={classes["matrix"]}>
            <caption className={classes["hidden"]}>{words.caption}</caption>
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
                <th scope="col">
                  <Tooltip label={words.inheritHint} multiline w={240}>
                    <span>{words.inherit}</span>
                  </Tooltip>
                </th>
              </tr>
            </thead>
            <tbody>
              {OPERATIONS.map((operation) => (
                <OperationRows
                  key={operation}
                  operation={operation}
                  permissions={draft.permissions}
                  collection={definition.name}
                  ownerField={ownerField}
                  schema={schema}
                  mistake={mistake?.operation === operation ? mistake.message : undefined}
                  apply={apply}
                />
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
        {children !== undefined && <div className={classes["side"]}>{children}</div>}
      </div>
    </div>
  );
}
