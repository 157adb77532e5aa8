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
  isOwn,
  isOwnRecord,
  isWider,
  narrowerThan,
  ownerColumn,
  Policy,
  resolveFieldRules,
  selectsByOwner,
  wordOf,
} from "./policy.ts";
export {
  adminScope,
  admitCall,
  admitQuery,
  admitScope,
  hasScope,
  lacking,
  scopesOf,
} from "./scopes.ts";
