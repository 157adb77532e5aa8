/** Rules as expressions: they are parsed against all definitions, and follow the renames of fields that they name. */
import { type CollectionDefinition, OPERATIONS, type Operation, type Permissions } from "@socle/protocol";
import {
  type Expression,
  ExpressionError,
  type FieldReference,
  parseExpression,
  referencesOf,
} from "../expressions/index.ts";
import { isWord, resolveRules } from "../permissions/index.ts";
import { expressionSchema, type SchemaSource, type UserTable } from "./expression-schema.ts";

/** Inside a rule nothing is checked: what it enters is the choice of the author of the definition. */
export function ruleSource(
  users: UserTable,
  definition: (name: string) => CollectionDefinition | undefined,
): SchemaSource {
  return { users, definition, enter: () => null, enterUsers: () => null };
}

/** A rule that cannot be used, with the operation and the position. */
export class RuleError extends Error {
  override readonly name = "RuleError";
}

/** Parses the rule of an operation. @throws RuleError. */
export function parseRule(definition: CollectionDefinition, operation: Operation, source: SchemaSource): Expression {
  const rule = resolveRules(definition.permissions)[operation];
  try {
    return parseExpression(rule, expressionSchema(definition, source));
  } catch (thrown) {
    if (thrown instanceof ExpressionError)
      throw new RuleError(`permissions: the rule "${operation}", ${thrown.message}`);
    throw thrown;
  }
}

/** Looks at every rule of a definition that is an expression. @throws RuleError. */
export function checkRules(definition: CollectionDefinition, source: SchemaSource): void {
  for (const operation of OPERATIONS) {
    const rule = definition.permissions?.[operation];
    if (rule !== undefined && !isWord(rule)) parseRule(definition, operation, source);
  }
}

/** The new names of fields, by collection and old name. */
export type FieldRenames = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The permissions with the new names of the fields that they name, or null where nothing changes. `source` has the old names. */
export function renameInRules(
  definition: CollectionDefinition,
  source: SchemaSource,
  renames: FieldRenames,
): Permissions | null {
  const permissions: Permissions = { ...definition.permissions };
  let isChanged = false;
  for (const operation of OPERATIONS) {
    const rule = permissions[operation];
    if (rule === undefined || isWord(rule)) continue;
    const renamed = renameIn(rule, referencesOf(rule, expressionSchema(definition, source)), renames);
    if (renamed === rule) continue;
    permissions[operation] = renamed;
    isChanged = true;
  }
  return isChanged ? permissions : null;
}

function renameIn(text: string, references: readonly FieldReference[], renames: FieldRenames): string {
  let renamed = text;
  // From the end, so that the places before stay where they are.
  for (const { collection, field, offset } of [...references].sort((a, b) => b.offset - a.offset)) {
    const name = renames.get(collection)?.get(field);
    if (name !== undefined) renamed = renamed.slice(0, offset) + name + renamed.slice(offset + field.length);
  }
  return renamed;
}
