/** History: the changes of a record. */
import type { JsonValue } from "./collections.ts";
import type { ChangeCause } from "./events.ts";

/** The most changes of a page. */
export const MAX_HISTORY_LIMIT = 1_000;

/** The change of a value. */
export interface FieldChange<Value = JsonValue> {
  /** The value before; null without a value. Absent where the log does not have the value. */
  before?: Value | null;
  /** The value after; null without a value. */
  after: Value | null;
  /** The ids of files among the values that do not exist any more. */
  gone?: string[];
}

/** A change of a record. */
export interface HistoryEntry {
  /** The position of the event in the log. */
  seq: number;
  type: "created" | "updated" | "deleted";
  at: string;
  /** The user behind the change; null for no user, and for a user whom the caller may not read. */
  by: { id: string; email?: string } | null;
  /** Null for a change of the service, and for changes that were made by a version without causes. */
  cause: ChangeCause | null;
  changes: { [field: string]: FieldChange };
  /** Whether the log lacks values before. */
  partial?: true;
  /** Whether the values were erased. */
  erased?: true;
}

/** The changes of a record, newest first (`GET /api/{collection}/{id}/history`). */
export interface RecordHistory {
  items: HistoryEntry[];
  /** For the next page; null on the last page. */
  nextCursor: string | null;
}
