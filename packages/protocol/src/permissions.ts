/** The rules in force for the operations on a collection: named in the definition, or taken from the rules of other operations. */
import { type Operation, PERMISSION_RULES, type PermissionRule, type Permissions, type Rule } from "./collections.ts";

/** Rules that must all hold: at most a single word, which comes first, and expressions. */
export type EffectiveRule = readonly [Rule, ...Rule[]];
export type EffectiveRules = { readonly [operation in Operation]: EffectiveRule };

/** Whether a rule is a word. Any other text is an expression. */
export function isRuleWord(rule: Rule): rule is PermissionRule {
  return PERMISSION_RULES.some((word) => word === rule);
}

/**
 * The rule of each operation. `read` is public by default, and `create` takes the rule of `read`. An update or delete that is
 * not named needs the rule of the operation before and the rule of `read`, so that nobody changes a record that the caller may
 * not read; and where every signed-in user may create records, only the owner may change a record.
 */
export function effectiveRules(given: Permissions = {}): EffectiveRules {
  const read = given.read ?? "public";
  const create = given.create ?? read;
  const update = given.update === undefined ? bothOf(create, read) : ([given.update] as const);
  const inherited = given.update === undefined ? update : bothOf(given.update, read);
  return { read: [read], create: [create], update, delete: given.delete === undefined ? inherited : [given.delete] };
}

function bothOf(before: Rule, read: Rule): EffectiveRule {
  const strictness = Math.max(...[before, read].filter(isRuleWord).map((word) => PERMISSION_RULES.indexOf(word)), 0);
  const [expression, ...others] = new Set([before, read].filter((rule) => !isRuleWord(rule)));
  const strictest = PERMISSION_RULES[strictness] ?? "admin";
  const isForOwners = strictest === "authenticated" && (expression === undefined || before === strictest);
  const word = isForOwners ? "owner" : strictest;
  if (expression === undefined || word === "admin") return [word];
  return word === "public" ? [expression, ...others] : [word, expression, ...others];
}

/** A rule in force as a text, for people. */
export function ruleText(rules: EffectiveRule): string {
  if (rules.length === 1) return rules[0];
  return rules.map((rule) => (isRuleWord(rule) ? rule : `(${rule})`)).join(" and ");
}
