/**
 * Field policies: the fields with rules of their own, and what those let a caller read and write. They narrow the policies of the
 * collection: a value is readable where its record is.
 */
import type { FieldOperation, FieldPermissions, Rule } from "@socle/protocol";
import type { Principal } from "../kernel/index.ts";
import type { Decision, Policy } from "./policy.ts";

/** The rules of a field: without `read` it has none of its own, without `update` that of `read` holds. */
export function resolveFieldRules({ read = "public", update = read }: FieldPermissions = {}): {
  readonly [operation in FieldOperation]: Rule;
} {
  return { read, update };
}

/** A decision that depends on the record. */
export type ConditionalDecision = Extract<Decision, { condition: unknown }>;

/** The fields that a caller may not read, or not write, in every record. */
export interface FieldLimits {
  /** Those of no record. */
  readonly closed: ReadonlySet<string>;
  /** Those of the records that fulfil a condition. */
  readonly conditional: ReadonlyMap<string, ConditionalDecision>;
}

/** The policies of one field. */
export type FieldPolicy = { readonly [operation in FieldOperation]: Policy };

export class FieldPolicies {
  readonly #policies: ReadonlyMap<string, FieldPolicy>;
  /** Whether some value is not for everybody who may read its record. */
  readonly hidesValues: boolean;
  /** The same for the same read rules. */
  readonly key: string;

  /** @param policies by field; of those that have rules. */
  constructor(policies: ReadonlyMap<string, FieldPolicy>) {
    this.#policies = policies;
    this.key = JSON.stringify([...policies].map(([field, { read }]) => [field, read.rule]));
    this.hidesValues = [...policies.values()].some(({ read }) => !read.isOpen);
  }

  /** The fields that a caller may not do an operation on, in every record; null where there are none. */
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
