/** The field type string: Unicode text of one line. */
import type { FieldType } from "../field-type.ts";
import { encodeText, mayBeLongText } from "../texts.ts";

export const string: FieldType = {
  name: "string",
  column: "TEXT",
  valueType: "text",
  expected: "a string of Unicode text without NUL",
  encode: encodeText,
  rules: { bounds: "length", regex: true, unique: true },
  emptyLiteral: "''",
  isIndexable: true,
  reference: null,
  mayBeLong: mayBeLongText,
  typescript: { type: "string" },
};
