/** Records: validation of values, permissions, create, read, update, delete, lists. */
export type { LaterPages, RecordPages } from "./list.ts";
export type { PreparedList } from "./queries.ts";
export { type RecordBody, Records } from "./records.ts";
