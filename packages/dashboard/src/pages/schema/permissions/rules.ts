/** The rules of a collection in words: which one an operation has, where it comes from, and what is risky about it. */
import { OPERATIONS, type Operation, PERMISSION_RULES, type PermissionRule, type Rule } from "@socle/protocol";
import { text } from "../../../texts/index.ts";
import type { PermissionDraft } from "../draft/draft.ts";

const words = text.schema.permissions;

/** The rule that counts for an operation. */
export interface EffectiveRule {
  readonly rule: Rule;
  /** The operation whose rule it takes; null for its own; "default" where none before it has a rule. */
  readonly from: Operation | "default" | null;
}

/** Whether a rule is one of the four words. Any other text is an expression. */
export function isWord(rule: string): rule is PermissionRule {
  return PERMISSION_RULES.some((word) => word === rule);
}

export function effectiveRule(permissions: PermissionDraft, operation: Operation): EffectiveRule {
  const own = permissions[operation];
  if (own !== null) return { rule: own, from: null };
  for (const before of OPERATIONS.slice(0, OPERATIONS.indexOf(operation)).reverse()) {
    const rule = permissions[before];
    if (rule !== null) return { rule, from: before };
  }
  return { rule: "public", from: "default" };
}

/** "Only signed-in users may create records." */
export function sentenceOf(operation: Operation, rule: Rule): string {
  return isWord(rule) ? words.sentences[operation][rule] : words.custom;
}

/** Warnings for choices that surprise people later. */
export function warningsOf(permissions: PermissionDraft): readonly string[] {
  const rule = (operation: Operation): Rule => effectiveRule(permissions, operation).rule;
  const open = OPERATIONS.filter((operation) => operation !== "read" && rule(operation) === "public");
  const warnings = open.map((operation) => words.risks[operation]);
  const isByOwner = rule("read") === "owner" || rule("update") === "owner" || rule("delete") === "owner";
  if (rule("create") === "public" && isByOwner) warnings.push(words.riskNoOwner);
  return warnings;
}

/** The expression with which a rule goes on when it becomes one: it means the same, as far as there is one. */
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

/** The complaint of the service about the rule of an operation, with its place in the rule. */
export interface RuleMistake {
  /** The name of the field whose rule it is; null for one of the collection. */
  readonly field: string | null;
  readonly operation: string;
  readonly message: string;
}

/** The rule that the service's message is about, and its complaint; null for a message about something else. */
export function mistakeOf(message: string): RuleMistake | null {
  const found = /^(?:collection "\w+": )?(?:field "(\w+)": )?permissions: (?:the rule )?"(\w+)",? (.*)$/s.exec(message);
  const [, field = null, operation = "", complaint = ""] = found ?? [];
  if (!OPERATIONS.some((each) => each === operation)) return null;
  // The message may quote the rule, so the last place in it counts.
  const at = complaint.lastIndexOf("at position ");
  return { field, operation, message: at === -1 ? complaint : complaint.slice(at) };
}

/** The complaint about one rule. @param field its name; null for a rule of the collection. */
export function mistakeIn(mistake: RuleMistake | null, field: string | null, operation: string): string | undefined {
  return mistake?.field === field && mistake.operation === operation ? mistake.message : undefined;
}
