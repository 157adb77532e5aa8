/** The interface of a field type. */
import type { FieldDefinition, FieldType as FieldTypeName, JsonValue } from "@socle/protocol";
import type { Value } from "../../store/database/index.ts";

/** How expressions compare the values of a field. Ids of records and of files are text. */
export type ValueType = "text" | "number" | "boolean" | "datetime" | "json";

/** A compiled `regex` rule. The test takes time linear in the text, whatever the pattern. */
export interface Pattern {
  /** Whether the pattern occurs in the text. */
  test(text: string): boolean;
}

/** A type of fields (spec, "Field definition"; contract, "Collections and fields"). Each type has its own file. */
export interface FieldType {
  readonly name: FieldTypeName;
  /** The type of its column. */
  readonly column: "TEXT" | "INTEGER" | "REAL";
  /** The type of the value; for a multiple field, the type of an item. */
  readonly valueType: ValueType;
  /** The accepted values, in the words of an error message. */
  readonly expected: string;
  /** The stored form of a JSON value, or undefined for a value of another type. Nothing is coerced. */
  encode(value: unknown): Value | undefined;
  /** The JSON value of a stored value. Absent if both are the same. */
  decode?(stored: Exclude<Value, null>): JsonValue;
  /** The rules that mean something on this type. */
  readonly rules: {
    /** `min` and `max` bound the length in code points, the value, or the number of items; null if the type has no bounds. */
    readonly bounds: "length" | "value" | "items" | null;
    readonly regex: boolean;
    readonly unique: boolean;
  };
  /** The stored value, as an SQL literal, that counts as empty beside null; null if only null is empty. */
  readonly emptyLiteral: string | null;
  /** Whether an index may hold the value. */
  readonly isIndexable: boolean;
  /** The kind of thing whose id the value is. */
  readonly reference: "record" | "file" | null;
  /** Whether a value of the field may be longer than 100 characters. */
  mayBeLong(field: FieldDefinition): boolean;
  /** For a multiple field: the type of an item. */
  readonly item?: FieldType;
  /** The type in the generated declarations, and a note. */
  readonly typescript: { readonly type: string; readonly note?: string };
}

/** The parts of a type whose values are short, unique if the definition says so, and without bounds. */
export const scalar = {
  rules: { bounds: null, regex: false, unique: true },
  emptyLiteral: null,
  isIndexable: true,
  reference: null,
  mayBeLong: () => false,
} as const;
