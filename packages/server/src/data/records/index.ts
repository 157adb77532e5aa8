/** Records: create, read, update and delete, batches and imports, with validation, permissions, hooks and events. */

export { type Operation, parseBatch, parseOperations, referencesIn, resolve, type WorkBeside } from "./batch.ts";
export type { HeldValues, RecordVersion, SavedRecord } from "./changes.ts";
export type { ImportedRecord, RecordMatch } from "./imports.ts";
export { validateBody } from "./preparation.ts";
export { eventTypesOf, isSameValue, recordsChanged, touchesReadRule, type VersionState } from "./record-effects.ts";
export {
  fieldLimits,
  isAnyRecordId,
  isRecordId,
  missingRecord,
  type RecordTable,
  recordTableOf,
  recordTag,
  selectionTag,
  type TaggedRecord,
  withoutFields,
} from "./record-table.ts";
export { Records } from "./records.ts";
export type { TakesTarget } from "./references.ts";
export type { LaterChanges } from "./reversals.ts";
export { EffectTrial } from "./sql/rule-effects.ts";
export type { Conflicting, ConflictTurns, Turn } from "./turns.ts";
export type { UserRecords } from "./user-records.ts";
export type { HookDecision, HookedChange, RecordHooks } from "./write-hooks.ts";
export type { Earlier, EarlierRecord } from "./written-records.ts";
