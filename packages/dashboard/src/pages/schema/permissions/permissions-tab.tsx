/** The permissions as a matrix: an operation per row, a rule per column; the editor of an expression is below its row. */

import { Box, List, Tooltip, VisuallyHidden } from "@mantine/core";
import { OPERATIONS, PERMISSION_RULES } from "@socle/protocol";
import type { ReactNode } from "react";
import { Notice } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import type { SchemaDraft } from "../draft/draft.ts";
import type { Edit } from "../draft/edits.ts";
import { OperationRows } from "./operation-rows.tsx";
import classes from "./permissions.module.css";
import { warningsOf } from "./rules.ts";

const words = text.schema.permissions;

export function PermissionsTab(props: {
  draft: SchemaDraft;
  apply: (edit: Edit) => void;
  /** Shown beside the matrix. */
  children?: ReactNode;
}) {
  const { draft, apply, children } = props;
  const warnings = warningsOf(draft.permissions);
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
                <th scope="col">
                  <Tooltip label={words.inheritHint} multiline w={240}>
                    <span>{words.inherit}</span>
                  </Tooltip>
                </th>
              </tr>
            </thead>
            <tbody>
              {OPERATIONS.map((operation) => (
                <OperationRows key={operation} operation={operation} permissions={draft.permissions} apply={apply} />
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
