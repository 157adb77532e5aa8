/** The field type string: Unicode text of one line. Other types that are stored as text encode as this type does. */
import { type FieldType, scalar } from "../field-type.ts";

/** Values up to this length are short. */
const shortLength = 100;

/** Text that every reader of the database gets back unchanged: without lone surrogates, and without NUL, which ends a C string. */
export function encodeText(value: unknown): string | undefined {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0") ? value : undefined;
}

export const string: FieldType = {
  ...scalar,
  name: "string",
  column: "TEXT",
  valueType: "text",
  expected: "a string of Unicode text without NUL",
  encode: encodeText,
  rules: { bounds: "length", regex: true, unique: true },
  emptyLiteral: "''",
  // `max` bounds the length.
  mayBeLong: ({ max }) => max === undefined || max > shortLength,
  typescript: { type: "string" },
};
