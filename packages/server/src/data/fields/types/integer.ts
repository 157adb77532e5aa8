/** The field type integer: a whole number that a double holds exactly. */
import type { FieldType } from "../field-type.ts";

export const integer: FieldType = {
  name: "integer",
  column: "INTEGER",
  valueType: "number",
  expected: "a whole number between -(2^53-1) and 2^53-1",
  // `+ 0` turns -0 into 0.
  encode: (value) => (typeof value === "number" && Number.isSafeInteger(value) ? value + 0 : undefined),
  rules: { bounds: "value", regex: false, unique: true },
  emptyLiteral: null,
  isIndexable: true,
  reference: null,
  mayBeLong: () => false,
  typescript: { type: "number", note: "a whole number" },
};
