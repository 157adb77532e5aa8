/**
 * A policy decides who may do one operation on the records of one collection. Lists, single records, expansions, versions of
 * lists, realtime and replays all ask it; the rule words are known in this module alone.
 *
 * A decision needs only the caller: everything, nothing, or a condition on the record. The word `owner` is a condition that is
 * looked at in memory; an expression is one that the database looks at.
 */
import type { Operation, PermissionRule, Rule } from "@socle/protocol";
import {
  type Expression,
  type ExpressionCaller,
  eachOperand,
  isCaller,
  type SchemaField,
  toPredicate,
} from "../expressions/index.ts";
import { AppError, isAdmin, type Principal } from "../kernel/index.ts";
import { isWord } from "./rules.ts";

/** The column of a record's owner. An owner field shows it and has no column of its own. */
export const ownerColumn = "_owner";

/** The records on which a caller may do an operation. */
export type Decision =
  | { readonly access: "all" }
  /** Those that the caller owns. */
  | { readonly access: "own"; readonly condition: Expression }
  /** Those that fulfil the expression of the rule. */
  | { readonly access: "where"; readonly condition: Expression }
  | { readonly access: "none"; readonly refusal: AppError };

/**
 * The callers who may read a record. Realtime has a topic for each of the first four; with `condition`, the database says for
 * each event who they are.
 */
export type Audience = "everybody" | "users" | "owner" | "admins" | "condition";

const ownerField: SchemaField = {
  name: ownerColumn,
  valueType: "text",
  column: ownerColumn,
  isRelation: false,
  isIndexed: true,
};

/** The record's owner is the caller. */
const isOwn = isCaller(ownerField);
const fulfilsOwn = toPredicate(isOwn);

const all: Decision = { access: "all" };
const own: Decision = { access: "own", condition: isOwn };

const audiences: { readonly [rule in PermissionRule]: Audience } = {
  public: "everybody",
  authenticated: "users",
  owner: "owner",
  admin: "admins",
};

/** The caller as expressions know them; null for nobody, and for the service itself. */
export function callerOf(principal: Principal): ExpressionCaller | null {
  const id = principal?.userId ?? null;
  return principal === null || id === null ? null : { id, role: principal.role, email: null };
}

/** The audience of a read rule. */
export function audienceOf(rule: Rule): Audience {
  return isWord(rule) ? audiences[rule] : "condition";
}

/** The parts of a policy. */
export interface PolicyOptions {
  readonly collection: string;
  readonly operation: Operation;
  readonly rule: Rule;
  /** The rule as an expression; asked for where it is no word. A migration of another collection may change its tree. */
  readonly expression: () => Expression;
}

export class Policy {
  readonly #options: PolicyOptions;

  constructor(options: PolicyOptions) {
    this.#options = options;
  }

  get rule(): Rule {
    return this.#options.rule;
  }

  get audience(): Audience {
    return audienceOf(this.rule);
  }

  /** Whether everybody is allowed everything, so that all callers get the same. */
  get isOpen(): boolean {
    return this.rule === "public";
  }

  /** The part of the decision that needs no record (spec, "Authentication" 4, 6, 7). */
  decide(principal: Principal): Decision {
    const { rule, operation, expression } = this.#options;
    if (rule === "public" || isAdmin(principal)) return all;
    if (!isWord(rule)) return { access: "where", condition: expression() };
    if (principal === null) return this.#none("unauthorized", `To ${this.#subject("records")}, sign in.`);
    if (rule === "admin") return this.#none("forbidden", `Only an admin may ${this.#subject("records")}.`);
    // A new record belongs to its creator.
    return rule === "owner" && operation !== "create" ? own : all;
  }

  /**
   * The same decision, once the caller may do anything at all.
   * @throws AppError `unauthorized` without a token, `forbidden` with one that is not enough.
   */
  admit(principal: Principal): Exclude<Decision, { access: "none" }> {
    const decision = this.decide(principal);
    if (decision.access === "none") throw decision.refusal;
    return decision;
  }

  /** The refusal of a caller who was admitted and is not allowed the operation on a record that they may read. */
  refusal(principal: Principal): AppError {
    const { rule, expression } = this.#options;
    if (rule === "owner") return new AppError("forbidden", `Only its owner may ${this.#subject("this record")}.`);
    if (principal === null && !isWord(rule) && namesCaller(expression()))
      return new AppError("unauthorized", `To ${this.#subject("this record")}, sign in.`);
    return new AppError("forbidden", `You may not ${this.#subject("this record")}.`);
  }

  #subject(object: string): string {
    const { operation, collection } = this.#options;
    return `${operation} ${object} of "${collection}"`;
  }

  #none(code: "unauthorized" | "forbidden", message: string): Decision {
    return { access: "none", refusal: new AppError(code, message) };
  }
}

/** Whether a record with this owner is among those that a caller owns. A record without an owner is nobody's. */
export function isOwnRecord(principal: Principal, owner: string | null): boolean {
  return fulfilsOwn({ [ownerColumn]: owner }, { now: 0, user: callerOf(principal), related: () => null });
}

/** Whether an expression asks who the caller is, so that signing in may help. */
function namesCaller(expression: Expression): boolean {
  let isNamed = false;
  eachOperand(expression, (operand) => {
    if (operand.type === "macro" && operand.name.startsWith("user.")) isNamed = true;
  });
  return isNamed;
}
