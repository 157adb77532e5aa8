/** Rules: the four words that a permission may be, an expression in their place, and how rules compare. */
import { type Operation, PERMISSION_RULES, type PermissionRule, type Permissions, type Rule } from "@socle/protocol";

/** The rule of every operation. */
export type Rules = { readonly [operation in Operation]: Rule };

/**
 * The rule of every operation. The default of an operation is the rule of the operation before; the default of `read` is
 * public.
 */
export function resolveRules(given: Permissions = {}): Rules {
  const read = given.read ?? "public";
  const create = given.create ?? read;
  const update = given.update ?? create;
  return { read, create, update, delete: given.delete ?? update };
}

/** Whether a rule is a word. Any other text is an expression. */
export function isWord(rule: Rule): rule is PermissionRule {
  return (PERMISSION_RULES as readonly string[]).includes(rule);
}

/** Whether records are selected by their owner, so that the owner needs an index. */
export function selectsByOwner(rule: Rule): boolean {
  return rule === "owner";
}

/** Read rules, from the narrowest to the widest. */
const byWidth: readonly PermissionRule[] = ["admin", "owner", "authenticated", "public"];

/**
 * The word that judges events of the past: an event was closed to every caller whom the word does not let read. The callers
 * who fulfilled an expression then are not known, so such events are for admins.
 */
export function wordOf(rule: Rule): PermissionRule {
  return isWord(rule) ? rule : "admin";
}

/** Whether a read rule may let more callers read than another. An expression may let anybody read. */
export function isWider(rule: Rule, than: Rule): boolean {
  if (rule === than) return false;
  const width = isWord(rule) ? byWidth.indexOf(rule) : byWidth.length - 1;
  return width > byWidth.indexOf(wordOf(than));
}

/** Every word that may let fewer callers read than this rule, from the narrowest. */
export function narrowerThan(rule: Rule): readonly PermissionRule[] {
  return isWord(rule) ? byWidth.slice(0, byWidth.indexOf(rule)) : byWidth.slice(0, -1);
}
