/** Records: create, read, update and delete one record, with validation, permissions and events. */
export { missingRecord } from "./missing.ts";
export { type RecordTable, recordTableOf } from "./record-table.ts";
export { Records } from "./records.ts";
