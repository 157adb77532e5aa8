/** Interface of a field attribute: the field types of the attribute, and the allowed values. */
import type { FieldDefinition } from "@socle/protocol";
import type { Pattern } from "../field-type.ts";

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
