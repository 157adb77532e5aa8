/** The interfaces of a field type and of an attribute of fields. */
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

/** An attribute of field definitions beyond the rules of the spec. Each attribute has its own file. */
export interface Attribute {
  readonly name: keyof FieldDefinition;
  /** The fields of the attribute, as the end of "it is for …". */
  readonly isFor: string;
  /** Whether the attribute applies to a field. */
  means(field: FieldDefinition): boolean;
  /** Attributes that cannot stand beside this attribute. Absent if all can. */
  excludes?(field: FieldDefinition): readonly (keyof FieldDefinition)[];
  /**
   * The problems of the value, each the end of a sentence that begins with the name of the attribute.
   * @param pattern the `regex` rule of the field.
   */
  problems(field: FieldDefinition, pattern: Pattern | undefined): string[];
}
