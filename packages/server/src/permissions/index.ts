/** Permissions: one policy for each operation on a collection, which decides for callers and for records. */
export { type Audience, audienceOf, callerOf, type Decision, isOwnRecord, ownerColumn, Policy } from "./policy.ts";
export { isWider, isWord, narrowerThan, resolveRules, selectsByOwner, wordOf } from "./rules.ts";
