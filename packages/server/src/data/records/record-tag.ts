/**
 * Tags of records (RFC 9110, 8.8.3): strong tags of the version of the record and of the other inputs of the answer. `If-
 * Match` compares the version, `If-None-Match` the whole tag.
 */
import { type StoredRecord, versionOf } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import type { Collection } from "../collections/index.ts";

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
