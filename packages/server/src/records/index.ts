/** Records: create, read, update and delete one record, with validation, permissions and events. */
export { type RecordTable, recordTableOf } from "./record-table.ts";
export { missingRecord, Records } from "./records.ts";
