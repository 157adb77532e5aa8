/** Optimistic changes, as live queries show the changes until the service's result has come. */
import type { QueryParts, Selected } from "@socle/protocol/query";
import { compareValues, matches } from "./match.ts";

export interface Shown {
  readonly [field: string]: unknown;
}

/** A change that is under way, or whose result a live query has not reached. */
export interface Overlay {
  readonly collection: string;
  /** Of the record; a placeholder until the service has given the id of a new record. */
  id: string;
  /** The values of the change, the record of the answer, or null for a deletion. */
  values: Shown | null;
  /** The position of the write in the log; null before the answer. */
  position: number | null;
  /** For a new record without an answer: the ids of the records that are other records for certain. */
  unrelated?: Set<unknown> | undefined;
}

interface Operators {
  $increment?: number;
  $add?: readonly unknown[];
  $remove?: readonly unknown[];
}

/** The value after a change: operators start from the present value. */
function changedValue(present: unknown, change: unknown): unknown {
  if (change instanceof Date) return change.toISOString();
  if (typeof change !== "object" || change === null) return change;
  const { $increment, $add, $remove }: Operators = change;
  if ($increment !== undefined) return Number(present ?? 0) + $increment;
  if ($add === undefined && $remove === undefined) return change;
  const kept = (Array.isArray(present) ? present : []).filter((item: unknown) => !$remove?.includes(item));
  return [...new Set([...kept, ...($add ?? [])])];
}

/** The names under which the items of a query show other records, and the selected fields; undefined for all fields. */
interface Shape {
  readonly related: readonly string[];
  readonly plain: Selected | undefined;
}

function shapeOf({ fields, expand = [] }: QueryParts): Shape {
  const selected = fields?.flatMap((field) => (typeof field === "string" ? [] : Object.keys(field))) ?? [];
  return {
    related: [...selected, ...expand.map((path) => path.replace(/\..*/, ""))],
    plain: fields?.filter((field) => typeof field === "string"),
  };
}

/** The item after a change. Other records, which an item shows in the place of ids, stay as they are. */
function changedItem(item: Shown, values: Shown, { related, plain }: Shape): Shown {
  const changes = Object.entries(values)
    .filter(([name]) => !related.includes(name) && plain?.includes(name) !== false)
    .map(([name, change]) => [name, changedValue(item[name], change)] as const);
  return { ...item, ...Object.fromEntries(changes) };
}

/** The fields of a record that the window did not have, without values; as many as another item has. */
function emptyItem({ related, plain }: Shape, sample: Shown = {}): Shown {
  const names = [...(plain ?? Object.keys(sample)), ...related].map(String);
  return Object.fromEntries(names.map((name) => [name, Array.isArray(sample[name]) || name.endsWith(")") ? [] : null]));
}

/** The order of two items by the sorting of a query; 0 if the items alone do not decide. */
function orderOf(sort: readonly string[] | undefined, a: Shown, b: Shown): number {
  for (const key of sort ?? ["-createdAt"]) {
    const name = key.replace(/^-/, "");
    const order = name in a && name in b ? compareValues(a[name], b[name]) : 0;
    if (order !== 0) return key.startsWith("-") ? -order : order;
  }
  return 0;
}

const whole: Shape = { related: [], plain: undefined };

/**
 * The items of a window with a change. A record that was not in the window is shown if the record alone decides that the record
 * belongs there.
 * @param known the record in another window of the collection; undefined for a new record.
 * @param taken the ids of the items of other changes, as far as the items are known.
 */
export function withOverlay(
  items: readonly Shown[],
  { id, values, unrelated }: Overlay,
  { parts, known, taken }: { parts: QueryParts; known: Shown | undefined; taken: Set<unknown> },
): readonly Shown[] {
  const shape = shapeOf(parts);
  const at = items.findIndex((item) => item["id"] === id);
  const present = items[at];
  const others = items.filter((item) => item !== present);
  if (values === null) return others;
  // The event of a create may come before the answer: an equal item that came since is shown in the place of the new record.
  const told =
    unrelated &&
    items.find(
      (item) =>
        !unrelated.has(item["id"]) &&
        !taken.has(item["id"]) &&
        JSON.stringify(changedItem(item, values, shape)) === JSON.stringify(item),
    );
  taken.add(told ? told["id"] : id);
  if (told) return items;
  const now = new Date().toISOString();
  const before = present ?? known ?? { id, createdAt: now, updatedAt: now };
  const record = changedItem(before, values, whole);
  const verdicts = parts.conditions.map((condition) => matches(condition, record));
  if (verdicts.includes(false)) return others;
  if (present === undefined && (verdicts.includes(undefined) || parts.search !== undefined)) return items;
  const item =
    present === undefined
      ? changedItem(emptyItem(shape, items[0]), record, shape)
      : changedItem(present, values, shape);
  const next =
    present !== undefined && orderOf(parts.sort, present, item) === 0
      ? at
      : others.findIndex((other) => orderOf(parts.sort, item, other) < 0);
  const place = next < 0 ? others.length : next;
  return [...others.slice(0, place), item, ...others.slice(place)].slice(0, parts.limit ?? 1_000);
}
