/** The items of a multiple field, as its controls change them. Their order is kept, and no two are the same. */
import type { FieldDefinition, JsonValue } from "@socle/protocol";

/** The items of a value; none for null. */
export function itemsOf(value: JsonValue): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The items with one more at the end; one that is there already stays where it is. */
export function withItem(items: readonly string[], item: string): readonly string[] {
  return items.includes(item) ? items : [...items, item];
}

/** The items with one of them a place further up. */
export function raised(items: readonly string[], item: string): readonly string[] {
  const at = items.indexOf(item);
  const before = items[at - 1];
  return before === undefined ? items : [...items.slice(0, at - 1), item, before, ...items.slice(at + 1)];
}

/** Whether another item may be added. */
export function hasRoom({ max }: FieldDefinition, items: readonly string[]): boolean {
  return max === undefined || items.length < max;
}
