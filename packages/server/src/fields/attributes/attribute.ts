/** Interface of a field attribute: the field types it applies to, and its allowed values. */
import type { FieldDefinition } from "@socle/protocol";
import type { Pattern } from "../check-value.ts";

/** An attribute of field definitions beyond the rules of the spec. There is one file for each. */
export interface Attribute {
  readonly name: keyof FieldDefinition;
  /** The fields that it is for, as the end of "it is for …". */
  readonly isFor: string;
  /** Whether it means something on a field. */
  means(field: FieldDefinition): boolean;
  /** Attributes that mean nothing beside it on a field. */
  excludes(field: FieldDefinition): readonly (keyof FieldDefinition)[];
  /**
   * Problems of its value on a field on which it means something, each the end of a sentence that begins with its name.
   * @param pattern the `regex` rule of the field.
   */
  problems(field: FieldDefinition, pattern: Pattern | undefined): string[];
}
