/** The interface of a field type: everything that the service knows of the values of one type. */
import type { FieldDefinition, FieldType as FieldTypeName, JsonValue } from "@socle/protocol";
import type { Value } from "../database/index.ts";

/** How expressions compare the values of a field. Ids of records and of files are text. */
export type ValueType = "text" | "number" | "boolean" | "datetime" | "json";

/** A type of fields (spec, "Field definition"; contract, "Collections and fields"). There is one file for each. */
export interface FieldType {
  readonly name: FieldTypeName;
  /** The type of its column. */
  readonly column: "TEXT" | "INTEGER" | "REAL";
  /** Of a multiple field, that of an item. */
  readonly valueType: ValueType;
  /** The values that are accepted, as an error message describes them. */
  readonly expected: string;
  /** The stored form of a JSON value, or undefined for a value of another type. Nothing is coerced. */
  encode(value: unknown): Value | undefined;
  /** The JSON value of a stored one that is not null. Absent where both are the same. */
  decode?(stored: Exclude<Value, null>): JsonValue;
  /** The rules that mean something on this type. */
  readonly rules: {
    /** `min` and `max` bound the length in code points, the value, or the number of items; null where they mean nothing. */
    readonly bounds: "length" | "value" | "items" | null;
    readonly regex: boolean;
    readonly unique: boolean;
  };
  /** The stored value, as an SQL literal, that counts as empty beside null; null where there is none. */
  readonly emptyLiteral: string | null;
  /** Whether an index may hold it. */
  readonly isIndexable: boolean;
  /** The kind of thing whose id the value is. */
  readonly reference: "record" | "file" | null;
  /** Whether a value of the field may be longer than 100 characters. */
  mayBeLong(field: FieldDefinition): boolean;
  /** Of a multiple field: the type of an item. */
  readonly item?: FieldType;
  /** Its type in the generated declarations, and a note on it. */
  readonly typescript: { readonly type: string; readonly note?: string };
}
