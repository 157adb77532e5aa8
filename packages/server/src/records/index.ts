/** Records: validation of values, permissions, create, read, update, delete, lists. */
export { parseDatetime } from "./datetime.ts";
export type { RecordPages } from "./list.ts";
export { type RecordBody, Records } from "./records.ts";
