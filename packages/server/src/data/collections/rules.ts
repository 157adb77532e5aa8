/** Rules as expressions: parsed against all definitions, and changed with the names of renamed fields. */
import type { CollectionDefinition, Rule } from "@socle/protocol";
import {
  type Expression,
  ExpressionError,
  type FieldReference,
  parseExpression,
  referencesOf,
} from "../expressions/index.ts";
import { isWord } from "../permissions/index.ts";
import { expressionSchema, type SchemaSource, type UserTable } from "./expression-schema.ts";
import { givenRules, type RuleSite, ruleAt } from "./rule-sites.ts";

const nothing: ReadonlySet<string> = new Set();

/** Inside a rule no permission is checked: its paths are the choice of the author of the definition. */
export function ruleSource(
  users: UserTable,
  definition: (name: string) => CollectionDefinition | undefined,
): SchemaSource {
  return { users, definition, enter: () => null, enterUsers: () => null, closed: () => nothing };
}

/** A rule that cannot be used, with its place in the definition and the position in its text. */
export class RuleError extends Error {
  override readonly name = "RuleError";
}

/** Parses a rule. @throws RuleError. */
export function parseRule(definition: CollectionDefinition, site: RuleSite, source: SchemaSource): Expression {
  const { field, operation } = site;
  try {
    return parseExpression(ruleAt(definition, site), expressionSchema(definition, source));
  } catch (thrown) {
    if (!(thrown instanceof ExpressionError)) throw thrown;
    const where = field === null ? "" : `field "${field}": `;
    throw new RuleError(`${where}permissions: the rule "${operation}", ${thrown.message}`);
  }
}

/** Looks at every rule of a definition that is an expression. @throws RuleError. */
export function checkRules(definition: CollectionDefinition, source: SchemaSource): void {
  for (const { site, rule } of givenRules(definition)) if (!isWord(rule)) parseRule(definition, site, source);
}

/** The new names of fields, by collection and old name. */
export type FieldRenames = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** A rule that names fields by other names from now on. */
export interface RenamedRule {
  readonly site: RuleSite;
  readonly from: Rule;
  readonly to: Rule;
}

/** The rules of a definition that name fields which are renamed. `source` has the old names. */
export function renamedRules(
  definition: CollectionDefinition,
  source: SchemaSource,
  renames: FieldRenames,
): RenamedRule[] {
  return givenRules(definition).flatMap(({ site, rule: from }) => {
    if (isWord(from)) return [];
    const to = renameIn(from, referencesOf(from, expressionSchema(definition, source)), renames);
    return to === from ? [] : [{ site, from, to }];
  });
}

function renameIn(text: string, references: readonly FieldReference[], renames: FieldRenames): string {
  let renamed = text;
  // From the end, so that earlier offsets stay valid.
  for (const { collection, field, offset } of [...references].sort((a, b) => b.offset - a.offset)) {
    const name = renames.get(collection)?.get(field);
    if (name !== undefined) renamed = renamed.slice(0, offset) + name + renamed.slice(offset + field.length);
  }
  return renamed;
}
