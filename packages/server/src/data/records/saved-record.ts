/** A saved record: the answer to a create or update, and its changes. */
import type { StoredRecord } from "@socle/protocol";
import { JsonText } from "../../base/kernel/index.ts";

export interface TaggedRecord {
  readonly json: JsonText;
  /** Its `ETag`: see `record-tag.ts`. */
  readonly tag: string;
}

/** A record after its write. `json` is the whole record, or the caller's part of the record. */
export interface SavedRecord extends Pick<TaggedRecord, "json"> {
  /** Makes the `ETag`; a batch has no tags. */
  readonly tag: () => string;
  readonly record: StoredRecord;
  /** About the bytes of the record, before and after, that wait in memory for the flush. */
  readonly weight: number;
}

/**
 * The answer for a caller who may not read the written record: the fields of the body and the system fields (contract,
 * "HTTP in general").
 */
export function answerWithout(record: StoredRecord, body: Record<string, unknown>): JsonText {
  const { id, createdAt, updatedAt } = record;
  const named = Object.entries(record).filter(([name]) => Object.hasOwn(body, name));
  return JsonText.of({ id, createdAt, updatedAt, ...Object.fromEntries(named) });
}

/** A record's id and the changed fields of an update. */
export function changesOf(record: StoredRecord, previous: StoredRecord): object {
  const changed = Object.entries(record).filter(([name, value]) => !isSameValue(value, previous[name]));
  return { id: record.id, ...Object.fromEntries(changed) };
}

export function isSameValue(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b));
}
