/** The rules of a collection in words: the rule of an operation, the source of the rule, and its risks. */
import { effectiveRules, isRuleWord, OPERATIONS, type Operation, type Rule, ruleText } from "@socle/protocol";
import { text } from "../../../texts/index.ts";
import type { PermissionDraft } from "../draft/draft.ts";

const words = text.schema.permissions;

/** The rule in force for an operation. */
export interface EffectiveRule {
  /** A word or an expression, or rules that must all hold, as a text. */
  readonly rule: Rule;
  /** "read" for a create that takes the rule of read, "others" for the rules of the operations before, "default" when none of these is named; null for the operation's own rule. */
  readonly from: "read" | "others" | "default" | null;
}

export function effectiveRule(permissions: PermissionDraft, operation: Operation): EffectiveRule {
  const named = Object.entries(permissions).filter(([, rule]) => rule !== null);
  const rule = ruleText(effectiveRules(Object.fromEntries(named))[operation]);
  if (permissions[operation] !== null) return { rule, from: null };
  const before = OPERATIONS.slice(0, OPERATIONS.indexOf(operation));
  if (before.every((each) => permissions[each] === null)) return { rule, from: "default" };
  return { rule, from: operation === "create" ? "read" : "others" };
}

/** A rule as a sentence: "Only signed-in users may create records." */
export function sentenceOf(operation: Operation, rule: Rule): string {
  return isRuleWord(rule) ? words.sentences[operation][rule] : words.custom;
}

/** Warnings about rules with surprising effects. */
export function warningsOf(permissions: PermissionDraft): readonly string[] {
  const rule = (operation: Operation): Rule => effectiveRule(permissions, operation).rule;
  const open = OPERATIONS.filter((operation) => operation !== "read" && rule(operation) === "public");
  const warnings = open.map((operation) => words.risks[operation]);
  const isByOwner = rule("read") === "owner" || rule("update") === "owner" || rule("delete") === "owner";
  if (rule("create") === "public" && isByOwner) warnings.push(words.riskNoOwner);
  return warnings;
}

/** The first expression in the editor, with the same meaning as the word, as far as an expression can have this meaning. */
export function expressionFor(rule: Rule, ownerField: string | undefined): string {
  switch (rule) {
    case "public":
      return "";
    case "authenticated":
      return "@user.id != null";
    case "owner":
      return ownerField === undefined ? "" : `${ownerField} = @user.id`;
    case "admin":
      return '@user.role = "admin"';
    default:
      return rule;
  }
}

/** The complaint of the service about the rule of an operation, with the position in the rule. */
export interface RuleMistake {
  /** The name of the field with the rule; null for a rule of the collection. */
  readonly field: string | null;
  readonly operation: string;
  readonly message: string;
}

/** The rule in a message of the service, and the complaint; null for a message about another subject. */
export function mistakeOf(message: string): RuleMistake | null {
  const found = /^(?:collection "\w+": )?(?:field "(\w+)": )?permissions: (?:the rule )?"(\w+)",? (.*)$/s.exec(message);
  const [, field = null, operation = "", complaint = ""] = found ?? [];
  if (!OPERATIONS.some((each) => each === operation)) return null;
  // The message may quote the rule, so the last position in the message counts.
  const at = complaint.lastIndexOf("at position ");
  return { field, operation, message: at === -1 ? complaint : complaint.slice(at) };
}

/** The complaint about a rule. @param field the field's name; null for a rule of the collection. */
export function mistakeIn(mistake: RuleMistake | null, field: string | null, operation: string): string | undefined {
  return mistake?.field === field && mistake.operation === operation ? mistake.message : undefined;
}
