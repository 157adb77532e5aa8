/** Permissions: a policy for each operation on a collection and for each field with rules. A policy answers whether a caller may do the operation, in general and on a record. */
export {
  type Audience,
  audienceOf,
  type ConditionalDecision,
  callerOf,
  type Decision,
  type FieldLimits,
  FieldPolicies,
  type FieldPolicy,
  isOwnRecord,
  isWider,
  isWord,
  narrowerThan,
  ownerColumn,
  Policy,
  resolveFieldRules,
  resolveRules,
  selectsByOwner,
  wordOf,
} from "./policy.ts";
export { adminScope, admitCall, admitScope, hasScope, isScope, lacking, scopeForms, scopesOf } from "./scopes.ts";
