/** Rules: the four words that a permission may be, an expression in their place, and how rules compare. */
import { type Operation, PERMISSION_RULES, type PermissionRule, type Permissions, type Rule } from "@socle/protocol";

/** The rule of every operation. */
export type Rules = { readonly [operation in Operation]: Rule };

/** Every operation's rule: one that is left out takes that of the operation before it; `read` is public. */
export function resolveRules(given: Permissions = {}): Rules {
  const read = given.read ?? "public";
  const create = given.create ?? read;
  const update = given.update ?? create;
  return { read, create, update, delete: given.delete ?? update };
}

/** Whether a rule is one of the words. Any other text is an expression. */
export function isWord(rule: Rule): rule is PermissionRule {
  return (PERMISSION_RULES as readonly string[]).includes(rule);
}

/** Whether records are selected by their owner, so that the owner needs an index. */
export function selectsByOwner(rule: Rule): boolean {
  return rule === "owner";
}

/** Read rules, from the one that lets nobody but admins read to the one that lets everybody. */
const byWidth: readonly PermissionRule[] = ["admin", "owner", "authenticated", "public"];

/**
 * The word by which the events of a time are judged later: they were closed to everybody whom it does not let read. Nobody can
 * tell later who fulfilled an expression then, so those are kept for admins.
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
