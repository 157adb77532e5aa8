/** The model of undos: the net changes between two states, taken back by the rules of docs/admin.md, in any order that works. */
import type { JsonValue } from "@socle/protocol";

type Fields = Readonly<Record<string, JsonValue>>;
/** All records by collection and id, with the columns of the table. */
export type State = ReadonlyMap<string, ReadonlyMap<string, Fields>>;

/** The present fields of the collection of tasks: each with the value of a new record without the field. */
export type Presets = ReadonlyMap<string, JsonValue>;

interface NetChange {
  readonly collection: string;
  readonly id: string;
  readonly before: Fields | null;
  readonly after: Fields | null;
}

const systemColumns = new Set(["id", "createdAt", "updatedAt", "_owner"]);
const relations = ["team", "helper"];
const isSame = (one: unknown, other: unknown): boolean => (one ?? null) === (other ?? null);
const fieldsOf = (record: Fields): [string, JsonValue][] =>
  Object.entries(record).filter(([name]) => !systemColumns.has(name));

/**
 * The state after an undo of the changes between two states, and the ids of the records with a change that is left. `netless`: the ids of records
 * that were changed there and back: the undo may leave some changes of such a record.
 */
export function reverse(
  present: State,
  { before, after }: { readonly before: State; readonly after: State },
  presets: Presets,
): { state: State; left: ReadonlySet<string>; netless: ReadonlySet<string> } {
  const state = new Map([...present].map(([name, records]) => [name, new Map(records)]));
  let pending = changesBetween(before, after);
  // A change may need another of the undo, for example the target of a relation.
  for (let isMoving = true; isMoving; ) {
    const left = pending.filter((change) => !take(state, change, presets));
    isMoving = left.length < pending.length;
    pending = left;
  }
  const netless = changesBetween(before, after).filter(
    ({ before: old, after: now }) => old !== null && now !== null && changedNames(old, now).length === 0,
  );
  const ids = (changes: readonly NetChange[]): Set<string> => new Set(changes.map(({ id }) => id));
  return { state, left: ids(pending), netless: ids(netless) };
}

/** The number of records that differ between two states. */
export function differences(before: State, after: State): number {
  return changesBetween(before, after).length;
}

function changesBetween(before: State, after: State): readonly NetChange[] {
  return [...after.keys()].flatMap((collection) => {
    const [old, now] = [before.get(collection), after.get(collection)];
    const ids = new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])]);
    return [...ids]
      .map((id) => ({ collection, id, before: old?.get(id) ?? null, after: now?.get(id) ?? null }))
      .filter(({ before, after }) => !isSame(before?.["updatedAt"], after?.["updatedAt"]));
  });
}

function changedNames(before: Fields, after: Fields): string[] {
  return fieldsOf(after).flatMap(([name, value]) => (isSame(before[name], value) ? [] : [name]));
}

/** Takes a change back; false without an effect if the change is left. */
function take(state: Map<string, Map<string, Fields>>, change: NetChange, presets: Presets): boolean {
  const { collection, id, before, after } = change;
  const records = state.get(collection) ?? new Map<string, Fields>();
  const record = records.get(id);
  const names = (fields: Fields): string[] => fieldsOf(fields).map(([name]) => name);
  const isPresent = (name: string): boolean => collection !== "tasks" || presets.has(name);
  const isTaken = (fields: Fields): boolean => {
    const unique = ["title", "heading"].find((name) => presets.has(name)) ?? "";
    const value = fields[unique] ?? null;
    return (
      collection === "tasks" &&
      value !== null &&
      [...records].some(([other, row]) => other !== id && row[unique] === value)
    );
  };
  const isGone = (fields: Fields, of: readonly string[]): boolean =>
    relations.some(
      (name) => of.includes(name) && !isSame(fields[name], null) && !state.get("teams")?.has(String(fields[name])),
    );
  if (before !== null && after !== null) {
    const changed = changedNames(before, after);
    if (record === undefined || !changed.every((name) => isPresent(name) && isSame(record[name], after[name])))
      return false;
    const restored = { ...record, ...Object.fromEntries(changed.map((name) => [name, before[name] ?? null])) };
    if (isTaken(restored) || isGone(restored, changed)) return false;
    records.set(id, restored);
    return true;
  }
  if (after !== null) {
    if (record === undefined) return false;
    const isAsMade = record["updatedAt"] === after["updatedAt"];
    const isUnchanged = ([name, value]: [string, JsonValue]): boolean =>
      Object.hasOwn(after, name)
        ? isSame(value, after[name])
        : isAsMade || isSame(value, null) || isSame(value, presets.get(name));
    const isPointedTo = [...(state.get("tasks")?.values() ?? [])].some((row) =>
      relations.some((name) => row[name] === id),
    );
    if (isPointedTo || !fieldsOf(record).every(isUnchanged)) return false;
    return records.delete(id);
  }
  if (before === null) return true;
  if (record !== undefined || !names(before).every(isPresent)) return false;
  const added = collection === "tasks" ? [...presets].filter(([name]) => !Object.hasOwn(before, name)) : [];
  // A record that comes back has a new version.
  const restored = { ...before, ...Object.fromEntries(added), updatedAt: "now" };
  if (isTaken(restored) || isGone(restored, names(restored))) return false;
  records.set(id, restored);
  return true;
}
