/**
 * Rules of a definition: the places at which rules stand, and the rules as expressions, which are parsed against all
 * definitions.
 */
import {
  type CollectionDefinition,
  FIELD_OPERATIONS,
  type FieldOperation,
  OPERATIONS,
  type Operation,
  type Rule,
} from "@socle/protocol";
import { type Expression, ExpressionError, parseExpression } from "../expressions/index.ts";
import { resolveFieldRules, resolveRules } from "../permissions/index.ts";
import { expressionSchema, type SchemaSource, type UserTable } from "./collection.ts";
import { type CollectionPlan, originOf } from "./plan.ts";

const nothing: ReadonlySet<string> = new Set();

/** The place of a rule: an operation on the records, or on a field. */
export type RuleSite =
  | { readonly field: null; readonly operation: Operation }
  | { readonly field: string; readonly operation: FieldOperation };

/** The rule in force at a place. */
export function ruleAt(definition: CollectionDefinition, { field, operation }: RuleSite): Rule {
  if (field === null) return resolveRules(definition.permissions)[operation];
  return resolveFieldRules(definition.fields.find(({ name }) => name === field)?.permissions)[operation];
}

/** The rule that a definition names for a place; undefined if the rule of another place applies. */
export function givenRuleAt(definition: CollectionDefinition, { field, operation }: RuleSite): Rule | undefined {
  if (field === null) return definition.permissions?.[operation];
  return definition.fields.find(({ name }) => name === field)?.permissions?.[operation];
}

/** The rules in force at a place before and after a plan. The place is of the definition after the plan. */
export function rulesAt(plan: CollectionPlan, site: RuleSite): { readonly from: Rule; readonly to: Rule } {
  const { before, after } = plan;
  const old = site.field === null ? site : { ...site, field: originOf(plan, site.field) };
  return { from: ruleAt(before ?? { name: after.name, fields: [] }, old), to: ruleAt(after, site) };
}

export function givenRules(definition: CollectionDefinition): { readonly site: RuleSite; readonly rule: Rule }[] {
  const sites: RuleSite[] = [
    ...OPERATIONS.map((operation) => ({ field: null, operation })),
    ...definition.fields.flatMap(({ name: field }) => FIELD_OPERATIONS.map((operation) => ({ field, operation }))),
  ];
  return sites.flatMap((site) => {
    const rule = givenRuleAt(definition, site);
    return rule === undefined ? [] : [{ site, rule }];
  });
}

export function withRule(definition: CollectionDefinition, site: RuleSite, rule: Rule): CollectionDefinition {
  const { field, operation } = site;
  if (field === null) return { ...definition, permissions: { ...definition.permissions, [operation]: rule } };
  const fields = definition.fields.map((each) =>
    each.name === field ? { ...each, permissions: { ...each.permissions, [operation]: rule } } : each,
  );
  return { ...definition, fields };
}

/** Inside a rule no permission is checked: the paths are the choice of the author of the definition. */
export function ruleSource(
  users: UserTable,
  definition: (name: string) => CollectionDefinition | undefined,
): SchemaSource {
  return { users, definition, enter: () => null, enterUsers: () => null, closed: () => nothing };
}

/** A rule that cannot be used, with the place in the definition and the position in the text. */
export class RuleError extends Error {
  override readonly name = "RuleError";
  /** The name, or the content of the text, at the position. */
  readonly word: string;

  constructor(message: string, word: string) {
    super(message);
    this.word = word;
  }
}

/** Parses a rule. @throws RuleError. */
export function parseRule(definition: CollectionDefinition, site: RuleSite, source: SchemaSource): Expression {
  const { field, operation } = site;
  try {
    return parseExpression(ruleAt(definition, site), expressionSchema(definition, source));
  } catch (thrown) {
    if (!(thrown instanceof ExpressionError)) throw thrown;
    const where = field === null ? "" : `field "${field}": `;
    const [, , text, name] = /^(?:(["'])(.*?)\1|(\w+))/.exec(ruleAt(definition, site).slice(thrown.offset)) ?? [];
    throw new RuleError(`${where}permissions: the rule "${operation}", ${thrown.message}`, text ?? name ?? "");
  }
}
