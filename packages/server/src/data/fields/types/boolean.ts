/** The field type boolean, stored as 0 and 1. */
import { type FieldType, scalar } from "../field-type.ts";

export const boolean: FieldType = {
  ...scalar,
  name: "boolean",
  column: "INTEGER",
  valueType: "boolean",
  expected: "true or false",
  encode: (value) => (typeof value === "boolean" ? Number(value) : undefined),
  decode: (stored) => stored === 1,
  typescript: { type: "boolean" },
};
