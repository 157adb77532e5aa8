/** The field type file: the id of a stored file. */
import { type FieldType, scalar } from "../field-type.ts";
import { encodeText } from "./string.ts";

export const file: FieldType = {
  ...scalar,
  name: "file",
  column: "TEXT",
  valueType: "text",
  expected: "the id of a stored file, a string",
  encode: encodeText,
  emptyLiteral: "''",
  reference: "file",
  typescript: { type: "string", note: "the id of a stored file" },
};
