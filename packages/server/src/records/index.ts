/** Records: validation of values, permissions, create, read, update, delete, lists. */
export type { RecordPages } from "./list.ts";
export { type QueryText, readQueryText } from "./query-text.ts";
export { type ListState, type RecordBody, Records } from "./records.ts";
