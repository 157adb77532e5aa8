/** The differences of two values for a reader: a name, the old value, the new value. */
import type { HistoryEntry } from "@socle/protocol";

export interface FieldChange {
  /** With dots between the parts: `fields.title.max`. */
  readonly field: string;
  readonly kind: "added" | "removed" | "changed";
  /** Undefined when the field did not exist, or when its old value is unknown. */
  readonly before: unknown;
  readonly after: unknown;
}

/** The changes of a record by an event, in the form of a history. Fields without a value, before or after, are left out of a creation or deletion. */
export function recordChanges({ type, changes }: Pick<HistoryEntry, "type" | "changes">): readonly FieldChange[] {
  const kind = ({ created: "added", updated: "changed", deleted: "removed" } as const)[type];
  return Object.entries(changes)
    .map(([field, { before, after }]) => ({ field, kind, before, after }))
    .filter(({ before, after }) => kind === "changed" || (kind === "added" ? after : before) !== null);
}

export type Values = { readonly [name: string]: unknown };

/** The most parts of a field's name; deeper values are compared as a whole. */
const maxDepth = 6;

export function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether two values are the same as JSON, whatever the order of their keys. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, index) => isSame(value, other[index]));
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}

/** A list whose items have names of their own, as an object by these names; null for any other value. */
function byName(value: unknown): Values | null {
  if (!Array.isArray(value)) return null;
  const named = new Map<string, unknown>();
  for (const item of value) {
    const name: unknown = isObject(item) ? item["name"] : undefined;
    if (typeof name !== "string" || named.has(name)) return null;
    named.set(name, item);
  }
  return Object.fromEntries(named);
}

/** The parts of a value, to compare part by part; null for a value that is compared as a whole. */
function partsOf(value: unknown): Values | null {
  return isObject(value) ? value : byName(value);
}

function compare(path: readonly string[], before: unknown, after: unknown): FieldChange[] {
  if (isSame(before, after)) return [];
  const [old, next] = [partsOf(before), partsOf(after)];
  if (old !== null && next !== null && path.length < maxDepth) return comparedParts(path, old, next);
  return [{ field: path.join("."), kind: "changed", before, after }];
}

function comparedParts(path: readonly string[], before: Values, after: Values): FieldChange[] {
  const added = Object.keys(after).filter((name) => !Object.hasOwn(before, name));
  const changes = [...Object.keys(before), ...added].flatMap((name): FieldChange[] => {
    const here = [...path, name];
    const field = here.join(".");
    if (!Object.hasOwn(after, name)) return [{ field, kind: "removed", before: before[name], after: undefined }];
    if (!Object.hasOwn(before, name)) return [{ field, kind: "added", before: undefined, after: after[name] }];
    return compare(here, before[name], after[name]);
  });
  // The same parts in another order: no smaller part has changed.
  return changes.length > 0 ? changes : [{ field: path.join("."), kind: "changed", before, after }];
}

/** The changes between two objects, part by part. Null stands for an object that does not exist before or after. */
export function differencesOf(before: Values | null, after: Values | null): readonly FieldChange[] {
  if (isSame(before, after)) return [];
  return comparedParts([], before ?? {}, after ?? {});
}
