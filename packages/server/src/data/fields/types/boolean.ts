/** The field type boolean, stored as 0 and 1. */
import type { FieldType } from "../field-type.ts";

export const boolean: FieldType = {
  name: "boolean",
  column: "INTEGER",
  valueType: "boolean",
  expected: "true or false",
  encode: (value) => (typeof value === "boolean" ? Number(value) : undefined),
  decode: (stored) => stored === 1,
  rules: { bounds: null, regex: false, unique: true },
  emptyLiteral: null,
  isIndexable: true,
  reference: null,
  mayBeLong: () => false,
  typescript: { type: "boolean" },
};
