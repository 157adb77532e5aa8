/**
 * Rules of a definition: the places at which rules stand, and the rules as expressions, which are parsed against all
 * definitions.
 */
import {
  type CollectionDefinition,
  type EffectiveRule,
  effectiveRules,
  FIELD_OPERATIONS,
  type FieldOperation,
  isRuleWord,
  OPERATIONS,
  type Operation,
  type Rule,
  ruleText,
} from "@socle/protocol";
import {
  type Expression,
  ExpressionError,
  type ExpressionPart,
  type ExpressionSchema,
  parseExpression,
  parseParts,
} from "../expressions/index.ts";
import { isOwn, resolveFieldRules } from "../permissions/index.ts";
import { expressionSchema, type SchemaSource, type UserTable } from "./collection.ts";
import { type CollectionPlan, originOf } from "./plan.ts";

const nothing: ReadonlySet<string> = new Set();

/** The place of a rule: an operation on the records, the history of records, or an operation on a field. */
export type RuleSite =
  | { readonly field: null; readonly operation: Operation | "history" }
  | { readonly field: string; readonly operation: FieldOperation };

/** The rules in force at a place. */
export function rulesInForce(definition: CollectionDefinition, { field, operation }: RuleSite): EffectiveRule {
  if (operation === "history") return [definition.history?.read ?? "admin"];
  if (field === null) return effectiveRules(definition.permissions)[operation];
  return [resolveFieldRules(definition.fields.find(({ name }) => name === field)?.permissions)[operation]];
}

/** The rules in force at a place, as a text. */
export function ruleAt(definition: CollectionDefinition, site: RuleSite): Rule {
  return ruleText(rulesInForce(definition, site));
}

/** The rule that a definition names for a place; undefined if the rule of another place applies. */
export function givenRuleAt(definition: CollectionDefinition, { field, operation }: RuleSite): Rule | undefined {
  if (operation === "history") return definition.history?.read;
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
    ...[...OPERATIONS, "history" as const].map((operation) => ({ field: null, operation })),
    ...definition.fields.flatMap(({ name: field }) => FIELD_OPERATIONS.map((operation) => ({ field, operation }))),
  ];
  return sites.flatMap((site) => {
    const rule = givenRuleAt(definition, site);
    return rule === undefined ? [] : [{ site, rule }];
  });
}

export function withRule(definition: CollectionDefinition, site: RuleSite, rule: Rule): CollectionDefinition {
  const { field, operation } = site;
  if (operation === "history") return { ...definition, history: { ...definition.history, read: rule } };
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

/** Parses the rules of a place, at least one of which is an expression, into a single condition. @throws RuleError. */
export function parseRule(definition: CollectionDefinition, site: RuleSite, source: SchemaSource): Expression {
  const items = rulesInForce(definition, site).flatMap((rule) => {
    if (isRuleWord(rule)) return rule === "owner" ? [isOwn] : [];
    return [parseOne(rule, site, expressionSchema(definition, source))];
  });
  const [only] = items;
  return items.length === 1 && only !== undefined ? only : { type: "and", items };
}

function parseOne(rule: Rule, { field, operation }: RuleSite, schema: ExpressionSchema): Expression {
  try {
    return parseExpression(rule, schema);
  } catch (thrown) {
    if (!(thrown instanceof ExpressionError)) throw thrown;
    const where = field === null ? "" : `field "${field}": `;
    const [, , text, name] = /^(?:(["'])(.*?)\1|(\w+))/.exec(rule.slice(thrown.offset)) ?? [];
    throw new RuleError(`${where}permissions: the rule "${operation}", ${thrown.message}`, text ?? name ?? "");
  }
}

/** The rules of a place in parts, with places in the text of `ruleAt`; null for a word. */
export function partsAt(definition: CollectionDefinition, site: RuleSite, source: SchemaSource): ExpressionPart | null {
  const schema = expressionSchema(definition, source);
  const rules = rulesInForce(definition, site);
  const text = ruleText(rules);
  if (isRuleWord(text)) return null;
  if (rules.length === 1) return parseParts(text, schema);
  let next = 0;
  const parts = rules.flatMap((rule): ExpressionPart[] => {
    // The text has an expression in brackets, and " and " between the rules.
    const bracket = isRuleWord(rule) ? 0 : 1;
    const start = next + bracket;
    const end = start + rule.length;
    next = end + bracket + " and ".length;
    if (bracket === 1) return [movedBy(start, parseParts(rule, schema))];
    return rule === "owner" ? [{ kind: "comparison", start, end, condition: isOwn, parts: [] }] : [];
  });
  return { kind: "and", start: 0, end: text.length, condition: parseRule(definition, site, source), parts };
}

function movedBy(by: number, part: ExpressionPart): ExpressionPart {
  const parts = part.parts.map((each) => movedBy(by, each));
  return { ...part, start: part.start + by, end: part.end + by, parts };
}
