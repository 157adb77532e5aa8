/** Stored collections: the collection of a stored definition, with the policies of the rules; and of a definition for trials. */
import {
  type CollectionDefinition,
  type EffectiveRule,
  type FieldOperation,
  isAccountField,
  isView,
  type Operation,
  USERS,
} from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import type { Expression } from "../expressions/index.ts";
import { type Pattern, storedPattern } from "../fields/index.ts";
import { FieldPolicies, type FieldPolicy, Policy } from "../permissions/index.ts";
import { type Collection, type LogMarks, type SchemaSource, tableName } from "./collection.ts";
import type { DefinitionRow } from "./definition-table.ts";
import { parseRule, type RuleSite, rulesInForce } from "./rules.ts";

/** The expression of a rule of a definition, by all definitions in force. */
export type ExpressionOf = (definition: CollectionDefinition, site: RuleSite) => Expression;

/** The refusals of the operations on users that are no operations on records. */
const userRefusals = {
  create: new AppError("method_not_allowed", "Users are created by POST /api/auth/register.", {
    allow: "GET, HEAD, OPTIONS",
  }),
  delete: new AppError("method_not_allowed", "Users are deleted by DELETE /api/auth/me, or by an admin.", {
    allow: "GET, HEAD, PUT, OPTIONS",
  }),
} as const;

/** The refusal of everything but lists and reads of a view. */
export function readOnlyView(name: string): AppError {
  const message = `"${name}" is a view: its records can be listed and read, and nothing else.`;
  return new AppError("method_not_allowed", message, { allow: "GET, HEAD, OPTIONS" });
}

function policyOf(definition: CollectionDefinition, site: RuleSite, expressionOf: ExpressionOf): Policy {
  const { name: collection } = definition;
  const { field, operation } = site;
  const expression = (): Expression => expressionOf(definition, site);
  const isOfUsers = collection === USERS && field === null && (operation === "create" || operation === "delete");
  // A body may name account fields and system fields: the values are ignored.
  const isIgnored = field !== null && operation === "update" && isAccountField(collection, field);
  const rules: EffectiveRule = isIgnored ? ["public"] : rulesInForce(definition, site);
  const isOfView = isView(definition) && field === null && operation !== "read";
  return new Policy({
    collection,
    operation: operation === "history" ? "read" : operation,
    rules,
    expression,
    ...(isOfUsers && { refusal: userRefusals[operation] }),
    ...(isOfView && { refusal: readOnlyView(collection) }),
  });
}

/** The collection of a definition that is not in force, for trials. @param source the definitions beside this one. */
export function trialCollection(definition: CollectionDefinition, source: SchemaSource): Collection {
  const row = {
    definition: JSON.stringify(definition),
    createdAt: "",
    updatedAt: "",
    places: "{}",
    isChronological: 1,
  };
  const known = new Map<string, Expression>();
  return toCollection(row, (each, site) =>
    known.getOrInsertComputed(`${site.field} ${site.operation}`, () => parseRule(each, site, source)),
  );
}

/** The collection of a stored definition. @param expressionOf parses a rule. */
export function toCollection(row: DefinitionRow, expressionOf: ExpressionOf): Collection {
  // The definition was validated before the write.
  const definition = JSON.parse(row.definition) as CollectionDefinition;
  const { name } = definition;
  const patterns = new Map<string, Pattern>();
  const fieldPolicies = new Map<string, FieldPolicy>();
  for (const { name: field, regex, permissions } of definition.fields) {
    if (regex !== undefined) patterns.set(field, storedPattern(regex));
    if (permissions === undefined) continue;
    const policy = (operation: FieldOperation): Policy => policyOf(definition, { field, operation }, expressionOf);
    fieldPolicies.set(field, { read: policy("read"), update: policy("update") });
  }
  const policy = (operation: Operation): Policy => policyOf(definition, { field: null, operation }, expressionOf);
  return {
    name,
    definition,
    table: tableName(name),
    policies: { read: policy("read"), create: policy("create"), update: policy("update"), delete: policy("delete") },
    history: policyOf(definition, { field: null, operation: "history" }, expressionOf),
    fieldPolicies: fieldPolicies.size === 0 ? null : new FieldPolicies(fieldPolicies),
    patterns,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    // The text was written from a `LogMarks`.
    logMarks: JSON.parse(row.places) as LogMarks,
    isChronological: row.isChronological === 1,
  };
}
