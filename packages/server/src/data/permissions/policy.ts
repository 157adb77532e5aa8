/**
 * A policy decides which callers may do an operation on the records of a collection, or on a field. Lists, single records,
 * expansions, versions of lists, realtime and replays ask the policy; only this module knows the rule words.
 *
 * A decision needs only the caller. The result is all records, no record, or a condition on the record. The word `owner` is a
 * condition that is checked in memory; the database checks an expression.
 */
import {
  type EffectiveRule,
  type FieldOperation,
  type FieldPermissions,
  isRuleWord,
  type Operation,
  type PermissionRule,
  type Rule,
  ruleText,
} from "@socle/protocol";
import { AppError, isAdmin, isNobody, type Principal, quote } from "../../base/kernel/index.ts";
import {
  type Expression,
  type ExpressionCaller,
  isCaller,
  namesCaller,
  type SchemaField,
} from "../expressions/index.ts";
import { hasScope, lacking } from "./scopes.ts";

/** Whether records are selected by their owner, so that the owner needs an index. */
export function selectsByOwner(rule: Rule | undefined): boolean {
  return rule === "owner";
}

/** Read rules, from the narrowest to the widest. */
const byWidth: readonly PermissionRule[] = ["admin", "owner", "authenticated", "public"];

/**
 * The word that judges events of the past: an event was closed to every caller whom the word does not let read. The callers
 * that fulfilled an expression then are not known, so such events are for admins.
 */
export function wordOf(rule: Rule): PermissionRule {
  return isRuleWord(rule) ? rule : "admin";
}

/** Whether a read rule may let more callers read than another rule. An expression may let anybody read. */
export function isWider(rule: Rule, than: Rule): boolean {
  if (rule === than) return false;
  const width = isRuleWord(rule) ? byWidth.indexOf(rule) : byWidth.length - 1;
  return width > byWidth.indexOf(wordOf(than));
}

/** Every word that may let fewer callers read than this rule, from the narrowest. */
export function narrowerThan(rule: Rule): readonly PermissionRule[] {
  return isRuleWord(rule) ? byWidth.slice(0, byWidth.indexOf(rule)) : byWidth.slice(0, -1);
}

/** The column of a record's owner. An owner field shows this column. */
export const ownerColumn = "_owner";

/** The records on which a caller may do an operation. */
export type Decision =
  | { readonly access: "all" }
  /** The records that the caller owns. */
  | { readonly access: "own"; readonly condition: Expression }
  /** The records that fulfil the expression of the rule. */
  | { readonly access: "where"; readonly condition: Expression }
  | { readonly access: "none"; readonly refusal: AppError };

/** The callers that may read a record. Realtime has topics for all but `condition`: the database finds those callers. */
export type Audience = "everybody" | "users" | "owner" | "admins" | "condition";

const ownerField: SchemaField = {
  name: ownerColumn,
  valueType: "text",
  column: ownerColumn,
  isRelation: false,
  isIndexed: true,
};

const all: Decision = { access: "all" };
/** The condition of the word `owner`. */
export const isOwn: Expression = isCaller(ownerField);
const own: Decision = { access: "own", condition: isOwn };

const audiences: { readonly [rule in PermissionRule]: Audience } = {
  public: "everybody",
  authenticated: "users",
  owner: "owner",
  admin: "admins",
};

/** The caller in the form for expressions; null for an anonymous caller, and for the service itself. */
export function callerOf(principal: Principal): ExpressionCaller | null {
  const id = principal?.userId ?? null;
  // A service key has a role, and no user.
  const isNobody = principal === null || (id === null && !("scopes" in principal));
  return isNobody ? null : { id, role: principal.role, email: null };
}

export function audienceOf(rule: Rule): Audience {
  return isRuleWord(rule) ? audiences[rule] : "condition";
}

export interface PolicyOptions {
  readonly collection: string;
  readonly operation: Operation;
  readonly rules: EffectiveRule;
  /**
   * The condition of rules with an expression, the condition of the word `owner` beside the expression included. A migration of
   * another collection may change the condition.
   */
  readonly expression: () => Expression;
  /** The refusal of every caller, admins and the service included. Absent for an operation that a rule decides on. */
  readonly refusal?: AppError;
}

export class Policy {
  readonly #options: PolicyOptions;
  /** The word of the rules; "public" for an expression alone. */
  readonly #word: PermissionRule;
  /** The rules as a text: the word or the expression of a single rule. */
  readonly rule: Rule;
  readonly audience: Audience;
  /** Whether everybody may do the operation on all records, so that all callers get the same. */
  readonly isOpen: boolean;

  constructor(options: PolicyOptions) {
    this.#options = options;
    const [first] = options.rules;
    this.#word = isRuleWord(first) ? first : "public";
    this.rule = ruleText(options.rules);
    this.audience = options.refusal === undefined ? audienceOf(this.rule) : "admins";
    this.isOpen = this.rule === "public" && options.refusal === undefined;
  }

  /** The part of the decision that needs no record (spec, "Authentication" 4, 6, 7). */
  decide(principal: Principal): Decision {
    const { collection, operation, expression, refusal } = this.#options;
    if (refusal !== undefined) return { access: "none", refusal };
    if (principal !== null && "scopes" in principal) {
      const access = operation === "read" ? "read" : "write";
      if (!hasScope(principal, collection, access))
        return { access: "none", refusal: lacking(`${collection}:${access}`) };
    }
    if (this.isOpen || isAdmin(principal)) return all;
    if (isNobody(principal) && this.#word !== "public")
      return { access: "none", refusal: new AppError("unauthorized", `To ${this.#subject("records")}, sign in.`) };
    if (this.audience === "condition") return { access: "where", condition: expression() };
    if (this.#word === "admin")
      return { access: "none", refusal: this.#forbidden(`Only an admin may ${this.#subject("records")}.`) };
    // A new record belongs to the creator.
    return this.#word === "owner" && operation !== "create" ? own : all;
  }

  /**
   * The decision, for a caller with the right to do the operation on some record.
   * @throws AppError `unauthorized` without a token, `forbidden` with a token that is not enough.
   */
  admit(principal: Principal): Exclude<Decision, { access: "none" }> {
    const decision = this.decide(principal);
    if (decision.access === "none") throw decision.refusal;
    return decision;
  }

  /** The refusal of a caller with the right to read the record, but not to do the operation. */
  refusal(principal: Principal): AppError {
    const { expression } = this.#options;
    if (this.rule === "owner") return this.#forbidden(`Only its owner may ${this.#subject("this record")}.`);
    // Signing in may help.
    if (isNobody(principal) && this.audience === "condition" && namesCaller(expression()))
      return new AppError("unauthorized", `To ${this.#subject("this record")}, sign in.`);
    return this.#forbidden(`You may not ${this.#subject("this record")}.`);
  }

  /** The cause, for the log, is the rule. */
  #forbidden(message: string): AppError {
    return new AppError("forbidden", message, {
      cause: new Error(`"${this.#options.operation}": ${quote(this.rule)}`),
    });
  }

  #subject(object: string): string {
    const { operation, collection } = this.#options;
    return `${operation} ${object} of "${collection}"`;
  }
}

/** Whether the caller owns a record. A record without an owner belongs to no caller. */
export function isOwnRecord(principal: Principal, owner: string | null): boolean {
  return owner !== null && owner === principal?.userId;
}

/** The rules of a field. The default of `read` is public, the default of `update` is the rule of `read`. */
export function resolveFieldRules({
  read = "public",
  update = read,
}: FieldPermissions = {}): Required<FieldPermissions> {
  return { read, update };
}

/** A decision that depends on the record. */
export type ConditionalDecision = Extract<Decision, { condition: unknown }>;

/** The fields that a caller may not read, or not write, in every record. */
export interface FieldLimits {
  /** The fields that are closed in every record. */
  readonly closed: ReadonlySet<string>;
  /** The fields that are closed in the records that do not fulfil a condition. */
  readonly conditional: ReadonlyMap<string, ConditionalDecision>;
}

export type FieldPolicy = { readonly [operation in FieldOperation]: Policy };

/**
 * The fields with separate rules, and the decisions of these rules. Field policies narrow the policies of the collection: a
 * caller that may not read a record may read no field of the record.
 */
export class FieldPolicies {
  readonly #policies: ReadonlyMap<string, FieldPolicy>;
  /** Whether a field hides values from readers of the record. */
  readonly hidesValues: boolean;
  /** The same for the same read rules. */
  readonly key: string;

  /** @param policies by field, of the fields that have rules. */
  constructor(policies: ReadonlyMap<string, FieldPolicy>) {
    this.#policies = policies;
    this.key = JSON.stringify([...policies].map(([field, { read }]) => [field, read.rule]));
    this.hidesValues = [...policies.values()].some(({ read }) => !read.isOpen);
  }

  /** The fields that an operation is closed for; null if the caller may do the operation on every field of every record. */
  limits(operation: FieldOperation, principal: Principal): FieldLimits | null {
    const closed = new Set<string>();
    const conditional = new Map<string, ConditionalDecision>();
    for (const [field, policy] of this.#policies) {
      const decision = policy[operation].decide(principal);
      if (decision.access === "none") closed.add(field);
      else if (decision.access !== "all") conditional.set(field, decision);
    }
    return closed.size === 0 && conditional.size === 0 ? null : { closed, conditional };
  }
}

export type Policies = { readonly [operation in Operation]: Policy };

/**
 * The right to do an operation on some record. An upsert becomes a create or an update, each with the rule of the operation.
 * @throws AppError as `Policy.admit`.
 */
export function admitOperation(policies: Policies, operation: Operation | "upsert", principal: Principal): void {
  if (operation !== "upsert") policies[operation].admit(principal);
  else if (policies.update.decide(principal).access === "none") policies.create.admit(principal);
}
