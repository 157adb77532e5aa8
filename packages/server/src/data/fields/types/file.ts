/** The field type file: the id of a stored file. */
import type { FieldType } from "../field-type.ts";
import { encodeText } from "../texts.ts";

export const file: FieldType = {
  name: "file",
  column: "TEXT",
  valueType: "text",
  expected: "the id of a stored file, a string",
  encode: encodeText,
  rules: { bounds: null, regex: false, unique: true },
  emptyLiteral: "''",
  isIndexable: true,
  reference: "file",
  mayBeLong: () => false,
  typescript: { type: "string", note: "the id of a stored file" },
};
