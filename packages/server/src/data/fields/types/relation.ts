/** The field type relation: the id of a record of another collection, or of a user. */
import type { FieldType } from "../field-type.ts";
import { encodeText } from "../texts.ts";

export const relation: FieldType = {
  name: "relation",
  column: "TEXT",
  valueType: "text",
  expected: "the id of a record, a string",
  encode: encodeText,
  rules: { bounds: null, regex: false, unique: true },
  emptyLiteral: "''",
  isIndexable: true,
  reference: "record",
  mayBeLong: () => false,
  typescript: { type: "string" },
};
