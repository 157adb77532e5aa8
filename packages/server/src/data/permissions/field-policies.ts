/**
 * Field policies: the fields with rules of their own, and the decisions of these rules. Field policies narrow the policies
 * of the collection: a caller who may not read a record may read no field of the record.
 */
import type { FieldOperation, FieldPermissions, Rule } from "@socle/protocol";
import type { Principal } from "../../base/kernel/index.ts";
import type { Decision, Policy } from "./policy.ts";

/** The rules of a field. The default of `read` is public, the default of `update` is the rule of `read`. */
export function resolveFieldRules({ read = "public", update = read }: FieldPermissions = {}): {
  readonly [operation in FieldOperation]: Rule;
} {
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
