/** Permissions: one policy for each operation on a collection, which decides for callers and for records. */
export { type Audience, audienceOf, type Decision, ownerColumn, Policy } from "./policy.ts";
export { isWider, narrowerThan, resolveRules } from "./rules.ts";
