/** The field type relation: the id of a record of another collection, or of a user. */
import { type FieldType, scalar } from "../field-type.ts";
import { encodeText } from "./string.ts";

export const relation: FieldType = {
  ...scalar,
  name: "relation",
  column: "TEXT",
  valueType: "text",
  expected: "the id of a record, a string",
  encode: encodeText,
  emptyLiteral: "''",
  reference: "record",
  typescript: { type: "string" },
};
