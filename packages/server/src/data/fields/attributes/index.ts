/** The registry of attributes. A new attribute is a file in this folder and a line below. */
import type { FieldDefinition } from "@socle/protocol";
import type { Attribute, Pattern } from "../field-type.ts";
import { anyTarget } from "./any-target.ts";
import { defaultValue } from "./default.ts";
import { multiple } from "./multiple.ts";
import { onDelete } from "./on-delete.ts";
import { sequence } from "./sequence.ts";
import { values } from "./values.ts";

const attributes: readonly Attribute[] = [multiple, values, defaultValue, onDelete, anyTarget, sequence];

/**
 * The problems of the attributes of a field, each a sentence. An attribute that does not apply is refused: its author
 * expects an effect.
 */
export function attributeProblems(field: FieldDefinition, pattern: Pattern | undefined): string[] {
  const where = `field "${field.name}"`;
  return attributes.flatMap((attribute) => {
    const { name, isFor } = attribute;
    if (field[name] === undefined) return [];
    if (!attribute.means(field)) return [`${where}: "${name}" means nothing on type ${field.type}; it is for ${isFor}`];
    const beside = attribute.excludes?.(field).filter((other) => field[other] !== undefined) ?? [];
    return [
      ...beside.map((other) => `${where}: "${other}" means nothing beside "${name}"`),
      ...attribute.problems(field, pattern).map((problem) => `${where}: "${name}" ${problem}`),
    ];
  });
}
