/** Permissions: a policy for each operation on a collection and for each field with rules; decides for callers and for records. */
export {
  type ConditionalDecision,
  type FieldLimits,
  FieldPolicies,
  type FieldPolicy,
  resolveFieldRules,
} from "./field-policies.ts";
export { type Audience, audienceOf, callerOf, type Decision, isOwnRecord, ownerColumn, Policy } from "./policy.ts";
export { isWider, isWord, narrowerThan, resolveRules, selectsByOwner, wordOf } from "./rules.ts";
