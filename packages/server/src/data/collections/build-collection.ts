/** From the row of a definition to the collection in force: its policies, patterns and marks in the event log. */
import type { CollectionDefinition, FieldOperation, Operation } from "@socle/protocol";
import type { Expression } from "../expressions/index.ts";
import type { Pattern } from "../fields/index.ts";
import {
  FieldPolicies,
  type FieldPolicy,
  isWider,
  Policy,
  resolveFieldRules,
  resolveRules,
  wordOf,
} from "../permissions/index.ts";
import { type Collection, type LogMarks, tableName } from "./collection.ts";
import type { DefinitionRow } from "./definition-table.ts";
import { storedPattern } from "./pattern.ts";
import type { CollectionPlan } from "./plan.ts";
import type { RuleSite } from "./rule-sites.ts";

/** The expression of a rule of a definition, by all definitions in force. */
export type ExpressionOf = (definition: CollectionDefinition, site: RuleSite) => Expression;

function fieldPoliciesOf(definition: CollectionDefinition, expressionOf: ExpressionOf): FieldPolicies | null {
  const policies = new Map<string, FieldPolicy>();
  for (const { name, permissions } of definition.fields) {
    if (permissions === undefined) continue;
    const rules = resolveFieldRules(permissions);
    const policy = (operation: FieldOperation): Policy => {
      const site = { field: name, operation };
      const expression = (): Expression => expressionOf(definition, site);
      return new Policy({ collection: definition.name, operation, rule: rules[operation], expression });
    };
    policies.set(name, { read: policy("read"), update: policy("update") });
  }
  return policies.size === 0 ? null : new FieldPolicies(policies);
}

function policiesOf(definition: CollectionDefinition, expressionOf: ExpressionOf): Collection["policies"] {
  const { name: collection, permissions } = definition;
  const rules = resolveRules(permissions);
  const policy = (operation: Operation): Policy =>
    new Policy({
      collection,
      operation,
      rule: rules[operation],
      expression: () => expressionOf(definition, { field: null, operation }),
    });
  return { read: policy("read"), create: policy("create"), update: policy("update"), delete: policy("delete") };
}

export function toCollection(row: DefinitionRow, expressionOf: ExpressionOf): Collection {
  // The definition was validated when it was stored.
  const definition = JSON.parse(row.definition) as CollectionDefinition;
  const patterns = new Map<string, Pattern>();
  for (const field of definition.fields)
    if (field.regex !== undefined) patterns.set(field.name, storedPattern(field.regex));
  return {
    name: definition.name,
    definition,
    table: tableName(definition.name),
    policies: policiesOf(definition, expressionOf),
    fieldPolicies: fieldPoliciesOf(definition, expressionOf),
    patterns,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    // The text was written from a `LogMarks`.
    logMarks: JSON.parse(row.places) as LogMarks,
  };
}

/** The marks of a collection after a migration whose event has a seq. */
export function marksAfter({ after, steps }: CollectionPlan, before: Collection | null, seq: number): LogMarks {
  if (before === null) return { created: seq, fields: seq, widened: {} };
  const { created, fields, widened } = before.logMarks;
  // Older events may hold values that the new rules of a field hide.
  const movesFields = steps.some(
    (each) =>
      ["drop", "rename", "multiple"].includes(each.step) || (each.step === "permissions" && each.field !== undefined),
  );
  const { rule } = before.policies.read;
  const isWidened = isWider(resolveRules(after.permissions).read, rule);
  const word = wordOf(rule);
  return {
    created,
    fields: movesFields ? seq : fields,
    widened: isWidened ? { ...widened, [word]: seq } : widened,
  };
}
