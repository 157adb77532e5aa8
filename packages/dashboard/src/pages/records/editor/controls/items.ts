/** Changes of the items of a multiple field by its controls. The items keep their order, and no two items are equal. */
import type { FieldDefinition, JsonValue } from "@socle/protocol";

/** The items of a value; an empty list for null. */
export function itemsOf(value: JsonValue): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The items with a further item at the end. An item that is present already keeps its place. */
export function withItem(items: readonly string[], item: string): readonly string[] {
  return items.includes(item) ? items : [...items, item];
}

/** The items, with the given item moved a place up. */
export function raised(items: readonly string[], item: string): readonly string[] {
  const at = items.indexOf(item);
  const before = items[at - 1];
  return before === undefined ? items : [...items.slice(0, at - 1), item, before, ...items.slice(at + 1)];
}

/** Whether the bound allows a further item. */
export function hasRoom({ max }: FieldDefinition, items: readonly string[]): boolean {
  return max === undefined || items.length < max;
}
