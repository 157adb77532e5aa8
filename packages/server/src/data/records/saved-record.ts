/**
 * A saved record: the answer to a create or update, its changes, and its tag (RFC 9110, 8.8.3): a strong tag of the version
 * of the record and of the other inputs of the answer. `If-Match` compares the version, `If-None-Match` the whole tag.
 */
import { type StoredRecord, versionOf } from "@socle/protocol";
import { AppError, JsonText } from "../../base/kernel/index.ts";
import type { Collection } from "../collections/index.ts";

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

type Version = Pick<StoredRecord, "id" | "updatedAt">;

const definitions = new WeakMap<Collection, string>();

/** A text that is another once the definition is: a migration adds fields to records whose version stays. */
function markOf(collection: Collection): string {
  let mark = definitions.get(collection);
  if (mark === undefined) {
    mark = digestOf(JSON.stringify(collection.definition));
    definitions.set(collection, mark);
  }
  return mark;
}

function digestOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("base64url").slice(0, 12);
}

function tagOf(version: Version, mark: string): string {
  return `${versionOf(version).slice(0, -1)};${mark}"`;
}

/** The tag of an answer with the stored record, without the fields that the caller may not read. */
export function recordTag(collection: Collection, record: StoredRecord): string {
  const mark = markOf(collection);
  if (collection.fieldPolicies?.hidesValues !== true) return tagOf(record, mark);
  const hidden = collection.definition.fields.map(({ name }) => name).filter((name) => !Object.hasOwn(record, name));
  return tagOf(record, hidden.length === 0 ? mark : digestOf(`${mark} ${hidden.join()}`));
}

/** The tag of an answer with selected fields of a record, or with other records beside the record. */
export function selectionTag(record: Version, text: string): string {
  return tagOf(record, digestOf(text));
}

/**
 * Refuses a change of a record that has another version than the caller names.
 * @param ifMatch tags with commas between them, or `*`; null without a condition.
 * @throws AppError `conflict`, with the status 412.
 */
export function checkVersion(record: Version, ifMatch: string | null): void {
  if (ifMatch === null || ifMatch.trim() === "*") return;
  const version = versionOf(record);
  const versions = ifMatch.split(",").map((tag) => tag.trim().replace(/;[^;"]*"$/, '"'));
  if (versions.includes(version)) return;
  throw new AppError("conflict", "The record has changed since the version that If-Match names.", { isStale: true });
}
