/**
 * A policy decides who may do one operation on the records of one collection. Lists, single records, expansions, versions of
 * lists, realtime and replays all ask it; the rule words are known in this module alone.
 *
 * A decision has two parts. `decide` needs only the caller: everything, nothing, or a condition on the record. `allows`
 * answers for one record, by the same condition.
 */
import type { Operation, PermissionRule } from "@socle/protocol";
import { type Expression, type Path, toPredicate } from "../expressions/index.ts";
import { AppError, isAdmin, type Principal } from "../kernel/index.ts";

/** The column of a record's owner. An owner field shows it and has no column of its own. */
export const ownerColumn = "_owner";

/** What a caller may do an operation on: all records, those that fulfil a condition, or none. */
export type Decision =
  | { readonly access: "all" }
  /** `condition` holds for the records that the caller owns. */
  | { readonly access: "own"; readonly condition: Expression }
  | { readonly access: "none"; readonly refusal: AppError };

/** The callers who may read a record, when its owner is known: realtime has a topic for each. */
export type Audience = "everybody" | "users" | "owner" | "admins";

const ownerPath: Path = {
  type: "path",
  hops: [],
  field: { name: ownerColumn, valueType: "text", column: ownerColumn, isRelation: false },
  members: [],
  valueType: "text",
};

/** The record's owner is the caller. Null, the owner of no record and the id of nobody, equals nothing. */
const isOwn: Expression = {
  type: "compare",
  operator: "=",
  left: ownerPath,
  right: { type: "macro", name: "user.id", valueType: "text" },
};
const fulfilsOwn = toPredicate(isOwn);

const all: Decision = { access: "all" };
const own: Decision = { access: "own", condition: isOwn };

const audiences: { readonly [rule in PermissionRule]: Audience } = {
  public: "everybody",
  authenticated: "users",
  owner: "owner",
  admin: "admins",
};

/** The audience of a read rule. */
export function audienceOf(rule: PermissionRule): Audience {
  return audiences[rule];
}

export class Policy {
  readonly #collection: string;
  readonly #operation: Operation;
  readonly #rule: PermissionRule;

  constructor(collection: string, operation: Operation, rule: PermissionRule) {
    this.#collection = collection;
    this.#operation = operation;
    this.#rule = rule;
  }

  get rule(): PermissionRule {
    return this.#rule;
  }

  get audience(): Audience {
    return audienceOf(this.#rule);
  }

  /** Whether everybody is allowed everything, so that all callers get the same. */
  get isOpen(): boolean {
    return this.#rule === "public";
  }

  /** Whether the caller's own records are looked for, so that the owner needs an index. */
  get selectsByOwner(): boolean {
    return this.#rule === "owner";
  }

  /** The part of the decision that needs no record (spec, "Authentication" 4, 6, 7). */
  decide(principal: Principal): Decision {
    if (this.#rule === "public" || isAdmin(principal)) return all;
    if (principal === null) return this.#none("unauthorized", `To ${this.#subject("records")}, sign in.`);
    if (this.#rule === "admin") return this.#none("forbidden", `Only an admin may ${this.#subject("records")}.`);
    // A new record belongs to its creator.
    return this.#rule === "owner" && this.#operation !== "create" ? own : all;
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

  /** Whether a caller is allowed the operation on a record. @param owner the id of the record's owner; null for none. */
  allows(principal: Principal, owner: string | null): boolean {
    const { access } = this.decide(principal);
    if (access !== "own") return access === "all";
    return fulfilsOwn({ [ownerColumn]: owner }, { now: 0, userId: principal?.userId ?? null, related: () => null });
  }

  /**
   * Refuses a caller who was admitted and is not allowed the operation on this record.
   * @throws AppError `forbidden`.
   */
  admitRecord(principal: Principal, owner: string | null): void {
    if (!this.allows(principal, owner))
      throw new AppError("forbidden", `Only its owner may ${this.#subject("this record")}.`);
  }

  #subject(object: string): string {
    return `${this.#operation} ${object} of "${this.#collection}"`;
  }

  #none(code: "unauthorized" | "forbidden", message: string): Decision {
    return { access: "none", refusal: new AppError(code, message) };
  }
}
