/** Versions of a record: the values after a change in the history, and the update that brings the values back. */
import {
  type CollectionEntry,
  type HistoryEntry,
  isAccountField,
  type JsonValue,
  type StoredRecord,
} from "@socle/protocol";
import { type FieldChange, isSame } from "../../../kit/diff.ts";

/** The update that restores a version, and the fields that keep the present values, each with the reason. */
export interface Restoration {
  readonly values: { readonly [field: string]: JsonValue };
  /** The differences that the update makes. */
  readonly changes: readonly FieldChange[];
  /** Fields that the collection does not have any more. */
  readonly goneFields: readonly string[];
  /** Fields with files that do not exist any more. */
  readonly goneFiles: readonly string[];
  /** Fields with values that the log does not have. */
  readonly unknown: readonly string[];
  /** Fields of the account, which the page of the user changes. */
  readonly ofAccount: readonly string[];
  /** Whether values of later changes were erased. */
  readonly isErasedSince: boolean;
}

/** A value of a version; undefined if the log does not have the value. */
function valueAfter(name: string, entries: readonly HistoryEntry[], at: number): JsonValue | undefined {
  const [next] = entries
    .slice(0, at)
    .filter(({ changes }) => Object.hasOwn(changes, name))
    .reverse();
  const before = next?.changes[name]?.before;
  if (before !== undefined) return before;
  return entries.slice(at).find(({ changes }) => Object.hasOwn(changes, name))?.changes[name]?.after;
}

/**
 * The update that brings the values after a change back.
 * @param entries the history, newest first, at least down to the change. @param at the place of the change. @param record as stored.
 */
export function restorationOf(
  collection: Pick<CollectionEntry, "name" | "fields">,
  record: StoredRecord,
  { entries, at }: { entries: readonly HistoryEntry[]; at: number },
): Restoration {
  const newer = entries.slice(0, at);
  const gone = new Set(entries.flatMap(({ changes }) => Object.values(changes).flatMap((change) => change.gone ?? [])));
  const values: { [field: string]: JsonValue } = {};
  const left = {
    goneFields: [] as string[],
    goneFiles: [] as string[],
    unknown: [] as string[],
    ofAccount: [] as string[],
  };
  for (const name of new Set(newer.flatMap(({ changes }) => Object.keys(changes)))) {
    const value = valueAfter(name, entries, at);
    const known = collection.fields.some((field) => field.name === name);
    const isGone = [value].flat().some((id) => typeof id === "string" && gone.has(id));
    if (isAccountField(collection.name, name)) left.ofAccount.push(name);
    else if (!known) left.goneFields.push(name);
    else if (value === undefined) left.unknown.push(name);
    else if (isGone) left.goneFiles.push(name);
    else if (!isSame(value, record[name] ?? null)) values[name] = value;
  }
  const changes = Object.entries(values).map(
    ([field, after]): FieldChange => ({ field, kind: "changed", before: record[field] ?? null, after }),
  );
  return { values, changes, ...left, isErasedSince: newer.some(({ erased }) => erased === true) };
}
