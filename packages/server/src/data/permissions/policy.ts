/**
 * A policy decides which callers may do an operation on the records of a collection. Lists, single records, expansions,
 * versions of lists, realtime and replays ask the policy; only this module knows the rule words.
 *
 * A decision needs only the caller. The result is all records, no record, or a condition on the record. The word `owner` is a
 * condition that is checked in memory; the database checks an expression.
 */
import type { Operation, PermissionRule, Rule } from "@socle/protocol";
import { AppError, isAdmin, type Principal } from "../../base/kernel/index.ts";
import {
  type Expression,
  type ExpressionCaller,
  isCaller,
  namesCaller,
  type SchemaField,
  toPredicate,
} from "../expressions/index.ts";
import { isWord } from "./rules.ts";

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

/**
 * The callers who may read a record. Realtime has a topic for each of the first four; with `condition`, the database finds
 * the callers for each event.
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

/** The caller in the form for expressions; null for an anonymous caller, and for the service itself. */
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
  /** The tree of a rule that is an expression. A migration of another collection may change the tree. */
  readonly expression: () => Expression;
}

export class Policy {
  readonly #options: PolicyOptions;
  readonly rule: Rule;
  readonly audience: Audience;
  /** Whether everybody may do the operation on all records, so that all callers get the same. */
  readonly isOpen: boolean;

  constructor(options: PolicyOptions) {
    this.#options = options;
    this.rule = options.rule;
    this.audience = audienceOf(options.rule);
    this.isOpen = options.rule === "public";
  }

  /** The part of the decision that needs no record (spec, "Authentication" 4, 6, 7). */
  decide(principal: Principal): Decision {
    const { rule, operation, expression } = this.#options;
    if (this.isOpen || isAdmin(principal)) return all;
    if (this.audience === "condition") return { access: "where", condition: expression() };
    if (principal === null) return this.#none("unauthorized", `To ${this.#subject("records")}, sign in.`);
    if (rule === "admin") return this.#none("forbidden", `Only an admin may ${this.#subject("records")}.`);
    // A new record belongs to its creator.
    return rule === "owner" && operation !== "create" ? own : all;
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
    const { rule, expression } = this.#options;
    if (rule === "owner") return new AppError("forbidden", `Only its owner may ${this.#subject("this record")}.`);
    // Signing in may help.
    if (principal === null && this.audience === "condition" && namesCaller(expression()))
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

/** Whether the caller owns a record. A record without an owner belongs to no caller. */
export function isOwnRecord(principal: Principal, owner: string | null): boolean {
  return fulfilsOwn({ [ownerColumn]: owner }, { now: 0, user: callerOf(principal), related: () => null });
}
