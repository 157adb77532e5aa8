/** Records: create, read, update and delete a record, with validation, permissions and events. */

export { parseBatch } from "./batch-operations.ts";
export { referencesIn, resolve } from "./batch-references.ts";
export type { RecordVersion } from "./changes.ts";

export type { ImportedRecord } from "./import.ts";
export { touchesReadRule } from "./record-effects.ts";
export { fieldLimits, isRecordId, missingRecord, type RecordTable, recordTableOf } from "./record-table.ts";
export { Records } from "./records.ts";
export { withoutFields } from "./rights.ts";
export type { TaggedRecord } from "./saved-record.ts";
export { recordTag, selectionTag } from "./saved-record.ts";
export type { HookedChange, RecordHooks } from "./write-hooks.ts";
