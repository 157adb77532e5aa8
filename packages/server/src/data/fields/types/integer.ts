/** The field type integer: a whole number that a double holds exactly. */
import { type FieldType, scalar } from "../field-type.ts";

export const integer: FieldType = {
  ...scalar,
  name: "integer",
  column: "INTEGER",
  valueType: "number",
  expected: "a whole number between -(2^53-1) and 2^53-1",
  // `+ 0` turns -0 into 0.
  encode: (value) => (typeof value === "number" && Number.isSafeInteger(value) ? value + 0 : undefined),
  rules: { bounds: "value", regex: false, unique: true },
  typescript: { type: "number", note: "a whole number" },
};
