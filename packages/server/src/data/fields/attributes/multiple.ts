/** The attribute `multiple`: the value is an array of items of the type. */
import { oneOf, quote } from "../../../base/kernel/index.ts";
import type { Attribute } from "../field-type.ts";
import { maxItemsOf, mostItems } from "../multiple.ts";
import { multipleTypeNames } from "../registry.ts";

export const multiple: Attribute = {
  name: "multiple",
  isFor: oneOf(multipleTypeNames),
  means: ({ type, multiple: isOn }) => isOn !== true || multipleTypeNames.includes(type),
  excludes: ({ multiple: isOn }) => (isOn === true ? ["unique", "owner"] : []),
  problems(field) {
    if (field.multiple !== true) return [];
    const { min = 0, max } = field;
    if (max !== undefined && (max < 1 || max > mostItems))
      return [`allows 1 to ${mostItems} items: "max" cannot be ${quote(max)}`];
    if (min > maxItemsOf(field)) return [`allows ${maxItemsOf(field)} items without "max", and "min" is ${min}`];
    return [];
  },
};
