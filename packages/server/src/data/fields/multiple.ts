/**
 * Multiple fields: the value is an array of distinct items of one type, in their order. The stored form is the JSON of the
 * array. The empty value is `[]`; null is not stored.
 */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import type { FieldType } from "./field-type.ts";

/** The most items that a definition may allow: each item is a row of the field's index. */
export const mostItems = 1_000;
/** The most items of a field without `max`. */
const usualItems = 100;
/** The most code points of an item, which an index holds. */
export const maxItemLength = 1_000;

/** The stored form of no items. */
export const noItems = "[]";

/** The type of a multiple field, by that of its items. */
export function multipleOf(item: FieldType): FieldType {
  return {
    ...item,
    column: "TEXT",
    expected: `an array, each item of it ${item.expected}`,
    encode(value) {
      const isEncoded = Array.isArray(value) && value.every((each) => item.encode(each) !== undefined);
      return isEncoded ? JSON.stringify(value) : undefined;
    },
    // The text was written by JSON.stringify.
    decode: (stored) => JSON.parse(String(stored)) as JsonValue,
    rules: { ...item.rules, bounds: "items" },
    emptyLiteral: `'${noItems}'`,
    isIndexable: false,
    mayBeLong: () => true,
    item,
    typescript: { ...item.typescript, type: `${item.typescript.type}[]` },
  };
}

/** The most items of a multiple field. */
export function maxItemsOf({ max }: FieldDefinition): number {
  return max ?? usualItems;
}
