/** A saved record: the answer to a create or update, and its changes. */
import type { StoredRecord } from "@socle/protocol";
import { JsonText } from "../kernel/index.ts";

/** An answer with one record. */
export interface TaggedRecord {
  readonly json: JsonText;
  /** Its `ETag`: see `record-tag.ts`. */
  readonly tag: string;
}

/**
 * A record as it was just written. The answer is the whole record, or the part that a caller gets who may not read it.
 */
export interface SavedRecord extends Pick<TaggedRecord, "json"> {
  /** Its `ETag`, made when it is asked for: a batch has none. */
  readonly tag: () => string;
  readonly record: StoredRecord;
  /** About the bytes of the record, before and after, that wait in memory for the flush. */
  readonly weight: number;
}

/**
 * The answer to a create or update for a caller who may not read the record: only the fields of the body and what the
 * service has added (contract, "HTTP in general").
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
