/** Records: create, read, update and delete, batches and imports, with validation, permissions, hooks and events. */

export { type Operation, parseBatch, parseOperations, referencesIn, resolve, type WorkBeside } from "./batch.ts";
export type { RecordVersion } from "./changes.ts";
export type { ImportedRecord } from "./imports.ts";
export { recordsChanged, touchesReadRule, type VersionState } from "./record-effects.ts";
export {
  fieldLimits,
  isRecordId,
  missingRecord,
  type RecordTable,
  recordTableOf,
  recordTag,
  selectionTag,
  systemFields,
  type TaggedRecord,
  withoutFields,
} from "./record-table.ts";
export { Records } from "./records.ts";
export type { UserRecords } from "./user-records.ts";
export type { HookDecision, HookedChange, RecordHooks } from "./write-hooks.ts";
export type { Earlier, EarlierRecord } from "./written-records.ts";
