/** Admin: the operations of admins, each change with an event in the event log; and the set-up of the first admin, by a caller with the token of the start. */
export { type Admin, type AdminOptions, buildAdmin } from "./admin.ts";
export { AdminChanges } from "./admin-changes.ts";
export { alertSchema } from "./alert-table.ts";
export { checkAlerts } from "./alerts.ts";
export { type AuditFormat, auditFormats, auditPages } from "./audit-export.ts";
export { FailureAdmin } from "./failure-admin.ts";
export { type ClusterNumbers, replicaMetricsText } from "./metrics-text.ts";
export { type ProcessNumbers, processNumbers } from "./process-numbers.ts";
export { ReadOnlyAdmin } from "./read-only-admin.ts";
export type { TrialOutcome } from "./rule-trials.ts";
export { additionOf, changeOf, removalOf } from "./schema-admin.ts";
export { tellChange } from "./schema-plan.ts";
export { settingSchema } from "./setting-table.ts";
export { StoredSettings } from "./stored-settings.ts";
