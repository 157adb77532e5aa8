/** Admin: operations for admins only, each change with an event in the event log; the set-up of the first admin. */
export { type Admin, buildAdmin } from "./admin.ts";
export type { TrialOutcome } from "./rule-trials.ts";
export { additionOf, changeOf, removalOf } from "./schema-admin.ts";
