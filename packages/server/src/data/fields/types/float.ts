/** The field type float: a finite double. */
import { type FieldType, scalar } from "../field-type.ts";

export const float: FieldType = {
  ...scalar,
  name: "float",
  column: "REAL",
  valueType: "number",
  expected: "a finite number",
  // `+ 0` turns -0 into 0.
  encode: (value) => (typeof value === "number" && Number.isFinite(value) ? value + 0 : undefined),
  rules: { bounds: "value", regex: false, unique: true },
  typescript: { type: "number" },
};
